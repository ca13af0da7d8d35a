// Where the library's own choice of an implementation is not its fastest one.
//
// Measured with oneDNN 2.6.3 on AVX-512 (Zen 5), time of the classic depthwise kernel
// over that of the newer one it is listed behind, channels last:
//
//                               f32          bf16         u8
//   3x3, 32 x 112^2             0.76         0.90         0.82
//   3x3, 192 x 28^2             0.70         0.83         0.84
//   3x3, 384 x 14^2             0.73         0.86         0.88
//   3x3, 512 x 7^2              0.73         0.78         0.87
//   3x3, 960 x 7^2              1.03..1.23   0.71         0.94
//   5x5, 120 x 28^2             0.49         0.90         1.08
//   5x5, 1152 x 7^2             1.05         0.97         0.97
//
// It loses where a pixel's channels are many bytes. All other convolutions of the usual
// networks are best, or within 2 % of it, with the library's first choice; so is matmul
// for a matrix times a vector.
#pragma once

#include "Plan.h"

#include <string>

namespace bycc::onednn {

// The implementation to take instead of the library's first choice, "" for that one.
// Never of another instruction set: what follows AMX or VNNI in the list is older.
std::string preferredTo(const std::string &first, const Step &step, int64_t channels,
                        uint64_t elementBytes);

// Is the one implementation for an older instruction set than the other, by their names
// ("jit_1x1:avx2", "brgconv:avx512_core")?
bool isOlder(const std::string &implementation, const std::string &other);

// Whether convolutions had better write blocks of channels straight into a concatenation
// than leave it to a copy of channels-last operands. The library's convolutions take
// strided results in neither form, but blocks of channels follow each other in memory.
//
// `flops` of the convolutions with windows larger than 1 and the `width` of their result:
// kernels for blocks lose the more the shorter the rows (3x3, float32: 2 % at 55, 6 % at 27,
// 18..23 % at 13 and 14, 36..44 % at 7). `bytes` of the concatenation, which is read and
// written at what the library's copy reaches (3.1 MB of 55x55 in 45 us, 0.7 MB in 16 us).
bool areBlocksCheaper(double flops, int64_t width, uint64_t bytes);

} // namespace bycc::onednn
