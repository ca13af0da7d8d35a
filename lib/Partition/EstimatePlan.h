// What plans are estimated to take, for people: in raw time, with what it is made of.
#pragma once

#include "BlockPlan.h"
#include "PlanCosts.h"
#include "PlanProblem.h"

namespace bycc {

inline double microseconds(double picoseconds) { return picoseconds / 1e6; }

// Rounded, so that sums of the same times are equal in whatever order they were made.
double wholePicoseconds(double microseconds);

// Adds a block with its plan; `time`, `bound` and `boundUs` are the caller's to add.
void addToEstimate(PlanEstimate &estimate, const BlockPlan &block, const PlanAnswer &plan,
                   const PlanCosts &costs);

// What each operator of the block takes in the plan, or the composite that it is of.
void recordTimes(const Module &module, const BlockPlan &block, const PlanAnswer &plan,
                 RefusalLog &refusals);

} // namespace bycc
