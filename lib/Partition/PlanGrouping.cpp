// Tiles are units here: a composite is one, at the place of its last item, whose
// value is all that others see of it. So the order of units is one in which they
// can run.

#include "PlanGrouping.h"

#include "RegionBatches.h"
#include "RegionJoiner.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

namespace bycc {

namespace {

// The units of a choice of tiles as a grouping problem.
class Units {
public:
  Units(const PlanProblem &problem, const std::vector<uint32_t> &tile)
      : problem_(problem), tile_(tile), unitOf_(problem.size()) {
    for (uint32_t item = 0; item < problem.size(); ++item)
      if (problem.membersOf(tile[item]).back() == item) {
        for (uint32_t member : problem.membersOf(tile[item]))
          unitOf_[member] = static_cast<uint32_t>(first_.size());
        first_.push_back(item);
      }
    addVendors();
    addNeeds();
    addShares();
    addApart();
  }

  const RegionProblem &regions() const { return regions_; }
  uint32_t size() const { return static_cast<uint32_t>(first_.size()); }
  uint32_t tileOf(uint32_t unit) const { return tile_[first_[unit]]; }

  // Groups by unit, any number.
  PlanAnswer answer(const std::vector<uint32_t> &groups) const {
    PlanAnswer plan;
    plan.tile = tile_;
    plan.region.resize(problem_.size());
    for (uint32_t item = 0; item < problem_.size(); ++item)
      plan.region[item] =
          regions_.vendor[unitOf_[item]] == RegionProblem::host ? none : groups[unitOf_[item]];
    renumber(plan);
    return plan;
  }

private:
  // What regions belong to: a vendor and a label, or a unit alone.
  void addVendors() {
    std::unordered_map<uint64_t, int32_t> others;
    int32_t next = static_cast<int32_t>(problem_.vendors.size());
    for (uint32_t unit = 0; unit < size(); ++unit) {
      uint32_t vendor = problem_.tiles[tileOf(unit)].vendor, label = problem_.labelOf(first_[unit]);
      int32_t number = static_cast<int32_t>(vendor);
      if (vendor == host) {
        number = RegionProblem::host;
      } else if (!problem_.vendors[vendor].merges || label != 0) {
        uint64_t key = problem_.vendors[vendor].merges ? uint64_t{vendor} << 32 | label
                                                       : uint64_t{none} << 32 | unit;
        auto [found, isNew] = others.try_emplace(key, next);
        next += isNew;
        number = found->second;
      }
      regions_.vendor.push_back(number);
      regions_.isWire.push_back(0);
    }
  }

  void addNeeds() {
    for (uint32_t unit = 0; unit < size(); ++unit) {
      for (uint32_t member : problem_.membersOf(tileOf(unit)))
        for (uint32_t need : problem_.needs[member])
          if (unitOf_[need] != unit)
            regions_.needs.push_back(unitOf_[need]);
      regions_.needsBegin.push_back(static_cast<uint32_t>(regions_.needs.size()));
    }
  }

  void addShares() {
    for (uint32_t set = 0; set < problem_.links.size(); ++set) {
      size_t begin = regions_.shares.size();
      for (uint32_t item : problem_.links[set])
        if (uint32_t unit = unitOf_[item]; regions_.vendor[unit] != RegionProblem::host)
          regions_.shares.push_back(unit);
      if (regions_.shares.size() - begin < 2) {
        regions_.shares.resize(begin);
        continue;
      }
      regions_.sharesBegin.push_back(static_cast<uint32_t>(regions_.shares.size()));
    }
  }

  void addApart() {
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (auto [a, b] : problem_.apart)
      if (isUsed(a) && isUsed(b))
        pairs.emplace_back(unitOf_[problem_.membersOf(a)[0]], unitOf_[problem_.membersOf(b)[0]]);
    if (pairs.empty())
      return;
    std::ranges::sort(pairs);
    regions_.apartBegin.assign(size() + 1, 0);
    for (auto [a, b] : pairs) {
      ++regions_.apartBegin[a + 1];
      regions_.apart.push_back(b);
    }
    std::partial_sum(regions_.apartBegin.begin(), regions_.apartBegin.end(),
                     regions_.apartBegin.begin());
  }

  bool isUsed(uint32_t tile) const { return tile_[problem_.membersOf(tile)[0]] == tile; }

  const PlanProblem &problem_;
  const std::vector<uint32_t> &tile_;
  std::vector<uint32_t> unitOf_; // by item
  std::vector<uint32_t> first_;  // by unit: its last item
  RegionProblem regions_;
};

// Items of regions that do not keep their limits.
std::vector<uint32_t> itemsBelowLimits(const PlanProblem &problem, const PlanAnswer &plan) {
  struct Sum {
    int64_t ops = 0;
    double flops = 0;
    bool isExempt = false;
  };
  std::vector<Sum> sums;
  for (uint32_t item = 0; item < problem.size(); ++item)
    if (uint32_t region = plan.region[item]; region != none) {
      sums.resize(std::max<size_t>(sums.size(), region + 1));
      sums[region].ops += problem.ops[item];
      sums[region].flops += problem.flops[item];
      sums[region].isExempt |= !problem.isExempt.empty() && problem.isExempt[item];
    }
  std::vector<uint32_t> items;
  for (uint32_t item = 0; item < problem.size(); ++item)
    if (uint32_t region = plan.region[item]; region != none && !sums[region].isExempt) {
      const PlanProblem::Vendor &vendor = problem.vendors[problem.tiles[plan.tile[item]].vendor];
      if (sums[region].ops < vendor.minOps || sums[region].flops < vendor.minFlops)
        items.push_back(item);
    }
  return items;
}

} // namespace

PlanAnswer groupTiles(const PlanProblem &problem, std::vector<uint32_t> tile,
                      GroupingEffort effort) {
  if (std::ranges::all_of(tile, [&](uint32_t t) { return problem.tiles[t].vendor == host; }))
    return {std::move(tile), std::vector<uint32_t>(problem.size(), none)};
  Units units(problem, tile);
  auto join = [&](const std::vector<uint32_t> &parts) {
    return units.answer(joinGroups(units.regions(), parts, JoinOrder::AsGiven));
  };
  PlanAnswer best = join(partsOfBatches(units.regions(), Direction::FromInputs));
  if (effort == GroupingEffort::Quick)
    return best;
  double bestTime = timeOf(problem, best).total();
  auto consider = [&](const std::vector<uint32_t> &parts) {
    PlanAnswer plan = join(parts);
    if (double time = timeOf(problem, plan).total(); time < bestTime) {
      best = std::move(plan);
      bestTime = time;
    }
  };
  consider(partsOfBatches(units.regions(), Direction::FromResults));
  std::vector<uint32_t> singles(units.size());
  std::iota(singles.begin(), singles.end(), 0u);
  consider(singles);
  return best;
}

std::optional<PlanAnswer> groupWithinLimits(const PlanProblem &problem, std::vector<uint32_t> tile,
                                            GroupingEffort effort) {
  for (;;) {
    PlanAnswer plan = groupTiles(problem, std::move(tile), effort);
    std::vector<uint32_t> items = itemsBelowLimits(problem, plan);
    if (items.empty())
      return plan;
    tile = std::move(plan.tile);
    for (uint32_t item : items) {
      tile[item] = problem.singleOf(item, host);
      if (tile[item] == none)
        return std::nullopt;
    }
  }
}

namespace {

// Units are placed in order, each into a group of its vendor or a new one. Sets are
// bit masks; each group knows all groups that it needs, directly or through others.
class GroupingSearch {
public:
  static constexpr uint32_t maxUnits = 64;

  GroupingSearch(const PlanProblem &problem, const Units &units, double base, double upper,
                 uint64_t &steps)
      : problem_(problem), units_(units), regions_(units.regions()), steps_(steps),
        bestTime_(upper), time_(base), current_(units.size(), none) {}

  std::optional<PlanAnswer> run() {
    place(0);
    return std::move(best_);
  }
  bool isComplete() const { return !isCut_; }

private:
  struct Group {
    uint64_t members = 0;
    int32_t vendor = RegionProblem::host;
  };

  void place(uint32_t unit) {
    if (time_ >= bestTime_)
      return;
    if (steps_ == 0) {
      isCut_ = true;
      return;
    }
    --steps_;
    if (unit == units_.size())
      return finish();
    int32_t vendor = regions_.vendor[unit];
    uint64_t apart = 0;
    for (uint32_t other : regions_.apartFrom(unit))
      apart |= uint64_t{1} << other;
    if (vendor != RegionProblem::host)
      for (uint32_t group = 0; group < groups_.size(); ++group)
        if (groups_[group].vendor == vendor && !(groups_[group].members & apart))
          put(unit, group);
    needs_[groups_.size()] = 0;
    groups_.push_back({0, vendor});
    double launch = vendor == RegionProblem::host
                        ? 0
                        : problem_.vendors[problem_.tiles[units_.tileOf(unit)].vendor].launch;
    time_ += launch;
    put(unit, static_cast<uint32_t>(groups_.size() - 1));
    time_ -= launch;
    groups_.pop_back();
  }

  void put(uint32_t unit, uint32_t group) {
    uint64_t needed = 0;
    for (uint32_t need : regions_.needsOf(unit))
      if (uint32_t other = current_[need]; other != group)
        needed |= uint64_t{1} << other | needs_[other];
    if (needed >> group & 1)
      return; // the group would need itself
    std::array<uint64_t, maxUnits> before = needs_;
    needs_[group] |= needed;
    for (uint32_t other = 0; other < groups_.size(); ++other)
      if (needs_[other] >> group & 1)
        needs_[other] |= needs_[group];
    current_[unit] = group;
    groups_[group].members |= uint64_t{1} << unit;
    place(unit + 1);
    groups_[group].members &= ~(uint64_t{1} << unit);
    current_[unit] = none;
    needs_ = before;
  }

  // A group that is not linked is found again as the parts that it has.
  void finish() {
    std::vector<uint32_t> parts = linkedParts(regions_, current_);
    for (uint32_t unit = 0; unit < units_.size(); ++unit)
      if (regions_.vendor[unit] != RegionProblem::host)
        for (uint32_t other = 0; other < unit; ++other)
          if (current_[other] == current_[unit] && parts[other] != parts[unit])
            return;
    PlanAnswer plan = units_.answer(current_);
    double time = timeOf(problem_, plan).total();
    if (time >= bestTime_ || !itemsBelowLimits(problem_, plan).empty())
      return;
    bestTime_ = time;
    best_ = std::move(plan);
  }

  const PlanProblem &problem_;
  const Units &units_;
  const RegionProblem &regions_;
  uint64_t &steps_;
  double bestTime_, time_;
  bool isCut_ = false;
  std::optional<PlanAnswer> best_;
  std::vector<uint32_t> current_; // group by unit
  std::vector<Group> groups_;
  std::array<uint64_t, maxUnits> needs_{};
};

} // namespace

std::optional<PlanAnswer> searchGroupings(const PlanProblem &problem,
                                          const std::vector<uint32_t> &tile, double upper,
                                          uint64_t &steps, bool &isComplete) {
  Units units(problem, tile);
  if (units.size() > GroupingSearch::maxUnits) {
    isComplete = false;
    return std::nullopt;
  }
  double base = 0;
  for (uint32_t unit = 0; unit < units.size(); ++unit)
    base += problem.tiles[units.tileOf(unit)].time;
  GroupingSearch search(problem, units, base, upper, steps);
  std::optional<PlanAnswer> best = search.run();
  isComplete = isComplete && search.isComplete();
  return best;
}

} // namespace bycc
