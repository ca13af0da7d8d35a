// Operators that read by index: what they do with one that is out of range.
#pragma once

#include "bycc/IR/Module.h"

namespace bycc {

// take, gather or gather_nd with mode="error": indices are within -n and n - 1 of an
// axis of n elements, or the run ends. They are looked at before anything is read.
bool checksIndices(const Module &module, NodeId call);

} // namespace bycc
