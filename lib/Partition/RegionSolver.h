// Groups the items of a RegionProblem.
#pragma once

#include "RegionProblem.h"

namespace bycc {

// Small problems are also searched exhaustively, for at most a part of
// `searchSteps`; what was used is taken off.
RegionAssignment solveRegions(const RegionProblem &problem, uint64_t &searchSteps);

} // namespace bycc
