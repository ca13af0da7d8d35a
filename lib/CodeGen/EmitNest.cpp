// Loops of row nests: the parallel row loop, and inside it each stage as a map or
// a reduction, with lanes either along the stage's own last axis or across rows.
// The last vector of a loop that is long enough ends where the loop does, and makes
// some elements again: masks are dear, of strided and of narrow elements above all.
// Reductions along the lanes, and short loops, end under a mask. Which one it is, and all
// else that could be otherwise, is in the schedule.
#include "Emit.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

namespace bycc::codegen {

// A reduction while it runs: `ways` results in memory that becomes registers, which are joined at
// the end.
struct KernelEmitter::Reduction {
  const Stage &stage;
  bool isWithin = false; // lanes run along what is reduced
  llvm::Type *type = nullptr;
  std::vector<Value *> results;
};

// The first place of the item. The last item ends where the axis does, if that is known to be long
// enough.
llvm::Value *KernelEmitter::beginOfItem(const Nest &nest, const NestSchedule &schedule, size_t r,
                                        Value *number) {
  int64_t step = placesOfItem(nest, schedule, nest.rows[r], vectorLanes());
  if (step == 1)
    return number;
  Value *begin = b_.CreateMul(number, i64(step));
  if (auto known = extentOf(nest.rows[r]); known && *known >= step && *known % step != 0)
    begin = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, begin, i64(*known - step));
  return begin;
}

void KernelEmitter::emitNest(const Nest &nest, const NestSchedule &schedule) {
  overrides_.clear();
  setLanes({});
  auto itemsOf = [&](size_t r) {
    int64_t step = placesOfItem(nest, schedule, nest.rows[r], vectorLanes());
    Value *extent = extentValue(nest.rows[r]);
    return step == 1 ? extent : b_.CreateSDiv(b_.CreateAdd(extent, i64(step - 1)), i64(step));
  };
  Value *count = i64(1);
  for (size_t r = 0; r < nest.rows.size(); ++r)
    count = b_.CreateMul(count, itemsOf(r));
  emitTask(count, schedule.grain, nest.localBytes > 0, [&](Value *begin, Value *end) {
    forLoop(begin, end, 1, [&](Value *item) {
      // Axis values from the flat number of the item, last axis fastest.
      Value *rest = item;
      for (size_t r = nest.rows.size(); r-- > 0;) {
        Value *items = itemsOf(r), *number = rest;
        if (r > 0) {
          number = b_.CreateURem(rest, items);
          rest = b_.CreateUDiv(rest, items);
        }
        axes_[nest.rows[r]] = beginOfItem(nest, schedule, r, number);
      }
      Scope scope(*this);
      if (schedule.lanes != LanesRun::Along)
        emitBlock(nest, schedule);
      else
        emitRow(nest, schedule);
    });
  });
  overrides_.clear();
  setLanes({});
}

void KernelEmitter::emitRow(const Nest &nest, const NestSchedule &schedule) {
  if (schedule.lanes == LanesRun::Turned)
    return emitTurned(nest.stages[0]);
  for (size_t s = 0; s < nest.stages.size(); ++s)
    if (nest.stages[s].stage.reduce == Reduce::None)
      emitMap(nest.stages[s], schedule.stages[s]);
    else
      emitReduce(nest.stages[s], schedule.stages[s]);
  overrides_.clear();
}

// `jam` places, or one after the other where there are fewer.
void KernelEmitter::emitTogether(const Nest &nest, const NestSchedule &schedule) {
  uint32_t axis = jammedAxis(nest, schedule);
  int64_t jam = schedule.jam;
  Value *begin = axes_.at(axis);
  if (extentOf(axis)) {
    emitKnownPlaces(nest, schedule, *extentOf(axis) - jam);
  } else {
    Value *extent = extentValue(axis), *last = b_.CreateSub(extent, i64(jam));
    auto together = [&] {
      emitPlaces(nest, schedule, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, begin, last));
    };
    ifThen(b_.CreateICmpSGE(last, i64(0)), together, [&] {
      forLoop(begin, extent, 1, [&](Value *place) {
        axes_[axis] = place;
        emitRow(nest, schedule);
      });
    });
  }
  axes_[axis] = begin;
}

// The first and the last places of an axis with padding are emitted by themselves: what is padding
// is known there, and between them there is none, or it is looked for.
void KernelEmitter::emitKnownPlaces(const Nest &nest, const NestSchedule &schedule, int64_t last) {
  Value *begin = axes_.at(jammedAxis(nest, schedule));
  std::vector<Border> borders = bordersOf(nest, jammedAxis(nest, schedule));
  if (borders.empty())
    return emitPlaces(nest, schedule, begin);
  auto atOrElse = [&](int64_t place, const std::function<void()> &otherwise) {
    ifThen(
        b_.CreateICmpEQ(begin, i64(place)), [&] { emitPlaces(nest, schedule, i64(place)); },
        otherwise);
  };
  if (last == 0)
    return emitPlaces(nest, schedule, i64(0));
  if (last <= schedule.jam)
    return atOrElse(0, [&] { emitPlaces(nest, schedule, i64(last)); });
  std::unordered_set<Ref> held = held_;
  if (isInside(nest, schedule, borders))
    for (const Border &border : borders)
      held.insert(border.conditions.begin(), border.conditions.end());
  atOrElse(0, [&] {
    atOrElse(last, [&] {
      std::swap(held_, held);
      emitPlaces(nest, schedule, begin);
      std::swap(held_, held);
    });
  });
}

std::vector<KernelEmitter::Border> KernelEmitter::bordersOf(const Nest &nest, uint32_t axis) {
  std::vector<Border> borders;
  for (const NestStage &inner : nest.stages)
    for (const Window &window : inner.stage.windows)
      if (std::vector<Ref> conditions = conditionsOf(inner.stage, window);
          !conditions.empty() && x_.coefficient(window.first, axis) != 0)
        borders.push_back({window, std::move(conditions)});
  return borders;
}

std::vector<Ref> KernelEmitter::conditionsOf(const Stage &stage, const Window &window) {
  Ref place = x_.add(window.first, x_.times(x_.axis(window.tap), window.dilation));
  std::vector<Ref> conditions{x_.binary(Op::Le, x_.integer(0), place),
                              x_.binary(Op::Lt, place, window.elements)};
  bool areAsked = false;
  x_.visit(stage.body, [&](Ref ref) {
    areAsked = areAsked || ref == conditions[0] || ref == conditions[1];
    return x_[ref].op != Op::Load;
  });
  return areAsked ? conditions : std::vector<Ref>();
}

// Do all steps of the windows read what is no padding for all places but the first and the last
// ones, and move with no other axis?
bool KernelEmitter::isInside(const Nest &nest, const NestSchedule &schedule,
                             const std::vector<Border> &borders) {
  uint32_t axis = jammedAxis(nest, schedule);
  int64_t jam = schedule.jam, last = *extentOf(axis) - jam;
  return std::ranges::all_of(borders, [&](const Border &border) {
    const Window &window = border.window;
    const Affine first = x_.affine(window.first);
    auto elements = x_.constant(window.elements), steps = extentOf(window.tap),
         step = x_.coefficient(window.first, axis);
    if (!elements || !steps || first.terms.size() != 1 || !step || *step <= 0)
      return false;
    int64_t reach = (*steps - 1) * window.dilation, place = ceilDiv(last, jam) * jam - 1;
    return jam * *step + first.constant >= 0 && place * *step + first.constant + reach < *elements;
  });
}

// The steps of a reduction; those that read padding for all places are left out.
void KernelEmitter::loopSteps(const Stage &stage, uint32_t jammed, int64_t unrolled,
                              const std::function<void()> &body) {
  const std::vector<uint32_t> &axes = stage.reduceAxes;
  std::function<void(size_t)> loop = [&](size_t at) {
    if (at == axes.size())
      return body();
    uint32_t axis = axes[at];
    std::vector<Ref> conditions;
    auto window = std::ranges::find_if(stage.windows, [&](const Window &each) {
      bool canBe = each.tap == axis && x_.coefficient(each.first, jammed) == 0;
      return canBe && !(conditions = conditionsOf(stage, each)).empty();
    });
    if (window == stage.windows.end())
      return loopAxes({axis}, 1, static_cast<int64_t>(axes.size() - at) <= unrolled ? 1 : 0,
                      [&] { loop(at + 1); });
    Value *first = emitAt(window->first);
    auto [begin, end] = stepsInside(*window, first, first);
    end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, extentValue(axis));
    std::unordered_set<Ref> outer = held_;
    held_.insert(conditions.begin(), conditions.end());
    forLoop(begin, end, 1, [&](Value *step) {
      axes_[axis] = step;
      loop(at + 1);
    });
    held_ = outer;
  };
  loop(0);
}

// Every stage for each place, and every step of a reduction for each place.
void KernelEmitter::emitPlaces(const Nest &nest, const NestSchedule &schedule, Value *begin) {
  uint32_t axis = jammedAxis(nest, schedule);
  std::vector<std::unordered_map<Ref, Value *>> overrides(static_cast<size_t>(schedule.jam));
  auto forEachPlace = [&](const std::function<void(size_t)> &body) {
    for (size_t place = 0; place < overrides.size(); ++place) {
      Scope scope(*this);
      together_ = {axis, begin, static_cast<int64_t>(place)};
      axes_[axis] = b_.CreateAdd(begin, i64(together_.place));
      std::swap(overrides_, overrides[place]);
      varying_.clear();
      body(place);
      std::swap(overrides_, overrides[place]);
      varying_.clear();
    }
    together_ = {};
  };
  for (size_t s = 0; s < nest.stages.size(); ++s) {
    const NestStage &inner = nest.stages[s];
    if (inner.stage.reduce == Reduce::None) {
      forEachPlace([&](size_t) { emitMap(inner, schedule.stages[s]); });
      continue;
    }
    std::vector<Reduction> sums;
    forEachPlace([&](size_t) { sums.push_back(beginReduction(inner, 1)); });
    loopSteps(inner.stage, axis, schedule.stages[s].unrolledReduction,
              [&] { forEachPlace([&](size_t place) { emitReductionStep(sums[place], 0); }); });
    forEachPlace([&](size_t place) { finishReduction(inner, sums[place]); });
  }
  axes_[axis] = begin;
}

// A block of rows, one per lane; the only block of few rows under a mask.
void KernelEmitter::emitBlock(const Nest &nest, const NestSchedule &schedule) {
  uint32_t axis = nest.rows.back();
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  Value *left = b_.CreateSub(extentValue(axis), axes_.at(axis));
  auto run = [&](bool masked) {
    Lanes now{axis, lanes, nullptr, 0, true};
    setLanes(now);
    if (masked)
      now.mask = firstLanes(left);
    if (auto known = extentOf(axis); masked && known)
      now.used = *known % lanes;
    setLanes(now);
    if (schedule.jam > 1)
      emitTogether(nest, schedule);
    else
      emitRow(nest, schedule);
    setLanes({});
  };
  auto extent = extentOf(axis);
  if (extent)
    return run(*extent < lanes);
  ifThen(b_.CreateICmpSGE(left, i64(lanes)), [&] { run(false); }, [&] { run(true); });
}

void KernelEmitter::loopAxes(const std::vector<uint32_t> &axes, size_t count, int64_t unrolled,
                             const std::function<void()> &body) {
  std::function<void(size_t)> loop = [&](size_t at) {
    if (at == count)
      return body();
    uint32_t axis = axes[at];
    if (static_cast<int64_t>(count - at) > unrolled)
      return forLoop(i64(0), extentValue(axis), 1, [&](Value *index) {
        axes_[axis] = index;
        loop(at + 1);
      });
    for (int64_t i = 0, extent = *extentOf(axis); i < extent; ++i) {
      Scope scope(*this);
      axes_[axis] = i64(i);
      loop(at + 1);
    }
  };
  loop(0);
}

llvm::Value *KernelEmitter::wholeSteps(uint32_t axis, int64_t step) {
  auto known = extentOf(axis);
  return known ? i64(*known / step * step) : b_.CreateAnd(extentValue(axis), i64(-step));
}

// Full vectors, `ways` of them at a time while there are as many, then the tail.
void KernelEmitter::loopLanes(uint32_t axis, Tail tail, int64_t ways,
                              const std::function<void(int64_t way)> &body) {
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  auto known = extentOf(axis);
  Value *extent = extentValue(axis);
  Value *full = wholeSteps(axis, lanes);
  auto run = [&](Value *index, bool masked, int64_t way = 0) {
    axes_[axis] = index;
    Lanes now{axis, lanes, nullptr, 0, true};
    setLanes(now);
    if (masked)
      now.mask = firstLanes(b_.CreateSub(extent, index));
    if (masked && known)
      now.used = *known % lanes;
    setLanes(now);
    body(way);
    setLanes({});
  };
  Value *begin = i64(0);
  if (ways > 1) {
    int64_t many = lanes * ways;
    Value *end = wholeSteps(axis, many);
    forLoop(begin, end, many, [&](Value *index) {
      for (int64_t way = 0; way < ways; ++way) {
        Scope scope(*this);
        run(b_.CreateAdd(index, i64(way * lanes)), false, way);
      }
    });
    begin = end;
  }
  forLoop(begin, full, lanes, [&](Value *index) { run(index, false); });
  if (tail == Tail::None)
    return;
  if (tail == Tail::Repeat) {
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
  DType type = loops_.kernel.buffers[stage.buffer].type;
  Ref load = x_.load(stage.buffer, type, stage.store);
  setOverride(load, value);
  if (isExact)
    exactOverrides_.insert(load);
}

void KernelEmitter::emitMap(const NestStage &inner, const StageSchedule &schedule) {
  const Stage &stage = inner.stage;
  auto body = [&] {
    if (inner.isRegister)
      finishStage(inner, emit(stage.body), isExact(stage.body));
    else
      emitToStore(stage.buffer, stage.store, stage.body);
  };
  if (inner.vectorAxis == noAxis)
    return loopAxes(stage.axes, stage.axes.size(), schedule.unrolledAxes, body);
  loopAxes(stage.axes, stage.axes.size() - 1, 0,
           [&] { loopLanes(inner.vectorAxis, schedule.tail, 1, [&](int64_t) { body(); }); });
}

// Lanes run along a row axis when elements are read and computed, and along the stage's own axis
// when they are stored.
void KernelEmitter::emitTurned(const NestStage &inner) {
  const Stage &stage = inner.stage;
  const Lanes rows = lanes_;
  auto lanes = static_cast<int64_t>(vectorLanes());
  loopAxes(stage.axes, stage.axes.size() - 1, 0, [&] {
    uint32_t axis = stage.axes.back();
    Value *extent = extentValue(axis);
    Value *full = wholeSteps(axis, lanes);
    forLoop(i64(0), full, lanes,
            [&](Value *begin) { emitTurnedBlock(stage, rows, begin, i64(lanes)); });
    ifThen(b_.CreateICmpSLT(full, extent),
           [&] { emitTurnedBlock(stage, rows, full, b_.CreateSub(extent, full)); });
  });
}

// The columns [begin, begin + width) of the lanes' rows.
void KernelEmitter::emitTurnedBlock(const Stage &stage, const Lanes &rows, Value *begin,
                                    Value *width) {
  uint32_t column = stage.axes.back();
  auto lanes = static_cast<unsigned>(vectorLanes());
  Value *firstRow = axes_.at(rows.axis);
  Value *last = b_.CreateSub(b_.CreateAdd(begin, width), i64(1));
  std::vector<Value *> block;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Scope scope(*this);
    setLanes(rows);
    axes_[column] =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(begin, i64(lane)), last);
    block.push_back(emitVector(stage.body));
  }
  block = transposeTile(std::move(block));
  Lanes columns{column, lanes, nullptr};
  if (auto *known = llvm::dyn_cast<llvm::ConstantInt>(width);
      !known || known->getSExtValue() < lanes)
    columns.mask = firstLanes(width);
  Value *numRows = b_.CreateSub(extentValue(rows.axis), firstRow);
  axes_[column] = begin;
  for (unsigned row = 0; row < lanes; ++row) {
    auto store = [&] {
      Scope scope(*this);
      axes_[rows.axis] = b_.CreateAdd(firstRow, i64(row));
      setLanes(columns);
      emitStore(stage.buffer, stage.store, block[row], isExact(stage.body));
    };
    if (rows.mask)
      ifThen(b_.CreateICmpSLT(i64(row), numRows), store);
    else
      store();
  }
  axes_[rows.axis] = firstRow;
  setLanes(rows);
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
    llvm::APInt value =
        low ? (isSigned ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits))
            : (isSigned ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits));
    return b_.getInt(value);
  };
  switch (stage.reduce) {
  case Reduce::Prod:
    return isReal ? static_cast<Value *>(llvm::ConstantFP::get(t, 1.0))
                  : llvm::ConstantInt::get(t, 1);
  case Reduce::Max:
    return limit(true);
  case Reduce::Min:
    return limit(false);
  case Reduce::All:
    return b_.getTrue();
  default:
    return llvm::Constant::getNullValue(t);
  }
}

llvm::Value *KernelEmitter::combine(const Stage &stage, Value *acc, Value *value) {
  DType type = x_.type(stage.body);
  bool isReal = isFloat(type);
  switch (stage.reduce) {
  case Reduce::Sum:
    return isReal ? b_.CreateFAdd(acc, value) : b_.CreateAdd(acc, value);
  case Reduce::Prod:
    return isReal ? b_.CreateFMul(acc, value) : b_.CreateMul(acc, value);
  case Reduce::Max:
    if (stage.ignoresNan && isReal)
      return b_.CreateSelect(b_.CreateFCmpOGT(acc, value), acc, value);
    return emitMinMax(true, type, acc, value);
  case Reduce::Min:
    return emitMinMax(false, type, acc, value);
  case Reduce::All:
    return b_.CreateAnd(acc, value);
  default:
    return b_.CreateOr(acc, value);
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

KernelEmitter::Reduction KernelEmitter::beginReduction(const NestStage &inner, int64_t ways) {
  const Stage &stage = inner.stage;
  Reduction r{stage, inner.vectorAxis != noAxis, nullptr, {}};
  Value *identity = identityOf(stage);
  identity = r.isWithin ? b_.CreateVectorSplat(static_cast<unsigned>(vectorLanes()), identity)
                        : splat(identity);
  r.type = identity->getType();
  for (int64_t way = 0; way < ways; ++way) {
    r.results.push_back(entryAlloca(r.type));
    b_.CreateStore(identity, r.results.back());
  }
  return r;
}

void KernelEmitter::emitReductionStep(const Reduction &r, int64_t way) {
  const Stage &stage = r.stage;
  Value *result = r.results[static_cast<size_t>(way)];
  Value *value = lanes_.count > 1 ? emitVector(stage.body) : emit(stage.body);
  Value *old = b_.CreateLoad(value->getType(), result);
  Value *now = combine(stage, old, value);
  if (r.isWithin && lanes_.mask)
    now = b_.CreateSelect(lanes_.mask, now, old);
  b_.CreateStore(now, result);
}

void KernelEmitter::finishReduction(const NestStage &inner, const Reduction &r) {
  for (size_t half = r.results.size() / 2; half > 0; half /= 2)
    for (size_t way = 0; way < half; ++way) {
      Value *one = b_.CreateLoad(r.type, r.results[way]);
      Value *other = b_.CreateLoad(r.type, r.results[way + half]);
      b_.CreateStore(combine(r.stage, one, other), r.results[way]);
    }
  Value *result = b_.CreateLoad(r.type, r.results[0]);
  if (r.isWithin)
    result = horizontal(r.stage, result);
  bool isChoice = r.stage.reduce == Reduce::Max || r.stage.reduce == Reduce::Min;
  finishStage(inner, result, isChoice && isExact(r.stage.body));
}

void KernelEmitter::emitReduce(const NestStage &inner, const StageSchedule &schedule) {
  const Stage &stage = inner.stage;
  loopAxes(stage.axes, stage.axes.size(), schedule.unrolledAxes, [&] {
    Reduction r = beginReduction(inner, schedule.ways);
    auto step = [&](int64_t way) { emitReductionStep(r, way); };
    if (r.isWithin)
      loopAxes(stage.reduceAxes, stage.reduceAxes.size() - 1, 0,
               [&] { loopLanes(inner.vectorAxis, schedule.tail, schedule.ways, step); });
    else
      loopAxes(stage.reduceAxes, stage.reduceAxes.size(), schedule.unrolledReduction,
               [&] { step(0); });
    finishReduction(inner, r);
  });
}

} // namespace bycc::codegen
