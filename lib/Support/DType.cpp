// Names of element types and the arithmetic of 16-bit floats, on bit patterns,
// so that results do not depend on what the machine has.
#include "bycc/Support/DType.h"

#include <bit>

namespace bycc {

static constexpr std::string_view dtypeNames[numDTypes] = {
    "bool",   "int8",   "int16",   "int32",    "int64",   "uint8",  "uint16",
    "uint32", "uint64", "float16", "bfloat16", "float32", "float64"};

std::string_view name(DType type) { return dtypeNames[static_cast<int>(type)]; }

std::optional<DType> parseDType(std::string_view text) {
  for (int i = 0; i < numDTypes; ++i)
    if (dtypeNames[i] == text)
      return static_cast<DType>(i);
  return std::nullopt;
}

float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  uint32_t exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0x1f) // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  // Zero and denormals: fraction * 2^-24 is exact.
  float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

// value / 2^shift, rounded to nearest, ties to even; shift > 0.
static uint32_t roundedShift(uint32_t value, uint32_t shift) {
  if (shift > 31)
    return 0;
  uint32_t kept = value >> shift, rest = value & ((1u << shift) - 1), half = 1u << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)));
}

uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000, exponent = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
  if (exponent == 0xff) // keep NaNs NaN: the quiet bit is set
    return sign | 0x7c00 | (fraction ? 0x200 | fraction >> 13 : 0);
  if (exponent > 142)
    return sign | 0x7c00;
  if (exponent > 112) // a carry out of the fraction rightly moves into the exponent
    return sign | roundedShift((exponent - 112) << 23 | fraction, 13);
  if (exponent < 102)
    return sign;
  return sign | roundedShift(fraction | 0x800000, 126 - exponent);
}

float bfloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t floatToBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return bits >> 16 | 0x40;
  return roundedShift(bits, 16);
}

} // namespace bycc
