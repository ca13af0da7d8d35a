// Seeded random programs for property tests: operators that vendors support at
// random, (nested) tuples and projections, operators with several results, lets,
// branches, closures.
#pragma once

#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

#include <memory>
#include <string>

namespace bycc::cases {

// `size`: about how many operators. One statement a line, or a block in braces.
std::string randomProgram(uint32_t seed, uint32_t size);
// `count` vendors va, vb, ..., each taking a random half of the operators; now
// and then with a pattern or two, or with rules about edges.
VendorSet randomVendors(uint32_t seed, uint32_t count);
// Costs for most of the vendors; returns those of the host.
CostModel addRandomCosts(uint32_t seed, VendorSet &vendors);
// Pins, prohibitions and labels for a few nodes of @main.
void addRandomOrders(uint32_t seed, const Module &module, const VendorSet &vendors,
                     PlacementRules &rules);

} // namespace bycc::cases
