// A convolution over concatenated channels is a sum of convolutions, which needs no copy
// of its operands:
//
//   a --+                          a -> conv(w[:, :A]) -> p
//       concat -> conv(w)    =>    b -> conv(w[:, A:], bias, sum p, post-ops)
//   b --+
//
// Pooling in between (maximum or mean of each channel) moves before the concatenation, and
// so do permutes, with which channels-last models are written.
//
// Rejected: writing the operands into slices of the concatenation. Channels last the
// library's convolutions refuse strided results; with blocks of channels they take the
// older kernels, 3 to 40 % slower than channels last (the smaller the image the more).
#pragma once

#include "Fuse.h"

namespace bycc::onednn {

// Float32 only: a partial sum kept in fewer bits would be rounded.
void splitConcats(Plan &plan, const Accepts &accepts);

} // namespace bycc::onednn
