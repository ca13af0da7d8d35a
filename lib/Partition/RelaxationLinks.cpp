// Links between items: cleaned, their cycles, and what they could bring together.

#include "RelaxationLinks.h"

#include "UnionFind.h"

#include <algorithm>
#include <array>
#include <bit>

namespace bycc {

namespace {

constexpr uint32_t none = PlanProblem::none;
constexpr uint32_t host = PlanProblem::host;
constexpr uint32_t maxCycle = 32;    // items of a cycle
constexpr uint32_t maxSearch = 2000; // places in sets looked at to find one

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

// A cycle of items from set to set.
struct Cycle {
  std::vector<uint32_t> items, sets;
};

// Takes items in order, each with its places in sets one by one. A place that ties
// together what was tied already closes a cycle: the shortest through what is there.
// As no earlier cycle goes through it, they are independent. Long ones are left out.
class CycleFinder {
public:
  explicit CycleFinder(const LinkSets &links)
      : links_(links), parts_(numItems() + links.sets.size()), from_(links.sets.size()) {}

  std::vector<Cycle> run() {
    for (uint32_t item = 0; item < numItems(); ++item)
      for (uint32_t set : links_.setsOf[item]) {
        if (parts_.find(item) == parts_.find(numItems() + set))
          close(item, set);
        parts_.join(item, numItems() + set);
      }
    return std::move(cycles_);
  }

private:
  struct Step {
    uint32_t set = none, item = none; // came from there, through it
    uint32_t length = 0;
    uint64_t search = 0;
  };

  uint32_t numItems() const { return links_.setsOf.size(); }

  // From the set, through earlier items, to an earlier set of the item.
  void close(uint32_t item, uint32_t set) {
    auto sets = links_.setsOf[item];
    auto isGoal = [&](uint32_t other) { // the sets of an item ascend
      return other < set && std::ranges::binary_search(sets, other);
    };
    from_[set] = {none, none, 1, ++search_};
    queue_.assign(1, set);
    uint32_t looked = 0;
    for (size_t next = 0; next < queue_.size() && looked < maxSearch; ++next) {
      uint32_t at = queue_[next];
      if (isGoal(at))
        return record(item, at);
      if (from_[at].length >= maxCycle)
        return;
      for (uint32_t through : links_.sets[at]) {
        if (through >= item)
          break;
        ++looked;
        for (uint32_t other : links_.setsOf[through])
          if (++looked; from_[other].search != search_) {
            from_[other] = {at, through, from_[at].length + 1, search_};
            queue_.push_back(other);
          }
      }
    }
  }

  void record(uint32_t item, uint32_t set) {
    Cycle &cycle = cycles_.emplace_back();
    cycle.items.push_back(item);
    for (; from_[set].item != none; set = from_[set].set) {
      cycle.items.push_back(from_[set].item);
      cycle.sets.push_back(set);
    }
    cycle.sets.push_back(set);
    std::ranges::sort(cycle.items);
  }

  const LinkSets &links_;
  UnionFind parts_; // items, then sets
  std::vector<Step> from_; // by set
  std::vector<uint32_t> queue_;
  uint64_t search_ = 0;
  std::vector<Cycle> cycles_;
};

std::vector<uint32_t> united(const std::vector<uint32_t> &a, std::span<const uint32_t> b) {
  std::vector<uint32_t> both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

// Which items come before which, and whether something that is not able lies between.
class Between {
public:
  Between(const PlanProblem &problem, const std::vector<uint8_t> &isAble)
      : problem_(problem), isAble_(isAble) {}

  // From the first item to later ones, nearby.
  void lookFrom(uint32_t item, uint32_t last) {
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
  bool isReached(uint32_t item) const { return at(item) & Reached; }
  bool isCut(uint32_t item) const { return at(item) & Cut; }

private:
  static constexpr uint32_t maxSpan = 256;
  enum : uint8_t { Reached = 1, Cut = 2 };
  uint8_t at(uint32_t item) const {
    return item - first_ < state_.size() ? state_[item - first_] : 0;
  }

  const PlanProblem &problem_;
  const std::vector<uint8_t> &isAble_;
  uint32_t first_ = 0;
  std::vector<uint8_t> state_;
};

class LinkGrouper {
public:
  LinkGrouper(const PlanProblem &problem, const LinkSets &links,
              const std::vector<uint8_t> &isAble)
      : problem_(problem), between_(problem, isAble), groupOf_(links.sets.size()) {
    // Just what is able.
    for (uint32_t set = 0; set < links.sets.size(); ++set) {
      for (uint32_t item : links.sets[set])
        if (isAble[item])
          links_.sets.add(item);
      links_.sets.close();
    }
    links_.setsOf = transposed(links_.sets, problem.size());
  }

  VendorLinks run() {
    groupCycles();
    std::vector<uint8_t> isOnCycle = findLongCycles();
    result_.isAlone.assign(links_.sets.size(), false);
    for (uint32_t set = 0; set < links_.sets.size(); ++set)
      if (groupOf_.find(set) == set && itemsOf_[set].size() > 1)
        addGroup(set, !isOnCycle[set]);
    return std::move(result_);
  }

private:
  void groupCycles() {
    for (uint32_t set = 0; set < links_.sets.size(); ++set) {
      itemsOf_.emplace_back(links_.sets[set].begin(), links_.sets[set].end());
      setsOf_.push_back({set});
    }
    for (const Cycle &cycle : CycleFinder(links_).run()) {
      std::vector<uint32_t> items, sets;
      for (uint32_t set : cycle.sets) {
        items = united(items, itemsOf_[groupOf_.find(set)]);
        sets = united(sets, setsOf_[groupOf_.find(set)]);
        if (items.size() > VendorLinks::maxGroup)
          break;
      }
      if (items.size() > VendorLinks::maxGroup)
        continue;
      for (uint32_t set : cycle.sets)
        groupOf_.join(set, cycle.sets[0]);
      uint32_t group = groupOf_.find(cycle.sets[0]);
      itemsOf_[group] = std::move(items);
      setsOf_[group] = std::move(sets);
    }
  }

  // Between the groups; whether one goes through, by group.
  std::vector<uint8_t> findLongCycles() {
    LinkSets groups;
    for (uint32_t set = 0; set < links_.sets.size(); ++set) {
      if (groupOf_.find(set) == set)
        for (uint32_t item : itemsOf_[set])
          groups.sets.add(item);
      groups.sets.close();
    }
    groups.setsOf = transposed(groups.sets, problem_.size());
    std::vector<uint8_t> isOnCycle(links_.sets.size(), false);
    for (Cycle &cycle : CycleFinder(groups).run()) {
      for (uint32_t group : cycle.sets) {
        isOnCycle[group] = true;
        if (setsOf_[group].size() > 1) // its items may be in many parts
          cycle.items = united(cycle.items, itemsOf_[group]);
      }
      result_.cycles.push_back(std::move(cycle.items));
    }
    return isOnCycle;
  }

  // Of items, what has to be in another region than what, given which are there, is
  // only known to be cut where no cycle leads around.
  void addGroup(uint32_t group, bool mayCut) {
    const std::vector<uint32_t> &items = itemsOf_[group];
    bool isCut = false;
    if (items.size() <= VendorLinks::maxGroup && mayCut)
      isCut = findBetween(items);
    else
      clearBetween();
    if (setsOf_[group].size() == 1 && !isCut) {
      result_.isAlone[group] = true;
      return;
    }
    VendorLinks::Group &added = result_.groups.emplace_back();
    added.items = items;
    linked_.clear(); // by set, which items
    for (uint32_t set : setsOf_[group]) {
      uint32_t &mask = linked_.emplace_back(0);
      for (uint32_t item : links_.sets[set])
        mask |= 1u << (std::ranges::lower_bound(items, item) - items.begin());
    }
    for (uint32_t there = 0; there < 1u << items.size(); ++there)
      added.numParts.push_back(static_cast<uint8_t>(countParts(there)));
  }

  void clearBetween() {
    std::ranges::fill(after_, 0u);
    std::ranges::fill(cut_, 0u);
  }
  bool findBetween(const std::vector<uint32_t> &items) {
    clearBetween();
    bool isCut = false;
    for (uint32_t i = 0; i < items.size(); ++i) {
      between_.lookFrom(items[i], items.back());
      for (uint32_t j = i + 1; j < items.size(); ++j) {
        after_[i] |= uint32_t(between_.isReached(items[j])) << j;
        cut_[i] |= uint32_t(between_.isCut(items[j])) << j;
      }
      isCut |= cut_[i] != 0;
    }
    return isCut;
  }

  uint32_t countParts(uint32_t there) const {
    uint32_t count = 0;
    for (uint32_t left = there; left;) {
      uint32_t part = left & -left;
      for (bool grows = true; grows;) {
        grows = false;
        for (uint32_t set : linked_)
          if ((set & part) && (set & there & ~part))
            part |= set & there, grows = true;
      }
      count += longestChain(part, there);
      left &= ~part;
    }
    return count;
  }
  // Of items that each need something beyond the region that needs the one before.
  uint32_t longestChain(uint32_t part, uint32_t there) const {
    uint32_t longest = 1, chain[VendorLinks::maxGroup];
    for (uint32_t i = 0; i < VendorLinks::maxGroup; ++i) {
      chain[i] = 1;
      if (!(part >> i & 1))
        continue;
      for (uint32_t j = 0; j < i; ++j)
        if ((part >> j & 1) && isCutApart(j, i, there))
          chain[i] = std::max(chain[i], chain[j] + 1);
      longest = std::max(longest, chain[i]);
    }
    return longest;
  }
  bool isCutApart(uint32_t first, uint32_t second, uint32_t there) const {
    if (cut_[first] >> second & 1)
      return true;
    for (uint32_t left = after_[first] & ~there; left; left &= left - 1)
      if (after_[std::countr_zero(left)] >> second & 1)
        return true;
    return false;
  }

  const PlanProblem &problem_;
  Between between_;
  LinkSets links_;
  UnionFind groupOf_;                          // by set: the first of its group
  std::vector<std::vector<uint32_t>> itemsOf_; // by group
  std::vector<std::vector<uint32_t>> setsOf_;  // by group
  std::vector<uint32_t> linked_;
  std::array<uint32_t, VendorLinks::maxGroup> after_{}, cut_{}; // items of a group: later ones
  VendorLinks result_;
};

} // namespace

VendorLinks vendorLinks(const PlanProblem &problem, const LinkSets &links,
                        const std::vector<uint8_t> &isAble) {
  return LinkGrouper(problem, links, isAble).run();
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
