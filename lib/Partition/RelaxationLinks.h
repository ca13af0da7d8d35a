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

// How the links hold regions of one vendor together. The links are cut into groups
// of sets: with n_g of the items of group g, in p_g parts, a plan has at least
// n - sum (n_g - p_g) regions, and one more for each cycle that is all there.
struct VendorLinks {
  static constexpr uint32_t maxGroup = 6; // items
  // Sets that close short cycles, and those that items of others cut in two.
  struct Group {
    std::vector<uint32_t> items;
    std::vector<uint8_t> numParts; // at least, given which items (bits) are there
  };
  std::vector<uint8_t> isAlone;    // by set: a group by itself, one part
  std::vector<Group> groups;       // the others
  std::vector<std::vector<uint32_t>> cycles; // through groups; items ascending
};
VendorLinks vendorLinks(const PlanProblem &problem, const LinkSets &links,
                        const std::vector<uint8_t> &isAble);

// By tile: all but those that no region within its vendor's limits could hold.
std::vector<uint8_t> possibleTiles(const PlanProblem &problem, const LinkSets &links);

} // namespace bycc
