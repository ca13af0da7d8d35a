// Seeded random programs for property tests: operators that vendors support at
// random, tuples and projections, lets, branches, closures, split.
#pragma once

#include "bycc/Target/Vendor.h"

#include <memory>
#include <string>

namespace bycc::cases {

// `size`: about how many operators.
std::string randomProgram(uint32_t seed, uint32_t size);
// `count` vendors va, vb, ..., each taking a random half of the operators; now
// and then with a pattern or two.
VendorSet randomVendors(uint32_t seed, uint32_t count);

} // namespace bycc::cases
