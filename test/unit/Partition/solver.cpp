// The region solver against an exhaustive search and against Relay's greedy
// merging, on seeded random graphs of up to 14 operators. More seeds:
// BYCC_SEEDS=20000 unit-Partition.

#include "RandomProblem.h"
#include "Seeds.h"

#include "../../../lib/Partition/RegionSolver.h"

#include <catch2/catch.hpp>

#include <iostream>

using namespace bycc;
using namespace bycc::cases;

namespace {

RegionAssignment solve(const RegionProblem &problem, uint64_t steps) {
  return solveRegions(problem, steps);
}

void checkIsAnswer(const RegionProblem &problem, const RegionAssignment &regions) {
  REQUIRE(isLegal(problem, regions));
  REQUIRE(isLinked(problem, regions));
  for (uint32_t item = 0; item < problem.size(); ++item)
    REQUIRE((regions[item] >= 0) == (problem.vendor[item] != RegionProblem::host));
}

// Regions only: bytes do not decide between two answers here.
RegionScore countAlone(const RegionAssignment &regions) { return {countRegions(regions), 0}; }

} // namespace

TEST_CASE("fewest regions of small random graphs", "[long]") {
  uint32_t seeds = numSeeds(2000);
  for (uint32_t vendors : {1u, 2u, 4u})
    for (bool hasApart : {false, true}) {
      int gaps = 0, quickGaps = 0, cutShort = 0, better = 0;
      for (uint32_t seed = 0; seed < seeds; ++seed) {
        RegionProblem problem = randomProblem(seed, {14, vendors, hasApart, false});
        RegionAssignment quick = solve(problem, 0), best = solve(problem, 2000000);
        INFO("seed " << seed << ", vendors " << vendors << ", apart " << hasApart);
        checkIsAnswer(problem, quick);
        checkIsAnswer(problem, best);
        uint32_t relay = countRegions(mergeAsRelay(problem)), count = countRegions(best);
        CHECK(count <= relay);
        better += count < relay;
        Found found = findBetter(problem, countAlone(best));
        gaps += found == Found::Yes;
        cutShort += found == Found::CutShort;
        quickGaps += countRegions(quick) > count;
      }
      std::cout << vendors << " vendors" << (hasApart ? " with edge rules: " : ": ")
                << "the fewest regions on all but " << gaps << " of " << seeds << " graphs ("
                << cutShort << " not searched to the end), on all but " << quickGaps
                << " without the search of small graphs; fewer than Relay's merging on " << better
                << "\n";
      CHECK((gaps + cutShort) * 100 <= static_cast<int>(seeds));
    }
}

TEST_CASE("bytes across borders break ties") {
  for (uint32_t seed = 0; seed < numSeeds(300); ++seed) {
    RegionProblem problem = randomProblem(seed, {9, 1 + seed % 3, seed % 2 == 0, true});
    RegionAssignment best = solve(problem, 2000000);
    INFO("seed " << seed);
    CHECK(findBetter(problem, scoreOf(problem, best)) == Found::No);
  }
}

TEST_CASE("regions of larger random graphs") {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    RegionProblem problem = randomProblem(seed, {400, 1 + seed % 4, seed % 2 == 0, true});
    RegionAssignment regions = solve(problem, 2000000);
    INFO("seed " << seed);
    checkIsAnswer(problem, regions);
    CHECK(countRegions(regions) <= countRegions(mergeAsRelay(problem)));
    CHECK(solve(problem, 2000000) == regions);
  }
}
