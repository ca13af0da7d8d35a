// Looks for the first thing that forbids one region of two: vendor, rule, a path
// that leaves both, nothing in common.

#include "WhyApart.h"

#include <algorithm>

namespace bycc {

namespace {

class Finder {
public:
  Finder(const RegionProblem &problem, const RegionAssignment &regions)
      : problem_(problem), regions_(regions), members_(countRegions(regions)) {
    for (uint32_t item = 0; item < problem.size(); ++item)
      if (regions[item] >= 0)
        members_[static_cast<size_t>(regions[item])].push_back(item);
  }

  const std::vector<uint32_t> &membersOf(int32_t region) const {
    return members_[static_cast<size_t>(region)];
  }

  WhyApart rule(int32_t a, int32_t b) const {
    for (uint32_t item : membersOf(a))
      for (uint32_t other : problem_.apartFrom(item))
        if (regions_[other] == b)
          return {WhyApart::Kind::Rule, std::min(item, other), std::max(item, other)};
    return {};
  }

  // An item on a path from region `from` to region `to` that is in neither. Who
  // enters another region comes out at any of its items. Items of other vendors
  // and the host explain more and are preferred.
  uint32_t between(int32_t from, int32_t to) const {
    std::vector<uint32_t> via(problem_.size(), none), open; // via: the next item towards `to`
    std::vector<uint8_t> isSeen(problem_.size(), 0), isEntered(members_.size(), 0);
    auto visit = [&](uint32_t item, uint32_t next) {
      if (regions_[item] == to || isSeen[item])
        return;
      isSeen[item] = 1;
      via[item] = next;
      open.push_back(item);
    };
    for (uint32_t item : membersOf(to))
      for (uint32_t need : problem_.needsOf(item))
        if (regions_[need] != from)
          visit(need, none);
    for (size_t i = 0; i < open.size(); ++i) {
      uint32_t item = open[i];
      if (regions_[item] >= 0 && !isEntered[static_cast<size_t>(regions_[item])]) {
        isEntered[static_cast<size_t>(regions_[item])] = 1;
        for (uint32_t mate : membersOf(regions_[item]))
          visit(mate, item);
      }
      for (uint32_t need : problem_.needsOf(item)) {
        if (regions_[need] == from)
          return mostTelling(item, problem_.vendor[need], via);
        visit(need, item);
      }
    }
    return none;
  }

  bool areLinked(int32_t a, int32_t b) const {
    for (uint32_t share = 0; share < problem_.numShares(); ++share) {
      bool hasA = false, hasB = false;
      for (uint32_t item : problem_.share(share)) {
        hasA |= regions_[item] == a;
        hasB |= regions_[item] == b;
      }
      if (hasA && hasB)
        return true;
    }
    return false;
  }

private:
  uint32_t mostTelling(uint32_t item, int32_t vendor, const std::vector<uint32_t> &via) const {
    for (uint32_t step = item; step != none; step = via[step])
      if (problem_.vendor[step] != vendor)
        return step;
    return item;
  }

  const RegionProblem &problem_;
  const RegionAssignment &regions_;
  std::vector<std::vector<uint32_t>> members_;
};

} // namespace

WhyApart whyApart(const RegionProblem &problem, const RegionAssignment &regions, int32_t a,
                  int32_t b) {
  Finder finder(problem, regions);
  if (problem.vendor[finder.membersOf(a)[0]] != problem.vendor[finder.membersOf(b)[0]])
    return {WhyApart::Kind::Vendor};
  if (WhyApart why = finder.rule(a, b); why.kind == WhyApart::Kind::Rule)
    return why;
  for (auto [from, to] : {std::pair(a, b), std::pair(b, a)})
    if (uint32_t item = finder.between(from, to); item != none)
      return {WhyApart::Kind::Between, item};
  if (!finder.areLinked(a, b))
    return {WhyApart::Kind::Unlinked};
  return {};
}

} // namespace bycc
