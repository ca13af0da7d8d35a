// The lower bound of plans against the best plan of small random problems, found by
// trying all. More seeds: BYCC_SEEDS=20000 unit-Partition "[relaxation]".

#include "Seeds.h"

#include "../../../lib/Partition/PlanRelaxation.h"
#include "../../../lib/Partition/UnionFind.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <numeric>
#include <random>

using namespace bycc;
using bycc::cases::numSeeds;

namespace {

enum class Shape { Chain, Tree, Graph };

struct Options {
  uint32_t minItems = 3, maxItems = 6, maxVendors = 3;
  Shape shape = Shape::Graph;
  bool hasComposites = true, hasLimits = true; // limits, and tiles apart
};

class Random {
public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t below(uint32_t end) { return static_cast<uint32_t>(engine_() % end); }
  bool chance(uint32_t percent) { return below(100) < percent; }
  double time(double low, double decades) {
    return std::round(low * std::pow(10.0, decades * below(1000) / 1000.0));
  }

private:
  std::mt19937 engine_;
};

void addVendors(PlanProblem &problem, Random &random, const Options &options) {
  for (uint32_t i = 1 + random.below(options.maxVendors); i-- > 0;) {
    PlanProblem::Vendor &vendor = problem.vendors.emplace_back();
    if (random.chance(80))
      vendor.launch = random.time(30, 1.5);
    if (random.chance(70)) {
      vendor.transfer = random.time(10, 1);
      vendor.perByte = vendor.perLaidOutByte = random.below(3);
    }
    vendor.ownMemory = random.chance(40);
    vendor.merges = random.chance(85);
    if (options.hasLimits && random.chance(25))
      vendor.minOps = 2 + random.below(2);
    if (options.hasLimits && random.chance(25))
      vendor.minFlops = 5 + random.below(10);
  }
}

// Each item makes a tensor that some later ones read; a few read what nobody made.
void addItems(PlanProblem &problem, Random &random, const Options &options, uint32_t size) {
  std::vector<std::vector<uint32_t>> users(size + 2), needs(size);
  for (uint32_t item = 0; item < size; ++item) {
    std::vector<uint32_t> operands;
    if (options.shape == Shape::Chain)
      operands = {item ? item - 1 : size};
    else
      for (uint32_t i = 1 + random.chance(50); i-- > 0;)
        operands.push_back(item == 0 || random.chance(20) ? size + random.below(2)
                                                          : item - 1 - random.below(item));
    if (options.shape == Shape::Tree)
      operands = {item ? random.below(item) : size};
    for (uint32_t operand : operands) {
      if (std::ranges::count(users[operand], item))
        continue;
      users[operand].push_back(item);
      if (operand < size)
        needs[item].push_back(operand);
    }
  }
  for (uint32_t item = 0; item < size; ++item) {
    for (uint32_t need : needs[item])
      problem.needs.add(need);
    problem.needs.close();
    problem.ops.push_back(1);
    problem.flops.push_back(1 + random.below(9));
  }
  for (uint32_t t = 0; t < users.size(); ++t) {
    bool isMade = t < size;
    problem.tensors.push_back({isMade ? t : none, double(random.below(40)),
                               isMade && (users[t].empty() || random.chance(10))});
    for (uint32_t user : users[t])
      problem.users.add(user);
    problem.users.close();
    if (isMade)
      problem.links.add(t);
    for (uint32_t user : users[t])
      problem.links.add(user);
    problem.links.close();
  }
  if (options.hasLimits && random.chance(30))
    for (uint32_t item = 0; item < size; ++item)
      problem.isExempt.push_back(random.chance(10));
  if (options.hasLimits && random.chance(10))
    for (uint32_t item = 0; item < size; ++item)
      problem.label.push_back(random.chance(20));
}

void addTiles(PlanProblem &problem, Random &random, const Options &options, uint32_t size) {
  auto vendor = [&] { return 1 + random.below(static_cast<uint32_t>(problem.vendors.size()) - 1); };
  for (uint32_t item = 0; item < size; ++item) {
    problem.addTile(host, random.time(20, 2), 0, std::array{item});
    for (uint32_t v = 1; v < problem.vendors.size(); ++v)
      if (random.chance(60))
        problem.addTile(v, random.time(2, 2), 0, std::array{item});
  }
  for (uint32_t i = options.hasComposites ? size * 3 / 10 + 1 : 0; i-- > 0;) {
    std::vector<uint32_t> members{random.below(size)};
    for (uint32_t more = 1 + random.below(3); more-- > 0;) {
      auto needs = problem.needs[members[random.below(static_cast<uint32_t>(members.size()))]];
      if (needs.empty())
        continue;
      uint32_t next = needs[random.below(static_cast<uint32_t>(needs.size()))];
      if (std::ranges::count(members, next) == 0)
        members.push_back(next);
    }
    std::ranges::sort(members);
    if (members.size() > 1)
      problem.addTile(vendor(), random.time(4, 2), 0, members);
  }
  problem.indexTiles(size);
  if (!options.hasLimits || !random.chance(30))
    return;
  for (uint32_t i = 1 + random.below(4); i-- > 0;) {
    uint32_t numTiles = static_cast<uint32_t>(problem.tiles.size());
    uint32_t a = random.below(numTiles), b = random.below(numTiles);
    if (a != b && problem.tiles[a].vendor != host &&
        problem.tiles[a].vendor == problem.tiles[b].vendor) {
      problem.apart.emplace_back(a, b);
      problem.apart.emplace_back(b, a);
    }
  }
  std::ranges::sort(problem.apart);
}

PlanProblem randomProblem(uint32_t seed, const Options &options) {
  Random random(seed);
  PlanProblem problem;
  uint32_t size = options.minItems + random.below(options.maxItems - options.minItems + 1);
  addVendors(problem, random, options);
  addItems(problem, random, options, size);
  addTiles(problem, random, options, size);
  return problem;
}

// The best plan, by trying every cover and every way to put its tiles into regions.
class Search {
public:
  explicit Search(const PlanProblem &problem) : problem_(problem) {
    plan_.tile.assign(problem.size(), none);
    plan_.region.assign(problem.size(), none);
    next(0, 0, 0);
  }
  double time() const { return best_; }
  const std::vector<PlanAnswer> &plans() const { return plans_; } // all as good

private:
  void next(uint32_t item, uint32_t numRegions, double time) {
    if (time > best_)
      return;
    while (item < problem_.size() && plan_.tile[item] != none)
      ++item;
    if (item == problem_.size())
      return judge();
    for (uint32_t tile : problem_.tilesOf[item]) {
      auto members = problem_.membersOf(tile);
      if (std::ranges::any_of(members, [&](uint32_t member) { return plan_.tile[member] != none; }))
        continue;
      uint32_t vendor = problem_.tiles[tile].vendor;
      owner_.resize(numRegions + 1);
      for (uint32_t region = 0; region <= numRegions; ++region) {
        if (region < numRegions ? owner_[region] != vendor : vendor == host)
          continue;
        put(members, tile, region);
        owner_.resize(std::max<size_t>(owner_.size(), numRegions + 1));
        owner_[region] = vendor;
        next(item + 1, std::max(numRegions, region + 1), time + problem_.tiles[tile].time);
      }
      if (vendor == host) {
        put(members, tile, none);
        next(item + 1, numRegions, time + problem_.tiles[tile].time);
      }
      put(members, none, none);
    }
  }
  void put(std::span<const uint32_t> members, uint32_t tile, uint32_t region) {
    for (uint32_t member : members)
      plan_.tile[member] = tile, plan_.region[member] = region;
  }
  void judge() {
    double time = timeOf(problem_, plan_).total();
    if (time > best_ || !isLegal(problem_, plan_))
      return;
    if (time < best_)
      plans_.clear();
    best_ = time;
    plans_.push_back(plan_);
  }

  const PlanProblem &problem_;
  PlanAnswer plan_;
  std::vector<uint32_t> owner_; // vendor, by region
  double best_ = HUGE_VAL;
  std::vector<PlanAnswer> plans_;
};

double run(PlanRelaxation &relaxation) {
  uint64_t steps = 1000000;
  return relaxation.run(200, HUGE_VAL, steps);
}

// Gaps between the bound and the best plan, as parts of the latter.
struct Gaps {
  std::vector<double> values;

  void add(double best, double bound) { values.push_back((best - bound) / best); }
  double at(double quantile) {
    std::ranges::sort(values);
    return values[std::min(values.size() - 1, size_t(quantile * values.size()))];
  }
  void print(const char *what) {
    std::cout << "bound of " << values.size() << " " << what << ": "
              << std::ranges::count(values, 0.0) << " exact, gap 50% " << at(0.5) << ", 95% "
              << at(0.95) << ", most " << at(1) << "\n";
  }
};

} // namespace

TEST_CASE("no plan takes less than the bound", "[relaxation]") {
  for (bool hasLimits : {false, true}) {
    Gaps gaps;
    for (uint32_t seed = 0; seed < numSeeds(600); ++seed) {
      PlanProblem problem = randomProblem(seed, {.hasLimits = hasLimits});
      Search search(problem);
      PlanRelaxation relaxation(problem);
      INFO("seed " << seed << ", limits " << hasLimits);
      double bound = relaxation.bound();
      REQUIRE(bound <= search.time());
      for (uint32_t sweep = 0; sweep < 3; ++sweep) { // it only grows
        uint64_t steps = 10000;
        double next = relaxation.run(1, HUGE_VAL, steps);
        REQUIRE(next >= bound);
        REQUIRE(next == relaxation.bound());
        bound = next;
      }
      REQUIRE(run(relaxation) <= search.time());
      gaps.add(search.time(), relaxation.bound());
      for (double share : {0.3, 1.0}) { // of launches, by chains
        PlanRelaxation chained(problem, std::vector<double>(problem.vendors.size(), share));
        REQUIRE(run(chained) <= search.time());
      }
    }
    gaps.print(hasLimits ? "problems with limits" : "problems");
  }
}

TEST_CASE("the bound is exact on chains and trees", "[relaxation]") {
  for (Shape shape : {Shape::Chain, Shape::Tree})
    for (bool hasComposites : {false, true}) {
      Gaps gaps;
      for (uint32_t seed = 0; seed < numSeeds(300); ++seed) {
        PlanProblem problem = randomProblem(
            seed, {.shape = shape, .hasComposites = hasComposites, .hasLimits = false});
        Search search(problem);
        PlanRelaxation relaxation(problem);
        INFO("seed " << seed);
        REQUIRE(run(relaxation) <= search.time());
        if (shape == Shape::Chain && !hasComposites)
          CHECK(relaxation.bound() == search.time());
        gaps.add(search.time(), relaxation.bound());
      }
      gaps.print(shape == Shape::Chain ? (hasComposites ? "chains with composites" : "chains")
                                       : (hasComposites ? "trees with composites" : "trees"));
    }
}

namespace {

// Blocks one after another, each with a way around it. All items are cheap with the
// only vendor.
PlanProblem residualBlocks(uint32_t numBlocks, uint32_t perBlock, double launch) {
  PlanProblem problem;
  problem.vendors.push_back({.launch = launch, .transfer = 3});
  uint32_t size = numBlocks * perBlock;
  std::vector<std::vector<uint32_t>> users(size);
  for (uint32_t item = 0; item < size; ++item) {
    if (item > 0)
      users[item - 1].push_back(item), problem.needs.add(item - 1);
    if (item > perBlock && item % perBlock == 0)
      users[item - perBlock].push_back(item), problem.needs.add(item - perBlock);
    problem.needs.close();
    problem.addTile(host, 10, 0, std::array{item});
    problem.addTile(1, 1, 0, std::array{item});
    problem.ops.push_back(1);
    problem.flops.push_back(1);
  }
  for (uint32_t item = 0; item < size; ++item) {
    problem.tensors.push_back({item, 1, item + 1 == size});
    problem.links.add(item);
    for (uint32_t user : users[item])
      problem.users.add(user), problem.links.add(user);
    problem.users.close();
    problem.links.close();
  }
  problem.indexTiles(size);
  return problem;
}

} // namespace

TEST_CASE("launches of residual networks are counted", "[relaxation]") {
  for (uint32_t perBlock : {2u, 5u, 12u})
    for (double launch : {5.0, 300.0, 2000.0}) {
      PlanProblem problem = residualBlocks(12, perBlock, launch);
      PlanRelaxation relaxation(problem);
      double all = problem.size() + launch + 3, none = 10.0 * problem.size();
      CHECK(run(relaxation) == std::min(all, none));
    }
}

TEST_CASE("a path out of a vendor and back takes another launch", "[relaxation]") {
  // Items of the vendor and of the host by turns, and a value that all of them read.
  PlanProblem problem;
  problem.vendors.push_back({.launch = 1000});
  constexpr uint32_t size = 9;
  std::vector<uint32_t> all(size);
  std::iota(all.begin(), all.end(), 0u);
  for (uint32_t item = 0; item < size; ++item) {
    problem.addTile(item % 2, 10, 10, std::array{item});
    problem.ops.push_back(1);
    problem.flops.push_back(1);
    if (item > 0)
      problem.needs.add(item - 1);
    problem.needs.close();
  }
  problem.indexTiles(size);
  for (uint32_t item : all)
    problem.links.add(item);
  problem.links.close();
  PlanRelaxation chained(problem, std::vector<double>{0, 1});
  CHECK(run(chained) == size * 10 + size / 2 * 1000.0);
}

TEST_CASE("a path of items that must be apart takes a launch for each", "[relaxation]") {
  // Only the vendor takes them; all touch one value.
  PlanProblem problem;
  problem.vendors.push_back({.launch = 1000});
  constexpr uint32_t size = 6;
  for (uint32_t item = 0; item < size; ++item) {
    problem.addTile(1, 10, 10, std::array{item});
    problem.ops.push_back(1);
    problem.flops.push_back(1);
    if (item > 0) {
      problem.needs.add(item - 1);
      problem.apart.emplace_back(item - 1, item);
      problem.apart.emplace_back(item, item - 1);
    }
    problem.needs.close();
    problem.links.add(item);
  }
  problem.links.close();
  problem.indexTiles(size);
  std::ranges::sort(problem.apart);
  PlanRelaxation chained(problem, std::vector<double>{0, 1});
  CHECK(run(chained) == size * 10 + size * 1000.0);
  // With another tile, the third may be in one region with those beside it.
  problem.addTile(1, 10, 10, std::array{2u});
  problem.indexTiles(size);
  PlanRelaxation fewer(problem, std::vector<double>{0, 1});
  CHECK(run(fewer) == size * 10 + (size - 2) * 1000.0);
}

namespace {

// The first and the last item share a value, are good for a vendor that wants two of
// them, and have one in between that is not good for it.
PlanProblem twoAroundOne() {
  PlanProblem problem;
  problem.vendors.push_back({.minOps = 2});
  for (uint32_t item = 0; item < 3; ++item) {
    problem.addTile(host, 10, 10, std::array{item});
    problem.addTile(1, item == 1 ? 30 : 1, 1, std::array{item});
    problem.ops.push_back(1);
    problem.flops.push_back(1);
    if (item > 0)
      problem.needs.add(item - 1);
    problem.needs.close();
    problem.links.add(item);
  }
  problem.links.close();
  problem.indexTiles(3);
  return problem;
}

} // namespace

TEST_CASE("company has with it what lies in between", "[relaxation]") {
  PlanProblem problem = twoAroundOne();
  PlanRelaxation relaxation(problem);
  CHECK(run(relaxation) == 30);
}

TEST_CASE("what has another label is no company, and cuts items apart", "[relaxation]") {
  PlanProblem problem = twoAroundOne();
  problem.label = {0, 1, 0};
  problem.ops[1] = 2; // it may go there alone
  PlanRelaxation relaxation(problem);
  CHECK(run(relaxation) == 30);
  CHECK_FALSE(relaxation.isUsable(problem.singleOf(0, 1)));
}

TEST_CASE("what must be apart is no company", "[relaxation]") {
  PlanProblem problem = twoAroundOne();
  for (uint32_t item = 0; item < 3; ++item)
    problem.tiles[problem.singleOf(item, 1)].time = 1;
  PlanRelaxation together(problem);
  CHECK(run(together) == 3);
  for (uint32_t item = 0; item < 3; ++item)
    for (uint32_t other = 0; other < 3; ++other)
      if (other != item)
        problem.apart.emplace_back(problem.singleOf(item, 1), problem.singleOf(other, 1));
  PlanRelaxation apart(problem);
  CHECK(run(apart) == 30);
}

TEST_CASE("a diagram counts the parts", "[relaxation]") {
  for (uint32_t seed = 0; seed < numSeeds(300); ++seed) {
    Random random(seed);
    LinkedItems items{.size = 2 + random.below(7), .sets = {}, .neededBy = {}, .isCutFrom = {}};
    items.neededBy.assign(items.size, 0);
    items.isCutFrom.assign(items.size, 0);
    for (uint32_t i = 0; i < items.size; ++i) {
      std::vector<uint32_t> set;
      for (uint32_t item = 0; item < items.size; ++item)
        if (random.chance(30))
          set.push_back(item);
      if (!set.empty())
        items.sets.push_back(set);
    }
    PartsDiagrams diagrams;
    uint32_t number = diagrams.of(items);
    CHECK(diagrams.of(items) == number);
    PartsDiagram diagram = diagrams.take()[number];
    for (uint32_t there = 0; there < 1u << items.size; ++there) {
      UnionFind parts(items.size);
      for (const std::vector<uint32_t> &set : items.sets)
        for (uint32_t a : set)
          for (uint32_t b : set)
            if (there >> a & there >> b & 1)
              parts.join(a, b);
      int32_t expected = 0, count = 0;
      uint32_t node = 0;
      for (uint32_t item = 0; item < items.size; ++item) {
        expected += (there >> item & 1) && parts.find(item) == item;
        const PartsDiagram::Node &at = diagram.nodes[diagram.layers[item] + node];
        count += at.count[there >> item & 1];
        node = at.to[there >> item & 1];
      }
      CHECK(count == expected);
    }
  }
}

TEST_CASE("excluding dear tiles keeps the best plans", "[relaxation]") {
  uint32_t excluded = 0;
  for (uint32_t seed = 0; seed < numSeeds(400); ++seed) {
    PlanProblem problem = randomProblem(seed, {});
    Search search(problem);
    PlanRelaxation relaxation(problem);
    run(relaxation);
    INFO("seed " << seed);
    for (uint32_t round = 0; round < 3; ++round) {
      excluded += relaxation.excludeAbove(search.time());
      REQUIRE(run(relaxation) <= search.time());
    }
    for (const PlanAnswer &plan : search.plans())
      for (uint32_t item = 0; item < problem.size(); ++item)
        REQUIRE(relaxation.isUsable(plan.tile[item]));
  }
  CHECK(excluded > 0);
}

TEST_CASE("fixing tiles raises the bound up to a plan's time", "[relaxation]") {
  for (uint32_t seed = 0; seed < numSeeds(400); ++seed) {
    PlanProblem problem = randomProblem(seed, {});
    Search search(problem);
    const PlanAnswer &plan = search.plans()[0];
    PlanRelaxation relaxation(problem);
    double bound = run(relaxation);
    INFO("seed " << seed);
    while (relaxation.mostOpenItem() != none) {
      uint32_t item = relaxation.mostOpenItem(), tile = plan.tile[item];
      REQUIRE(relaxation.numOpen(item) > 1);
      REQUIRE(relaxation.bound() + relaxation.reducedCost(item, tile) <= search.time());
      relaxation.fix(item, tile);
      for (uint32_t member : problem.membersOf(tile))
        REQUIRE(relaxation.numOpen(member) == 1);
      REQUIRE(run(relaxation) >= bound);
      bound = relaxation.bound();
      REQUIRE(bound <= search.time());
    }
    REQUIRE(relaxation.rounded() == plan.tile);
  }
}

TEST_CASE("rounding gives whole tiles", "[relaxation]") {
  for (uint32_t seed = 0; seed < numSeeds(400); ++seed) {
    PlanProblem problem = randomProblem(seed, {});
    PlanRelaxation relaxation(problem);
    run(relaxation);
    std::vector<uint32_t> tile = relaxation.rounded();
    INFO("seed " << seed);
    REQUIRE(tile.size() == problem.size());
    for (uint32_t item = 0; item < problem.size(); ++item) {
      CHECK(std::ranges::count(problem.tilesOf[item], tile[item]) == 1);
      for (uint32_t member : problem.membersOf(tile[item]))
        CHECK(tile[member] == tile[item]);
    }
  }
}

TEST_CASE("an item without tiles has no plan", "[relaxation]") {
  PlanProblem problem = randomProblem(1, {});
  PlanRelaxation relaxation(problem), copy(relaxation);
  for (uint32_t tile : problem.tilesOf[0])
    relaxation.exclude(tile);
  CHECK(relaxation.isInfeasible());
  CHECK(run(relaxation) == HUGE_VAL);
  CHECK(relaxation.rounded().empty());
  CHECK(!copy.isInfeasible());
  CHECK(copy.numOpen(0) > 0);
}
