#include "RoundWeights.h"

#include "bycc/Support/DType.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace bycc {
namespace {

constexpr uint16_t largestHalf = 0x7f7f;

uint16_t nearestFinite(float value) {
  uint16_t half = floatToBFloat16(value);
  bool isOverflow = std::isfinite(value) && (half & 0x7fff) > largestHalf;
  return isOverflow ? static_cast<uint16_t>(half - 1) : half;
}

struct Flip {
  double cost; // of squared error, for each unit that the sum changes
  double step; // what it adds to the sum
  uint16_t *half;
  uint16_t other;
};

// Of weights whose error has the sign of `sum`: to the neighbour on the other side.
std::vector<Flip> flipsAgainst(double sum, std::span<const float> from, std::span<uint16_t> to) {
  std::vector<Flip> flips;
  for (size_t i = 0; i < from.size(); ++i) {
    double error = bfloat16ToFloat(to[i]) - from[i];
    if (error == 0 || (error > 0) != (sum > 0))
      continue;
    bool isTooLong = (from[i] > 0) == (error > 0);
    uint16_t other = static_cast<uint16_t>(to[i] + (isTooLong ? -1 : 1));
    double step = bfloat16ToFloat(other) - bfloat16ToFloat(to[i]);
    if ((other & 0x7fff) <= largestHalf && std::abs(step) < 4 * std::abs(error)) // near the middle
      flips.push_back({std::abs(step) - 2 * std::abs(error), step, &to[i], other});
  }
  std::ranges::stable_sort(flips, {}, &Flip::cost);
  return flips;
}

} // namespace

void roundToHalf(std::span<const float> from, std::span<uint16_t> to) {
  std::ranges::transform(from, to.begin(), nearestFinite);
}

void roundBalanced(std::span<const float> from, std::span<uint16_t> to) {
  roundToHalf(from, to);
  double sum = 0;
  for (size_t i = 0; i < from.size(); ++i)
    sum += bfloat16ToFloat(to[i]) - from[i];
  if (!std::isfinite(sum))
    return;
  for (const Flip &flip : flipsAgainst(sum, from, to))
    if (std::abs(sum + flip.step) < std::abs(sum)) {
      sum += flip.step;
      *flip.half = flip.other;
    }
}

} // namespace bycc
