// The choice of vendors against all possible choices on small random graphs.

#include "../../../lib/Partition/VendorChooser.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <random>

using namespace bycc;

namespace {

uint32_t below(std::mt19937 &random, uint32_t limit) { return random() % limit; }

ChoiceProblem randomProblem(uint32_t seed, uint32_t items, uint32_t vendors) {
  std::mt19937 random(seed);
  ChoiceProblem problem;
  problem.vendors.resize(vendors + 1);
  for (uint32_t v = 1; v <= vendors; ++v)
    problem.vendors[v] = {1.0 + below(random, 20), 0.5 * below(random, 10), 0.01 * below(random, 10)};
  for (uint32_t item = 0; item < items; ++item) {
    std::vector<ChoiceProblem::Choice> choices;
    for (uint32_t v = 1; v <= vendors; ++v)
      if (below(random, 3) > 0)
        choices.push_back({v, 0.5 * below(random, 30)});
    if (choices.empty())
      choices.push_back({ChoiceProblem::host, 3});
    problem.choices.push_back(std::move(choices));
    problem.values.push_back({item, 4.0 * below(random, 200), item + 1 == items, {}});
    for (uint32_t edge = 1 + below(random, 2); edge > 0 && item > 0; --edge) {
      // Mostly the item before: chains are what models are made of.
      uint32_t maker = below(random, 3) ? item - 1 : below(random, item);
      auto &readers = problem.values[maker].readers;
      if (readers.empty() || readers.back() != item)
        readers.push_back(item);
    }
  }
  return problem;
}

double leastTime(const ChoiceProblem &problem) {
  std::vector<size_t> at(problem.size(), 0);
  VendorChoice choice(problem.size());
  double least = 1e300;
  for (;;) {
    for (uint32_t item = 0; item < problem.size(); ++item)
      choice[item] = problem.choices[item][at[item]].vendor;
    least = std::min(least, estimatedTime(problem, choice));
    uint32_t item = 0;
    while (item < problem.size() && ++at[item] == problem.choices[item].size())
      at[item++] = 0;
    if (item == problem.size())
      return least;
  }
}

} // namespace

TEST_CASE("vendors are chosen as exhaustive search does") {
  int optimal = 0, total = 0;
  double worst = 0, gaps = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    ChoiceProblem problem = randomProblem(seed, 2 + seed % 8, 2 + seed % 2);
    ChosenVendors chosen = solveChoice(problem);
    CHECK(chosen.time == Approx(estimatedTime(problem, chosen.choice)));
    double least = leastTime(problem);
    REQUIRE(chosen.time >= least - 1e-6);
    ++total;
    if (chosen.time <= least + 1e-6) {
      ++optimal;
    } else {
      worst = std::max(worst, chosen.time / least - 1);
      gaps += chosen.time / least - 1;
      std::printf("seed %u: %.2f us, at best %.2f us\n", seed, chosen.time, least);
    }
    for (uint32_t item = 0; item < problem.size(); ++item)
      for (double difference : chosen.otherwise[item])
        CHECK(difference >= -1e-6); // no single move pays
  }
  std::printf("vendors chosen at best time in %d of %d graphs; worst gap %.1f %%\n", optimal, total,
              100 * worst);
  CHECK(optimal >= total * 95 / 100);
}

TEST_CASE("a chain changes vendors where it pays") {
  // Three items; vendor 2 is faster at the middle one, but not by two transfers.
  ChoiceProblem problem;
  problem.vendors = {{}, {1, 2, 0}, {1, 2, 0}};
  problem.choices = {{{1, 5}, {2, 6}}, {{1, 5}, {2, 1}}, {{1, 5}, {2, 6}}};
  problem.values = {{0, 0, false, {1}}, {1, 0, false, {2}}, {2, 0, true, {}}};
  CHECK(solveChoice(problem).choice == VendorChoice{2, 2, 2});
  problem.choices[0][1].time = problem.choices[2][1].time = 30;
  CHECK(solveChoice(problem).choice == VendorChoice{1, 1, 1});
  problem.choices[1][0].time = 40;
  CHECK(solveChoice(problem).choice == VendorChoice{1, 2, 1});
}
