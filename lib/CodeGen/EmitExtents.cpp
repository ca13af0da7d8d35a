// Extents that are known at run time: expressions of the program as code, and
// what ends the run when they do not fit.
#include "EntryEmitter.h"

#include <llvm/IR/Intrinsics.h>

namespace bycc::codegen {
namespace {

constexpr int64_t maxExtent = int64_t{1} << 34; // of the bytes that a tensor may have

} // namespace

EntryEmitter::LValue *EntryEmitter::evaluate(Ref ref) {
  if (!overflow_ || evaluated_.empty())
    overflow_ = b_.getFalse();
  if (auto it = evaluated_.find(ref); it != evaluated_.end())
    return it->second;
  if (strips_)
    if (auto it = strips_->extents.find(ref); it != strips_->extents.end())
      return it->second;
  LValue *value = evaluateUncached(ref);
  return evaluated_[ref] = value;
}

EntryEmitter::LValue *EntryEmitter::loadElement(const Expr &e) {
  bool isReal = isFloat(e.type);
  llvm::Type *type = !isReal ? b_.getIntNTy(static_cast<unsigned>(sizeInBytes(e.type) * 8))
                     : e.type == DType::Float32 ? b_.getFloatTy()
                                                : b_.getDoubleTy();
  LValue *place = b_.CreateGEP(type, pointer(static_cast<ValueId>(e.i)), evaluate(e.a));
  return b_.CreateLoad(type, place);
}

EntryEmitter::LValue *EntryEmitter::evaluateCast(DType from, DType to, LValue *value) {
  llvm::Type *wide = to == DType::Int64 ? b_.getInt64Ty() : b_.getDoubleTy();
  if (isFloat(from) && isFloat(to))
    return b_.CreateFPExt(value, wide);
  if (isFloat(from))
    return b_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {wide, value->getType()}, {value});
  if (isFloat(to))
    return isSignedInt(from) ? b_.CreateSIToFP(value, wide) : b_.CreateUIToFP(value, wide);
  return b_.CreateIntCast(value, wide, isSignedInt(from));
}

EntryEmitter::LValue *EntryEmitter::evaluateUncached(Ref ref) {
  const Expr e = p_.exprs[ref];
  switch (e.op) {
  case Op::Const:
    return isFloat(e.type)
               ? static_cast<LValue *>(llvm::ConstantFP::get(
                     e.type == DType::Float32 ? b_.getFloatTy() : b_.getDoubleTy(), e.f))
           : e.type == DType::Bool ? static_cast<LValue *>(b_.getInt1(e.i != 0))
                                   : i64(e.i);
  case Op::Dim:
    if (auto slot = dimSlots_.find(static_cast<uint32_t>(e.i)); slot != dimSlots_.end())
      return b_.CreateLoad(b_.getInt64Ty(), placeOf(slot->second));
    if (isLarge_ && p_.dims[static_cast<size_t>(e.i)].isGiven())
      return loadGivenDim(static_cast<uint32_t>(e.i));
    return dims_.at(static_cast<uint32_t>(e.i));
  case Op::Load:
    return loadElement(e);
  case Op::Cast:
    return evaluateCast(p_.exprs.type(e.a), e.type, evaluate(e.a));
  case Op::Ceil:
    return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, evaluate(e.a));
  case Op::Floor:
    return b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, evaluate(e.a));
  case Op::Round:
    return b_.CreateUnaryIntrinsic(llvm::Intrinsic::round, evaluate(e.a));
  case Op::Select:
    return b_.CreateSelect(evaluate(e.a), evaluate(e.b), evaluate(e.c));
  default:
    return evaluateArithmetic(e, evaluate(e.a), evaluate(e.b));
  }
}

EntryEmitter::LValue *EntryEmitter::evaluateArithmetic(const Expr &e, LValue *a, LValue *b) {
  if (a->getType()->isFloatingPointTy())
    return e.op == Op::Add   ? b_.CreateFAdd(a, b)
           : e.op == Op::Sub ? b_.CreateFSub(a, b)
           : e.op == Op::Mul ? b_.CreateFMul(a, b)
                             : b_.CreateFDiv(a, b);
  auto checked = [&](llvm::Intrinsic::ID operation) {
    LValue *pair = b_.CreateBinaryIntrinsic(operation, a, b);
    overflow_ = b_.CreateOr(overflow_, b_.CreateExtractValue(pair, 1));
    return b_.CreateExtractValue(pair, 0);
  };
  // Division by zero gives 0; the most negative number by -1 has no quotient.
  auto quotient = [&] {
    LValue *isBad = b_.CreateOr(b_.CreateIsNull(b), b_.CreateICmpEQ(b, i64(-1)));
    return b_.CreateSDiv(a, b_.CreateSelect(isBad, i64(1), b));
  };
  auto isRemainder = [&](LValue *q) { return b_.CreateSub(a, b_.CreateMul(q, b)); };
  auto floored = [&] {
    LValue *q = quotient(), *rest = isRemainder(q);
    LValue *isBelow =
        b_.CreateAnd(b_.CreateICmpNE(rest, i64(0)),
                     b_.CreateICmpNE(b_.CreateICmpSLT(rest, i64(0)), b_.CreateICmpSLT(b, i64(0))));
    LValue *exact = b_.CreateSub(q, b_.CreateZExt(isBelow, b_.getInt64Ty()));
    LValue *negated = b_.CreateSelect(b_.CreateICmpEQ(b, i64(-1)), b_.CreateNeg(a), exact);
    return b_.CreateSelect(b_.CreateIsNull(b), i64(0), negated);
  };
  switch (e.op) {
  case Op::Add:
    return checked(llvm::Intrinsic::sadd_with_overflow);
  case Op::Sub:
    return checked(llvm::Intrinsic::ssub_with_overflow);
  case Op::Mul:
    return checked(llvm::Intrinsic::smul_with_overflow);
  case Op::FloorDiv:
    return floored();
  case Op::FloorMod:
    return isRemainder(floored());
  case Op::Eq:
    return b_.CreateICmpEQ(a, b);
  case Op::Ne:
    return b_.CreateICmpNE(a, b);
  case Op::Lt:
    return b_.CreateICmpSLT(a, b);
  case Op::Le:
    return b_.CreateICmpSLE(a, b);
  case Op::And:
    return b_.CreateAnd(a, b);
  case Op::Or:
    return b_.CreateOr(a, b);
  case Op::Min:
    return b_.CreateSelect(b_.CreateICmpSLT(a, b), a, b);
  default:
    return b_.CreateSelect(b_.CreateICmpSGT(a, b), a, b);
  }
}

EntryEmitter::LValue *EntryEmitter::bytesOf(const Value &value) {
  LValue *bytes = i64(sizeInBytes(value.dtype));
  evaluated_.clear();
  overflow_ = b_.getFalse();
  for (Ref dim : value.dims) {
    LValue *pair =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smul_with_overflow, bytes, evaluate(dim));
    overflow_ = b_.CreateOr(overflow_, b_.CreateExtractValue(pair, 1));
    bytes = b_.CreateExtractValue(pair, 0);
  }
  return b_.CreateSelect(overflow_, i64(-1), bytes);
}

EntryEmitter::LValue *EntryEmitter::shapeOf(const Value &value) {
  if (p_.isStatic(value)) {
    std::vector<uint64_t> extents;
    for (Ref dim : value.dims)
      extents.push_back(static_cast<uint64_t>(*p_.exprs.constant(dim)));
    extents.resize(std::max<size_t>(extents.size(), 1));
    llvm::Constant *&known = shapes_[extents];
    if (!known) {
      llvm::Constant *data = llvm::ConstantDataArray::get(llvm_, extents);
      known = new llvm::GlobalVariable(module_, data->getType(), true,
                                       llvm::GlobalValue::PrivateLinkage, data,
                                       options_.moduleName + "_shape");
    }
    return known;
  }
  LValue *shape =
      newAlloca(llvm::ArrayType::get(b_.getInt64Ty(), std::max<size_t>(value.dims.size(), 1)));
  for (size_t d = 0; d < value.dims.size(); ++d)
    b_.CreateStore(evaluate(value.dims[d]),
                   b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), shape, d));
  return shape;
}

void EntryEmitter::setDimValue(uint32_t dim, LValue *value) {
  dims_.set(dim, value);
  if (isLarge_)
    b_.CreateStore(value, dimSlot(dim));
}

void EntryEmitter::setDim(const Instr &instr) {
  overflow_ = b_.getFalse();
  LValue *value = evaluate(instr.dims[0]);
  setDimValue(instr.callee, value);
  if (instr.message.empty())
    return;
  LValue *isFine = b_.CreateAnd(b_.CreateICmpULE(value, i64(maxExtent)), b_.CreateNot(overflow_));
  failUnless(isFine, BYCC_ARG, instr.message, {value});
}

void EntryEmitter::emitRequire(const Instr &instr) {
  std::vector<LValue *> values;
  for (Ref ref : instr.dims)
    values.push_back(evaluate(ref));
  failUnless(values[0], BYCC_ARG, instr.message, {values.begin() + 1, values.end()});
}

void EntryEmitter::failUnless(LValue *condition, int32_t status, const std::string &message,
                              const std::vector<LValue *> &values) {
  LValue *list =
      newAlloca(llvm::ArrayType::get(b_.getInt64Ty(), std::max<size_t>(values.size(), 1)));
  auto *failed = llvm::BasicBlock::Create(llvm_, "failed", frame_.function),
       *next = llvm::BasicBlock::Create(llvm_, "", frame_.function);
  b_.CreateCondBr(condition, next, failed);
  b_.SetInsertPoint(failed);
  for (size_t i = 0; i < values.size(); ++i)
    b_.CreateStore(values[i], b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), list, i));
  llvm::Type *ptr = b_.getPtrTy(), *i32 = b_.getInt32Ty();
  auto *type = llvm::FunctionType::get(i32, {ptr, i32, ptr, ptr, i32}, false);
  b_.CreateRet(b_.CreateCall(type, field(frame_.api, offsetof(bycc_exec_api, fail_with)),
                             {frame_.exec, b_.getInt32(static_cast<uint32_t>(status)),
                              b_.CreateGlobalString(message), list,
                              b_.getInt32(static_cast<uint32_t>(values.size()))}));
  b_.SetInsertPoint(next);
}

} // namespace bycc::codegen
