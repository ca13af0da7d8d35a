// Int32 sums of 8-bit products that leave the library. All of its kernels (VNNI, AVX-512
// and AVX2, matmul and convolution, with or without bias and zero points) add in int32,
// where sums wrap, but then pass what they added through float32, also when the result
// is int32: of sums beyond 2^24 the last bits are lost, and what wraps in the definition
// is cut off at the bounds of int32. Sums that fit 24 bits come out as they are.
//
//   matmul s8 (1, 4096) x (4096, 8) -> s32                      refused
//   matmul s8 (1, 1024) x (1024, 8) -> s32                      at most 2^24: exact
//   matmul s8 (1, 4096) x (4096, 8) -> scaled, u8 or f32        one rounding more or less
#pragma once

#include "Plan.h"

namespace bycc::onednn {

// How large the sums may become, of each product whose int32 result is seen: used by
// anything but a change of scale. Infinity where a bias is added.
std::vector<double> sumsThatLeave(const Plan &plan);

// Refuses a plan with sums that float32 may not hold.
Expected<> checkSums(const Plan &plan);

} // namespace bycc::onednn
