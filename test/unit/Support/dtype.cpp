#include "bycc/Support/DType.h"
#include "bycc/Support/Element.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

using namespace bycc;

TEST_CASE("dtype names read back") {
  for (int i = 0; i < numDTypes; ++i)
    CHECK(parseDType(name(static_cast<DType>(i))) == static_cast<DType>(i));
  CHECK_FALSE(parseDType("float8"));
}

TEST_CASE("every half survives a round trip through float") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = halfToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value))
      REQUIRE(std::isnan(halfToFloat(floatToHalf(value))));
    else
      REQUIRE(floatToHalf(value) == bits);
  }
}

TEST_CASE("halves round to nearest even and overflow to infinity") {
  CHECK(floatToHalf(1.0f + 0x1p-11f) == 0x3c00);
  CHECK(floatToHalf(1.0f + 0x1.8p-10f) == 0x3c02);
  CHECK(floatToHalf(65519.0f) == 0x7bff);
  CHECK(floatToHalf(65520.0f) == 0x7c00);
  CHECK(floatToHalf(0x1p-25f) == 0);
  CHECK(floatToHalf(0x1.8p-25f) == 1);
  CHECK(floatToHalf(-0.0f) == 0x8000);
}

TEST_CASE("bfloat16 rounds to nearest even") {
  CHECK(floatToBFloat16(1.0f) == 0x3f80);
  CHECK(floatToBFloat16(1.0f + 0x1p-8f) == 0x3f80);
  CHECK(floatToBFloat16(1.0f + 0x1.8p-7f) == 0x3f82);
  CHECK(std::isnan(bfloat16ToFloat(floatToBFloat16(NAN))));
}

TEST_CASE("elements of every dtype are numbers") {
  auto first = [](DType dtype, auto value) {
    uint8_t data[2 * sizeof value + 1];
    std::memcpy(data + 1 + sizeof value, &value, sizeof value); // not aligned
    return elementAsDouble(dtype, data + 1, 1);
  };
  CHECK(first(DType::Bool, uint8_t{2}) == 1);
  CHECK(first(DType::Int8, int8_t{-3}) == -3);
  CHECK(first(DType::UInt8, uint8_t{253}) == 253);
  CHECK(first(DType::Int16, int16_t{-300}) == -300);
  CHECK(first(DType::UInt16, uint16_t{65000}) == 65000);
  CHECK(first(DType::Int32, int32_t{-70000}) == -70000);
  CHECK(first(DType::UInt32, uint32_t{4000000000}) == 4e9);
  CHECK(first(DType::Int64, int64_t{-1} << 40) == -1099511627776.0);
  CHECK(first(DType::UInt64, UINT64_MAX) == 18446744073709551616.0);
  CHECK(first(DType::Float16, floatToHalf(0.5f)) == 0.5);
  CHECK(first(DType::BFloat16, floatToBFloat16(-2.0f)) == -2);
  CHECK(first(DType::Float32, 0.25f) == 0.25);
  CHECK(first(DType::Float64, 0.1) == 0.1);
}
