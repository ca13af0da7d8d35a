// Puts elementwise steps and additions into the convolution or matmul they
// follow, as bias and post-ops:
//
//   matmul -> reshape -> add [768] -> gelu     =>   matmul(bias, gelu) -> reshape
//   conv -> add [1,C,1,1] -> add y -> relu     =>   conv(bias, sum y, relu)
//
// Only where the inner values have no other use. An operand is carried back
// through the views in between; what does not survive that stays a step.
#pragma once

#include "Plan.h"

namespace bycc::onednn {

void fuseSteps(Plan &plan);

// Steps that compute (views left out).
size_t numComputeSteps(const Plan &plan);

} // namespace bycc::onednn
