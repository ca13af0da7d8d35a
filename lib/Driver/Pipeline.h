// The passes that exist and the lists that run by default.
#pragma once

#include "bycc/Transforms/Pipeline.h"

namespace bycc {

// Rows of Transforms and Partition.
void registerAllPasses(PassRegistry &registry);

// What -OLEVEL runs. Vendor passes take the vendors from the context; without
// vendors (`hasVendors` false) they are left out.
Pipeline defaultPipeline(const PassRegistry &registry, int level, bool hasVendors, bool mergeRegions);

} // namespace bycc
