// Element types, shared by compiler and runtime. The numbers are those of
// bycc/abi.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bycc {

enum class DType : uint8_t {
  Bool = 0, // one byte, 0 or 1
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Float32,
  Float64,
};
inline constexpr int numDTypes = 13;

constexpr int64_t sizeInBytes(DType type) {
  constexpr uint8_t sizes[numDTypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(type)];
}

constexpr bool isFloat(DType type) { return type >= DType::Float16; }
constexpr bool isSignedInt(DType type) { return type >= DType::Int8 && type <= DType::Int64; }
constexpr bool isUnsignedInt(DType type) { return type >= DType::UInt8 && type <= DType::UInt64; }
constexpr bool isInt(DType type) { return type >= DType::Int8 && type <= DType::UInt64; }

// Relay's spelling: "bool", "int8", "float32", "bfloat16", ...
std::string_view name(DType type);
std::optional<DType> parseDType(std::string_view text);

// IEEE half and bfloat16 as bit patterns; conversion to them rounds to nearest even.
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float bfloat16ToFloat(uint16_t bits);
uint16_t floatToBFloat16(float value);

} // namespace bycc
