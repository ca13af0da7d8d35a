// Finds the cycles of links and the groups that hold them.

#include "VendorLinks.h"

#include "UnionFind.h"

#include <algorithm>

namespace bycc {

namespace {

constexpr uint32_t maxGroup = 80;    // items of a group
constexpr uint32_t maxSmall = 8;     // of a group whatever its sets
constexpr uint32_t maxOpen = 5;      // sets of other groups around any point
constexpr uint32_t maxCycle = 64;    // items of a cycle
constexpr uint32_t farSpan = 1024;   // of items looked at between two of a set
constexpr uint32_t manySplit = 64;   // items of a set that stays whole
constexpr uint32_t maxSearch = 4000; // places in sets looked at to find one

// Takes items in order, each with its places in sets one by one. A place that ties
// together what was tied already closes a cycle: the shortest through what is there.
// So all cycles are sums of these. Long ones are left out.
class CycleFinder {
public:
  explicit CycleFinder(const LinkSets &links)
      : links_(links), parts_(numItems() + links.sets.size()), from_(links.sets.size()) {}

  std::vector<std::vector<uint32_t>> run() {
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
    uint32_t set = none; // came from there
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
    from_[set] = {none, 1, ++search_};
    queue_.assign(1, set);
    uint32_t looked = 0;
    for (size_t next = 0; next < queue_.size() && looked < maxSearch; ++next) {
      uint32_t at = queue_[next];
      if (isGoal(at))
        return record(at);
      if (from_[at].length >= maxCycle)
        return;
      for (uint32_t through : links_.sets[at]) {
        if (through >= item)
          break;
        ++looked;
        for (uint32_t other : links_.setsOf[through])
          if (++looked; from_[other].search != search_) {
            from_[other] = {at, from_[at].length + 1, search_};
            queue_.push_back(other);
          }
      }
    }
  }

  void record(uint32_t set) {
    std::vector<uint32_t> &cycle = cycles_.emplace_back(1, set);
    while (from_[set].set != none)
      cycle.push_back(set = from_[set].set);
  }

  const LinkSets &links_;
  UnionFind parts_;        // items, then sets
  std::vector<Step> from_; // by set
  std::vector<uint32_t> queue_;
  uint64_t search_ = 0;
  std::vector<std::vector<uint32_t>> cycles_; // sets
};

std::vector<uint32_t> united(const std::vector<uint32_t> &a, std::span<const uint32_t> b) {
  std::vector<uint32_t> both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

class LinkGrouper {
public:
  LinkGrouper(const PlanProblem &problem, uint32_t vendor, const LinkSets &links,
              const std::vector<std::vector<uint32_t>> &cycles,
              const std::vector<uint8_t> &isPossible, const std::vector<uint8_t> &isAble,
              PartsDiagrams &diagrams)
      : problem_(problem), vendor_(vendor), isPossible_(isPossible), cycles_(cycles),
        between_(problem, isAble), diagrams_(diagrams), groupOf_(0) {
    result_.isAlone.assign(links.sets.size(), false);
    split(links, isAble);
    links_.setsOf = transposed(links_.sets, problem.size());
    groupOf_ = UnionFind(links_.sets.size());
  }

  VendorLinks run() {
    if (isSplit_)
      groupCycles(linkCycles(links_));
    else
      groupCycles(cycles_);
    for (uint32_t set = 0; set < links_.sets.size(); ++set)
      if (groupOf_.find(set) == set && itemsOf_[set].size() > 1)
        addGroup(set);
    return std::move(result_);
  }

private:
  // Sets of what is able, without what is cut apart there: two items between which lies one
  // that is not able are in no region together, so that their set links neither to the
  // other, and closes no cycle. Of far items, and in large sets, it is not known.
  void split(const LinkSets &links, const std::vector<uint8_t> &isAble) {
    Between between(problem_, isAble, farSpan);
    PlanProblem::Lists able;
    for (uint32_t set = 0; set < links.sets.size(); ++set) {
      for (uint32_t item : links.sets[set])
        if (isAble[item])
          able.add(item);
      able.close();
    }
    PlanProblem::Lists setsOf = transposed(able, problem_.size());
    UnionFind parts(static_cast<uint32_t>(able.flat.size())); // of places in sets
    for (uint32_t item = 0; item < problem_.size(); ++item) {
      uint32_t last = item;
      for (uint32_t set : setsOf[item])
        last = std::max(last, able[set].back());
      if (last == item)
        continue;
      between.lookFrom(item, last);
      for (uint32_t set : setsOf[item]) {
        auto items = able[set];
        auto own = static_cast<uint32_t>(std::ranges::lower_bound(items, item) - items.begin());
        for (uint32_t i = own + 1; i < items.size(); ++i)
          if (items.size() > manySplit || !between.isCut(items[i]))
            parts.join(able.begin[set] + own, able.begin[set] + i);
      }
    }
    for (uint32_t set = 0; set < able.size(); ++set) {
      uint32_t begin = able.begin[set], end = able.begin[set + 1];
      for (uint32_t first = begin; first < end; ++first) {
        if (parts.find(first) != first)
          continue;
        uint32_t before = links_.sets.flat.size();
        for (uint32_t i = first; i < end; ++i)
          if (parts.find(i) == first)
            links_.sets.add(able.flat[i]);
        bool isWhole = links_.sets.flat.size() - before == end - begin;
        isSplit_ |= !isWhole;
        links_.sets.close();
        wholeOf_.push_back(isWhole ? set : none);
      }
      if (begin == end) { // sets have the numbers of before if none is split
        links_.sets.close();
        wholeOf_.push_back(none);
      }
    }
  }

  // Round a cycle with others, too, they may be cut apart.
  void groupCycles(const std::vector<std::vector<uint32_t>> &cycles) {
    for (uint32_t set = 0; set < links_.sets.size(); ++set) {
      itemsOf_.emplace_back(links_.sets[set].begin(), links_.sets[set].end());
      setsOf_.push_back({set});
    }
    for (const std::vector<uint32_t> &cycle : cycles) {
      std::vector<uint32_t> items, sets, those;
      std::ranges::copy_if(cycle, std::back_inserter(those),
                           [&](uint32_t set) { return links_.sets[set].size() > 1; });
      for (uint32_t set : those) {
        items = united(items, itemsOf_[groupOf_.find(set)]);
        sets = united(sets, setsOf_[groupOf_.find(set)]);
      }
      if (those.empty() || items.size() > maxGroup ||
          (items.size() > maxSmall && linkedItems(items, sets).mostOpen() > maxOpen))
        continue;
      for (uint32_t set : those)
        groupOf_.join(set, those[0]);
      uint32_t group = groupOf_.find(those[0]);
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

  void addGroup(uint32_t group) {
    const std::vector<uint32_t> &items = itemsOf_[group];
    LinkedItems linked = linkedItems(items, setsOf_[group]);
    bool isCut = findCuts(items, linked);
    VendorLinks::Group result{items, none, waysOf(items, linked)};
    if (!isCut && result.tiles.empty() && setsOf_[group].size() == 1 && wholeOf_[group] != none) {
      result_.isAlone[wholeOf_[group]] = true;
      return;
    }
    result.diagram = diagrams_.of(linked);
    result_.groups.push_back(std::move(result));
  }

  // Whether items are cut apart whatever is there.
  bool findCuts(const std::vector<uint32_t> &items, LinkedItems &linked) {
    linked.neededBy.assign(items.size(), 0);
    linked.isCutFrom.assign(items.size(), 0);
    bool isCut = false;
    for (uint32_t i = 0; i < items.size(); ++i) {
      size_t end = std::min<size_t>(items.size(), i + 1 + LinkedItems::reach);
      between_.lookFrom(items[i], items[end - 1]);
      for (uint32_t j = i + 1; j < end; ++j) {
        linked.neededBy[i] |= uint64_t(between_.isReached(items[j])) << (j - i - 1);
        linked.isCutFrom[i] |= uint64_t(between_.isCut(items[j])) << (j - i - 1);
      }
      isCut |= linked.isCutFrom[i] != 0;
    }
    return isCut;
  }

  // Tiles that are apart from tiles of others here.
  std::vector<ApartWays::Tiles> waysOf(const std::vector<uint32_t> &items,
                                       LinkedItems &linked) const {
    ApartWays ways = apartWays(problem_, vendor_, isPossible_, items, linked.neededBy);
    if (ways.tiles.empty())
      return {};
    linked.number.assign(items.size(), {});
    linked.isApartFrom.assign(items.size(), {});
    uint32_t numbers = 0;
    for (const ApartWays::Pair &pair : ways.pairs) {
      uint64_t &number = linked.number[pair.later][pair.laterWay];
      if (number == 0 && numbers < LinkedItems::maxNumbers)
        number = uint64_t{1} << numbers++;
      linked.isApartFrom[pair.item][pair.way] |= number;
    }
    return std::move(ways.tiles);
  }

  const PlanProblem &problem_;
  uint32_t vendor_;
  const std::vector<uint8_t> &isPossible_; // by tile
  const std::vector<std::vector<uint32_t>> &cycles_;
  Between between_;
  PartsDiagrams &diagrams_;
  LinkSets links_;
  bool isSplit_ = false;
  std::vector<uint32_t> wholeOf_;              // by set: that of before, if it is the same
  UnionFind groupOf_;                          // by set: the first of its group
  std::vector<std::vector<uint32_t>> itemsOf_; // by group
  std::vector<std::vector<uint32_t>> setsOf_;  // by group
  VendorLinks result_;
};

} // namespace

std::vector<std::vector<uint32_t>> linkCycles(const LinkSets &links) {
  std::vector<std::vector<uint32_t>> cycles = CycleFinder(links).run();
  std::ranges::stable_sort(cycles, {}, [](const auto &sets) { return sets.size(); });
  return cycles;
}

VendorLinks vendorLinks(const PlanProblem &problem, uint32_t vendor, const LinkSets &links,
                        const std::vector<std::vector<uint32_t>> &cycles,
                        const std::vector<uint8_t> &isPossible, PartsDiagrams &diagrams) {
  std::vector<uint8_t> isAble = ableItems(problem, isPossible, vendor);
  return LinkGrouper(problem, vendor, links, cycles, isPossible, isAble, diagrams).run();
}

} // namespace bycc
