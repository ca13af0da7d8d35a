// One function that runs the whole program: pointers of all values are known at
// its top or when their extents are, then one call per instruction. It returns
// a bycc_status; whatever fails has been recorded by the runtime before.
#pragma once

#include "Emit.h"
#include "EmitEntry.h"
#include "bycc/abi.h"

#include <map>
#include <memory>

namespace bycc::codegen {

// What is known at a place of the entry. Leaving a branch takes back what was learnt
// in it: that costs as much as learning it did, however much is known around it.
template <typename K> class KnownValues {
public:
  llvm::Value *find(K key) const {
    auto it = values_.find(key);
    return it == values_.end() ? nullptr : it->second;
  }
  llvm::Value *at(K key) const { return values_.at(key); }
  void set(K key, llvm::Value *value) {
    changes_.emplace_back(key, find(key));
    values_[key] = value;
  }
  size_t mark() const { return changes_.size(); }
  void restore(size_t mark) {
    for (; changes_.size() > mark; changes_.pop_back()) {
      auto [key, before] = changes_.back();
      if (before)
        values_[key] = before;
      else
        values_.erase(key);
    }
  }

private:
  std::unordered_map<K, llvm::Value *> values_;
  std::vector<std::pair<K, llvm::Value *>> changes_; // null: it was not known
};

class EntryEmitter {
public:
  using LValue = llvm::Value;
  EntryEmitter(llvm::Module &module, const TargetInfo &target, Program &program,
               const CodeGenOptions &options, const std::vector<llvm::Function *> &kernels,
               const Offsets &offsets)
      : module_(module), target_(target), p_(program), options_(options), kernels_(kernels),
        offsets_(offsets), llvm_(module.getContext()), b_(llvm_) {}
  llvm::Function *run();

private:
  struct Frame { // of the function that is being made
    llvm::Function *function = nullptr;
    llvm::BasicBlock *allocas = nullptr, *start = nullptr, *fail = nullptr;
    LValue *execSlot = nullptr, *slots = nullptr;
    llvm::AllocaInst *watched = nullptr; // for values without a fixed place
    uint64_t watchedWords = 0;
    LValue *exec = nullptr, *arena = nullptr, *weights = nullptr, *api = nullptr;
  };

  LValue *i64(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  LValue *at(LValue *base, int64_t bytes) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(bytes));
  }
  LValue *field(LValue *base, int64_t offset) {
    return b_.CreateLoad(b_.getPtrTy(), at(base, offset));
  }
  LValue *slot(LValue *array, uint64_t index) {
    return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), array, index));
  }

  // --- instructions (EmitEntry.cpp)
  // The exec is its first argument, or, in a task, the first word behind that.
  void beginFunction(llvm::Function *function, bool isTask = false);
  void endFunction();
  void emitAll(uint32_t begin, uint32_t end); // instructions
  llvm::AllocaInst *newAlloca(llvm::Type *type);

  // --- what is profiled (EmitProfile.cpp)
  // void node_begin(exec, node): calls the runtime's while profiling.
  void makeBeginMark(const EmitContext &context);
  // void node_end(exec, node, values, number of inputs, of outputs): calls the runtime's while
  // profiling, and its node_values if it has that.
  void makeEndMark(const EmitContext &context);
  void beginNode(const Instr &instr);
  void endNode(const Instr &instr, const std::vector<ValueId> &inputs);
  void endNode(const Instr &instr) { endNode(instr, instr.inputs); }
  // The bycc_place of a value that stands where it stood when this was compiled, and its
  // extents; empty: it has no such place.
  std::vector<uint64_t> fixedPlace(ValueId id) const;
  LValue *watchedValues(const std::vector<ValueId> &values);
  void loadFrame();
  void failIfNull(LValue *pointer);
  void emitInstr(const Instr &instr);
  void callKernel(const Instr &instr);
  void callRegion(const Instr &instr);
  void emitCopy(const Instr &instr);

  // --- a large entry (EntryParts.cpp)
  struct Span {
    uint32_t end = 0;       // instruction after it
    uint32_t otherwise = 0; // Else of an If; 0: there is none
    size_t weight = 0;
    bool jumpsOut = false; // to a loop around it
  };
  static size_t weightOf(const Instr &instr); // 1 for one of few values
  void findSpans();
  static void addTo(Span &outer, const Span &inner);
  void emitInParts();
  void emitInParts(uint32_t begin, uint32_t end);
  void emitLarge(uint32_t index);
  void emitPart(uint32_t begin, uint32_t end);

  // --- extents (EmitExtents.cpp)
  // Sums and products set `overflow_` where they leave 64 bits.
  LValue *evaluate(Ref ref);
  LValue *evaluateUncached(Ref ref);
  LValue *evaluateCast(DType from, DType to, LValue *value);
  LValue *evaluateArithmetic(const Expr &e, LValue *a, LValue *b);
  LValue *loadElement(const Expr &e);
  // -1 when they do not fit in 64 bits.
  LValue *bytesOf(const Value &value);
  LValue *shapeOf(const Value &value);
  void setDim(const Instr &instr);
  void emitRequire(const Instr &instr);
  void failUnless(LValue *condition, int32_t status, const std::string &message,
                  const std::vector<LValue *> &values);

  // --- memory (EmitMemory.cpp)
  void loadDims();
  LValue *loadGivenDim(uint32_t dim);
  void setDimValue(uint32_t dim, LValue *value);
  // The caller's memory, else the runtime's.
  LValue *outputPointer(const Value &value);
  void makeOutputFunction(const EmitContext &context);
  // Memory of a value that is about to be written.
  void define(ValueId id);
  void setPointer(ValueId id, LValue *memory);
  void releaseValue(ValueId id);
  LValue *pointer(ValueId id);

  // --- ifs and bound values (EmitControl.cpp)
  struct Known {
    size_t pointers, dims; // marks
  };
  struct OpenIf {
    llvm::BasicBlock *otherwise, *join;
    Known outer;
  };
  void beginIf(const Instr &instr);
  LValue *conditionOf(const Instr &instr);
  LValue *hasRegion(uint32_t region);
  void beginElse();
  void endIf();
  Known mark() const { return {pointers_.mark(), dims_.mark()}; }
  void restore(const Known &known);
  // Where pointers and extents stand that change as the program runs.
  struct Slot {
    LValue *own = nullptr; // null: element `number` of the slots
    uint64_t number = 0;
  };
  Slot newSlot(llvm::Type *type);
  LValue *placeOf(const Slot &slot);
  LValue *pointerSlot(ValueId id);
  LValue *dimSlot(uint32_t dim);
  void bindDims(const std::vector<ValueId> &from, const std::vector<ValueId> &to);
  void bind(const Instr &instr);

  // --- loops (EmitLoops.cpp)
  struct OpenLoop {
    llvm::BasicBlock *head, *exit;
    LValue *mark; // of the runtime's memory; null when a turn asks for none
    Known outer;
  };
  void jumpTo(llvm::BasicBlock *block);
  bool allocates(const Instr &loop) const;
  void beginLoop(const Instr &instr);
  void nextTurn(const Instr &instr);
  void leaveLoop(const Instr &instr);
  void endLoop();
  LValue *spareMemory(ValueId carried, LValue *bytes);
  void copyBytes(LValue *to, LValue *from, LValue *bytes);
  void emitSetRows(const Instr &instr);

  // --- strips (EmitStrips.cpp): void task(closure, begin, end, thread)
  struct OpenStrips {
    Frame caller;
    llvm::IRBuilderBase::InsertPoint place;
    llvm::BasicBlock *head;
    llvm::PHINode *turn;
    LValue *thread, *memory;     // of strips on this thread
    std::vector<LValue *> parts; // which part of each cut
    // What the closure has: where values begin, and expressions that are no constants.
    std::unordered_map<ValueId, LValue *> pointers;
    std::unordered_map<Ref, LValue *> extents;
  };
  struct Closure {
    std::vector<ValueId> pointers;
    std::vector<Ref> extents;
  };
  Closure closureOf(const Instr &strips) const;
  LValue *makeClosure(const Closure &closure);
  void openClosure(const Closure &closure, LValue *words);
  LValue *memoryOfThread(const Instr &strips);
  void findParts(const Instr &strips);
  void beginStrips(const Instr &instr);
  void endStrips();
  // Where an argument of a kernel begins in this turn.
  LValue *stripOf(LValue *whole, const Instr &instr, size_t argument);

  // --- library kernels (EmitLibrary.cpp)
  // Operands as an array of bycc_operand.
  LValue *operands(const std::vector<ValueId> &values, const std::vector<bool> &isTold);
  void callLibrary(const Instr &instr);
  // Memory and extents that the kernel gave a result.
  void takeTold(ValueId id, LValue *operand);
  void returnIfFailed(LValue *status);

  llvm::Module &module_;
  const TargetInfo &target_;
  Program &p_;
  const CodeGenOptions &options_;
  const std::vector<llvm::Function *> &kernels_;
  const Offsets &offsets_;
  llvm::LLVMContext &llvm_;
  llvm::IRBuilder<> b_;
  llvm::Function *beginMark_ = nullptr, *endMark_ = nullptr, *output_ = nullptr;
  bool isLarge_ = false; // values stand in memory between instructions
  uint64_t numSlots_ = 0;
  Frame frame_;
  std::vector<Span> spans_; // per instruction
  KnownValues<ValueId> pointers_;
  KnownValues<uint32_t> dims_;
  std::map<std::vector<uint64_t>, llvm::Constant *> shapes_; // those without open extents
  std::unordered_map<ValueId, Slot> pointerSlots_;
  std::unordered_map<uint32_t, Slot> dimSlots_;
  std::unordered_map<Ref, LValue *> evaluated_; // of the current instruction
  LValue *overflow_ = nullptr;
  std::vector<OpenIf> ifs_;
  std::vector<OpenLoop> loops_;
  std::unique_ptr<OpenStrips> strips_; // null: not in any
};

} // namespace bycc::codegen
