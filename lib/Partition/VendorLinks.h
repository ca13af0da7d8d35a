// How links hold regions of one vendor together.
#pragma once

#include "PartsDiagram.h"
#include "RelaxationLinks.h"

namespace bycc {

// The sets of links are cut into groups. With n_g of the n items of a vendor in
// group g, in p_g parts there, a plan has at least n - sum (n_g - p_g) regions of
// it. Each cycle from group to group that is all there is one too few; most cycles
// are within a group.
struct VendorLinks {
  static constexpr uint32_t none = UINT32_MAX;
  struct Group { // of sets that close cycles, or that others cut in two
    std::vector<uint32_t> items;
    uint32_t diagram = none;
  };
  std::vector<uint8_t> isAlone; // by set: a group by itself, of one part
  std::vector<Group> groups;    // the others
};
// Cycles from set to set through items, short ones first.
std::vector<std::vector<uint32_t>> linkCycles(const LinkSets &links);

VendorLinks vendorLinks(const PlanProblem &problem, const LinkSets &links,
                        const std::vector<std::vector<uint32_t>> &cycles,
                        const std::vector<uint8_t> &isAble, PartsDiagrams &diagrams);

} // namespace bycc
