// The region solver against an exhaustive search and against the greedy merging
// that Relay does, on seeded random graphs of up to 14 items. More seeds:
// BYCC_SEEDS=20000 unit-Partition.

#include "../../../lib/Partition/RegionSolver.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <set>

using namespace bycc;

namespace {

int numSeeds(int fallback) {
  const char *text = std::getenv("BYCC_SEEDS");
  return text ? std::atoi(text) : fallback;
}

RegionAssignment solve(const RegionProblem &problem, uint64_t steps) {
  return solveRegions(problem, steps);
}

// Random operators: each reads one or two earlier values or one of three inputs.
RegionProblem randomProblem(uint32_t seed, uint32_t maxItems) {
  std::mt19937 random(seed);
  auto pick = [&](uint32_t count) { return static_cast<uint32_t>(random() % count); };
  RegionProblem problem;
  uint32_t size = 3 + pick(maxItems - 2), vendors = 1 + pick(3), hostShare = pick(3);
  std::vector<std::vector<uint32_t>> touch(size + 3); // values: items, then inputs
  for (uint32_t item = 0; item < size; ++item) {
    bool isHost = pick(4) < hostShare;
    problem.vendor.push_back(isHost ? RegionProblem::host : static_cast<int32_t>(pick(vendors)));
    problem.isWire.push_back(0);
    std::set<uint32_t> needs;
    for (uint32_t operand = 0; operand < 1 + pick(2); ++operand) {
      uint32_t value = pick(4) == 0 || item == 0 ? size + pick(3) : item - 1 - pick(std::min(item, 5u));
      if (!isHost)
        touch[value].push_back(item);
      if (value < size)
        needs.insert(value);
    }
    if (!isHost)
      touch[item].push_back(item);
    problem.needs.insert(problem.needs.end(), needs.begin(), needs.end());
    problem.needsBegin.push_back(static_cast<uint32_t>(problem.needs.size()));
  }
  for (std::vector<uint32_t> &items : touch) {
    std::ranges::sort(items);
    items.erase(std::unique(items.begin(), items.end()), items.end());
    if (items.size() < 2)
      continue;
    problem.shares.insert(problem.shares.end(), items.begin(), items.end());
    problem.sharesBegin.push_back(static_cast<uint32_t>(problem.shares.size()));
  }
  return problem;
}

bool isLinked(const RegionProblem &problem, const RegionAssignment &regions) {
  std::vector<uint32_t> parent(problem.size());
  for (uint32_t i = 0; i < problem.size(); ++i)
    parent[i] = i;
  std::function<uint32_t(uint32_t)> find = [&](uint32_t i) {
    return parent[i] == i ? i : parent[i] = find(parent[i]);
  };
  for (uint32_t share = 0; share < problem.numShares(); ++share)
    for (uint32_t a : problem.share(share))
      for (uint32_t b : problem.share(share))
        if (regions[a] >= 0 && regions[a] == regions[b])
          parent[find(a)] = find(b);
  std::map<int32_t, std::set<uint32_t>> parts;
  for (uint32_t i = 0; i < problem.size(); ++i)
    if (regions[i] >= 0)
      parts[regions[i]].insert(find(i));
  return std::ranges::all_of(parts, [](const auto &part) { return part.second.size() == 1; });
}

// Every assignment of items to regions, without any cleverness but the bound.
class BruteForce {
public:
  explicit BruteForce(const RegionProblem &problem)
      : problem_(problem), current_(problem.size(), -1), best_(problem.size() + 1) {}
  // Fewest regions; UINT32_MAX when the search was cut short.
  uint32_t run() {
    place(0);
    return steps_ > maxSteps ? UINT32_MAX : best_;
  }

private:
  static constexpr uint64_t maxSteps = 3000000;
  void place(uint32_t item) {
    if (owner_.size() >= best_ || ++steps_ > maxSteps)
      return;
    if (item == problem_.size()) {
      if (isLegal(problem_, current_) && isLinked(problem_, current_))
        best_ = static_cast<uint32_t>(owner_.size());
      return;
    }
    if (problem_.vendor[item] == RegionProblem::host)
      return place(item + 1);
    for (size_t region = 0; region < owner_.size(); ++region)
      if (owner_[region] == problem_.vendor[item]) {
        current_[item] = static_cast<int32_t>(region);
        place(item + 1);
      }
    current_[item] = static_cast<int32_t>(owner_.size());
    owner_.push_back(problem_.vendor[item]);
    place(item + 1);
    owner_.pop_back();
    current_[item] = -1;
  }
  const RegionProblem &problem_;
  RegionAssignment current_;
  std::vector<int32_t> owner_;
  uint32_t best_;
  uint64_t steps_ = 0;
};

// Relay's greedy merging: a region absorbs the regions of its inputs unless a
// path leads back through something it cannot contain. Host items merge too.
uint32_t relayCount(const RegionProblem &problem) {
  uint32_t size = problem.size();
  std::vector<uint32_t> region(size);
  std::vector<std::set<uint32_t>> restricted(size);
  for (uint32_t item = 0; item < size; ++item)
    region[item] = item;
  for (uint32_t item = 0; item < size; ++item) {
    std::set<uint32_t> parents;
    for (uint32_t need : problem.needsOf(item))
      parents.insert(region[need]);
    for (uint32_t parent : parents)
      restricted[item].insert(restricted[parent].begin(), restricted[parent].end());
    for (uint32_t parent : parents) {
      if (problem.vendor[parent] != problem.vendor[item]) {
        restricted[item].insert(parent);
        continue;
      }
      if (restricted[item].contains(parent))
        continue;
      for (uint32_t &other : region)
        if (other == parent)
          other = item;
      for (std::set<uint32_t> &set : restricted)
        if (set.erase(parent))
          set.insert(item);
    }
  }
  std::set<uint32_t> names;
  for (uint32_t item = 0; item < size; ++item)
    if (problem.vendor[item] != RegionProblem::host)
      names.insert(region[item]);
  return static_cast<uint32_t>(names.size());
}

} // namespace

TEST_CASE("regions of small random graphs") {
  int seeds = numSeeds(1000), compared = 0, gaps = 0, quickGaps = 0, better = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    RegionProblem problem = randomProblem(static_cast<uint32_t>(seed), 14);
    RegionAssignment quick = solve(problem, 0), best = solve(problem, 2000000);
    INFO("seed " << seed);
    for (const RegionAssignment &regions : {quick, best}) {
      REQUIRE(isLegal(problem, regions));
      REQUIRE(isLinked(problem, regions));
    }
    for (uint32_t item = 0; item < problem.size(); ++item)
      REQUIRE((best[item] >= 0) == (problem.vendor[item] != RegionProblem::host));
    uint32_t relay = relayCount(problem);
    CHECK(countRegions(best) <= relay);
    better += countRegions(best) < relay;
    uint32_t fewest = BruteForce(problem).run();
    if (fewest == UINT32_MAX)
      continue;
    ++compared;
    gaps += countRegions(best) > fewest;
    quickGaps += countRegions(quick) > fewest;
    REQUIRE(countRegions(best) >= fewest);
  }
  std::cout << compared << " graphs searched exhaustively: " << gaps << " gaps, " << quickGaps
            << " without the search of small graphs; fewer regions than Relay's merging on "
            << better << " of " << seeds << "\n";
  CHECK(gaps * 100 <= compared);
}

TEST_CASE("regions of larger random graphs") {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    RegionProblem problem = randomProblem(seed, 400);
    RegionAssignment regions = solve(problem, 2000000);
    INFO("seed " << seed);
    REQUIRE(isLegal(problem, regions));
    REQUIRE(isLinked(problem, regions));
    CHECK(countRegions(regions) <= relayCount(problem));
    CHECK(solve(problem, 2000000) == regions);
  }
}
