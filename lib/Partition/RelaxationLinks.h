// What a relaxation knows of the links between items.
#pragma once

#include "PlanProblem.h"

namespace bycc {

// Sets of two or more linked items of one label, none within another.
struct LinkSets {
  PlanProblem::Lists sets;   // items, ascending
  PlanProblem::Lists setsOf; // by item
};
LinkSets linkSets(const PlanProblem &problem);

// Parts of a few items that hang together through the sets.
uint32_t numParts(const LinkSets &links, std::span<const uint32_t> items);

// Cycles of items from set to set, items ascending. Each goes through a place in a
// set that none before it does, so that they are independent. Long ones are left out.
std::vector<std::vector<uint32_t>> independentCycles(const LinkSets &links,
                                                     const std::vector<uint8_t> &isAble);

// By tile: all but those that no region within its vendor's limits could hold.
std::vector<uint8_t> possibleTiles(const PlanProblem &problem, const LinkSets &links);

} // namespace bycc
