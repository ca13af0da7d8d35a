// What a plan takes and whether it is legal, against rules written a second time;
// the enumeration of all plans that the chooser is compared with, against a plainer
// one; and whether random problems are as hard as they should be.

#include "PlanOracle.h"
#include "RandomPlanProblem.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <iostream>
#include <limits>
#include <random>

using namespace bycc;
using namespace bycc::cases;

namespace {

PlanShape smallShape(uint32_t seed, uint32_t items) {
  PlanShape shape{items};
  shape.isChain = seed % 3 == 2;
  shape.hasPinned = seed % 7 == 6;
  return shape;
}

bool isFree(const PlanProblem &problem, const PlanAnswer &plan, uint32_t tile) {
  return std::ranges::all_of(problem.membersOf(tile),
                             [&](uint32_t item) { return plan.tile[item] == none; });
}

// Plans that are often legal, but break each of the rules at times.
class RandomPlans {
public:
  RandomPlans(const PlanProblem &problem, uint32_t seed) : problem_(problem), random_(seed) {}

  // Of any tiles and regions.
  PlanAnswer wild() {
    PlanAnswer plan = empty();
    for (uint32_t item = 0; item < problem_.size(); ++item) {
      plan.tile[item] = pick(static_cast<uint32_t>(problem_.tiles.size()));
      if (uint32_t region = pick(4))
        plan.region[item] = region;
    }
    return plan;
  }

  // Covers each item once, and no region has two vendors.
  PlanAnswer covering() {
    PlanAnswer plan = empty();
    uint32_t favourite = pick(static_cast<uint32_t>(problem_.vendors.size())), numRegions = 0;
    for (uint32_t item = 0; item < problem_.size(); ++item) {
      if (plan.tile[item] != none)
        continue;
      uint32_t tile = pickTile(plan, item, favourite), vendor = problem_.tiles[tile].vendor;
      uint32_t region = vendor == host ? none : pickRegion(plan, vendor, numRegions);
      numRegions = region == none ? numRegions : std::max(numRegions, region + 1);
      for (uint32_t member : problem_.membersOf(tile)) {
        plan.tile[member] = tile;
        plan.region[member] = region;
      }
    }
    return plan;
  }

  // One item moved to another region, tile or the host.
  PlanAnswer damaged(PlanAnswer plan) {
    uint32_t item = pick(problem_.size()), other = pick(problem_.size());
    if (pick(2))
      plan.tile[item] = plan.tile[other];
    else
      plan.region[item] = plan.region[other];
    return plan;
  }

private:
  uint32_t pick(uint32_t count) { return static_cast<uint32_t>(random_() % count); }

  PlanAnswer empty() const {
    return {std::vector(problem_.size(), none), std::vector(problem_.size(), none)};
  }

  uint32_t pickTile(const PlanAnswer &plan, uint32_t item, uint32_t favourite) {
    std::vector<uint32_t> tiles, favourites;
    for (uint32_t tile : problem_.tilesOf[item])
      if (isFree(problem_, plan, tile)) {
        tiles.push_back(tile);
        if (problem_.tiles[tile].vendor == favourite)
          favourites.push_back(tile);
      }
    if (!favourites.empty() && pick(4))
      tiles = favourites;
    return tiles[pick(static_cast<uint32_t>(tiles.size()))];
  }

  uint32_t pickRegion(const PlanAnswer &plan, uint32_t vendor, uint32_t numRegions) {
    for (uint32_t item = problem_.size(); item-- > 0;)
      if (plan.tile[item] != none && problem_.tiles[plan.tile[item]].vendor == vendor && pick(3))
        return plan.region[item];
    return numRegions;
  }

  const PlanProblem &problem_;
  std::mt19937 random_;
};

// Two operators in a row, each 10 on the host and 4 with either vendor.
PlanProblem twoInARow() {
  PlanProblem problem;
  problem.vendors.resize(3);
  for (uint32_t vendor : {1u, 2u}) {
    problem.vendors[vendor].launch = 1;
    problem.vendors[vendor].transfer = 100 * vendor;
    problem.vendors[vendor].perByte = 0.5;
  }
  for (uint32_t vendor : {0u, 1u, 2u})
    for (uint32_t item : {0u, 1u})
      problem.addTile(vendor, vendor ? 4 : 10, vendor ? 4 : 10, {{item}});
  problem.indexTiles(2);
  problem.ops = {1, 1};
  problem.flops = {1, 1};
  problem.needs.close();
  problem.needs.add(0);
  problem.needs.close();
  problem.tensors = {{none, 3, false}, {0, 0, false}, {1, 0, true}};
  for (uint32_t user : {0u, 1u}) {
    problem.users.add(user);
    problem.users.close();
  }
  problem.users.close();
  problem.links.add(0);
  problem.links.add(1);
  problem.links.close();
  return problem;
}

} // namespace

TEST_CASE("what a plan of two operators takes") {
  PlanProblem problem = twoInARow();
  auto total = [&](const PlanAnswer &plan) {
    CHECK(isLegal(problem, plan));
    CHECK(priceOf(problem, plan) == timeOf(problem, plan).total());
    return timeOf(problem, plan).total();
  };
  CHECK(total({{0, 1}, {none, none}}) == 20);
  // Three bytes come in, at half a picosecond each: two, rounded.
  CHECK(total({{2, 3}, {0, 0}}) == 8 + 1 + 102 + 100);
  CHECK(total({{2, 1}, {0, none}}) == 14 + 1 + 102 + 100);
  // From region to region, out of the vendor's memory and into it again.
  CHECK(total({{2, 3}, {0, 1}}) == 8 + 2 + 102 + 200 + 100);
  problem.vendors[1].ownMemory = true;
  CHECK(total({{2, 3}, {0, 1}}) == 8 + 2 + 102 + 100);
  CHECK(total({{2, 5}, {0, 1}}) == 8 + 2 + 102 + 100 + 200 + 200);
}

TEST_CASE("a composite is linked whatever its items touch") {
  PlanProblem problem = twoInARow();
  uint32_t composite = problem.addTile(1, 5, 5, {{0u, 1u}});
  problem.indexTiles(2);
  problem.links = {};
  for (auto *judge : {isLegal, keepsRules}) {
    CHECK(judge(problem, {{composite, composite}, {0, 0}}));
    CHECK(!judge(problem, {{2, 3}, {0, 0}}));
    CHECK(judge(problem, {{2, 3}, {0, 1}}));
  }
  problem.vendors[1].transfer = problem.vendors[1].perByte = 0;
  CHECK(bruteForce(problem) == 6);
}

TEST_CASE("time and legality of random plans, said twice") {
  uint32_t legal = 0, plans = 0;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    PlanProblem problem = randomPlanProblem(seed, smallShape(seed, 2 + seed % 14));
    RandomPlans random(problem, seed);
    INFO("seed " << seed);
    for (uint32_t number = 0; number < 10; ++number, ++plans) {
      PlanAnswer plan = number ? random.covering() : random.wild();
      if (number % 4 == 3)
        plan = random.damaged(plan);
      else if (number) {
        REQUIRE(timeOf(problem, plan).total() == priceOf(problem, plan));
        REQUIRE(timeOf(problem, plan, true).total() == priceOf(problem, plan, true));
      }
      REQUIRE(isLegal(problem, plan) == keepsRules(problem, plan));
      legal += isLegal(problem, plan);
    }
  }
  CHECK(legal * 5 > plans);
  CHECK(legal * 5 < plans * 4);
}

TEST_CASE("the least time is that of all plans") {
  uint32_t offloaded = 0, composed = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    PlanProblem problem = randomPlanProblem(seed, smallShape(seed, 1 + seed % 6));
    INFO("seed " << seed);
    PlanAnswer best;
    double least = bruteForce(problem, &best);
    REQUIRE(least == tryAllPlans(problem));
    REQUIRE(isLegal(problem, best));
    REQUIRE(timeOf(problem, best).total() == least);
    offloaded += std::ranges::any_of(best.region, [](uint32_t region) { return region != none; });
    composed += std::ranges::any_of(best.tile, [&](uint32_t t) { return problem.isComposite(t); });
  }
  CHECK(offloaded > 200);
  CHECK(composed > 80);
}

TEST_CASE("a problem of which no plan is legal") {
  PlanProblem problem = twoInARow();
  problem.vendors[1].minOps = problem.vendors[2].minOps = 3;
  CHECK(bruteForce(problem) == 20);
  problem = restrictTo(problem, host);
  CHECK(bruteForce(problem) == 20);
  problem.tiles[problem.tilesOf[0][0]].vendor = 1;
  CHECK(bruteForce(problem) == std::numeric_limits<double>::infinity());
  CHECK(tryAllPlans(problem) == std::numeric_limits<double>::infinity());
}

TEST_CASE("the best of small plans is legal and takes what is said") {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    PlanProblem problem = randomPlanProblem(seed, smallShape(seed, 5 + seed % 7));
    INFO("seed " << seed);
    PlanAnswer best;
    double least = bruteForce(problem, &best);
    REQUIRE(isLegal(problem, best));
    REQUIRE(keepsRules(problem, best));
    REQUIRE(timeOf(problem, best).total() == least);
    REQUIRE(priceOf(problem, best) == least);
    REQUIRE(bruteForce(shuffle(problem, seed)) == least);
    if (!smallShape(seed, 0).hasPinned)
      for (uint32_t vendor = 0; vendor < problem.vendors.size(); ++vendor)
        REQUIRE(bruteForce(restrictTo(problem, vendor)) >= least);
  }
}

TEST_CASE("random plan problems are of one making") {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    PlanShape shape = smallShape(seed, 40);
    PlanProblem one = randomPlanProblem(seed, shape), two = randomPlanProblem(seed, shape);
    CHECK(one.tileMembers == two.tileMembers);
    CHECK(one.needs.flat == two.needs.flat);
    CHECK(one.users.flat == two.users.flat);
    CHECK(one.links.flat == two.links.flat);
    CHECK(one.apart == two.apart);
    CHECK(std::ranges::equal(one.tiles, two.tiles, {}, &PlanProblem::Tile::time,
                             &PlanProblem::Tile::time));
  }
}

TEST_CASE("random plan problems are hard ones") {
  for (bool isChain : {false, true})
    for (uint32_t items : {10u, 12u, 200u}) {
      PlanTraits sum;
      uint32_t seeds = 200, apart = 0, labels = 0, limits = 0, exempt = 0, single = 0, trusts = 0;
      for (uint32_t seed = 0; seed < seeds; ++seed) {
        PlanProblem problem = randomPlanProblem(seed, {items, 0, isChain});
        PlanTraits traits = traitsOf(problem);
        sum.items += traits.items;
        sum.tensors += traits.tensors;
        sum.shared += traits.shared;
        sum.readers += traits.readers;
        sum.tiles += traits.tiles;
        sum.composites += traits.composites;
        sum.overlapping += traits.overlapping;
        apart += !problem.apart.empty();
        labels += !problem.label.empty();
        exempt += !problem.isExempt.empty();
        auto hasVendor = [&](auto &&is) { return std::ranges::any_of(problem.vendors, is); };
        limits += hasVendor([](const auto &v) { return v.minOps > 0 || v.minFlops > 0; });
        single += hasVendor([](const auto &v) { return !v.merges; });
        trusts += hasVendor([](const auto &v) { return v.trust != 1; });
      }
      std::cout << (isChain ? "chains of " : "local graphs of ") << items << ": "
                << double(sum.readers) / sum.tensors << " readers a value, "
                << 100 * sum.shared / sum.tensors << " % with two or more; "
                << double(sum.tiles) / sum.items << " tiles an item, "
                << 10.0 * sum.composites / sum.items << " composites for ten, of which "
                << 10.0 * sum.overlapping / sum.items << " overlap\n";
      CHECK(sum.shared * 10 >= sum.tensors * 3);
      CHECK(sum.overlapping * 10 >= sum.items * 3);
      for (uint32_t often : {apart, labels, limits, exempt, single, trusts})
        CHECK(often * 10 > seeds);
    }
}

TEST_CASE("composites of random problems can stand alone") {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    PlanProblem problem = randomPlanProblem(seed, {4 + seed % 30, 0, seed % 3 == 2});
    for (PlanProblem::Vendor &vendor : problem.vendors)
      vendor.minOps = 0, vendor.minFlops = 0;
    PlanAnswer hostAlone{{}, std::vector(problem.size(), none)};
    for (uint32_t item = 0; item < problem.size(); ++item)
      hostAlone.tile.push_back(problem.tilesOf[item][0]);
    REQUIRE(isLegal(problem, hostAlone));
    for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile) {
      PlanAnswer plan = hostAlone;
      for (uint32_t member : problem.membersOf(tile)) {
        plan.tile[member] = tile;
        plan.region[member] = problem.tiles[tile].vendor == host ? none : 0;
      }
      CHECK(isLegal(problem, plan));
    }
  }
}
