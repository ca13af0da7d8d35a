// Emission of one scheduled kernel as LLVM IR. Values are scalars, or vectors of
// `lanes.count` elements when they vary along the axis the lanes run over; an
// expression is emitted once per scope and is a vector only where it must be.
#pragma once

#include "bycc/Loops/Loops.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ValueMap.h>

#include <unordered_set>

namespace bycc::codegen {

using namespace loops; // the language that kernels are written in

struct Lanes {
  uint32_t axis = noAxis;
  unsigned count = 1;
  llvm::Value *mask = nullptr; // null: all lanes
  int64_t used = 0;            // the mask is that of so many first lanes, when known
  // The first one is at a multiple of what divides both their number and the axis.
  bool areAligned = false;
};

// One llvm::Module in the making, with what all kernels share.
struct EmitContext {
  llvm::Module &module;
  const TargetInfo &target;
  llvm::GlobalVariable *scratchBytes = nullptr; // i64: scratch of one thread, known at the end
  void setFunctionAttrs(llvm::Function &function) const;
};

class KernelEmitter {
public:
  using Value = llvm::Value;
  KernelEmitter(EmitContext &context, const Loops &loops, std::string name);
  // void name(exec, one pointer per loops.arguments, one i64 per dim); of strips:
  // and an i32, the thread that runs all of it.
  llvm::Function *run(bool isOfStrips = false);

private:
  // --- frame (EmitFrame.cpp) and nests (EmitNest.cpp)
  struct Frame {
    Value *exec = nullptr;
    std::unordered_map<uint32_t, Value *> pointers; // of buffers
    std::vector<Value *> dims;
    Value *scratch = nullptr; // of the current thread
    Value *thread = nullptr;  // of strips
  };
  using TaskBody = std::function<void(Value *begin, Value *end)>;
  void emitTask(Value *count, int64_t grain, bool needsScratch, const TaskBody &body);
  Value *makeClosure();
  void emitTaskBody(llvm::Function &task, bool needsScratch, const TaskBody &body);
  Value *scratchOf(Value *thread);
  void emitNest(const Nest &nest, const NestSchedule &schedule);
  Value *beginOfItem(const Nest &nest, const NestSchedule &schedule, size_t r, Value *number);
  void emitRow(const Nest &nest, const NestSchedule &schedule);
  void emitTogether(const Nest &nest, const NestSchedule &schedule);
  void emitPlaces(const Nest &nest, const NestSchedule &schedule, Value *begin);
  void loopSteps(const Stage &stage, uint32_t jammed, int64_t unrolled,
                 const std::function<void()> &body);
  // What a stage's guards ask of a window: that a step is not before, and not behind what there is.
  std::vector<Ref> conditionsOf(const Stage &stage, const Window &window);
  struct Border {
    Window window;
    std::vector<Ref> conditions;
  };
  std::vector<Border> bordersOf(const Nest &nest, uint32_t axis); // windows that move with it
  void emitKnownPlaces(const Nest &nest, const NestSchedule &schedule, int64_t last);
  bool isInside(const Nest &nest, const NestSchedule &schedule, const std::vector<Border> &borders);
  void emitBlock(const Nest &nest, const NestSchedule &schedule);
  void emitTurned(const NestStage &inner);
  void emitTurnedBlock(const Stage &stage, const Lanes &rows, Value *begin, Value *width);
  void emitMap(const NestStage &inner, const StageSchedule &schedule);
  void emitReduce(const NestStage &inner, const StageSchedule &schedule);
  struct Reduction;
  Reduction beginReduction(const NestStage &inner, int64_t ways);
  void emitReductionStep(const Reduction &r, int64_t way);
  void finishReduction(const NestStage &inner, const Reduction &r);
  void finishStage(const NestStage &inner, Value *value, bool isExact);
  // Loops over the first `count` axes; the last `unrolled` of them are written out.
  void loopAxes(const std::vector<uint32_t> &axes, size_t count, int64_t unrolled,
                const std::function<void()> &body);
  void loopLanes(uint32_t axis, Tail tail, int64_t ways,
                 const std::function<void(int64_t way)> &body);
  Value *identityOf(const Stage &stage);
  Value *combine(const Stage &stage, Value *acc, Value *value);
  Value *horizontal(const Stage &stage, Value *acc);

  // --- contractions (EmitContract.cpp)
  // A product and how it runs.
  struct Product {
    const Contraction &what;
    const ProductSchedule &how;
  };
  // A tile where it stands.
  struct Tile {
    const TileSchedule &how;
    Value *columnTile = nullptr;
    Value *firstVector = nullptr; // of the column tile; null: 0
    bool hasColumnTail = false;   // last vector is partial
  };
  void emitContraction(const Contraction &c, const NestSchedule &schedule);
  void emitCopiedRows(const Product &product);
  void emitPanels(const Product &product);
  Ref panelElement(const Contraction &c, const std::unordered_map<uint32_t, Ref> &values);
  void emitColumnTiles(const Product &product, Value *tileBlock, Value *rowBegin, Value *rowEnd);
  void emitRowTiles(const Product &product, const Tile &at, Value *outerBegin, Value *outerEnd,
                    Value *innerBegin, Value *innerEnd);
  Value *strideValue(const Operand &operand, uint32_t axis) {
    return axis == noAxis ? i64(0) : emitAt(x_.stride(operand.index, axis));
  }
  Value *blocksOf(Value *extent, int64_t step) {
    return b_.CreateSDiv(b_.CreateAdd(extent, i64(step - 1)), i64(step));
  }
  Value *depthOf(const Contraction &c);
  Value *tilesOf(const Product &product);   // of columns
  Value *columnsLeft(const Contraction &c); // from the current one on
  // ... the sums of a tile (EmitTile.cpp)
  struct TileSums;
  TileSums beginSums(const Product &product, const Tile &tile);
  std::pair<Value *, Value *> operandsOf(const TileSums &t, const Tile &tile, Value *firstLane);
  void startReduction(const Contraction &c); // its axes, at 0
  void clearSums(TileSums &t);
  Value *loadVector(const TileSums &t, Value *base, Value *offset, int64_t vector);
  void emitStep(const TileSums &t, Value *baseX, Value *baseW, Value *offsetX, Value *offsetW);
  void addProducts(const TileSums &t, Value *baseX, Value *offsetX, const std::vector<Value *> &w);
  bool isWhole(const TileSums &t, const Window &window) const;
  std::pair<Value *, Value *> stepsOf(const TileSums &t, uint32_t axis);
  std::pair<Value *, Value *> stepsInside(const Window &window, Value *first, Value *last);
  void emitReduction(TileSums &t, size_t d, Value *baseX, Value *baseW);
  Value *tilePanel(const TileSums &t, const Tile &tile, uint32_t buffer, Value *blocks);
  void beginDecoding(TileSums &t, const Tile &tile);
  void loadBlock(TileSums &t);
  Value *decode(const TileSums &t, Value *elements, size_t vector, int64_t half);
  void emitTile(const Product &product, const Tile &tile);
  // ... their stores (EmitEpilogue.cpp)
  // Where a tile begins; null where there is no such axis.
  struct TileOrigin {
    Value *column = nullptr, *outer = nullptr, *inner = nullptr;
  };
  TileOrigin originOf(const Contraction &c) const;
  void moveTo(const Contraction &c, const TileOrigin &from);
  void forEachSum(const Contraction &c, const Tile &tile,
                  const std::function<void(const TileOrigin &from, int64_t v, size_t at)> &each);
  void
  forEachSumInLoop(const Contraction &c, const Tile &tile,
                   const std::function<void(const TileOrigin &from, int64_t v, Value *at)> &each);
  Value *keep(const std::vector<Value *> &vectors);
  std::vector<Value *> loadAll(llvm::Type *type, Value *kept, size_t count);
  bool wouldSpill(const Contraction &c, size_t numSums) const;
  std::vector<Value *> throughMemory(const std::vector<Value *> &vectors);
  bool readsAlongColumns(const Contraction &c) const;
  std::vector<Value *> valuesOfSums(const Contraction &c, const Tile &tile,
                                    const std::vector<Value *> &sums);
  void storeRows(const Contraction &c, const Tile &tile, const std::vector<Value *> &sums);
  void setVector(const Contraction &c, const Tile &tile, const TileOrigin &from, int64_t v,
                 Value *sum);
  void storeVector(const Contraction &c, const Tile &tile, const TileOrigin &from, int64_t v,
                   Value *sum);
  void storeColumn(const Contraction &c, Value *column, Value *values, int64_t count, bool areDone);
  void forEachColumn(const std::vector<Value *> &block, Value *used, bool inLoop,
                     const std::function<void(Value *, Value *)> &store);
  void storeTransposed(const Contraction &c, const Tile &tile, std::vector<Value *> sums);
  std::vector<Value *> transposeTile(std::vector<Value *> rows);

  // --- expressions (EmitExpr.cpp)
  class Scope {
  public:
    explicit Scope(KernelEmitter &emitter) : emitter_(emitter) { emitter_.scopes_.emplace_back(); }
    ~Scope() { emitter_.scopes_.pop_back(); }

  private:
    KernelEmitter &emitter_;
  };
  bool isVarying(Ref ref);
  std::optional<int64_t> laneStep(Ref index);
  void setLanes(Lanes lanes) {
    lanes_ = lanes;
    varying_.clear();
  }
  void setOverride(Ref ref, Value *value) {
    overrides_[ref] = value;
    varying_.clear();
  }
  Value *emit(Ref ref);                                   // vector only when it varies
  Value *emitVector(Ref ref) { return splat(emit(ref)); } // a vector when lanes_.count > 1
  Value *emitAt(Ref ref);                                 // scalar, at the first lane
  Value *emitUncached(Ref ref);
  Value *emitLoad(Ref ref, DType as);       // the bits as another dtype of the same size
  bool hasMasks(llvm::Type *element) const; // in memory operations of whole vectors
  Value *loadLanes(llvm::Type *type, Value *pointer, uint32_t buffer);
  Value *loadMasked(llvm::Type *type, Value *pointer, uint32_t buffer);
  void storeMasked(Value *value, Value *pointer, uint32_t buffer);
  struct LaneRuns {
    int64_t length = 0, step = 0;
  };
  std::optional<LaneRuns> laneRuns(Ref index);
  Value *loadRuns(Value *pointer, LaneRuns runs, llvm::Type *element, uint32_t buffer);
  Value *filled(DType type, Value *number);
  Value *loadIf(Value *condition, Ref load, Ref otherwise);
  Value *loadStrided(Value *pointer, int64_t step, llvm::Type *element, uint32_t buffer);
  Value *emitGuard(const Expr &expr);
  Value *emitUnary(const Expr &expr, Value *a);
  Value *emitBinary(const Expr &expr, Value *a, Value *b);
  Value *emitCast(Value *value, DType from, DType to, bool isExact);
  Value *emitIntDivision(Op op, DType type, Value *a, Value *b);
  Value *emitMinMax(bool isMax, DType type, Value *a, Value *b);
  Value *emitLibm(LibmFn function, DType type, std::vector<Value *> arguments);
  Value *emitAngle(LibmFn function, DType type, Value *x);
  Value *unpack(DType type, Value *memory); // what is in memory -> what we compute with
  Value *pack(DType type, Value *value, bool isExact = false);
  Value *halfToFloat(Value *bits);
  Value *widenHalf(Value *bits);
  Value *floatToHalf(Value *value);
  Value *floatToInt(Value *value, DType to);
  // Whether the value is a bfloat16 as it is: loaded, or chosen among such and their
  // negatives. It is then stored by its bits: instructions that round take denormals for 0.
  bool isExact(Ref ref);
  Ref storedValue(uint32_t buffer, Ref body) const;       // what emitToStore computes
  void emitToStore(uint32_t buffer, Ref index, Ref body); // the store rounds to the buffer's dtype
  void emitStore(uint32_t buffer, Ref index, Value *value, bool isExact);
  Value *pointerTo(uint32_t buffer, Value *index, bool isLocal);
  Value *addressOf(uint32_t buffer, Ref index);
  void tag(llvm::Instruction *instruction, uint32_t buffer);
  bool isLocal(uint32_t buffer) const { return locals_.count(buffer) != 0; }
  // One element for each lane, side by side.
  bool isPerLane(uint32_t buffer) const { return isLocal(buffer) && locals_.at(buffer)->isPerLane; }

  // --- math on f32 scalars and vectors (EmitMath.cpp)
  Value *emitExp(Value *x);
  Value *emitLog(Value *x);
  Value *lookUp(llvm::ArrayRef<float> table, Value *index);
  Value *emitPieces(Value *x, double width, llvm::ArrayRef<std::array<float, 16>> coefficients);
  Value *emitTanh(Value *x);
  Value *emitErf(Value *x);
  Value *emitSine(LibmFn function, Value *x); // Sin or Cos, below 2^16
  Value *emitSigmoid(Value *x);
  Value *polynomial(Value *x, std::initializer_list<double> highFirst);
  Value *fma(Value *a, Value *b, Value *c);
  Value *dotPairs(Value *sum, Value *a,
                  Value *b); // of integers, or of bfloat16 when the sum is real
  Value *dotBFloat16(Value *sum, Value *a, Value *b);
  Value *real(double value, llvm::Type *like);
  Value *power2(Value *exponent, llvm::Type *floatType);
  Value *copySign(Value *magnitude, Value *sign);

  // --- small things
  Value *i64(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  Value *splat(Value *value);
  Value *laneIota();               // <0, 1, ...> i64, of a whole vector
  Value *firstLanes(Value *count); // the mask of so many
  // The extent without what is left behind whole steps, a power of two each.
  Value *wholeSteps(uint32_t axis, int64_t step);
  Value *fieldPointer(Value *base, int64_t offset) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(offset));
  }
  Value *loadField(Value *base, int64_t offset, llvm::Type *type) {
    return b_.CreateLoad(type, fieldPointer(base, offset));
  }
  llvm::Type *memoryType(DType type);
  llvm::Type *valueType(DType type);
  llvm::Type *vectorOf(llvm::Type *type) {
    return lanes_.count == 1 ? type : llvm::FixedVectorType::get(type, lanes_.count);
  }
  Value *entryAlloca(llvm::Type *type);
  // for (i = begin; i < end; i += step) body(i), bottom tested with a guard.
  void forLoop(Value *begin, Value *end, int64_t step, const std::function<void(Value *)> &body);
  void ifThen(Value *condition, const std::function<void()> &then,
              const std::function<void()> &otherwise = {});
  int64_t vectorLanes() const { return loops_.schedule.lanes; }
  std::optional<int64_t> extentOf(uint32_t axis) const { return x_.constantExtent(axis); }
  Value *extentValue(uint32_t axis) { return emitAt(x_.extent(axis)); }

  EmitContext &context_;
  const Loops &loops_;
  Exprs x_; // own copy: emission makes a few expressions
  std::string name_;
  llvm::LLVMContext &llvm_;
  llvm::IRBuilder<> b_;
  llvm::Function *function_ = nullptr;
  Frame frame_;
  Lanes lanes_;
  std::unordered_map<uint32_t, Value *> axes_; // scalar values of bound axes
  std::unordered_map<Ref, Value *> overrides_;
  std::unordered_set<Ref> exactOverrides_; // of those, what isExact() is true for
  // Bits that floats were made of: what is only moved is not converted back, NaN stay as
  // they are.
  llvm::ValueMap<Value *, llvm::WeakTrackingVH> halves_;
  std::unordered_map<Ref, bool> varying_;
  std::vector<std::unordered_map<uint64_t, Value *>> scopes_;
  std::unordered_map<uint32_t, const NestStage *> locals_; // buffers in the scratch of a row
  std::unordered_map<uint32_t, llvm::MDNode *> aliasScopes_, noAlias_;
  // Of places that are made together: the axis, the first one, and which of them is emitted.
  struct {
    uint32_t axis = noAxis;
    Value *begin = nullptr;
    int64_t place = 0;
  } together_;
  std::unordered_set<Ref> held_; // conditions of guards that hold where code is emitted
  std::unordered_map<llvm::Constant *, llvm::GlobalVariable *> filled_;
  unsigned numTasks_ = 0;
};

} // namespace bycc::codegen
