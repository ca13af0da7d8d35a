// Loops of row nests: the parallel row loop, and inside it each stage as a map or
// a reduction, with lanes either along the stage's own last axis or across rows.
// The last vector of a loop that is long enough ends where the loop does, and makes
// some elements again: masks are dear, of strided and of narrow elements above all.
// Reductions along the lanes, and short loops, end under a mask.
#include "Emit.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <cmath>

namespace bycc::te {
namespace {

constexpr double parallelCost = 40000; // cycles below which a loop is not worth splitting
constexpr double grainCost = 16000;

} // namespace

void EmitContext::setFunctionAttrs(llvm::Function &function) const {
  function.addFnAttr("target-cpu", target.cpu);
  std::string features;
  for (const std::string &feature : target.features)
    features += (features.empty() ? "+" : ",+") + feature;
  if (!features.empty())
    function.addFnAttr("target-features", features);
  std::string bits = std::to_string(target.vectorBits);
  function.addFnAttr("prefer-vector-width", bits);
  function.addFnAttr("min-legal-vector-width", bits);
  function.setDoesNotThrow();
}

KernelEmitter::KernelEmitter(EmitContext &context, const Schedule &schedule, std::string name)
    : context_(context), schedule_(schedule), x_(schedule.kernel.exprs), name_(std::move(name)),
      llvm_(context.module.getContext()), b_(llvm_) {
  llvm::FastMathFlags flags;
  flags.setAllowContract();
  b_.setFastMathFlags(flags);
  llvm::MDBuilder metadata(llvm_);
  auto *domain = metadata.createAnonymousAliasScopeDomain(name_);
  std::vector<llvm::Metadata *> all;
  uint32_t count = static_cast<uint32_t>(schedule.kernel.buffers.size());
  for (uint32_t b = 0; b < count; ++b)
    all.push_back(metadata.createAnonymousAliasScope(domain));
  for (uint32_t b = 0; b < count; ++b) {
    aliasScopes_[b] = llvm::MDNode::get(llvm_, {all[b]});
    // Inputs may be the same memory as each other, but nobody writes them.
    std::vector<llvm::Metadata *> others;
    for (uint32_t o = 0; o < count; ++o)
      if (o != b)
        others.push_back(all[o]);
    noAlias_[b] = llvm::MDNode::get(llvm_, others);
  }
}

llvm::Function *KernelEmitter::run() {
  llvm::Type *ptr = b_.getPtrTy();
  std::vector<llvm::Type *> params(1 + schedule_.arguments.size(), ptr);
  params.insert(params.end(), schedule_.kernel.numDims, b_.getInt64Ty());
  auto *type = llvm::FunctionType::get(b_.getVoidTy(), params, false);
  auto *kernel = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name_, context_.module);
  context_.setFunctionAttrs(*kernel);
  kernel->addFnAttr(llvm::Attribute::NoInline);
  function_ = kernel;
  b_.SetInsertPoint(llvm::BasicBlock::Create(llvm_, "entry", kernel));
  frame_.exec = kernel->getArg(0);
  for (size_t a = 0; a < schedule_.arguments.size(); ++a)
    frame_.pointers[schedule_.arguments[a]] = kernel->getArg(static_cast<unsigned>(a + 1));
  for (uint32_t d = 0; d < schedule_.kernel.numDims; ++d)
    frame_.dims.push_back(kernel->getArg(static_cast<unsigned>(1 + schedule_.arguments.size() + d)));
  Scope scope(*this);
  for (const Nest &nest : schedule_.nests) {
    Scope inner(*this);
    if (nest.contraction)
      emitContraction(nest);
    else
      emitNest(nest);
  }
  b_.CreateRetVoid();
  return kernel;
}

llvm::Value *KernelEmitter::entryAlloca(llvm::Type *type) {
  llvm::BasicBlock &entry = function_->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  return at.CreateAlloca(type);
}

void KernelEmitter::forLoop(Value *begin, Value *end, int64_t step, const std::function<void(Value *)> &body) {
  auto *constantBegin = llvm::dyn_cast<llvm::ConstantInt>(begin);
  auto *constantEnd = llvm::dyn_cast<llvm::ConstantInt>(end);
  bool isKnown = constantBegin && constantEnd;
  if (isKnown && constantBegin->getSExtValue() >= constantEnd->getSExtValue())
    return;
  if (isKnown && constantBegin->getSExtValue() + step >= constantEnd->getSExtValue()) {
    Scope scope(*this);
    body(begin);
    return;
  }
  auto *before = b_.GetInsertBlock();
  auto *loop = llvm::BasicBlock::Create(llvm_, "loop", function_);
  auto *done = llvm::BasicBlock::Create(llvm_, "done", function_);
  if (isKnown)
    b_.CreateBr(loop);
  else
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), loop, done);
  b_.SetInsertPoint(loop);
  llvm::PHINode *index = b_.CreatePHI(b_.getInt64Ty(), 2);
  index->addIncoming(begin, before);
  {
    Scope scope(*this);
    body(index);
  }
  Value *next = b_.CreateNSWAdd(index, i64(step));
  index->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), loop, done);
  b_.SetInsertPoint(done);
}

void KernelEmitter::ifThen(Value *condition, const std::function<void()> &then, const std::function<void()> &otherwise) {
  if (auto *known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    Scope scope(*this);
    if (known->isOne())
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  auto *thenBlock = llvm::BasicBlock::Create(llvm_, "then", function_);
  auto *elseBlock = otherwise ? llvm::BasicBlock::Create(llvm_, "else", function_) : nullptr;
  auto *join = llvm::BasicBlock::Create(llvm_, "join", function_);
  b_.CreateCondBr(condition, thenBlock, elseBlock ? elseBlock : join);
  b_.SetInsertPoint(thenBlock);
  {
    Scope scope(*this);
    then();
  }
  b_.CreateBr(join);
  if (elseBlock) {
    b_.SetInsertPoint(elseBlock);
    Scope scope(*this);
    otherwise();
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
}

// Runs body(begin, end) over [0, count): as a task of the pool when there is
// enough work, else in place. The task finds everything in a closure of 8-byte slots.
void KernelEmitter::emitTask(Value *count, double itemCost, bool needsScratch, const TaskBody &body) {
  auto *constantCount = llvm::dyn_cast<llvm::ConstantInt>(count);
  int64_t known = constantCount ? constantCount->getSExtValue() : 1 << 20;
  bool isParallel = known > 1 && static_cast<double>(known) * itemCost > parallelCost;
  if (!isParallel && !needsScratch) {
    Scope scope(*this);
    body(i64(0), count);
    return;
  }
  llvm::Type *slot = b_.getInt64Ty();
  std::vector<Value *> captured{frame_.exec};
  for (uint32_t buffer : schedule_.arguments)
    captured.push_back(frame_.pointers.at(buffer));
  captured.insert(captured.end(), frame_.dims.begin(), frame_.dims.end());
  Value *closure = entryAlloca(llvm::ArrayType::get(slot, captured.size()));
  for (size_t i = 0; i < captured.size(); ++i)
    b_.CreateStore(captured[i], b_.CreateConstInBoundsGEP1_64(slot, closure, i));
  llvm::Type *ptr = b_.getPtrTy();
  auto *taskType = llvm::FunctionType::get(b_.getVoidTy(), {ptr, slot, slot, b_.getInt32Ty()}, false);
  auto *task = llvm::Function::Create(taskType, llvm::GlobalValue::InternalLinkage,
                                      name_ + ".task" + std::to_string(numTasks_++), context_.module);
  context_.setFunctionAttrs(*task);
  if (isParallel) {
    Value *api = loadField(frame_.exec, abi::execApi, ptr);
    Value *parallelFor = loadField(api, abi::apiParallelFor, ptr);
    auto *type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, slot, slot}, false);
    int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(grainCost / std::max(itemCost, 1.0)));
    b_.CreateCall(type, parallelFor, {frame_.exec, task, closure, count, i64(grain)});
  } else {
    b_.CreateCall(task, {closure, i64(0), count, b_.getInt32(0)});
  }

  // The body, in the task.
  auto savedPoint = b_.saveIP();
  Frame savedFrame = frame_;
  llvm::Function *savedFunction = function_;
  auto savedScopes = std::move(scopes_);
  auto savedAxes = axes_;
  scopes_.clear();
  function_ = task;
  b_.SetInsertPoint(llvm::BasicBlock::Create(llvm_, "entry", task));
  size_t next = 0;
  auto take = [&](llvm::Type *type) {
    return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(slot, task->getArg(0), next++));
  };
  frame_.exec = take(ptr);
  for (uint32_t buffer : schedule_.arguments)
    frame_.pointers[buffer] = take(ptr);
  for (Value *&dim : frame_.dims)
    dim = take(slot);
  if (needsScratch) {
    Value *all = loadField(frame_.exec, abi::execScratch, ptr);
    Value *size = b_.CreateLoad(slot, context_.scratchBytes);
    Value *mine = b_.CreateMul(b_.CreateZExt(task->getArg(3), slot), size);
    frame_.scratch = b_.CreateGEP(b_.getInt8Ty(), all, mine);
  }
  {
    Scope scope(*this);
    body(task->getArg(1), task->getArg(2));
  }
  b_.CreateRetVoid();
  scopes_ = std::move(savedScopes);
  axes_ = std::move(savedAxes);
  function_ = savedFunction;
  frame_ = savedFrame;
  b_.restoreIP(savedPoint);
}

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
  int64_t n = 1;
  for (uint32_t axis : axes)
    n *= std::min<int64_t>(extentOf(axis).value_or(1000), 1000);
  return n <= 32;
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

// Full vectors, then one that repeats some elements where that is allowed, else a masked one.
void KernelEmitter::loopLanes(uint32_t axis, bool mayRepeat, const std::function<void()> &body) {
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  auto known = extentOf(axis);
  Value *extent = extentValue(axis);
  Value *full = known ? i64(*known / lanes * lanes) : b_.CreateAnd(extent, i64(-static_cast<int64_t>(lanes)));
  auto run = [&](Value *index, bool masked) {
    axes_[axis] = index;
    Lanes now{axis, lanes, nullptr};
    setLanes(now);
    if (masked)
      now.mask = b_.CreateICmpSLT(laneIota(), b_.CreateVectorSplat(lanes, b_.CreateSub(extent, index)));
    if (masked && known)
      now.used = *known % lanes;
    setLanes(now);
    body();
    setLanes({});
  };
  forLoop(i64(0), full, lanes, [&](Value *index) { run(index, false); });
  if (known && *known % lanes == 0)
    return;
  if (known && *known > lanes && mayRepeat) {
    Scope scope(*this);
    return run(i64(*known - lanes), false);
  }
  ifThen(b_.CreateICmpSLT(full, extent), [&] { run(full, true); });
}

void KernelEmitter::finishStage(const NestStage &inner, Value *value) {
  const Stage &stage = inner.stage;
  if (!inner.isRegister)
    return emitStore(stage.buffer, stage.store, value);
  // Every load of it in this nest is at this row.
  DType type = schedule_.kernel.buffers[stage.buffer].type;
  setOverride(x_.load(stage.buffer, type, stage.store), value);
}

void KernelEmitter::emitMap(const NestStage &inner) {
  const Stage &stage = inner.stage;
  auto body = [&] { finishStage(inner, inner.isRegister ? emit(stage.body) : emitToStore(stage.buffer, stage.body)); };
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
  case Reduce::Max: return emitMinMax(true, type, acc, value);
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

void KernelEmitter::emitReduce(const NestStage &inner) {
  const Stage &stage = inner.stage;
  bool isArg = stage.reduce == Reduce::ArgMax || stage.reduce == Reduce::ArgMin;
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  bool within = inner.vectorAxis != noAxis;
  loopAxes(stage.axes, 0, stage.axes.size(), [&] {
    Value *identity = identityOf(stage);
    if (isAcross_)
      identity = splat(identity);
    else if (within)
      identity = b_.CreateVectorSplat(lanes, identity);
    Value *acc = entryAlloca(identity->getType());
    b_.CreateStore(identity, acc);
    Value *best = nullptr;
    llvm::Type *indexType = isAcross_ ? vectorOf(b_.getInt64Ty()) : static_cast<llvm::Type *>(b_.getInt64Ty());
    if (isArg) {
      best = entryAlloca(indexType);
      b_.CreateStore(llvm::ConstantInt::getSigned(indexType, -1), best);
    }
    auto step = [&] {
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
      loopAxes(stage.reduceAxes, 0, stage.reduceAxes.size() - 1, [&] { loopLanes(inner.vectorAxis, false, step); });
    else
      loopAxes(stage.reduceAxes, 0, stage.reduceAxes.size(), step);
    Value *result;
    if (isArg)
      result = b_.CreateIntCast(b_.CreateLoad(indexType, best),
                                indexType->getWithNewType(valueType(schedule_.kernel.buffers[stage.buffer].type)), true);
    else
      result = b_.CreateLoad(identity->getType(), acc);
    if (within)
      result = horizontal(stage, result);
    finishStage(inner, result);
  });
}

} // namespace bycc::te
