// Expressions to IR values. Guards become branches where the condition is the same
// for all lanes and masks where it is not.
#include "Emit.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/PatternMatch.h>

namespace bycc::codegen {

llvm::Value *KernelEmitter::splat(Value *value) {
  if (lanes_.count == 1 || value->getType()->isVectorTy())
    return value;
  return b_.CreateVectorSplat(lanes_.count, value);
}

llvm::Value *KernelEmitter::laneIota() {
  std::vector<llvm::Constant *> values;
  for (int64_t lane = 0; lane < vectorLanes(); ++lane)
    values.push_back(b_.getInt64(static_cast<uint64_t>(lane)));
  return llvm::ConstantVector::get(values);
}

llvm::Value *KernelEmitter::firstLanes(Value *count) {
  return b_.CreateICmpSLT(laneIota(),
                          b_.CreateVectorSplat(static_cast<unsigned>(vectorLanes()), count));
}

bool KernelEmitter::isVarying(Ref ref) {
  if (lanes_.count == 1)
    return false;
  auto known = varying_.find(ref);
  if (known != varying_.end())
    return known->second;
  std::vector<Ref> reachable;
  x_.visit(ref, [&](Ref node) {
    reachable.push_back(node);
    return !overrides_.count(node) && !varying_.count(node);
  });
  std::sort(reachable.begin(), reachable.end());
  for (Ref node : reachable) {
    if (varying_.count(node))
      continue;
    bool varies = false;
    auto override = overrides_.find(node);
    const Expr &e = x_[node];
    if (override != overrides_.end()) {
      varies = override->second->getType()->isVectorTy();
    } else if (e.op == Op::Axis) {
      varies = e.i == lanes_.axis;
    } else {
      for (Ref operand : {e.a, e.b, e.c})
        varies = varies || (operand != noRef && varying_.at(operand));
      varies = varies || (e.op == Op::Load && isPerLane(static_cast<uint32_t>(e.i)));
    }
    varying_[node] = varies;
  }
  return varying_.at(ref);
}

llvm::Value *KernelEmitter::emit(Ref ref) {
  if (auto it = overrides_.find(ref); it != overrides_.end())
    return it->second;
  bool varies = isVarying(ref);
  if (!varies)
    return emitAt(ref);
  uint64_t key = uint64_t{ref} * 2 + 1;
  for (size_t s = scopes_.size(); s-- > 0;)
    if (auto it = scopes_[s].find(key); it != scopes_[s].end())
      return it->second;
  Value *value = emitUncached(ref);
  scopes_.back()[key] = value;
  return value;
}

// Distance between neighbouring lanes of an index; nullopt when it is not constant.
std::optional<int64_t> KernelEmitter::laneStep(Ref index) {
  int64_t step = 0;
  for (auto [atom, coefficient] : x_.affine(index).terms) {
    if (x_[atom].op == Op::Axis && x_[atom].i == lanes_.axis)
      step = coefficient;
    else if (isVarying(atom))
      return std::nullopt;
  }
  return step;
}

// The value at the first lane, as a scalar.
llvm::Value *KernelEmitter::emitAt(Ref ref) {
  const Expr &e = x_[ref];
  if (e.op == Op::Axis)
    return axes_.at(static_cast<uint32_t>(e.i));
  if (auto it = overrides_.find(ref);
      it != overrides_.end() && !it->second->getType()->isVectorTy())
    return it->second;
  uint64_t key = uint64_t{ref} * 2;
  for (size_t s = scopes_.size(); s-- > 0;)
    if (auto it = scopes_[s].find(key); it != scopes_[s].end())
      return it->second;
  Lanes saved = lanes_;
  auto savedVarying = std::move(varying_);
  setLanes({});
  Value *value = emitUncached(ref);
  lanes_ = saved;
  varying_ = std::move(savedVarying);
  scopes_.back()[key] = value;
  return value;
}

llvm::Value *KernelEmitter::emitUncached(Ref ref) {
  const Expr e = x_[ref];
  switch (e.op) {
  case Op::Const:
    if (isFloat(e.type))
      return llvm::ConstantFP::get(valueType(e.type), e.f);
    return llvm::ConstantInt::get(valueType(e.type), static_cast<uint64_t>(e.i),
                                  isSignedInt(e.type));
  case Op::Axis:
    if (lanes_.count > 1 && e.i == lanes_.axis)
      return b_.CreateAdd(b_.CreateVectorSplat(lanes_.count, axes_.at(lanes_.axis)), laneIota());
    return axes_.at(static_cast<uint32_t>(e.i));
  case Op::Dim:
    return frame_.dims.at(static_cast<size_t>(e.i));
  case Op::Load:
    return emitLoad(ref, e.type);
  case Op::Guard:
    return emitGuard(e);
  case Op::Select: {
    Value *condition = emit(e.a), *a = emit(e.b), *b = emit(e.c);
    if (condition->getType()->isVectorTy() || a->getType()->isVectorTy() ||
        b->getType()->isVectorTy())
      a = splat(a), b = splat(b);
    return b_.CreateSelect(condition, a, b);
  }
  case Op::Cast:
    if (auto step = e.type == DType::Int32 && x_.type(e.a) == DType::Int64 && isVarying(e.a)
                        ? laneStep(e.a)
                        : std::nullopt) { // an index: not as a vector of int64
      Value *first = b_.CreateTrunc(emitAt(e.a), b_.getInt32Ty());
      Value *steps = b_.CreateMul(laneIota(), b_.CreateVectorSplat(lanes_.count, i64(*step)));
      return b_.CreateAdd(b_.CreateVectorSplat(lanes_.count, first),
                          b_.CreateTrunc(steps, vectorOf(b_.getInt32Ty())));
    }
    return emitCast(emit(e.a), x_.type(e.a), e.type, e.type == DType::BFloat16 && isExact(e.a));
  case Op::Narrow:
    return emit(e.a);
  case Op::Reinterpret: {
    if (x_[e.a].op == Op::Load && !overrides_.count(e.a) &&
        sizeInBytes(x_.type(e.a)) == sizeInBytes(e.type))
      return emitLoad(e.a, e.type);
    Value *bits = pack(x_.type(e.a), emit(e.a), x_.type(e.a) == DType::BFloat16 && isExact(e.a));
    llvm::Type *to = memoryType(e.type);
    return unpack(e.type,
                  b_.CreateBitCast(bits, bits->getType()->isVectorTy() ? vectorOf(to) : to));
  }
  default:
    break;
  }
  Value *a = emit(e.a);
  if (e.b == noRef)
    return emitUnary(e, a);
  Value *b = emit(e.b);
  if (a->getType()->isVectorTy() || b->getType()->isVectorTy())
    a = splat(a), b = splat(b);
  return emitBinary(e, a, b);
}

// --- guards

llvm::Value *KernelEmitter::emitGuard(const Expr &e) {
  std::vector<Ref> terms{e.a};
  Value *uniform = nullptr, *lanewise = nullptr;
  while (!terms.empty()) {
    Ref term = terms.back();
    terms.pop_back();
    const Expr &t = x_[term];
    if (t.op == Op::And && t.type == DType::Bool) {
      terms.push_back(t.b);
      terms.push_back(t.a);
      continue;
    }
    if (held_.count(term))
      continue;
    bool varies = isVarying(term);
    Value *value = emit(term);
    Value *&into = varies ? lanewise : uniform;
    into = into ? b_.CreateAnd(into, value) : value;
  }
  bool wide = isVarying(e.b) || isVarying(e.c) || lanewise, isConstant = x_[e.c].op == Op::Const;
  if (uniform && lanewise &&
      !isConstant) { // c is emitted once, or nests of guards would double at each level
    lanewise = b_.CreateAnd(splat(uniform), lanewise);
    uniform = nullptr;
  }
  auto under = [&](Ref ref, Value *mask) -> Value * {
    Scope scope(*this);
    Lanes saved = lanes_;
    if (mask) {
      lanes_.mask = lanes_.mask ? b_.CreateAnd(lanes_.mask, mask) : mask;
      lanes_.used = 0;
    }
    Value *value = emit(ref);
    lanes_ = saved;
    return wide ? splat(value) : value;
  };
  auto inside = [&]() -> Value * {
    if (!lanewise)
      return under(e.b, nullptr);
    Value *other = under(e.c, isConstant ? nullptr : b_.CreateNot(lanewise));
    return b_.CreateSelect(lanewise, under(e.b, lanewise), other);
  };
  if (!uniform)
    return inside();
  if (auto *known = llvm::dyn_cast<llvm::ConstantInt>(uniform))
    return known->isOne() ? inside() : under(e.c, nullptr);
  if (!lanewise && isConstant)
    if (Value *value = loadIf(uniform, e.b, e.c))
      return value;
  auto *then = llvm::BasicBlock::Create(llvm_, "guarded", function_);
  auto *otherwise = llvm::BasicBlock::Create(llvm_, "otherwise", function_);
  auto *join = llvm::BasicBlock::Create(llvm_, "join", function_);
  b_.CreateCondBr(uniform, then, otherwise);
  auto emitBlock = [&](llvm::BasicBlock *block, auto value) {
    b_.SetInsertPoint(block);
    Value *result = value();
    auto *end = b_.GetInsertBlock();
    b_.CreateBr(join);
    return std::pair(result, end);
  };
  auto [value, valueEnd] = emitBlock(then, inside);
  auto [other, otherEnd] = emitBlock(otherwise, [&] { return under(e.c, nullptr); });
  b_.SetInsertPoint(join);
  llvm::PHINode *phi = b_.CreatePHI(value->getType(), 2);
  phi->addIncoming(value, valueEnd);
  phi->addIncoming(other, otherEnd);
  return phi;
}

// --- operators

llvm::Value *KernelEmitter::emitLibm(LibmFn function, DType type, std::vector<Value *> arguments) {
  std::string name = libmName(function);
  llvm::Type *scalar = valueType(type);
  if (scalar->isFloatTy())
    name += "f";
  std::vector<llvm::Type *> params(arguments.size(), scalar);
  auto callee =
      context_.module.getOrInsertFunction(name, llvm::FunctionType::get(scalar, params, false));
  auto *declared = llvm::cast<llvm::Function>(callee.getCallee());
  declared->setDoesNotThrow();
  declared->setWillReturn();
  declared->setOnlyAccessesInaccessibleMemory();
  if (!arguments[0]->getType()->isVectorTy())
    return b_.CreateCall(callee, arguments);
  Value *result = llvm::PoisonValue::get(arguments[0]->getType());
  unsigned count = llvm::cast<llvm::FixedVectorType>(arguments[0]->getType())->getNumElements();
  for (unsigned lane = 0; lane < count; ++lane) {
    std::vector<Value *> scalars;
    for (Value *argument : arguments)
      scalars.push_back(b_.CreateExtractElement(argument, lane));
    result = b_.CreateInsertElement(result, b_.CreateCall(callee, scalars), lane);
  }
  return result;
}

// sin and cos; one huge angle sends all lanes to libm.
llvm::Value *KernelEmitter::emitAngle(LibmFn function, DType type, Value *x) {
  Value *size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value *isHuge = b_.CreateFCmpOGE(size, llvm::ConstantFP::get(x->getType(), 65536.0));
  if (isHuge->getType()->isVectorTy())
    isHuge = b_.CreateOrReduce(isHuge);
  auto *huge = llvm::BasicBlock::Create(llvm_, "huge", function_);
  auto *join = llvm::BasicBlock::Create(llvm_, "join", function_);
  Value *sine = emitSine(function, x);
  auto *begin = b_.GetInsertBlock();
  b_.CreateCondBr(isHuge, huge, join);
  b_.SetInsertPoint(huge);
  Value *exact = emitLibm(function, type, {x});
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  llvm::PHINode *phi = b_.CreatePHI(x->getType(), 2);
  phi->addIncoming(sine, begin);
  phi->addIncoming(exact, huge);
  return phi;
}

llvm::Value *KernelEmitter::emitUnary(const Expr &e, Value *a) {
  llvm::Type *t = a->getType();
  DType from = x_.type(e.a);
  bool isReal = isFloat(from);
  bool isSingle = t->getScalarType()->isFloatTy();
  auto rounding = [&](llvm::Intrinsic::ID id) {
    return isReal ? b_.CreateUnaryIntrinsic(id, a) : a;
  };
  auto zero = [&] { return llvm::Constant::getNullValue(t); };
  switch (e.op) {
  case Op::Neg:
    return isReal ? b_.CreateFNeg(a) : b_.CreateNeg(a);
  case Op::Abs:
    if (isReal)
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
    return isSignedInt(from) ? b_.CreateIntrinsic(llvm::Intrinsic::abs, {t}, {a, b_.getFalse()})
                             : a;
  case Op::Not:
    return b_.CreateNot(a);
  case Op::Sign: {
    Value *one = isReal ? llvm::ConstantFP::get(t, 1.0) : llvm::ConstantInt::get(t, 1);
    if (isReal) { // zeros and NaN stay as they are
      Value *result = b_.CreateSelect(b_.CreateFCmpOGT(a, zero()), one, a);
      return b_.CreateSelect(b_.CreateFCmpOLT(a, zero()), llvm::ConstantFP::get(t, -1.0), result);
    }
    Value *result = b_.CreateSelect(b_.CreateICmpNE(a, zero()), one, zero());
    return isSignedInt(from) ? b_.CreateSelect(b_.CreateICmpSLT(a, zero()),
                                               llvm::ConstantInt::getSigned(t, -1), result)
                             : result;
  }
  case Op::Sqrt:
    return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
  case Op::Exp:
    return isSingle ? emitExp(a) : emitLibm(LibmFn::Exp, from, {a});
  case Op::Log:
    return isSingle ? emitLog(a) : emitLibm(LibmFn::Log, from, {a});
  case Op::Tanh:
    return isSingle ? emitTanh(a) : emitLibm(LibmFn::Tanh, from, {a});
  case Op::Erf:
    return isSingle ? emitErf(a) : emitLibm(LibmFn::Erf, from, {a});
  case Op::Sigmoid: {
    if (isSingle)
      return emitSigmoid(a);
    Value *one = llvm::ConstantFP::get(t, 1.0);
    return b_.CreateFDiv(one, b_.CreateFAdd(one, emitLibm(LibmFn::Exp, from, {b_.CreateFNeg(a)})));
  }
  case Op::Floor:
    return rounding(llvm::Intrinsic::floor);
  case Op::Ceil:
    return rounding(llvm::Intrinsic::ceil);
  case Op::Trunc:
    return rounding(llvm::Intrinsic::trunc);
  case Op::RoundEven:
    return rounding(llvm::Intrinsic::roundeven);
  case Op::Round: {
    if (!isReal)
      return a;
    // Half away from zero: truncate |x| and add one where the rest is at least a half.
    Value *size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
    Value *whole = b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, size);
    Value *up = b_.CreateFCmpOGE(b_.CreateFSub(size, whole), llvm::ConstantFP::get(t, 0.5));
    Value *rounded = b_.CreateFAdd(
        whole, b_.CreateSelect(up, llvm::ConstantFP::get(t, 1.0), llvm::ConstantFP::get(t, 0.0)));
    return copySign(rounded, a);
  }
  case Op::IsNan:
    return isReal ? b_.CreateFCmpUNO(a, a) : b_.CreateICmpNE(a, a);
  case Op::IsInf:
    return isReal ? b_.CreateFCmpOEQ(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a),
                                     llvm::ConstantFP::getInfinity(t))
                  : b_.CreateICmpNE(a, a);
  case Op::IsFinite:
    return isReal ? b_.CreateFCmpONE(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a),
                                     llvm::ConstantFP::getInfinity(t))
                  : b_.CreateICmpEQ(a, a);
  case Op::Libm1: {
    auto function = static_cast<LibmFn>(e.i);
    bool isSine = function == LibmFn::Sin || function == LibmFn::Cos;
    bool isFused = context_.target.has("fma") || context_.target.has("avx512f");
    return isSine && isSingle && isFused ? emitAngle(function, from, a)
                                         : emitLibm(function, from, {a});
  }
  default:
    return nullptr;
  }
}

// Result NaN when an operand is.
llvm::Value *KernelEmitter::emitMinMax(bool isMax, DType type, Value *a, Value *b) {
  if (isFloat(type)) {
    if (llvm::isa<llvm::Constant>(a) && !llvm::isa<llvm::Constant>(b))
      std::swap(a, b);
    // select(b <op> a, b, a) keeps a NaN in a; b needs its own test.
    Value *better = isMax ? b_.CreateFCmpOGT(b, a) : b_.CreateFCmpOLT(b, a);
    if (!llvm::isa<llvm::Constant>(b) || llvm::PatternMatch::match(b, llvm::PatternMatch::m_NaN()))
      better = b_.CreateOr(better, b_.CreateFCmpUNO(b, b));
    return b_.CreateSelect(better, b, a);
  }
  bool isSigned = isSignedInt(type);
  Value *less = isSigned ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b);
  return isMax ? b_.CreateSelect(less, b, a) : b_.CreateSelect(less, a, b);
}

// Division by zero gives 0, so does its remainder; MIN / -1 wraps.
llvm::Value *KernelEmitter::emitIntDivision(Op op, DType type, Value *a, Value *b) {
  llvm::Type *t = a->getType();
  Value *zero = llvm::Constant::getNullValue(t), *one = llvm::ConstantInt::get(t, 1);
  auto *constant = llvm::dyn_cast<llvm::ConstantInt>(b);
  bool isSafe = constant && !constant->isZero() && !constant->isMinusOne();
  Value *isZero = b_.CreateICmpEQ(b, zero);
  bool isMod = op == Op::FloorMod || op == Op::TruncMod;
  Value *result;
  if (!isSignedInt(type)) {
    Value *divisor = isSafe ? b : b_.CreateSelect(isZero, one, b);
    result = isMod ? b_.CreateURem(a, divisor) : b_.CreateUDiv(a, divisor);
  } else {
    Value *minusOne = llvm::ConstantInt::getSigned(t, -1);
    Value *isNegative = b_.CreateICmpEQ(b, minusOne);
    Value *divisor = isSafe ? b : b_.CreateSelect(b_.CreateOr(isZero, isNegative), one, b);
    Value *quotient = b_.CreateSDiv(a, divisor);
    if (!isSafe)
      quotient = b_.CreateSelect(isNegative, b_.CreateNeg(a), quotient);
    Value *rest = b_.CreateSub(a, b_.CreateMul(quotient, b));
    if (op == Op::FloorDiv || op == Op::FloorMod) {
      Value *differs =
          b_.CreateAnd(b_.CreateICmpNE(rest, zero), b_.CreateICmpSLT(b_.CreateXor(rest, b), zero));
      quotient = b_.CreateSelect(differs, b_.CreateSub(quotient, one), quotient);
      rest = b_.CreateSelect(differs, b_.CreateAdd(rest, b), rest);
    }
    result = isMod ? rest : quotient;
  }
  return isSafe ? result : b_.CreateSelect(isZero, zero, result);
}

llvm::Value *KernelEmitter::emitBinary(const Expr &e, Value *a, Value *b) {
  DType type = x_.type(e.a);
  bool isReal = isFloat(type), isSigned = isSignedInt(type);
  llvm::Type *t = a->getType();
  switch (e.op) {
  case Op::Add:
    return isReal                ? b_.CreateFAdd(a, b)
           : type == DType::Bool ? b_.CreateOr(a, b)
                                 : b_.CreateAdd(a, b);
  case Op::Sub:
    return isReal ? b_.CreateFSub(a, b) : b_.CreateSub(a, b);
  case Op::Mul:
    return isReal                ? b_.CreateFMul(a, b)
           : type == DType::Bool ? b_.CreateAnd(a, b)
                                 : b_.CreateMul(a, b);
  case Op::Div:
    return isReal ? b_.CreateFDiv(a, b) : emitIntDivision(e.op, type, a, b);
  case Op::FloorDiv:
    return isReal ? b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFDiv(a, b))
                  : emitIntDivision(e.op, type, a, b);
  case Op::TruncMod:
    return isReal ? emitLibm(LibmFn::Fmod, type, {a, b}) : emitIntDivision(e.op, type, a, b);
  case Op::FloorMod: {
    if (!isReal)
      return emitIntDivision(e.op, type, a, b);
    Value *rest = emitLibm(LibmFn::Fmod, type, {a, b});
    Value *zero = llvm::Constant::getNullValue(t);
    Value *differs =
        b_.CreateAnd(b_.CreateFCmpONE(rest, zero),
                     b_.CreateXor(b_.CreateFCmpOLT(rest, zero), b_.CreateFCmpOLT(b, zero)));
    return b_.CreateSelect(differs, b_.CreateFAdd(rest, b), rest);
  }
  case Op::Min:
    return emitMinMax(false, type, a, b);
  case Op::Max:
    return emitMinMax(true, type, a, b);
  case Op::And:
    return b_.CreateAnd(a, b);
  case Op::Or:
    return b_.CreateOr(a, b);
  case Op::Xor:
    return b_.CreateXor(a, b);
  case Op::Pair:
    return b_.CreateOr(b_.CreateShl(b, llvm::ConstantInt::get(t, 16)),
                       b_.CreateAnd(a, llvm::ConstantInt::get(t, 0xffff)));
  case Op::DotPairs:
  case Op::DotBFloat16: {
    llvm::Type *sum = t->isVectorTy() ? vectorOf(valueType(e.type)) : valueType(e.type);
    return dotPairs(llvm::Constant::getNullValue(sum), a, b);
  }
  case Op::Shl:
  case Op::Shr: { // a count outside the width shifts everything out
    unsigned bits = t->getScalarSizeInBits();
    Value *inside = b_.CreateICmpULT(b, llvm::ConstantInt::get(t, bits));
    Value *count = b_.CreateSelect(inside, b, llvm::ConstantInt::get(t, bits - 1));
    if (e.op == Op::Shr && isSigned)
      return b_.CreateAShr(a, count);
    Value *shifted = e.op == Op::Shl ? b_.CreateShl(a, count) : b_.CreateLShr(a, count);
    return b_.CreateSelect(inside, shifted, llvm::Constant::getNullValue(t));
  }
  case Op::Eq:
    return isReal ? b_.CreateFCmpOEQ(a, b) : b_.CreateICmpEQ(a, b);
  case Op::Ne:
    return isReal ? b_.CreateFCmpUNE(a, b) : b_.CreateICmpNE(a, b);
  case Op::Lt:
    return isReal     ? b_.CreateFCmpOLT(a, b)
           : isSigned ? b_.CreateICmpSLT(a, b)
                      : b_.CreateICmpULT(a, b);
  case Op::Le:
    return isReal     ? b_.CreateFCmpOLE(a, b)
           : isSigned ? b_.CreateICmpSLE(a, b)
                      : b_.CreateICmpULE(a, b);
  case Op::Libm2:
    return emitLibm(static_cast<LibmFn>(e.i), type, {a, b});
  default:
    return nullptr;
  }
}

} // namespace bycc::codegen
