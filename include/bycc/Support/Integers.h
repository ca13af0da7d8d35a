// Arithmetic of whole numbers, for all who compute with them while compiling (types of the IR,
// index expressions, constants that are folded): what 64 bits do not hold is no number, and who
// asked for it leaves the expression as it is. So nothing is folded that may have wrapped; int64
// data wraps at run time and is not divided or compared by a formula: Exprs::isExact().
//
// Quotients are rounded down unless their operator says otherwise, so that remainders are not
// negative.
#pragma once

#include <cstdint>
#include <optional>

namespace bycc {

// b is not 0, nor -1 where a is the least number of its type. T: any signed integer.
template <typename T> constexpr T floorDiv(T a, T b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}
template <typename T> constexpr T floorMod(T a, T b) {
  T rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

using CheckedInt = std::optional<int64_t>;
constexpr CheckedInt checkedAdd(int64_t a, int64_t b) {
  int64_t value = 0;
  return __builtin_add_overflow(a, b, &value) ? CheckedInt() : value;
}
constexpr CheckedInt checkedSub(int64_t a, int64_t b) {
  int64_t value = 0;
  return __builtin_sub_overflow(a, b, &value) ? CheckedInt() : value;
}
constexpr CheckedInt checkedMul(int64_t a, int64_t b) {
  int64_t value = 0;
  return __builtin_mul_overflow(a, b, &value) ? CheckedInt() : value;
}
// Rounded down, or towards 0; nothing is divided by 0.
constexpr CheckedInt checkedDiv(int64_t a, int64_t b, bool isFloor) {
  if (b == 0 || b == -1)
    return b == 0 ? CheckedInt() : checkedSub(0, a);
  return isFloor ? floorDiv(a, b) : a / b;
}
constexpr CheckedInt checkedMod(int64_t a, int64_t b, bool isFloor) {
  if (b == 0 || b == -1)
    return b == 0 ? CheckedInt() : 0;
  return isFloor ? floorMod(a, b) : a % b;
}

} // namespace bycc
