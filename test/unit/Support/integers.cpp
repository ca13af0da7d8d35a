// Quotients, remainders and what 64 bits do not hold.
#include "bycc/Support/Integers.h"

#include <catch2/catch.hpp>

using namespace bycc;

TEST_CASE("a quotient is rounded down and a remainder has the sign of the divisor") {
  CHECK(floorDiv<int64_t>(7, 2) == 3);
  CHECK(floorDiv<int64_t>(-7, 2) == -4);
  CHECK(floorDiv<int64_t>(7, -2) == -4);
  CHECK(floorDiv<int64_t>(-8, 2) == -4);
  CHECK(floorDiv<int64_t>(INT64_MIN, 2) == INT64_MIN / 2);
  for (int64_t a : {INT64_MIN, int64_t{-9}, int64_t{-8}, int64_t{0}, int64_t{5}, INT64_MAX})
    for (int64_t b : {-7, -2, 1, 2, 7, 1 << 30}) {
      INFO(a << " by " << b);
      CHECK(floorMod<int64_t>(a, b) == a - static_cast<__int128>(floorDiv<int64_t>(a, b)) * b);
      CHECK((floorMod<int64_t>(a, b) == 0 || (floorMod<int64_t>(a, b) < 0) == (b < 0)));
    }
}

TEST_CASE("what 64 bits do not hold is no number") {
  CHECK(checkedAdd(INT64_MAX, -1) == INT64_MAX - 1);
  CHECK(!checkedAdd(INT64_MAX, 1));
  CHECK(checkedSub(0, INT64_MAX) == -INT64_MAX);
  CHECK(!checkedSub(0, INT64_MIN));
  CHECK(checkedMul(INT64_C(1) << 40, 1 << 20) == INT64_C(1) << 60);
  CHECK(!checkedMul(INT64_C(1) << 40, 1 << 23));
}

TEST_CASE("nothing is divided by 0, and the least number not by -1") {
  for (bool isFloor : {true, false}) {
    CHECK(!checkedDiv(1, 0, isFloor));
    CHECK(!checkedMod(1, 0, isFloor));
    CHECK(!checkedDiv(INT64_MIN, -1, isFloor));
    CHECK(checkedMod(INT64_MIN, -1, isFloor) == 0);
    CHECK(checkedDiv(-6, -1, isFloor) == 6);
  }
  CHECK(checkedDiv(-7, 2, true) == -4);
  CHECK(checkedDiv(-7, 2, false) == -3);
  CHECK(checkedMod(-7, 2, true) == 1);
  CHECK(checkedMod(-7, 2, false) == -1);
}
