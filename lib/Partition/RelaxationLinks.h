// What a relaxation knows of the links between items.
#pragma once

#include "PlanProblem.h"

namespace bycc {

// Sets of two or more linked items of one label, none within another.
struct LinkSets {
  PlanProblem::Lists sets;   // items, ascending
  PlanProblem::Lists setsOf; // by item
};
PlanProblem::Lists transposed(const PlanProblem::Lists &sets, uint32_t numItems);
LinkSets linkSets(const PlanProblem &problem);

// Parts of a few items that hang together through the sets.
uint32_t numParts(const LinkSets &links, std::span<const uint32_t> items);

// By tile: all but those that no region within its vendor's limits could hold.
std::vector<uint8_t> possibleTiles(const PlanProblem &problem, const LinkSets &links);

} // namespace bycc
