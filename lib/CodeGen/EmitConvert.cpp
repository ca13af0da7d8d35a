// Conversions: between what memory holds and what is computed with (bool as a byte,
// 16-bit floats as float32 values), and between dtypes.
#include "Emit.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace bycc::codegen {

// The scalar, or as many of it as `type` has lanes.
static llvm::Type *shapedAs(llvm::Type *type, llvm::Type *scalar) {
  return type->isVectorTy() ? llvm::VectorType::get(scalar, llvm::cast<llvm::VectorType>(type))
                            : scalar;
}

llvm::Type *KernelEmitter::memoryType(DType type) {
  switch (type) {
  case DType::Float32:
    return b_.getFloatTy();
  case DType::Float64:
    return b_.getDoubleTy();
  default:
    return b_.getIntNTy(static_cast<unsigned>(sizeInBytes(type) * 8));
  }
}

llvm::Type *KernelEmitter::valueType(DType type) {
  if (type == DType::Bool)
    return b_.getInt1Ty();
  if (type == DType::Float16 || type == DType::BFloat16)
    return b_.getFloatTy();
  return memoryType(type);
}

llvm::Value *KernelEmitter::unpack(DType type, Value *memory) {
  llvm::Type *t = memory->getType();
  switch (type) {
  case DType::Bool:
    return b_.CreateICmpNE(memory, llvm::Constant::getNullValue(t));
  case DType::BFloat16: {
    llvm::Type *wide = t->getWithNewBitWidth(32);
    Value *bits = b_.CreateShl(b_.CreateZExt(memory, wide), llvm::ConstantInt::get(wide, 16));
    return b_.CreateBitCast(bits, shapedAs(t, b_.getFloatTy()));
  }
  case DType::Float16:
    return halfToFloat(memory);
  default:
    return memory;
  }
}

llvm::Value *KernelEmitter::pack(DType type, Value *value, bool isExact) {
  llvm::Type *t = value->getType();
  auto like = [&](llvm::Type *scalar) { return shapedAs(t, scalar); };
  switch (type) {
  case DType::Bool:
    return b_.CreateZExt(value, like(b_.getInt8Ty()));
  case DType::BFloat16: { // round to nearest even; NaN stays a quiet NaN
    if (isExact) {
      Value *bits = b_.CreateBitCast(value, like(b_.getInt32Ty()));
      return b_.CreateTrunc(b_.CreateLShr(bits, uint64_t{16}), like(b_.getInt16Ty()));
    }
    if (auto *lanes = llvm::dyn_cast<llvm::FixedVectorType>(t);
        lanes && lanes->getNumElements() == 16 && multipliesBFloat16(context_.target))
      return b_.CreateBitCast(
          b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512, {}, {value}),
          like(b_.getInt16Ty()));
    llvm::Type *i32 = like(b_.getInt32Ty());
    auto constant = [&](uint64_t v) { return llvm::ConstantInt::get(i32, v); };
    Value *bits = b_.CreateBitCast(value, i32);
    Value *odd = b_.CreateAnd(b_.CreateLShr(bits, constant(16)), constant(1));
    Value *rounded =
        b_.CreateLShr(b_.CreateAdd(bits, b_.CreateAdd(odd, constant(0x7fff))), constant(16));
    Value *nan = b_.CreateOr(b_.CreateLShr(bits, constant(16)), constant(0x40));
    Value *result = b_.CreateSelect(b_.CreateFCmpUNO(value, value), nan, rounded);
    return b_.CreateTrunc(result, like(b_.getInt16Ty()));
  }
  case DType::Float16:
    return floatToHalf(value);
  default:
    return value;
  }
}

llvm::Value *KernelEmitter::halfToFloat(Value *bits) {
  Value *wide = widenHalf(bits);
  if (!llvm::isa<llvm::Constant>(wide))
    halves_[wide] = bits;
  return wide;
}

llvm::Value *KernelEmitter::widenHalf(Value *bits) {
  llvm::Type *t = bits->getType();
  auto like = [&](llvm::Type *scalar) { return shapedAs(t, scalar); };
  llvm::Type *i32 = like(b_.getInt32Ty()), *f32 = like(b_.getFloatTy());
  // The fence keeps LLVM from comparing the halves themselves, one by one.
  if (context_.target.has("f16c"))
    return b_.CreateArithmeticFence(
        b_.CreateFPExt(b_.CreateBitCast(bits, like(b_.getHalfTy())), f32), f32);
  // Exponent and mantissa moved up, scaled by 2^112; infinities and NaN by hand.
  auto constant = [&](uint64_t v) { return llvm::ConstantInt::get(i32, v); };
  Value *wide = b_.CreateZExt(bits, i32);
  Value *body = b_.CreateShl(b_.CreateAnd(wide, constant(0x7fff)), constant(13));
  Value *scaled = b_.CreateFMul(b_.CreateBitCast(body, f32), real(5.192296858534828e+33, f32));
  Value *special = b_.CreateBitCast(b_.CreateOr(body, constant(0x7f800000)), f32);
  Value *isSpecial = b_.CreateICmpUGE(b_.CreateAnd(wide, constant(0x7fff)), constant(0x7c00));
  Value *magnitude = b_.CreateBitCast(b_.CreateSelect(isSpecial, special, scaled), i32);
  return b_.CreateBitCast(
      b_.CreateOr(magnitude, b_.CreateShl(b_.CreateAnd(wide, constant(0x8000)), constant(16))),
      f32);
}

llvm::Value *KernelEmitter::floatToHalf(Value *value) {
  if (auto moved = halves_.find(value); moved != halves_.end() && moved->second)
    return moved->second;
  llvm::Type *t = value->getType();
  auto like = [&](llvm::Type *scalar) { return shapedAs(t, scalar); };
  if (context_.target.has("f16c"))
    return b_.CreateBitCast(b_.CreateFPTrunc(value, like(b_.getHalfTy())), like(b_.getInt16Ty()));
  llvm::Type *i32 = like(b_.getInt32Ty()), *f32 = like(b_.getFloatTy());
  auto constant = [&](uint64_t v) { return llvm::ConstantInt::get(i32, v); };
  Value *bits = b_.CreateBitCast(value, i32);
  Value *sign = b_.CreateAnd(b_.CreateLShr(bits, constant(16)), constant(0x8000));
  Value *magnitude = b_.CreateAnd(bits, constant(0x7fffffff));
  // Normal results: round the mantissa in place. Small ones: adding 0.5 aligns the
  // denormal's last bit with the float's.
  Value *odd = b_.CreateAnd(b_.CreateLShr(magnitude, constant(13)), constant(1));
  Value *normal = b_.CreateLShr(b_.CreateAdd(b_.CreateAdd(magnitude, constant(0xc8000fffu)), odd),
                                constant(13));
  Value *small = b_.CreateSub(
      b_.CreateBitCast(b_.CreateFAdd(b_.CreateBitCast(magnitude, f32), real(0.5, f32)), i32),
      constant(0x3f000000));
  Value *result = b_.CreateSelect(b_.CreateICmpULT(magnitude, constant(0x38800000)), small, normal);
  result =
      b_.CreateSelect(b_.CreateICmpUGE(magnitude, constant(0x47800000)), constant(0x7c00), result);
  result =
      b_.CreateSelect(b_.CreateICmpUGT(magnitude, constant(0x7f800000)), constant(0x7e00), result);
  return b_.CreateTrunc(b_.CreateOr(result, sign), like(b_.getInt16Ty()));
}

bool KernelEmitter::isExact(Ref root) {
  bool holds = true;
  x_.visit(root, [&](Ref ref) {
    const Expr &e = x_[ref];
    if (!holds || e.type == DType::Bool) // conditions do not count
      return false;
    if (overrides_.count(ref)) {
      holds = exactOverrides_.count(ref) != 0;
      return false;
    }
    switch (e.op) {
    case Op::Const: {
      float value = static_cast<float>(e.f);
      uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      holds = isFloat(e.type) && (bits & 0xffff) == 0;
      return false;
    }
    case Op::Load:
    case Op::Reinterpret:
      holds = e.type == DType::BFloat16;
      return false;
    case Op::Cast:
      if (e.type == DType::BFloat16)
        return false; // rounded there
      holds = x_.type(e.a) == DType::BFloat16 && e.type == DType::Float32;
      return holds;
    case Op::Narrow:
    case Op::Neg:
    case Op::Abs:
    case Op::Min:
    case Op::Max:
    case Op::Select:
    case Op::Guard:
      return true;
    default:
      holds = false;
      return false;
    }
  });
  return holds;
}

// Truncates; out of range gives the nearest bound, NaN 0. Written out, as LLVM's saturating
// conversions take vectors apart.
llvm::Value *KernelEmitter::floatToInt(Value *value, DType to) {
  llvm::Type *t = value->getType();
  bool isSigned = isSignedInt(to);
  int bits = static_cast<int>(8 * sizeInBytes(to)), magnitude = isSigned ? bits - 1 : bits;
  // Both are floats exactly: the least, and one beyond the greatest.
  double least = isSigned ? -std::ldexp(1.0, magnitude) : 0, end = std::ldexp(1.0, magnitude);
  auto number = [&](double v) { return llvm::ConstantFP::get(t, v); };
  llvm::Type *type = shapedAs(t, valueType(to)),
             *wide = shapedAs(t, b_.getIntNTy(static_cast<unsigned>(std::max(bits, 32))));
  Value *isNan = b_.CreateFCmpUNO(value, value);
  Value *bounded = b_.CreateSelect(b_.CreateFCmpOGT(value, number(least)), value, number(least));
  if (bits <= 16) {
    bounded = b_.CreateSelect(b_.CreateFCmpOLT(bounded, number(end - 1)), bounded, number(end - 1));
    bounded = b_.CreateSelect(isNan, number(0), bounded);
    return b_.CreateTrunc(b_.CreateFPToSI(bounded, wide), type);
  }
  Value *isBeyond = b_.CreateFCmpOGE(value, number(end));
  bounded = b_.CreateSelect(b_.CreateOr(isBeyond, isNan), number(0), bounded);
  Value *converted = isSigned ? b_.CreateFPToSI(bounded, wide) : b_.CreateFPToUI(bounded, wide);
  llvm::APInt greatest = isSigned ? llvm::APInt::getSignedMaxValue(static_cast<unsigned>(bits))
                                  : llvm::APInt::getMaxValue(static_cast<unsigned>(bits));
  return b_.CreateSelect(isBeyond, llvm::ConstantInt::get(wide, greatest), converted);
}

llvm::Value *KernelEmitter::emitCast(Value *value, DType from, DType to, bool isExact) {
  llvm::Type *scalar = valueType(to);
  llvm::Type *t = value->getType();
  llvm::Type *type = shapedAs(t, scalar);
  if (isFloat(from)) {
    if (isFloat(to)) {
      // Rounding to a narrow type happens where the value is made.
      if (to == DType::Float16 || to == DType::BFloat16)
        return unpack(
            to, pack(to, from == DType::Float64 ? b_.CreateFPTrunc(value, type) : value, isExact));
      return b_.CreateFPCast(value, type);
    }
    if (to == DType::Bool)
      return b_.CreateFCmpUNE(value, llvm::Constant::getNullValue(t));
    return floatToInt(value, to);
  }
  if (to == DType::Bool)
    return b_.CreateICmpNE(value, llvm::Constant::getNullValue(t));
  bool isSigned = isSignedInt(from);
  if (isFloat(to))
    return isSigned ? b_.CreateSIToFP(value, type) : b_.CreateUIToFP(value, type);
  return b_.CreateIntCast(value, type, isSigned);
}

} // namespace bycc::codegen
