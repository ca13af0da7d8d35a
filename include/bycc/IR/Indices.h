// Operators that read or write by index: what they do with one that is out of range.
#pragma once

#include "bycc/IR/Module.h"

namespace bycc {

// take, gather or gather_nd with mode="error", and every scatter: indices are within -n
// and n - 1 of an axis of n elements, or the run ends. They are looked at before anything
// is read or written.
bool checksIndices(const Module &module, NodeId call);

} // namespace bycc
