// Activations that graphs spell out as several operators: gelu (with erf, or with tanh),
// swish, mish and hard swish. Constants are checked: gelu needs sqrt(2), 1 and 1/2 in whatever
// place the exporter put them, mish needs log(exp(x) + 1), hard swish 3 and 6.
#pragma once

#include "Plan.h"
#include "Region.h"

namespace bycc::onednn {

struct Activation {
  Math math;
  uint32_t input;              // value of the region
  std::vector<uint32_t> nodes; // all nodes it stands for, the root last
};

// The activation that ends in this `multiply` or `divide` node and leaks no inner value.
std::optional<Activation> recognizeActivation(const bycc_region &region, const vendor::Uses &uses,
                                              uint32_t root);

} // namespace bycc::onednn
