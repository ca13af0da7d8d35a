#include "bycc/Support/DType.h"

#include <catch2/catch.hpp>
#include <cmath>

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
