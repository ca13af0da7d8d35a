// Links between items: cleaned, their cycles, and what they could bring together.

#include "RelaxationLinks.h"

#include "UnionFind.h"

#include <algorithm>

namespace bycc {

namespace {

constexpr uint32_t none = PlanProblem::none;
constexpr uint32_t host = PlanProblem::host;

} // namespace

PlanProblem::Lists transposed(const PlanProblem::Lists &sets, uint32_t numItems) {
  PlanProblem::Lists setsOf;
  setsOf.begin.assign(numItems + 1, 0);
  for (uint32_t item : sets.flat)
    ++setsOf.begin[item + 1];
  for (uint32_t item = 0; item < numItems; ++item)
    setsOf.begin[item + 1] += setsOf.begin[item];
  setsOf.flat.resize(sets.flat.size());
  std::vector<uint32_t> next(setsOf.begin.begin(), setsOf.begin.end() - 1);
  for (uint32_t set = 0; set < sets.size(); ++set)
    for (uint32_t item : sets[set])
      setsOf.flat[next[item]++] = set;
  return setsOf;
}

namespace {

// Two or more items each, larger sets first.
std::vector<std::vector<uint32_t>> setsByLabel(const PlanProblem &problem) {
  std::vector<std::vector<uint32_t>> sets;
  for (uint32_t set = 0; set < problem.links.size(); ++set) {
    std::vector<std::pair<uint32_t, uint32_t>> items; // label, item
    for (uint32_t item : problem.links[set])
      items.emplace_back(problem.labelOf(item), item);
    std::ranges::sort(items);
    items.erase(std::unique(items.begin(), items.end()), items.end());
    for (size_t i = 0; i < items.size();) {
      std::vector<uint32_t> one;
      for (uint32_t label = items[i].first; i < items.size() && items[i].first == label; ++i)
        one.push_back(items[i].second);
      if (one.size() > 1)
        sets.push_back(std::move(one));
    }
  }
  std::ranges::sort(sets, [](const auto &a, const auto &b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  return sets;
}

} // namespace

LinkSets linkSets(const PlanProblem &problem) {
  LinkSets links;
  std::vector<std::vector<uint32_t>> setsOf(problem.size());
  for (const std::vector<uint32_t> &set : setsByLabel(problem)) {
    uint32_t rarest =
        *std::ranges::min_element(set, {}, [&](uint32_t item) { return setsOf[item].size(); });
    if (std::ranges::any_of(setsOf[rarest], [&](uint32_t larger) {
          return std::ranges::includes(links.sets[larger], set);
        }))
      continue;
    for (uint32_t item : set) {
      setsOf[item].push_back(links.sets.size());
      links.sets.add(item);
    }
    links.sets.close();
  }
  links.setsOf = transposed(links.sets, problem.size());
  return links;
}

uint32_t numParts(const LinkSets &links, std::span<const uint32_t> items) {
  std::vector<std::pair<uint32_t, uint32_t>> places; // set, which of the items
  for (uint32_t i = 0; i < items.size(); ++i)
    for (uint32_t set : links.setsOf[items[i]])
      places.emplace_back(set, i);
  std::ranges::sort(places);
  UnionFind parts(static_cast<uint32_t>(items.size()));
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i].first == places[i - 1].first)
      parts.join(places[i].second, places[i - 1].second);
  uint32_t count = 0;
  for (uint32_t i = 0; i < items.size(); ++i)
    count += parts.find(i) == i;
  return count;
}

namespace {

// What a part of the items that could have a vendor has for its limits.
struct Part {
  int64_t ops = 0;
  double flops = 0;
  bool isExempt = false;

  void add(const PlanProblem &problem, uint32_t item) {
    ops += problem.ops[item];
    flops += problem.flops[item];
    isExempt |= !problem.isExempt.empty() && problem.isExempt[item];
  }
  bool isEnough(const PlanProblem::Vendor &vendor) const {
    double slack = 1e-9 * flops; // regions may sum up in another order
    return isExempt || (ops >= vendor.minOps && flops + slack >= vendor.minFlops);
  }
};

std::vector<Part> partsOf(const PlanProblem &problem, const LinkSets &links, uint32_t vendor,
                          const std::vector<uint8_t> &isPossible, UnionFind &parts) {
  std::vector<uint8_t> isAble(problem.size(), 0);
  for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile)
    if (isPossible[tile] && problem.tiles[tile].vendor == vendor)
      for (uint32_t member : problem.membersOf(tile)) {
        isAble[member] = true;
        parts.join(member, problem.membersOf(tile)[0]);
      }
  for (uint32_t set = 0; set < links.sets.size(); ++set) {
    uint32_t last = none;
    for (uint32_t item : links.sets[set])
      if (isAble[item]) {
        if (last != none)
          parts.join(item, last);
        last = item;
      }
  }
  std::vector<Part> sums(problem.size());
  for (uint32_t item = 0; item < problem.size(); ++item)
    if (isAble[item])
      sums[parts.find(item)].add(problem, item);
  return sums;
}

// Whether some tile of the vendor fell away.
bool dropHopeless(const PlanProblem &problem, const LinkSets &links, uint32_t vendor,
                  std::vector<uint8_t> &isPossible) {
  UnionFind parts(problem.size());
  std::vector<Part> sums = partsOf(problem, links, vendor, isPossible, parts);
  bool hasDropped = false;
  for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile) {
    if (!isPossible[tile] || problem.tiles[tile].vendor != vendor)
      continue;
    auto members = problem.membersOf(tile);
    Part part;
    if (problem.vendors[vendor].merges)
      part = sums[parts.find(members[0])];
    else
      for (uint32_t member : members)
        part.add(problem, member);
    bool isMixed = std::ranges::any_of(members, [&](uint32_t member) {
      return problem.labelOf(member) != problem.labelOf(members[0]);
    });
    if (isMixed || !part.isEnough(problem.vendors[vendor]))
      isPossible[tile] = false, hasDropped = true;
  }
  return hasDropped;
}

} // namespace

std::vector<uint8_t> possibleTiles(const PlanProblem &problem, const LinkSets &links) {
  std::vector<uint8_t> isPossible(problem.tiles.size(), true);
  for (uint32_t vendor = host + 1; vendor < problem.vendors.size(); ++vendor)
    while (dropHopeless(problem, links, vendor, isPossible))
      continue;
  return isPossible;
}

} // namespace bycc
