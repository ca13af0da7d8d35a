// Tiles that must be apart, among some items of a vendor: which tiles of each item have to be
// told from its others. A diagram of parts has a way for an item to be there for each.
#pragma once

#include "PartsDiagram.h"
#include "PlanProblem.h"

#include <array>
#include <span>
#include <vector>

namespace bycc {

struct ApartWays {
  using Tiles = std::array<uint32_t, PartsDiagram::maxWays>;
  struct Pair { // ways of an item, and of a later one that needs it, that are apart
    uint32_t item, way, later, laterWay;
  };
  std::vector<Tiles> tiles; // by item and way; none: others, or nothing. Empty: nothing is apart
  std::vector<Pair> pairs;
};

// `items`: ascending. `neededBy`: as in LinkedItems; others are not looked at.
ApartWays apartWays(const PlanProblem &problem, uint32_t vendor,
                    const std::vector<uint8_t> &isPossible, std::span<const uint32_t> items,
                    std::span<const uint64_t> neededBy);

} // namespace bycc
