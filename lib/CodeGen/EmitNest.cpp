// Loops of row nests: the parallel row loop, and inside it each stage as a map or
// a reduction, with lanes either along the stage's own last axis or across rows.
// The last vector of a loop that is long enough ends where the loop does, and makes
// some elements again: masks are dear, of strided and of narrow elements above all.
// Reductions along the lanes, and short loops, end under a mask.
#include "Emit.h"

#include <llvm/IR/Intrinsics.h>

namespace bycc::te {

void KernelEmitter::emitNest(const Nest &nest) {
  locals_.clear();
  overrides_.clear();
  isAcross_ = nest.isAcross;
  setLanes({});
  for (const NestStage &inner : nest.stages)
    if (inner.isLocal && !inner.isRegister)
      locals_[inner.stage.buffer] = &inner;
  int64_t lanes = vectorLanes();
  Value *count = i64(1);
  for (uint32_t axis : nest.rows) {
    Value *extent = extentValue(axis);
    if (isAcross_ && axis == nest.rows.back())
      extent = b_.CreateSDiv(b_.CreateAdd(extent, i64(lanes - 1)), i64(lanes));
    count = b_.CreateMul(count, extent);
  }
  double cost = nest.cost * (isAcross_ ? static_cast<double>(lanes) : 1.0);
  emitTask(count, cost, nest.localBytes > 0, [&](Value *begin, Value *end) {
    forLoop(begin, end, 1, [&](Value *row) {
      // Axis values from the flat row number, last axis fastest.
      Value *rest = row;
      for (size_t r = nest.rows.size(); r-- > 0;) {
        uint32_t axis = nest.rows[r];
        bool isBlock = isAcross_ && r + 1 == nest.rows.size();
        Value *extent = extentValue(axis);
        if (isBlock)
          extent = b_.CreateSDiv(b_.CreateAdd(extent, i64(lanes - 1)), i64(lanes));
        Value *value = rest;
        if (r > 0) {
          value = b_.CreateURem(rest, extent);
          rest = b_.CreateUDiv(rest, extent);
        }
        axes_[axis] = value;
        if (!isBlock)
          continue;
        Value *begin = b_.CreateMul(value, i64(lanes));
        if (auto known = extentOf(axis); known && *known >= lanes && *known % lanes != 0)
          begin = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, begin, i64(*known - lanes));
        axes_[axis] = begin;
      }
      Scope scope(*this);
      if (isAcross_)
        emitAcross(nest);
      else
        emitRow(nest);
    });
  });
  locals_.clear();
  overrides_.clear();
  isAcross_ = false;
  setLanes({});
}

void KernelEmitter::emitRow(const Nest &nest) {
  for (const NestStage &inner : nest.stages)
    emitStage(inner);
  overrides_.clear();
}

// A block of rows, one per lane; the only block of few rows under a mask.
void KernelEmitter::emitAcross(const Nest &nest) {
  uint32_t axis = nest.rows.back();
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  Value *left = b_.CreateSub(extentValue(axis), axes_.at(axis));
  auto run = [&](bool masked) {
    Lanes now{axis, lanes, nullptr};
    setLanes(now);
    if (masked)
      now.mask = b_.CreateICmpSLT(laneIota(), b_.CreateVectorSplat(lanes, left));
    if (auto known = extentOf(axis); masked && known)
      now.used = *known % lanes;
    setLanes(now);
    emitRow(nest);
    setLanes({});
  };
  auto extent = extentOf(axis);
  if (extent)
    return run(*extent < lanes);
  ifThen(b_.CreateICmpSGE(left, i64(lanes)), [&] { run(false); }, [&] { run(true); });
}

void KernelEmitter::emitStage(const NestStage &inner) {
  if (inner.stage.reduce == Reduce::None)
    emitMap(inner);
  else
    emitReduce(inner);
}

bool KernelEmitter::shouldUnroll(const std::vector<uint32_t> &axes) const {
  constexpr int64_t most = 32; // copies of the body
  int64_t n = 1;
  for (uint32_t axis : axes) {
    auto extent = extentOf(axis);
    if (!extent || *extent > most)
      return false;
    n *= *extent;
  }
  return n <= most;
}

void KernelEmitter::loopAxes(const std::vector<uint32_t> &axes, size_t from, size_t to, const std::function<void()> &body) {
  if (from == to)
    return body();
  uint32_t axis = axes[from];
  std::vector<uint32_t> rest(axes.begin() + static_cast<ptrdiff_t>(from), axes.begin() + static_cast<ptrdiff_t>(to));
  auto extent = extentOf(axis);
  if (extent && lanes_.count > 1 && shouldUnroll(rest)) {
    for (int64_t i = 0; i < *extent; ++i) {
      Scope scope(*this);
      axes_[axis] = i64(i);
      loopAxes(axes, from + 1, to, body);
    }
    return;
  }
  forLoop(i64(0), extentValue(axis), 1, [&](Value *index) {
    axes_[axis] = index;
    loopAxes(axes, from + 1, to, body);
  });
}

void KernelEmitter::loopLanes(uint32_t axis, bool mayRepeat, const std::function<void()> &body) {
  loopLanes(axis, mayRepeat, 1, [&](unsigned) { body(); });
}

// Full vectors, `ways` of them at a time while there are as many, then one that repeats some
// elements where that is allowed, else a masked one.
void KernelEmitter::loopLanes(uint32_t axis, bool mayRepeat, unsigned ways,
                              const std::function<void(unsigned way)> &body) {
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  auto known = extentOf(axis);
  Value *extent = extentValue(axis);
  Value *full = known ? i64(*known / lanes * lanes) : b_.CreateAnd(extent, i64(-static_cast<int64_t>(lanes)));
  auto run = [&](Value *index, bool masked, unsigned way = 0) {
    axes_[axis] = index;
    Lanes now{axis, lanes, nullptr};
    setLanes(now);
    if (masked)
      now.mask = b_.CreateICmpSLT(laneIota(), b_.CreateVectorSplat(lanes, b_.CreateSub(extent, index)));
    if (masked && known)
      now.used = *known % lanes;
    setLanes(now);
    body(way);
    setLanes({});
  };
  Value *begin = i64(0);
  if (ways > 1) {
    int64_t many = static_cast<int64_t>(lanes) * ways;
    Value *end = known ? i64(*known / many * many) : b_.CreateAnd(extent, i64(-many));
    forLoop(begin, end, many, [&](Value *index) {
      for (unsigned way = 0; way < ways; ++way) {
        Scope scope(*this);
        run(b_.CreateAdd(index, i64(static_cast<int64_t>(way) * lanes)), false, way);
      }
    });
    begin = end;
  }
  forLoop(begin, full, lanes, [&](Value *index) { run(index, false); });
  if (known && *known % lanes == 0)
    return;
  if (known && *known > lanes && mayRepeat) {
    Scope scope(*this);
    return run(i64(*known - lanes), false);
  }
  ifThen(b_.CreateICmpSLT(full, extent), [&] { run(full, true); });
}

void KernelEmitter::finishStage(const NestStage &inner, Value *value, bool isExact) {
  const Stage &stage = inner.stage;
  if (!inner.isRegister)
    return emitStore(stage.buffer, stage.store, value, isExact);
  // Every load of it in this nest is at this row.
  DType type = schedule_.kernel.buffers[stage.buffer].type;
  Ref load = x_.load(stage.buffer, type, stage.store);
  setOverride(load, value);
  if (isExact)
    exactOverrides_.insert(load);
}

void KernelEmitter::emitMap(const NestStage &inner) {
  const Stage &stage = inner.stage;
  auto body = [&] {
    if (inner.isRegister)
      finishStage(inner, emit(stage.body), isExact(stage.body));
    else
      emitToStore(stage.buffer, stage.store, stage.body);
  };
  if (inner.vectorAxis == noAxis)
    return loopAxes(stage.axes, 0, stage.axes.size(), body);
  loopAxes(stage.axes, 0, stage.axes.size() - 1, [&] { loopLanes(inner.vectorAxis, true, body); });
}

llvm::Value *KernelEmitter::identityOf(const Stage &stage) {
  DType type = x_.type(stage.body);
  llvm::Type *t = valueType(type);
  bool isReal = isFloat(type);
  auto limit = [&](bool low) -> Value * {
    if (isReal)
      return llvm::ConstantFP::getInfinity(t, low);
    unsigned bits = t->getIntegerBitWidth();
    bool isSigned = isSignedInt(type);
    llvm::APInt value = low ? (isSigned ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits))
                            : (isSigned ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits));
    return b_.getInt(value);
  };
  switch (stage.reduce) {
  case Reduce::Prod: return isReal ? static_cast<Value *>(llvm::ConstantFP::get(t, 1.0)) : llvm::ConstantInt::get(t, 1);
  case Reduce::Max:
  case Reduce::ArgMax: return limit(true);
  case Reduce::Min:
  case Reduce::ArgMin: return limit(false);
  case Reduce::All: return b_.getTrue();
  default: return llvm::Constant::getNullValue(t);
  }
}

llvm::Value *KernelEmitter::combine(const Stage &stage, Value *acc, Value *value) {
  DType type = x_.type(stage.body);
  bool isReal = isFloat(type);
  switch (stage.reduce) {
  case Reduce::Sum: return isReal ? b_.CreateFAdd(acc, value) : b_.CreateAdd(acc, value);
  case Reduce::Prod: return isReal ? b_.CreateFMul(acc, value) : b_.CreateMul(acc, value);
  case Reduce::Max:
    if (stage.ignoresNan && isReal)
      return b_.CreateSelect(b_.CreateFCmpOGT(acc, value), acc, value);
    return emitMinMax(true, type, acc, value);
  case Reduce::Min: return emitMinMax(false, type, acc, value);
  case Reduce::All: return b_.CreateAnd(acc, value);
  default: return b_.CreateOr(acc, value);
  }
}

// Halves until one lane is left: a fixed order, the same in every run.
llvm::Value *KernelEmitter::horizontal(const Stage &stage, Value *acc) {
  unsigned count = llvm::cast<llvm::FixedVectorType>(acc->getType())->getNumElements();
  for (unsigned half = count / 2; half > 0; half /= 2) {
    std::vector<int> low, high;
    for (unsigned lane = 0; lane < half; ++lane) {
      low.push_back(static_cast<int>(lane));
      high.push_back(static_cast<int>(lane + half));
    }
    acc = combine(stage, b_.CreateShuffleVector(acc, low), b_.CreateShuffleVector(acc, high));
  }
  return b_.CreateExtractElement(acc, uint64_t{0});
}

// Sums of their own that a reduction along the lanes is made of: one alone waits for itself,
// some four cycles a vector. What takes longer than that to compute has no need of them.
unsigned KernelEmitter::reductionWays(const Stage &stage, uint32_t axis) const {
  constexpr unsigned most = 4;
  constexpr size_t smallBody = 24; // expressions
  auto known = extentOf(axis);
  if (known && *known < static_cast<int64_t>(most * vectorLanes()))
    return 1;
  size_t size = 0;
  x_.visit(stage.body, [&](Ref ref) {
    ++size;
    return x_[ref].op != Op::Load;
  });
  return size <= smallBody ? most : 1;
}

void KernelEmitter::emitReduce(const NestStage &inner) {
  const Stage &stage = inner.stage;
  bool isArg = stage.reduce == Reduce::ArgMax || stage.reduce == Reduce::ArgMin;
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  bool within = inner.vectorAxis != noAxis;
  loopAxes(stage.axes, 0, stage.axes.size(), [&] {
    unsigned ways = within && !isArg ? reductionWays(stage, inner.vectorAxis) : 1;
    Value *identity = identityOf(stage);
    if (isAcross_)
      identity = splat(identity);
    else if (within)
      identity = b_.CreateVectorSplat(lanes, identity);
    std::vector<Value *> accumulators;
    for (unsigned way = 0; way < ways; ++way) {
      accumulators.push_back(entryAlloca(identity->getType()));
      b_.CreateStore(identity, accumulators.back());
    }
    Value *best = nullptr;
    llvm::Type *indexType = isAcross_ ? vectorOf(b_.getInt64Ty()) : static_cast<llvm::Type *>(b_.getInt64Ty());
    if (isArg) {
      best = entryAlloca(indexType);
      b_.CreateStore(llvm::ConstantInt::getSigned(indexType, -1), best);
    }
    auto step = [&](unsigned way) {
      Value *acc = accumulators[way];
      Value *value = lanes_.count > 1 ? emitVector(stage.body) : emit(stage.body);
      Value *old = b_.CreateLoad(value->getType(), acc);
      if (isArg) {
        Value *oldIndex = b_.CreateLoad(indexType, best);
        Value *position = splat(emit(stage.position));
        bool isMax = stage.reduce == Reduce::ArgMax;
        Expr lt{stage.selectLast ? Op::Le : Op::Lt, DType::Bool, stage.body, stage.body, noRef, 0, 0};
        Value *better = isMax ? emitBinary(lt, old, value) : emitBinary(lt, value, old);
        better = b_.CreateOr(better, b_.CreateICmpSLT(oldIndex, llvm::Constant::getNullValue(indexType)));
        b_.CreateStore(b_.CreateSelect(better, position, oldIndex), best);
        b_.CreateStore(b_.CreateSelect(better, value, old), acc);
        return;
      }
      Value *now = combine(stage, old, value);
      if (within && lanes_.mask)
        now = b_.CreateSelect(lanes_.mask, now, old);
      b_.CreateStore(now, acc);
    };
    if (within)
      loopAxes(stage.reduceAxes, 0, stage.reduceAxes.size() - 1,
               [&] { loopLanes(inner.vectorAxis, false, ways, step); });
    else
      loopAxes(stage.reduceAxes, 0, stage.reduceAxes.size(), [&] { step(0); });
    for (; ways > 1; ways /= 2)
      for (unsigned way = 0; way < ways / 2; ++way) {
        Value *one = b_.CreateLoad(identity->getType(), accumulators[way]);
        Value *other = b_.CreateLoad(identity->getType(), accumulators[way + ways / 2]);
        b_.CreateStore(combine(stage, one, other), accumulators[way]);
      }
    Value *result;
    if (isArg)
      result = b_.CreateIntCast(b_.CreateLoad(indexType, best),
                                indexType->getWithNewType(valueType(schedule_.kernel.buffers[stage.buffer].type)), true);
    else
      result = b_.CreateLoad(identity->getType(), accumulators[0]);
    if (within)
      result = horizontal(stage, result);
    bool isChoice = stage.reduce == Reduce::Max || stage.reduce == Reduce::Min;
    finishStage(inner, result, isChoice && isExact(stage.body));
  });
}

} // namespace bycc::te
