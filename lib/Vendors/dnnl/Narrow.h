// Steps that a program does in float32 between casts from and to bfloat16 become
// steps on bfloat16: the library's kernels compute in float32 inside.
//
//   convert f32 -> layer norm -> reshape -> convert bf16   =>   layer norm bf16 -> reshape
//   convert f32 -> softmax -> convert bf16                 =>   softmax bf16
//   softmax -> convert bf16                                =>   softmax f32 to bf16
//
// The result is the same: widening is exact, and both round once. Casts after products
// are not for here: they become the product's own (Fuse.h).
#pragma once

#include "Fuse.h"

namespace bycc::onednn {

void narrowSteps(Plan &plan, const Accepts &accepts);

} // namespace bycc::onednn
