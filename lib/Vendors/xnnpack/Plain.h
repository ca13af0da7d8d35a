// The operators by plain loops, as they are defined: for inputs with NaN or infinities, which
// XNNPACK's kernels make numbers of.
#pragma once

#include "Program.h"

#include <functional>

namespace bycc::xnnpack {

bool hasNonFinite(const float *data, uint64_t count);
// `tensor`: where the inputs and outputs are. Allocates what lies between.
using TensorAt = std::function<void *(uint32_t)>;
void runPlain(const Program &program, const uint8_t *weights, const TensorAt &tensor);

} // namespace bycc::xnnpack
