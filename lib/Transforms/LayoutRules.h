// What changes of layout pass through.
#pragma once

#include "bycc/IR/Op.h"
#include "bycc/Transforms/Passes.h"

namespace bycc {

// Channels of an image that a convolution reads with channels first whatever layout it gives.
inline constexpr int64_t imageChannels = 4;

// Operators that work in any layout, so that a change behind an operand can stand behind them.
bool followsLayout(OpId op);

// convert-layout with its options, but that images of few channels stay where a convolution reads
// them: to turn one, and to pad it then, runs vectors along its channels.
//
//   conv2d(x, w){NCHW}  =>  layout_transform(conv2d(x, w'){NCHW, OHWI, out NHWC}, NHWC, NCHW)
Expected<bool> convertLayoutButImages(Module &module, PassContext &context);

} // namespace bycc
