// Items are taken in order. Each gets a tile, and a tile whose last item is there
// joins a group of its vendor or makes a new one, as long as no group needs itself
// through another. What a plan costs only grows on the way: tiles when they are
// taken, a launch with each new group, a transfer as soon as a value's maker and a
// reader stand in different places. With the least that the other items can add,
// that is a bound; what is not below the best plan so far is not followed.
//
// Sets of items and groups are bit masks; each group knows all groups that it needs.

#include "PlanSearch.h"

#include "bycc/Support/Error.h"

#include "UnionFind.h"

#include <algorithm>
#include <array>

namespace bycc {

namespace {

class Search {
public:
  Search(const PlanProblem &problem, double upper, uint64_t &steps)
      : problem_(problem), steps_(steps), bestTime_(upper), size_(problem.size()),
        tile_(size_, none), group_(size_, none), reads_(size_), makes_(size_),
        isOut_(problem.tensors.size(), 0),
        isIn_(problem.tensors.size() * problem.vendors.size(), 0) {
    BYCC_ASSERT(size_ <= maxSearchedItems, "what is searched through is small");
    for (uint32_t t = 0; t < problem.tensors.size(); ++t) {
      for (uint32_t user : problem.users[t])
        reads_[user].push_back(t);
      if (uint32_t maker = problem.tensors[t].maker; maker != none)
        makes_[maker].push_back(t);
    }
    for (uint32_t item = size_; item-- > 0;) {
      double least = 1e300;
      for (uint32_t tile : problem.tilesOf[item])
        least = std::min(least, problem.tiles[tile].time /
                                    static_cast<double>(problem.membersOf(tile).size()));
      share_.push_back(least);
    }
    std::ranges::reverse(share_);
    for (double share : share_)
      rest_ += share;
  }

  std::optional<PlanAnswer> run() {
    take(0);
    return std::move(best_);
  }
  bool isComplete() const { return !isCut_; }

private:
  struct Group {
    uint32_t vendor = host, label = 0;
    uint32_t tiles = 0;
  };

  // Shares are fractions; the error of their sums is far below half a picosecond.
  bool isHopeless() const { return time_ + rest_ >= bestTime_ - 0.25; }

  void take(uint32_t item) {
    if (isHopeless())
      return;
    if (steps_ == 0) {
      isCut_ = true;
      return;
    }
    --steps_;
    if (item == size_)
      return finish();
    if (tile_[item] != none) {
      if (problem_.membersOf(tile_[item]).back() == item)
        place(item);
      else
        take(item + 1);
      return;
    }
    for (uint32_t tile : problem_.tilesOf[item])
      if (problem_.membersOf(tile)[0] == item && isFree(tile))
        takeTile(item, tile);
  }

  bool isFree(uint32_t tile) const {
    return std::ranges::all_of(problem_.membersOf(tile),
                               [&](uint32_t member) { return tile_[member] == none; });
  }

  void takeTile(uint32_t item, uint32_t tile) {
    double time = time_, rest = rest_;
    for (uint32_t member : problem_.membersOf(tile)) {
      tile_[member] = tile;
      rest_ -= share_[member];
    }
    time_ += problem_.tiles[tile].time;
    if (problem_.isComposite(tile))
      take(item + 1);
    else
      place(item);
    time_ = time;
    rest_ = rest;
    for (uint32_t member : problem_.membersOf(tile))
      tile_[member] = none;
  }

  // The tile whose last item this is goes into a group.
  void place(uint32_t item) {
    uint32_t tile = tile_[item], vendor = problem_.tiles[tile].vendor;
    uint32_t label = problem_.labelOf(item);
    if (vendor != host && problem_.vendors[vendor].merges)
      for (uint32_t group = 0; group < groups_.size(); ++group)
        if (groups_[group].vendor == vendor && groups_[group].label == label &&
            mayJoin(tile, group))
          put(item, group);
    needs_[groups_.size()] = 0;
    groups_.push_back({vendor, label, 0});
    double time = time_;
    time_ += vendor == host ? 0 : problem_.vendors[vendor].launch;
    put(item, static_cast<uint32_t>(groups_.size() - 1));
    time_ = time;
    groups_.pop_back();
  }

  bool mayJoin(uint32_t tile, uint32_t group) const {
    if (problem_.apart.empty())
      return true;
    for (uint32_t other = 0; other < size_; ++other)
      if (group_[other] == group && problem_.areApart(tile, tile_[other]))
        return false;
    return true;
  }

  void put(uint32_t item, uint32_t group) {
    std::span<const uint32_t> members = problem_.membersOf(tile_[item]);
    uint64_t needed = 0;
    for (uint32_t member : members)
      for (uint32_t need : problem_.needs[member])
        if (tile_[need] != tile_[item] && group_[need] != group)
          needed |= uint64_t{1} << group_[need] | needs_[group_[need]];
    if (needed >> group & 1)
      return; // the group would need itself
    std::array<uint64_t, maxSearchedItems> before = needs_;
    needs_[group] |= needed;
    for (uint32_t other = 0; other < groups_.size(); ++other)
      if (needs_[other] >> group & 1)
        needs_[other] |= needs_[group];
    double time = time_;
    size_t crossed = crossed_.size();
    for (uint32_t member : members)
      group_[member] = group;
    for (uint32_t member : members)
      addCrossings(member, group);
    take(item + 1);
    for (uint32_t member : members)
      group_[member] = none;
    for (; crossed_.size() > crossed; crossed_.pop_back())
      *crossed_.back() = 0;
    time_ = time;
    needs_ = before;
  }

  // Transfers that are certain now.
  void addCrossings(uint32_t item, uint32_t group) {
    uint32_t vendor = groups_[group].vendor;
    for (uint32_t t : reads_[item]) {
      uint32_t maker = problem_.tensors[t].maker;
      uint32_t home = maker == none ? none : group_[maker];
      if (home == group)
        continue;
      uint32_t owner = home == none ? host : groups_[home].vendor;
      if (owner == vendor && (owner == host || problem_.vendors[vendor].ownMemory))
        continue;
      if (owner != host)
        cross(isOut_[t], owner, t);
      if (vendor != host)
        cross(isIn_[t * problem_.vendors.size() + vendor], vendor, t);
    }
    if (vendor != host)
      for (uint32_t t : makes_[item])
        if (problem_.tensors[t].isUsedOutside)
          cross(isOut_[t], vendor, t);
  }

  void cross(uint8_t &isDone, uint32_t vendor, uint32_t tensor) {
    if (isDone)
      return;
    isDone = 1;
    crossed_.push_back(&isDone);
    time_ += problem_.crossing(vendor, tensor);
  }

  void finish() {
    PlanAnswer plan;
    plan.tile = tile_;
    for (uint32_t item = 0; item < size_; ++item)
      plan.region.push_back(groups_[group_[item]].vendor == host ? none : group_[item]);
    if (!isLegal(problem_, plan)) // links, limits
      return;
    renumber(plan);
    bestTime_ = timeOf(problem_, plan).total();
    best_ = std::move(plan);
  }

  const PlanProblem &problem_;
  uint64_t &steps_;
  double bestTime_, time_ = 0;
  double rest_ = 0; // the least that items without a tile add
  uint32_t size_;
  bool isCut_ = false;
  std::optional<PlanAnswer> best_;
  std::vector<double> share_; // by item: the least that it adds
  std::vector<uint32_t> tile_, group_;
  std::vector<std::vector<uint32_t>> reads_, makes_; // tensors, by item
  std::vector<Group> groups_;
  std::array<uint64_t, maxSearchedItems> needs_{};
  std::vector<uint8_t> isOut_, isIn_; // by tensor; and vendor
  std::vector<uint8_t *> crossed_;
};

} // namespace

std::optional<PlanAnswer> searchPlans(const PlanProblem &problem, double upper, uint64_t &steps,
                                      bool &isComplete) {
  Search search(problem, upper, steps);
  std::optional<PlanAnswer> best = search.run();
  isComplete = search.isComplete();
  return best;
}

} // namespace bycc
