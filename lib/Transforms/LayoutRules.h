// What changes of layout pass through.
#pragma once

#include "bycc/IR/Op.h"

namespace bycc {

// Operators that work in any layout, so that a change behind an operand can stand behind them.
bool followsLayout(OpId op);

} // namespace bycc
