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

// The linked items that could be in one region with each.
class Partners {
public:
  Partners(const PlanProblem &problem, const LinkSets &links, const std::vector<uint8_t> &isAble)
      : links_(links), isAble_(isAble), partners_(problem.size()) {
    Between between(problem, isAble);
    for (uint32_t item = 0; item < problem.size(); ++item) {
      if (!isAble[item])
        continue;
      uint32_t last = item;
      for (uint32_t set : links.setsOf[item])
        last = std::max(last, links.sets[set].back());
      between.lookFrom(item, last);
      for (uint32_t set : links.setsOf[item])
        if (links.sets[set].size() <= maxSet)
          for (uint32_t other : links.sets[set])
            if (other > item && isAble[other] && !between.isCut(other)) {
              partners_[item].push_back(other);
              partners_[other].push_back(item);
            }
    }
  }

  void joinInto(UnionFind &parts) const {
    for (uint32_t item = 0; item < partners_.size(); ++item)
      for (uint32_t other : partners_[item])
        parts.join(item, other);
    for (uint32_t set = 0; set < links_.sets.size(); ++set)
      if (links_.sets[set].size() > maxSet)
        for (uint32_t item : links_.sets[set])
          if (isAble_[item])
            parts.join(item, links_.sets[set][0]);
  }
  // Empty if there are too many to tell.
  std::vector<uint32_t> of(std::span<const uint32_t> members) const {
    std::vector<uint32_t> partners;
    for (uint32_t member : members) {
      if (std::ranges::any_of(links_.setsOf[member],
                              [&](uint32_t set) { return links_.sets[set].size() > maxSet; }))
        return {};
      partners.insert(partners.end(), partners_[member].begin(), partners_[member].end());
    }
    std::ranges::sort(partners);
    partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
    std::erase_if(partners,
                  [&](uint32_t other) { return std::ranges::binary_search(members, other); });
    return partners;
  }

private:
  static constexpr uint32_t maxSet = 64; // of larger ones, any two may be partners
  const LinkSets &links_;
  const std::vector<uint8_t> &isAble_;
  std::vector<std::vector<uint32_t>> partners_; // by item
};

Part sumOf(const PlanProblem &problem, std::span<const uint32_t> items) {
  Part sum;
  for (uint32_t item : items)
    sum.add(problem, item);
  return sum;
}

// One label, and nothing in between that is not able.
bool isWhole(const PlanProblem &problem, std::span<const uint32_t> members,
             const std::vector<uint8_t> &isAble) {
  Between between(problem, isAble);
  for (uint32_t i = 0; i + 1 < members.size(); ++i) {
    if (problem.labelOf(members[i]) != problem.labelOf(members[i + 1]))
      return false;
    between.lookFrom(members[i], members.back());
    for (uint32_t later : members.subspan(i + 1))
      if (between.isCut(later))
        return false;
  }
  return true;
}

// Whether some tile of the vendor fell away.
bool dropHopeless(const PlanProblem &problem, const LinkSets &links, uint32_t vendor,
                  std::vector<uint8_t> &isPossible) {
  const PlanProblem::Vendor &limits = problem.vendors[vendor];
  std::vector<uint8_t> isAble = ableItems(problem, isPossible, vendor);
  std::vector<Part> sums;
  UnionFind parts(problem.size());
  if (limits.merges && !Part().isEnough(limits)) {
    Partners(problem, links, isAble).joinInto(parts);
    for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile)
      if (isPossible[tile] && problem.tiles[tile].vendor == vendor)
        for (uint32_t member : problem.membersOf(tile))
          parts.join(member, problem.membersOf(tile)[0]);
    sums.resize(problem.size());
    for (uint32_t item = 0; item < problem.size(); ++item)
      if (isAble[item])
        sums[parts.find(item)].add(problem, item);
  }
  bool hasDropped = false;
  std::vector<uint8_t> isMember(problem.size(), false);
  for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile) {
    if (!isPossible[tile] || problem.tiles[tile].vendor != vendor)
      continue;
    auto members = problem.membersOf(tile);
    for (uint32_t member : members)
      isMember[member] = true;
    Part most = sums.empty() ? sumOf(problem, members) : sums[parts.find(members[0])];
    bool isEnough = most.isEnough(limits) || (limits.merges && sums.empty());
    if (!isEnough || !isWhole(problem, members, limits.merges ? isAble : isMember))
      isPossible[tile] = false, hasDropped = true;
    for (uint32_t member : members)
      isMember[member] = false;
  }
  return hasDropped;
}

} // namespace

void Between::lookFrom(uint32_t item, uint32_t last) {
  first_ = item;
  state_.assign(std::min(last - item, maxSpan) + 1, 0);
  state_[0] = Reached;
  for (uint32_t i = 1; i < state_.size(); ++i)
    for (uint32_t need : problem_.needs[item + i])
      if (need >= item && state_[need - item]) {
        state_[i] |= state_[need - item];
        if (need != item && !isAble_[need])
          state_[i] |= Cut;
      }
}

std::vector<uint8_t> ableItems(const PlanProblem &problem, const std::vector<uint8_t> &isPossible,
                               uint32_t vendor) {
  std::vector<uint8_t> isAble(problem.size(), false);
  for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile)
    if (isPossible[tile] && problem.tiles[tile].vendor == vendor)
      for (uint32_t member : problem.membersOf(tile))
        isAble[member] = true;
  return isAble;
}

std::vector<uint8_t> possibleTiles(const PlanProblem &problem, const LinkSets &links) {
  std::vector<uint8_t> isPossible(problem.tiles.size(), true);
  for (uint32_t vendor = host + 1; vendor < problem.vendors.size(); ++vendor)
    while (dropHopeless(problem, links, vendor, isPossible))
      continue;
  return isPossible;
}

std::vector<SmallTile> smallTiles(const PlanProblem &problem, const LinkSets &links,
                                  const std::vector<uint8_t> &isPossible) {
  std::vector<SmallTile> small;
  for (uint32_t vendor = host + 1; vendor < problem.vendors.size(); ++vendor) {
    const PlanProblem::Vendor &limits = problem.vendors[vendor];
    if (!limits.merges || Part().isEnough(limits))
      continue;
    std::vector<uint8_t> isAble = ableItems(problem, isPossible, vendor);
    Partners partners(problem, links, isAble);
    for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile) {
      auto members = problem.membersOf(tile);
      if (!isPossible[tile] || problem.tiles[tile].vendor != vendor ||
          sumOf(problem, members).isEnough(limits))
        continue;
      if (std::vector<uint32_t> those = partners.of(members); !those.empty())
        small.push_back({tile, std::move(those)});
    }
  }
  return small;
}

} // namespace bycc
