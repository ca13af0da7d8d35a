// The plain loops that say what a region means, for comparison with a vendor.
#pragma once

#include "RegionBuilder.h"

namespace bycc::test {

std::vector<Tensor> evaluate(const bycc_region &region, const std::vector<Tensor> &inputs);

} // namespace bycc::test
