// What plans are estimated to take, for people: in raw time, with what it is made of.
#pragma once

#include "BlockPlan.h"
#include "PlanCosts.h"
#include "PlanProblem.h"

namespace bycc {

// Adds a block with its plan; `time`, `bound` and `boundUs` are the caller's to add.
void addToEstimate(PlanEstimate &estimate, const BlockPlan &block, const PlanAnswer &plan,
                   const PlanCosts &costs);

} // namespace bycc
