// What moved between two partition plans. Nodes are compared by name, as a plan binds
// them to a program; numbers of regions and composites only say what belongs together.
#pragma once

#include "bycc/Target/PartitionPlan.h"

#include <string>
#include <vector>

namespace bycc {

struct PlanDiff {
  struct Move {
    const PlanNode *from, *to;
  };
  // Regions of one vendor that became others, by nodes that stayed with it: two
  // lists before and one after are two regions that were joined.
  struct Regrouped {
    std::string vendor;
    std::vector<std::vector<const PlanNode *>> before, after;
  };
  struct Composite {
    std::string name; // of its pattern
    std::vector<const PlanNode *> nodes;
  };

  std::vector<Move> moves; // program order, as all lists
  std::vector<Regrouped> regrouped;
  std::vector<Composite> apart, formed;
  std::vector<const PlanNode *> onlyBefore, onlyAfter; // another operator is another node

  bool isSame() const {
    return moves.empty() && regrouped.empty() && apart.empty() && formed.empty() && isOneProgram();
  }
  bool isOneProgram() const { return onlyBefore.empty() && onlyAfter.empty(); }
};

// Points into the plans. INPUT error for a plan that has a node twice.
Expected<PlanDiff> comparePlans(const PartitionPlan &before, const PartitionPlan &after);

// Regions that hold nodes of the plan.
int64_t countRegions(const PartitionPlan &plan);

} // namespace bycc
