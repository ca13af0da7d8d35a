// What the operators of dims do with numbers, and which dims are 1.
#pragma once

#include "bycc/IR/Type.h"

namespace bycc {

// Of `op` of what its operands likely are, far from where 64 bits end; 0 for a quotient and a
// remainder by what is not positive.
int64_t likelyOf(DimOp op, int64_t a, int64_t b);

// Is `part` 1 wherever `whole` is 1? min(whole, n) is, as a mask has that is cut to a
// sequence: where both broadcast, it is `whole`. Not where n is 0 at run time, which is
// found out then.
bool isOneWith(const TypeTable &types, Dim part, Dim whole);
// Is it a whole number times two or more, as what was halved and doubled again?
bool isNeverOne(const TypeTable &types, Dim dim);

} // namespace bycc
