// Float32 constants as bfloat16, never infinite where they were finite.
#pragma once

#include <cstdint>
#include <span>

namespace bycc {

// To the nearest.
void roundToHalf(std::span<const float> from, std::span<uint16_t> to);

// To the nearest or, for the few that lie closest to the middle, to the other side,
// so that the errors of all of them add up to nearly nothing. What a row of weights is
// multiplied with has a mean (activations are seldom negative): a sum of errors would
// be an offset of the result, the same one everywhere, which no average takes out.
void roundBalanced(std::span<const float> from, std::span<uint16_t> to);

} // namespace bycc
