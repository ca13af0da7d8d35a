// The options that steer single nodes and regions, made ready for the passes.
#pragma once

#include "bycc/Driver/Options.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

namespace bycc {

// --pin, --annotate-ops, --annotate-skip-ops. Usage errors: a vendor that is not
// in use, an operator that does not exist.
Expected<PlacementOrders> placementOrders(const VendorOptions &options, const VendorSet &vendors);
// These options as they are recorded in a graph JSON.
std::vector<std::string> placementFlags(const VendorOptions &options);

} // namespace bycc
