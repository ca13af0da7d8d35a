// What changes of layout pass through.
#pragma once

#include "bycc/IR/Op.h"

namespace bycc {

// Channels of an image that a convolution reads with channels first whatever layout it gives.
inline constexpr int64_t imageChannels = 4;

// Operators that work in any layout, so that a change behind an operand can stand behind them.
bool followsLayout(OpId op);

} // namespace bycc
