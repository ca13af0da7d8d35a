// One function that runs the whole program: pointers of all values are known at
// its top or when their extents are, then one call per instruction. It returns
// a bycc_status; whatever fails has been recorded by the runtime before.
#pragma once

#include "Emit.h"
#include "EmitEntry.h"
#include "bycc/abi.h"

namespace bycc::te {

class EntryEmitter {
public:
  using LValue = llvm::Value;
  EntryEmitter(llvm::Module &module, const TargetInfo &target, Program &program, const CodeGenOptions &options,
               const std::vector<llvm::Function *> &kernels, const Offsets &offsets)
      : module_(module), target_(target), p_(program), options_(options), kernels_(kernels), offsets_(offsets),
        llvm_(module.getContext()), b_(llvm_) {}
  llvm::Function *run();

private:
  LValue *i64(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  LValue *at(LValue *base, int64_t bytes) { return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(bytes)); }
  LValue *field(LValue *base, int64_t offset) { return b_.CreateLoad(b_.getPtrTy(), at(base, offset)); }
  LValue *slot(LValue *array, uint64_t index) { return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), array, index)); }

  // --- instructions (EmitEntry.cpp)
  llvm::AllocaInst *newAlloca(llvm::Type *type);
  // void mark(exec, node): calls node_begin / node_end while profiling.
  void makeMarks(const EmitContext &context);
  void failIfNull(LValue *pointer);
  void emitInstr(const Instr &instr);
  void callKernel(const Instr &instr);
  void callRegion(const Instr &instr);
  void emitCopy(const Instr &instr);

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
  void failUnless(LValue *condition, int32_t status, const std::string &message, const std::vector<LValue *> &values);

  // --- memory (EmitMemory.cpp)
  void loadInterface();
  // The caller's memory, else the runtime's.
  LValue *outputPointer(const Value &value);
  LValue *askOutput(const Value &value, LValue *shape);
  // Memory of a value that is about to be written.
  void define(ValueId id);
  void releaseValue(ValueId id);
  LValue *pointer(ValueId id);

  // --- ifs and bound values (EmitControl.cpp)
  struct Known { // at a place of the entry
    std::unordered_map<ValueId, LValue *> pointers;
    std::unordered_map<uint32_t, LValue *> dims;
  };
  struct OpenIf {
    llvm::BasicBlock *otherwise, *join;
    Known outer;
  };
  void beginIf(const Instr &instr);
  void beginElse();
  void endIf();
  void restore(const Known &known);
  // Where pointers and extents stand that change as the program runs.
  llvm::AllocaInst *pointerSlot(ValueId id);
  llvm::AllocaInst *dimSlot(uint32_t dim);
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
  llvm::Function *function_ = nullptr, *marks_[2] = {};
  llvm::BasicBlock *allocas_ = nullptr, *fail_ = nullptr;
  LValue *exec_ = nullptr, *arena_ = nullptr, *weights_ = nullptr, *api_ = nullptr;
  std::unordered_map<ValueId, LValue *> pointers_;
  std::unordered_map<uint32_t, LValue *> dims_;
  std::unordered_map<ValueId, llvm::AllocaInst *> pointerSlots_;
  std::unordered_map<uint32_t, llvm::AllocaInst *> dimSlots_;
  std::unordered_map<Ref, LValue *> evaluated_; // of the current instruction
  LValue *overflow_ = nullptr;
  std::vector<OpenIf> ifs_;
  std::vector<OpenLoop> loops_;
};

} // namespace bycc::te
