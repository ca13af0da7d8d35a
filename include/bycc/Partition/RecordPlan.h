// The plan that a compilation followed, to be saved.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Target/PartitionPlan.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/RefusalLog.h"

namespace bycc {

// `rules` must have kept the program (orders.keepProgram); `refusals` may be null.
std::vector<PlanNode> recordPlan(const Module &module, const PlacementRules &rules,
                                 const RefusalLog *refusals);

} // namespace bycc
