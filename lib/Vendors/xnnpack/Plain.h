// The operators by plain loops, as they are defined: for inputs with NaN or infinities, which
// XNNPACK's kernels make numbers of.
#pragma once

#include "Program.h"

namespace bycc::xnnpack {

bool hasNonFinite(const float *data, uint64_t count);
// `tensors`: where the inputs and outputs are. Allocates what lies between.
void runPlain(const Program &program, const uint8_t *weights, std::span<float *const> tensors);

} // namespace bycc::xnnpack
