// What the operators of dims do with numbers.
#pragma once

#include "bycc/IR/Type.h"

namespace bycc {

// Of `op` of what its operands likely are, far from where 64 bits end; 0 for a quotient and a
// remainder by what is not positive.
int64_t likelyOf(DimOp op, int64_t a, int64_t b);

} // namespace bycc
