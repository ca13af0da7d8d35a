// exp, log, tanh, erf, sigmoid, sin and cos of f32 without branches, for scalars and vectors
// alike, so that loops over them stay vector loops. Each is within 2-3 ulp; inf,
// NaN and denormals behave as in libm. The polynomials are our own least-maximum
// fits (test/unit/CodeGen checks the errors).
#include "Emit.h"
#include "Pieces.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <numeric>

namespace bycc::codegen {

using llvm::Intrinsic::fabs;

namespace {

constexpr double roundsWhenAdded = 12582912.0; // 1.5 * 2^23: a sum with it has no fraction

unsigned lanesOf(llvm::Value *value) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? vector->getNumElements() : 1;
}

} // namespace

llvm::Value *KernelEmitter::real(double value, llvm::Type *like) {
  return llvm::ConstantFP::get(like, value);
}

llvm::Value *KernelEmitter::fma(Value *a, Value *b, Value *c) {
  return b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {a->getType()}, {a, b, c});
}

// sum + low(a) * low(b) + high(a) * high(b) of pairs of bfloat16 in each lane.
llvm::Value *KernelEmitter::dotBFloat16(Value *sum, Value *a, Value *b) {
  llvm::Type *floats = sum->getType();
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(floats);
  if (type && type->getNumElements() == 16 && multipliesBFloat16(context_.target)) {
    auto *halves = llvm::FixedVectorType::get(b_.getBFloatTy(), 32);
    return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                              {sum, b_.CreateBitCast(a, halves), b_.CreateBitCast(b, halves)});
  }
  auto bits = [&](uint64_t value) { return llvm::ConstantInt::get(a->getType(), value); };
  auto low = [&](Value *pair) { return b_.CreateBitCast(b_.CreateShl(pair, bits(16)), floats); };
  auto high = [&](Value *pair) {
    return b_.CreateBitCast(b_.CreateAnd(pair, bits(0xffff0000)), floats);
  };
  return fma(low(a), low(b), fma(high(a), high(b), sum));
}

// The same of 16-bit integers.
llvm::Value *KernelEmitter::dotPairs(Value *sum, Value *a, Value *b) {
  if (sum->getType()->isFPOrFPVectorTy())
    return dotBFloat16(sum, a, b);
  unsigned lanes = lanesOf(sum);
  const TargetInfo &target = context_.target;
  bool hasVnni =
      lanes == 16 ? target.has("avx512vnni")
                  : target.has("avxvnni") || (target.has("avx512vnni") && target.has("avx512vl"));
  using namespace llvm::Intrinsic;
  if (hasVnni && (lanes == 16 || lanes == 8 || lanes == 4)) {
    ID id = lanes == 16  ? x86_avx512_vpdpwssd_512
            : lanes == 8 ? x86_avx512_vpdpwssd_256
                         : x86_avx512_vpdpwssd_128;
    return b_.CreateIntrinsic(id, {}, {sum, a, b});
  }
  ID id = not_intrinsic;
  if (lanes == 16 && target.has("avx512bw"))
    id = x86_avx512_pmaddw_d_512;
  else if (lanes == 8 && target.has("avx2"))
    id = x86_avx2_pmadd_wd;
  else if (lanes == 4 && target.triple.starts_with("x86_64"))
    id = x86_sse2_pmadd_wd;
  if (id != not_intrinsic) {
    auto *halves = llvm::FixedVectorType::get(b_.getInt16Ty(), 2 * lanes);
    return b_.CreateAdd(
        sum,
        b_.CreateIntrinsic(id, {}, {b_.CreateBitCast(a, halves), b_.CreateBitCast(b, halves)}));
  }
  auto *bits = llvm::ConstantInt::get(sum->getType(), 16);
  auto low = [&](Value *pair) { return b_.CreateAShr(b_.CreateShl(pair, bits), bits); };
  auto high = [&](Value *pair) { return b_.CreateAShr(pair, bits); };
  return b_.CreateAdd(b_.CreateAdd(sum, b_.CreateMul(low(a), low(b))),
                      b_.CreateMul(high(a), high(b)));
}

llvm::Value *KernelEmitter::polynomial(Value *x, std::initializer_list<double> highFirst) {
  Value *sum = nullptr;
  for (double coefficient : highFirst)
    sum = sum ? fma(sum, x, real(coefficient, x->getType())) : real(coefficient, x->getType());
  return sum;
}

// 2^exponent for exponent in [-126, 127]; `exponent` is an i32 (vector).
llvm::Value *KernelEmitter::power2(Value *exponent, llvm::Type *floatType) {
  Value *biased = b_.CreateAdd(exponent, llvm::ConstantInt::get(exponent->getType(), 127));
  return b_.CreateBitCast(b_.CreateShl(biased, llvm::ConstantInt::get(exponent->getType(), 23)),
                          floatType);
}

llvm::Value *KernelEmitter::copySign(Value *magnitude, Value *sign) {
  return b_.CreateIntrinsic(llvm::Intrinsic::copysign, {magnitude->getType()}, {magnitude, sign});
}

// x = n ln2 + r; e^x = e^r 2^n, with 2^n as two factors so that results may be denormal. Where
// e^x is zero nothing is scaled: an underflow costs hundreds of cycles, and masked attention is
// full of them.
llvm::Value *KernelEmitter::emitExp(Value *x) {
  llvm::Type *type = x->getType();
  llvm::Type *intType = type->getWithNewType(b_.getInt32Ty());
  Value *isSome = b_.CreateFCmpUGT(x, real(-104.0, type));
  bool hasScale = lanesOf(x) == 16 && context_.target.vectorBits == 512;
  if (!hasScale)
    x = b_.CreateSelect(isSome, x, real(0.0, type));
  x = b_.CreateSelect(b_.CreateFCmpOGT(x, real(89.0, type)), real(89.0, type), x);
  Value *magic = real(roundsWhenAdded, type);
  Value *shifted = b_.CreateFAdd(b_.CreateFMul(x, real(1.4426950408889634, type)), magic);
  Value *n = b_.CreateFSub(shifted, magic);
  Value *r = fma(n, real(-0.693145751953125, type), x);
  r = fma(n, real(-1.428606765330187e-06, type), r);
  Value *p = polynomial(r, {0.00139411, 0.00836318, 0.04166638, 0.16666577, 0.5});
  p = fma(b_.CreateFMul(r, r), p, r);
  p = b_.CreateFAdd(p, real(1.0, type));
  if (hasScale)
    return b_.CreateIntrinsic(
        llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
        {p, n, real(0.0, type), b_.CreateBitCast(isSome, b_.getInt16Ty()), b_.getInt32(4)});
  Value *exponent =
      b_.CreateSub(b_.CreateBitCast(shifted, intType), b_.CreateBitCast(magic, intType));
  Value *half = b_.CreateAShr(exponent, llvm::ConstantInt::get(intType, 1));
  p = b_.CreateFMul(p, power2(half, type));
  p = b_.CreateFMul(p, power2(b_.CreateSub(exponent, half), type));
  return b_.CreateSelect(isSome, p, real(0.0, type));
}

// x = 2^k m with m in [sqrt(1/2), sqrt 2); log m by the series in s = f / (2 + f), f = m - 1.
llvm::Value *KernelEmitter::emitLog(Value *x) {
  llvm::Type *type = x->getType();
  llvm::Type *intType = type->getWithNewType(b_.getInt32Ty());
  auto integer = [&](uint64_t value) { return llvm::ConstantInt::get(intType, value); };
  Value *isTiny = b_.CreateFCmpOLT(x, real(1.1754943508222875e-38, type));
  Value *scaled = b_.CreateSelect(isTiny, b_.CreateFMul(x, real(8388608.0, type)), x);
  Value *bits = b_.CreateAdd(b_.CreateBitCast(scaled, intType), integer(0x3f800000 - 0x3f3504f3));
  Value *k = b_.CreateSub(b_.CreateAShr(bits, integer(23)), integer(127));
  k = b_.CreateSub(k, b_.CreateSelect(isTiny, integer(23), integer(0)));
  Value *m = b_.CreateBitCast(
      b_.CreateAdd(b_.CreateAnd(bits, integer(0x7fffff)), integer(0x3f3504f3)), type);
  Value *f = b_.CreateFSub(m, real(1.0, type));
  Value *s = b_.CreateFDiv(f, b_.CreateFAdd(f, real(2.0, type)));
  Value *z = b_.CreateFMul(s, s);
  Value *series =
      b_.CreateFMul(z, polynomial(z, {0.24279078841, 0.28498786688, 0.40000972152, 0.66666662693}));
  Value *halfSquare = b_.CreateFMul(b_.CreateFMul(f, f), real(0.5, type));
  Value *dk = b_.CreateSIToFP(k, type);
  Value *low =
      fma(dk, real(9.0580006145e-06, type), b_.CreateFMul(s, b_.CreateFAdd(halfSquare, series)));
  Value *result = b_.CreateFAdd(b_.CreateFSub(low, halfSquare), f);
  result = fma(dk, real(6.9313812256e-01, type), result);
  Value *infinity = llvm::ConstantFP::getInfinity(type);
  Value *nan = llvm::ConstantFP::getNaN(type);
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, infinity), infinity, result);
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, real(0.0, type)),
                           llvm::ConstantFP::getInfinity(type, true), result);
  return b_.CreateSelect(b_.CreateFCmpULT(x, real(0.0, type)), nan, result);
}

// Entries of a table of 16, by the lowest four bits of up to as many indices.
llvm::Value *KernelEmitter::lookUp(llvm::ArrayRef<float> table, Value *index) {
  constexpr unsigned whole = 16;
  unsigned lanes = lanesOf(index);
  BYCC_ASSERT(lanes <= whole, "a vector has up to 16 lanes");
  Value *entries = llvm::ConstantDataVector::get(b_.getContext(), table);
  auto find = [&](Value *of) {
    return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {entries, of});
  };
  if (lanes == whole)
    return find(index);
  if (!index->getType()->isVectorTy()) {
    Value *none = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt32Ty(), whole));
    return b_.CreateExtractElement(find(b_.CreateInsertElement(none, index, uint64_t{0})),
                                   uint64_t{0});
  }
  std::vector<int> places(whole, -1);
  std::iota(places.begin(), places.begin() + lanes, 0);
  Value *found = find(b_.CreateShuffleVector(index, places));
  return b_.CreateShuffleVector(found, llvm::ArrayRef(places).take_front(lanes));
}

// |x| = piece * width + r; beyond the last piece's centre the result is 1. NaN stays.
llvm::Value *KernelEmitter::emitPieces(Value *x, double width,
                                       llvm::ArrayRef<std::array<float, 16>> coefficients) {
  llvm::Type *type = x->getType();
  Value *t = b_.CreateUnaryIntrinsic(fabs, x), *top = real(15 * width, type);
  t = b_.CreateSelect(b_.CreateFCmpOGT(t, top), top, t);
  Value *magic = real(roundsWhenAdded, type);
  Value *shifted = fma(t, real(1 / width, type), magic);
  Value *r = fma(b_.CreateFSub(shifted, magic), real(-width, type), t);
  Value *piece = b_.CreateBitCast(shifted, type->getWithNewType(b_.getInt32Ty()));
  Value *sum = nullptr;
  for (const std::array<float, 16> &table : llvm::reverse(coefficients)) {
    Value *coefficient = lookUp(table, piece);
    sum = sum ? fma(sum, r, coefficient) : coefficient;
  }
  return copySign(sum, x);
}

// By pieces with AVX-512; else an odd polynomial near 0, 1 - 2 / (e^2|x| + 1) beyond.
llvm::Value *KernelEmitter::emitTanh(Value *x) {
  if (context_.target.vectorBits == 512)
    return emitPieces(x, tanhPieces.width, tanhPieces.coefficients);
  llvm::Type *type = x->getType();
  Value *t = b_.CreateUnaryIntrinsic(fabs, x);
  Value *z = b_.CreateFMul(x, x);
  Value *p =
      polynomial(z, {0.00212274, -0.00815628, 0.02169261, -0.05394538, 0.13333196, -0.33333331});
  Value *nearZero = fma(b_.CreateFMul(z, x), p, x);
  Value *e = emitExp(b_.CreateFAdd(t, t));
  Value *far = b_.CreateFSub(real(1.0, type),
                             b_.CreateFDiv(real(2.0, type), b_.CreateFAdd(e, real(1.0, type))));
  return b_.CreateSelect(b_.CreateFCmpOLT(t, real(0.632, type)), nearZero, copySign(far, x));
}

// By pieces with AVX-512; else an odd polynomial below 0.93, 1 - e^q(|x|) beyond.
llvm::Value *KernelEmitter::emitErf(Value *x) {
  if (context_.target.vectorBits == 512)
    return emitPieces(x, erfPieces.width, erfPieces.coefficients);
  llvm::Type *type = x->getType();
  Value *t = b_.CreateUnaryIntrinsic(fabs, x);
  Value *z = b_.CreateFMul(x, x);
  Value *p = polynomial(z, {8.32748648e-05, -8.13321525e-04, 5.20026069e-03, -2.68591200e-02,
                            1.12836912e-01, -3.76126335e-01, 1.28379167e-01});
  Value *nearZero = fma(x, p, x);
  // Beyond 4.05 the result is 1; the clamp keeps NaN.
  Value *u = b_.CreateSelect(b_.CreateFCmpOGT(t, real(4.05, type)), real(4.05, type), t);
  Value *q = polynomial(u, {-2.10950679e-05, 4.34462810e-04, -4.17106392e-03, 2.51194296e-02,
                            -1.08280093e-01, -6.33346904e-01, -1.12951493e+00, 1.74684685e-04});
  Value *far = b_.CreateFSub(real(1.0, type), emitExp(q));
  return b_.CreateSelect(b_.CreateFCmpOLT(t, real(0.93, type)), nearZero, copySign(far, x));
}

// x = k pi/2 + r, pi/2 as three floats; k says which of sin r and cos r, and its sign. The
// remainder needs fused products; of angles of 2^16 and more, libm knows better (emitAngle).
llvm::Value *KernelEmitter::emitSine(LibmFn function, Value *x) {
  llvm::Type *type = x->getType();
  llvm::Type *intType = type->getWithNewType(b_.getInt32Ty());
  auto integer = [&](uint64_t value) { return llvm::ConstantInt::get(intType, value); };
  Value *magic = real(roundsWhenAdded, type);
  Value *shifted = fma(x, real(0.6366197723675814, type), magic);
  Value *n = b_.CreateFSub(shifted, magic);
  Value *r = fma(n, real(-1.5707963705062866, type), x);
  r = fma(n, real(4.371138828673793e-08, type), r);
  r = fma(n, real(1.7151245100058819e-15, type), r);
  Value *z = b_.CreateFMul(r, r);
  Value *sine = polynomial(z, {-0.00019515, 0.00833216, -0.16666655});
  sine = fma(b_.CreateFMul(z, r), sine, r);
  Value *cosine = polynomial(z, {2.44331569e-05, -1.38873163e-03, 4.16666457e-02, -0.5, 1.0});
  Value *turns = b_.CreateBitCast(shifted, intType);
  if (function == LibmFn::Cos)
    turns = b_.CreateAdd(turns, integer(1));
  Value *isOdd = b_.CreateICmpNE(b_.CreateAnd(turns, integer(1)), integer(0));
  Value *bits = b_.CreateBitCast(b_.CreateSelect(isOdd, cosine, sine), intType);
  Value *sign = b_.CreateShl(b_.CreateAnd(turns, integer(2)), integer(30));
  return b_.CreateBitCast(b_.CreateXor(bits, sign), type);
}

// With e = exp(-|x|): 1 / (1 + e), or e / (1 + e) for negative x.
llvm::Value *KernelEmitter::emitSigmoid(Value *x) {
  llvm::Type *type = x->getType();
  Value *e = emitExp(b_.CreateFNeg(b_.CreateUnaryIntrinsic(fabs, x)));
  Value *top = b_.CreateSelect(b_.CreateFCmpOLT(x, real(0.0, type)), e, real(1.0, type));
  return b_.CreateFDiv(top, b_.CreateFAdd(e, real(1.0, type)));
}

} // namespace bycc::codegen
