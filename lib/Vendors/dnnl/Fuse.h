// Puts elementwise steps and additions into the convolution, matmul or binary step
// they follow, as bias and post-ops:
//
//   matmul -> reshape -> add [768] -> gelu     =>   matmul(bias, gelu) -> reshape
//   conv -> add [1,C,1,1] -> add y -> relu     =>   conv(bias, sum y, relu)
//   mul [1,C,1,1] -> add [1,C,1,1] -> relu       =>   mul(add, relu)
//   pad -> conv s32 -> add b -> convert u8     =>   conv(padding, bias, scales, zero) u8
//
// A step that leaves 8 bits again in the same primitive (a quantised sum, a
// dequantise) clips and rounds there, as the memory in between would have.
// Only where the inner values have no other use. An operand is carried back
// through the views in between; what does not survive that stays a step.
#pragma once

#include "Plan.h"

#include <functional>

namespace bycc::onednn {

// Whether the library has a primitive for a step.
using Accepts = std::function<bool(const Plan &plan, const Step &step)>;
void fuseSteps(Plan &plan, const Accepts &accepts);

} // namespace bycc::onednn
