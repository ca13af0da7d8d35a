// What changes of layout pass through.
#pragma once

#include "bycc/IR/Op.h"
#include "bycc/Transforms/Passes.h"

namespace bycc {

// Operators that work in any layout, so that a change behind an operand can stand behind them.
bool followsLayout(OpId op);

// Is it a convolution of an image of few channels, which come first?
bool readsImage(const Module &module, NodeId call);

// A transpose of an image that has channels last.
bool isFromChannelsLast(const Module &module, NodeId node);

// convert-layout with its options, but that such images stay as they are: to turn one, and to pad
// it then, runs vectors along its channels. And such transposes are changes of layout that move, too.
//
//   conv2d(x, w){NCHW}  =>  layout_transform(conv2d(x, w'){NCHW, OHWI, out NHWC}, NHWC, NCHW)
Expected<bool> convertLayoutButImages(Module &module, PassContext &context);

} // namespace bycc
