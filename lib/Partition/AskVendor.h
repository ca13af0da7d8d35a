// Whether a vendor takes a node: first whether it may have it at all, then what it
// answers.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

#include <string>

namespace bycc {

// Why orders or the program itself keep the node from the vendor; "" when nothing
// does. `placement` may be null.
std::string whyKept(const Module &module, const PlacementRules *placement, const Vendor &vendor,
                    NodeId node);

// Why the vendor is not even asked about the call; "" when it is.
std::string whyNotAsked(const Module &module, const PlacementRules *placement, const Vendor &vendor,
                        NodeId call);

// Why the vendor does not take the call as it is; "" when it does.
std::string whyNotTaken(const Module &module, const PlacementRules *placement, VendorAsker &asker,
                        NodeId call);

} // namespace bycc
