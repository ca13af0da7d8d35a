// Exhaustive search of small problems.
#pragma once

#include "RegionProblem.h"

namespace bycc {

bool isSmall(const RegionProblem &problem);

// The best there is, or `best` when that is as good; stops early when `steps`,
// which are used up, have run out. isSmall() must hold.
RegionAssignment searchRegions(const RegionProblem &problem, RegionAssignment best,
                               uint64_t &steps);

} // namespace bycc
