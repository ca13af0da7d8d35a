// Regions of an edited plan that can no longer run in one piece.
#pragma once

#include "bycc/Partition/Passes.h"

namespace bycc {

// A region that a moved node now stands in the middle of is cut into as few as
// follow each other, with a warning that names the node. Regions that need each
// other otherwise are left for partition-graph to refuse.
Expected<> splitBrokenRegions(Module &module, PassContext &context);

} // namespace bycc
