// Seeded random problems of choosing a plan. They are made to be hard for the
// chooser: values with several readers, composites that overlap, launches and
// transfers of the size of the work, and now and then every rule of a plan.
#pragma once

#include "../../../lib/Partition/PlanProblem.h"

namespace bycc::cases {

struct PlanShape {
  uint32_t items = 10;
  uint32_t vendors = 0;   // 0: one to three
  bool isChain = false;   // a chain with residual links, not a local graph
  bool hasPinned = false; // some items only one vendor can take, not the host either
};
PlanProblem randomPlanProblem(uint32_t seed, const PlanShape &shape);

// The same problem with vendors and tiles in another order.
PlanProblem shuffle(const PlanProblem &problem, uint32_t seed);
// `vendors`: the new number of each; [0] is 0.
PlanProblem renumberVendors(const PlanProblem &problem, const std::vector<uint32_t> &vendors);

// The problem with the tiles of the host and one vendor (or of the host) alone.
PlanProblem restrictTo(const PlanProblem &problem, uint32_t vendor);

// What makes problems hard.
struct PlanTraits {
  uint32_t items = 0, tensors = 0, shared = 0; // shared: with two readers or more
  uint32_t tiles = 0, composites = 0, overlapping = 0;
  uint64_t readers = 0;
};
PlanTraits traitsOf(const PlanProblem &problem);

} // namespace bycc::cases
