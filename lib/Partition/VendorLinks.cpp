// Finds the cycles of links and the groups that hold them.

#include "VendorLinks.h"

#include "UnionFind.h"

#include <algorithm>

namespace bycc {

namespace {

constexpr uint32_t none = PlanProblem::none;
constexpr uint32_t maxSmall = 8;     // items of a group of any kind
constexpr uint32_t maxOpen = 5;      // sets with items before and after any point of others
constexpr uint32_t maxCycle = 64;    // items of a cycle
constexpr uint32_t maxSearch = 4000; // places in sets looked at to find one

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
              const std::vector<uint8_t> &isAble, PartsDiagrams &diagrams)
      : problem_(problem), between_(problem, isAble), diagrams_(diagrams),
        groupOf_(links.sets.size()) {
    for (uint32_t set = 0; set < links.sets.size(); ++set) { // of what is able
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
  // Short cycles first.
  void groupCycles() {
    for (uint32_t set = 0; set < links_.sets.size(); ++set) {
      itemsOf_.emplace_back(links_.sets[set].begin(), links_.sets[set].end());
      setsOf_.push_back({set});
    }
    std::vector<Cycle> cycles = CycleFinder(links_).run();
    std::ranges::stable_sort(cycles, {}, [](const Cycle &cycle) { return cycle.items.size(); });
    for (const Cycle &cycle : cycles) {
      std::vector<uint32_t> items, sets;
      for (uint32_t set : cycle.sets) {
        items = united(items, itemsOf_[groupOf_.find(set)]);
        sets = united(sets, setsOf_[groupOf_.find(set)]);
      }
      if (items.size() > maxSmall && linkedItems(items, sets).mostOpen() > maxOpen)
        continue;
      for (uint32_t set : cycle.sets)
        groupOf_.join(set, cycle.sets[0]);
      uint32_t group = groupOf_.find(cycle.sets[0]);
      itemsOf_[group] = std::move(items);
      setsOf_[group] = std::move(sets);
    }
  }

  LinkedItems linkedItems(const std::vector<uint32_t> &items,
                          const std::vector<uint32_t> &sets) const {
    LinkedItems linked;
    linked.size = static_cast<uint32_t>(items.size());
    for (uint32_t set : sets) {
      std::vector<uint32_t> &numbers = linked.sets.emplace_back();
      for (uint32_t item : links_.sets[set])
        numbers.push_back(
            static_cast<uint32_t>(std::ranges::lower_bound(items, item) - items.begin()));
    }
    return linked;
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

  // Items cut apart make another part only where no cycle leads around.
  void addGroup(uint32_t group, bool mayCut) {
    const std::vector<uint32_t> &items = itemsOf_[group];
    LinkedItems linked = linkedItems(items, setsOf_[group]);
    bool isCut = mayCut && items.size() <= LinkedItems::maxCut && findCuts(items, linked);
    if (setsOf_[group].size() == 1 && !isCut)
      result_.isAlone[group] = true;
    else
      result_.groups.push_back({items, diagrams_.of(linked)});
  }

  bool findCuts(const std::vector<uint32_t> &items, LinkedItems &linked) {
    linked.neededBy.assign(items.size(), 0);
    linked.isCutFrom.assign(items.size(), 0);
    bool isCut = false;
    for (uint32_t i = 0; i < items.size(); ++i) {
      between_.lookFrom(items[i], items.back());
      for (uint32_t j = i + 1; j < items.size(); ++j) {
        linked.neededBy[i] |= uint32_t(between_.isReached(items[j])) << j;
        linked.isCutFrom[i] |= uint32_t(between_.isCut(items[j])) << j;
      }
      isCut |= linked.isCutFrom[i] != 0;
    }
    return isCut;
  }

  const PlanProblem &problem_;
  Between between_;
  PartsDiagrams &diagrams_;
  LinkSets links_;
  UnionFind groupOf_;                          // by set: the first of its group
  std::vector<std::vector<uint32_t>> itemsOf_; // by group
  std::vector<std::vector<uint32_t>> setsOf_;  // by group
  VendorLinks result_;
};

} // namespace

VendorLinks vendorLinks(const PlanProblem &problem, const LinkSets &links,
                        const std::vector<uint8_t> &isAble, PartsDiagrams &diagrams) {
  return LinkGrouper(problem, links, isAble, diagrams).run();
}

} // namespace bycc
