// LLVM turns loops into mem* calls and leaves mathematical functions and, where
// the machine has no instruction, conversions of 16-bit floats to libraries.
// This is the closed list of them: an object that needs anything else is
// refused at load.
#include "Externals.h"

#include "bycc/Support/DType.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <immintrin.h>

namespace bycc::runtime {
namespace {

// In the calling convention a 16-bit float travels in the low bits of xmm0, as
// the first lane of a __m128i does.
__m128i truncFloatToHalf(float value) { return _mm_cvtsi32_si128(floatToHalf(value)); }
float extendHalf(__m128i bits) {
  return halfToFloat(static_cast<uint16_t>(_mm_cvtsi128_si32(bits)));
}
__m128i truncFloatToBFloat(float value) { return _mm_cvtsi32_si128(floatToBFloat16(value)); }

// Rounding to odd on the way to float keeps the second rounding from erring.
float roundedToOdd(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(nearest) || static_cast<double>(nearest) == value)
    return nearest;
  uint32_t bits;
  std::memcpy(&bits, &nearest, 4);
  if (bits & 1)
    return nearest;
  bool isAbove = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  bits += isAbove ? -1 : 1;
  std::memcpy(&nearest, &bits, 4);
  return nearest;
}
__m128i truncDoubleToHalf(double value) {
  return _mm_cvtsi32_si128(floatToHalf(roundedToOdd(value)));
}
__m128i truncDoubleToBFloat(double value) {
  return _mm_cvtsi32_si128(floatToBFloat16(roundedToOdd(value)));
}

struct External {
  std::string_view name;
  void *address;
};

template <typename Result, typename... Args> void *address(Result (*function)(Args...)) {
  return reinterpret_cast<void *>(function);
}

// Both widths of a function: NAME and NAMEf.
#define UNARY(NAME)                                                                                \
  {#NAME, address<double, double>(::NAME)}, { #NAME "f", address<float, float>(::NAME##f) }
#define BINARY(NAME)                                                                               \
  {#NAME, address<double, double, double>(::NAME)}, {                                              \
    #NAME "f", address<float, float, float>(::NAME##f)                                             \
  }

const External externals[] = {
    {"memcpy", address<void *, void *, const void *, size_t>(::memcpy)},
    {"memmove", address<void *, void *, const void *, size_t>(::memmove)},
    {"memset", address<void *, void *, int, size_t>(::memset)},
    {"memcmp", address<int, const void *, const void *, size_t>(::memcmp)},
    UNARY(acos),
    UNARY(acosh),
    UNARY(asin),
    UNARY(asinh),
    UNARY(atan),
    UNARY(atanh),
    UNARY(cbrt),
    UNARY(ceil),
    UNARY(cos),
    UNARY(cosh),
    UNARY(erf),
    UNARY(erfc),
    UNARY(exp),
    UNARY(exp2),
    UNARY(exp10),
    UNARY(expm1),
    UNARY(fabs),
    UNARY(floor),
    UNARY(lgamma),
    UNARY(log),
    UNARY(log10),
    UNARY(log1p),
    UNARY(log2),
    UNARY(logb),
    UNARY(nearbyint),
    UNARY(rint),
    UNARY(round),
    UNARY(roundeven),
    UNARY(sin),
    UNARY(sinh),
    UNARY(sqrt),
    UNARY(tan),
    UNARY(tanh),
    UNARY(tgamma),
    UNARY(trunc),
    BINARY(atan2),
    BINARY(copysign),
    BINARY(fdim),
    BINARY(fmax),
    BINARY(fmin),
    BINARY(fmod),
    BINARY(hypot),
    BINARY(nextafter),
    BINARY(pow),
    BINARY(remainder),
    {"fma", address<double, double, double, double>(::fma)},
    {"fmaf", address<float, float, float, float>(::fmaf)},
    {"ldexp", address<double, double, int>(::ldexp)},
    {"ldexpf", address<float, float, int>(::ldexpf)},
    {"frexp", address<double, double, int *>(::frexp)},
    {"frexpf", address<float, float, int *>(::frexpf)},
    {"modf", address<double, double, double *>(::modf)},
    {"modff", address<float, float, float *>(::modff)},
    {"sincos", address<void, double, double *, double *>(::sincos)},
    {"sincosf", address<void, float, float *, float *>(::sincosf)},
    {"lrint", address<long, double>(::lrint)},
    {"lrintf", address<long, float>(::lrintf)},
    {"llrint", address<long long, double>(::llrint)},
    {"llrintf", address<long long, float>(::llrintf)},
    {"lround", address<long, double>(::lround)},
    {"lroundf", address<long, float>(::lroundf)},
    {"llround", address<long long, double>(::llround)},
    {"llroundf", address<long long, float>(::llroundf)},
    {"__truncsfhf2", address<__m128i, float>(truncFloatToHalf)},
    {"__truncdfhf2", address<__m128i, double>(truncDoubleToHalf)},
    {"__extendhfsf2", address<float, __m128i>(extendHalf)},
    {"__truncsfbf2", address<__m128i, float>(truncFloatToBFloat)},
    {"__truncdfbf2", address<__m128i, double>(truncDoubleToBFloat)},
};

} // namespace

void *externalAddress(std::string_view name) {
  for (const External &external : externals)
    if (external.name == name)
      return external.address;
  return nullptr;
}

} // namespace bycc::runtime
