// A path on which regions of a vendor must change: one cannot leave it and come back.
// So there are at least as many regions as the path has stretches of the vendor. Says
// much where launches are dear and nearly everything is linked, and counting by links
// (VendorLinks.h) says little.
#pragma once

#include "ApartWays.h"
#include "PartsDiagram.h"
#include "PlanProblem.h"

#include <vector>

namespace bycc {

struct LaunchChain {
  std::vector<uint32_t> items; // that could have the vendor, each needed by the next
  std::vector<uint8_t> isCut;  // by item: nothing before it is in its region (what lies
                               // between cannot, or its tiles are apart from those before)
};

// The path with the stretches that it would take most to give up. `gain`: by item,
// what it saves to have the vendor. Empty if nothing is saved.
LaunchChain launchChain(const PlanProblem &problem, uint32_t vendor,
                        const std::vector<uint8_t> &isAble, const std::vector<double> &gain,
                        double launch);

// Of the stretches that a choice of the items makes; of those that are told apart by ways,
// one next to another starts anew where the two are apart.
PartsDiagram diagramOf(const LaunchChain &chain, const ApartWays &ways = {});
// Of the tiles of each two next to each other.
ApartWays waysOf(const PlanProblem &problem, uint32_t vendor,
                 const std::vector<uint8_t> &isPossible, const LaunchChain &chain);

} // namespace bycc
