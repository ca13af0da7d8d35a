// Sums of multiples of atoms against their values at random points.
#include "bycc/Support/LinearSum.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <random>

using namespace bycc;

namespace {

using Values = std::array<int64_t, 6>; // of atoms

__int128 valueOf(const LinearSum &sum, const Values &values) {
  __int128 value = sum.constant;
  for (auto [atom, factor] : sum.terms)
    value += __int128(factor) * values[atom];
  return value;
}

bool isInOrder(const LinearSum &sum) {
  return std::ranges::is_sorted(sum.terms, std::less_equal(), &LinearSum::Term::atom) &&
         std::ranges::none_of(sum.terms, [](const auto &term) { return term.factor == 0; });
}

class Random {
public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  // Far from 0 as often as near it.
  int64_t factor() {
    int64_t far = int64_t{1} << number(0, 62);
    return number(-far, far);
  }
  Values values(int64_t most) {
    Values values{};
    for (int64_t &value : values)
      value = number(-most, most);
    return values;
  }
  LinearSum sum(int64_t most) {
    LinearSum sum(number(-most, most));
    for (int64_t i = number(0, 8); i > 0; --i)
      sum.add(static_cast<uint32_t>(number(0, 5)), number(-most, most));
    return sum;
  }

private:
  std::mt19937_64 engine_;
};

} // namespace

TEST_CASE("sums have the values of what they were made of") {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    LinearSum a = random.sum(50), b = random.sum(50), sum = a;
    int64_t factor = random.number(-9, 9);
    sum.add(b, factor);
    Values values = random.values(1000);
    REQUIRE_FALSE(sum.isBroken);
    REQUIRE(isInOrder(sum));
    REQUIRE(valueOf(sum, values) == valueOf(a, values) + factor * valueOf(b, values));
  }
}

TEST_CASE("equal sums are equal in whatever order they were made") {
  Random random(2);
  for (int i = 0; i < 500; ++i) {
    LinearSum a = random.sum(20), b = random.sum(20), c = random.sum(20);
    LinearSum left = a, right = c;
    left.add(b), left.add(c, -3);
    right.add(LinearSum(), 7);
    LinearSum other;
    other.add(right, -3), other.add(b), other.add(a);
    REQUIRE(left == other);
    left.add(other, -1);
    REQUIRE(left == LinearSum());
  }
}

TEST_CASE("what is divided is whole * divisor + rest") {
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    LinearSum sum = random.sum(100);
    int64_t divisor = random.number(1, 12);
    for (bool splits : {false, true}) {
      auto [whole, rest] = sum.by(divisor, splits);
      LinearSum again = rest;
      again.add(whole, divisor);
      REQUIRE(again == sum);
      REQUIRE((isInOrder(whole) && isInOrder(rest)));
      REQUIRE((rest.constant >= 0 && rest.constant < divisor));
      for (auto [atom, factor] : rest.terms) {
        REQUIRE(factor % divisor != 0);
        REQUIRE((!splits || factor < divisor));
      }
      Values values = random.values(1000);
      int64_t value = static_cast<int64_t>(valueOf(sum, values)),
              left = static_cast<int64_t>(valueOf(rest, values));
      REQUIRE(floorDiv(value, divisor) == valueOf(whole, values) + floorDiv(left, divisor));
      REQUIRE(floorMod(value, divisor) == floorMod(left, divisor));
    }
  }
}

TEST_CASE("a sum breaks where 64 bits do not hold one of its numbers, and only there") {
  Random random(4);
  auto holds = [](__int128 value) { return value >= INT64_MIN && value <= INT64_MAX; };
  int numBroken = 0;
  for (int i = 0; i < 5000; ++i) {
    int64_t a = random.factor(), b = random.factor(), factor = random.factor(),
            constant = random.factor(), more = random.factor();
    LinearSum sum(constant), other(more);
    sum.add(3, a), other.add(3, b);
    bool isFine = true;
    for (auto [own, added] : {std::pair{a, b}, std::pair{constant, more}}) {
      __int128 product = __int128(added) * factor;
      isFine = isFine && holds(product) && holds(own + product);
    }
    sum.add(other, factor);
    REQUIRE(sum.isBroken == !isFine);
    numBroken += sum.isBroken;
  }
  CHECK(numBroken > 500);
  CHECK(numBroken < 4500);
}

TEST_CASE("the ends of 64 bits") {
  LinearSum least(INT64_MIN), most = LinearSum::of(0, INT64_MAX);
  LinearSum sum = least;
  sum.add(LinearSum(1), -1);
  CHECK(sum.isBroken);
  sum = LinearSum();
  sum.add(least, -1);
  CHECK(sum.isBroken);
  sum = most;
  sum.add(0, 1);
  CHECK(sum.isBroken);
  CHECK(sum.mayBeNegative());
  CHECK(sum.by(2, false).rest.isBroken); // what a broken one becomes is broken
  LinearSum after = LinearSum(3);
  after.add(sum, 0);
  CHECK(after.isBroken);
  sum = most;
  sum.add(0, -INT64_MAX);
  CHECK(sum == LinearSum());
  CHECK(least.by(INT64_MAX, false).whole.constant == -2);
  CHECK(least.by(INT64_MAX, false).rest.constant == INT64_MAX - 1);
}

TEST_CASE("what may be negative, and factors without others") {
  CHECK_FALSE(LinearSum(0).mayBeNegative());
  CHECK(LinearSum(-1).mayBeNegative());
  CHECK_FALSE(LinearSum::of(2, 5).mayBeNegative());
  CHECK(LinearSum::of(2, -5).mayBeNegative());
  CHECK(LinearSum::of(2, 0).isConstant());
  CHECK(without({1, 2, 2, 5}, {2, 3}) == Factors{1, 2, 5});
  CHECK(without({1, 2}, {1, 2}).empty());
}
