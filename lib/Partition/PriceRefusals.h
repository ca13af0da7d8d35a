// Plans the program again with refusals lifted, those of one vendor, operator and
// reason at a time. Such a plan starts from the one that was chosen, so that none
// is slower.
#pragma once

#include "bycc/Partition/RefusalPrices.h"

#include "BlockPlan.h"
#include "PlanSolver.h"

#include <span>
#include <vector>

namespace bycc {

struct PlannedBlock {
  BlockPlan plan;
  PlanSolution solution;
  PlanEffort effort;
};

class RefusalPricer {
public:
  RefusalPricer(Module &module, const PassContext &context, BlockPlanner &planner,
                const PlanCosts &costs)
      : module_(module), context_(context), planner_(planner), costs_(costs) {}

  // While the program is as it was planned.
  void price(std::span<const PlannedBlock> blocks, RefusalPrices &prices);
  // When the plan is made real and it is known which regions are apart.
  void priceBoundaries(RefusalPrices &prices) const;

private:
  struct Refusal {
    size_t block;
    uint32_t item;
  };
  struct Group {
    StringId vendor;
    std::string op, reason;
    std::vector<Refusal> refusals; // in program order
    double time = 0;               // of the plan without them, raw picoseconds
    int64_t regions = 0;
    std::vector<std::vector<uint32_t>> regionOf; // by block and item; empty: as it was
  };
  std::vector<Group> collect(std::span<const PlannedBlock> blocks) const;
  void lift(std::span<const PlannedBlock> blocks, Group &group);
  std::optional<size_t> cheapest(size_t block, uint32_t a, uint32_t b) const;
  bool isOne(const Group &group, size_t block, uint32_t a, uint32_t b) const;
  std::vector<std::string> dimsBetween(const Group &group, size_t block, uint32_t a) const;

  Module &module_;
  const PassContext &context_;
  BlockPlanner &planner_;
  const PlanCosts &costs_;
  std::vector<Group> groups_;                   // as prices.prices
  std::vector<std::vector<NodeId>> items_;      // by block
  std::vector<std::vector<uint32_t>> regionOf_; // by block and item, in the chosen plan
  std::vector<uint32_t> firstRegion_;           // by block, one more at the end
};

} // namespace bycc
