// How links hold regions of one vendor together.
#pragma once

#include "ApartWays.h"
#include "Numbers.h"
#include "PartsDiagram.h"
#include "RelaxationLinks.h"

namespace bycc {

// The sets of links are cut into groups. With n_g of the n items of a vendor in
// group g, in p_g parts there, a plan has at least n - sum (n_g - p_g) regions of
// it. A cycle from group to group that is all there makes that one too few; groups
// are made so that most cycles are within one, but stay small: in large ones too
// much would have to be known of what is cut apart.
struct VendorLinks {
  struct Group { // of sets around cycles, or one whose items others cut apart
    std::vector<uint32_t> items;
    uint32_t diagram = none;
    // By item, the tiles for which it is there in a way of its own; the others are in the
    // first. Empty where all are.
    std::vector<ApartWays::Tiles> tiles;
  };
  std::vector<uint8_t> isAlone; // by set: a group by itself, of one part
  std::vector<Group> groups;    // the others
};

// Cycles, as the sets that they go through, short ones first.
std::vector<std::vector<uint32_t>> linkCycles(const LinkSets &links);

VendorLinks vendorLinks(const PlanProblem &problem, uint32_t vendor, const LinkSets &links,
                        const std::vector<std::vector<uint32_t>> &cycles,
                        const std::vector<uint8_t> &isPossible, PartsDiagrams &diagrams);

} // namespace bycc
