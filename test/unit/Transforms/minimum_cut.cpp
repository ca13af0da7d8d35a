// Minimum cuts of small random networks against all ways to part them.
#include "MinimumCut.h"

#include <catch2/catch.hpp>

#include <random>
#include <vector>

using namespace bycc;

namespace {

struct Edge {
  uint32_t from, to;
  int64_t capacity;
};

int64_t costOf(const std::vector<Edge> &edges, uint32_t sourceSide) {
  int64_t cost = 0;
  for (const Edge &edge : edges)
    if ((sourceSide >> edge.from & 1) && !(sourceSide >> edge.to & 1))
      cost += edge.capacity;
  return cost;
}

} // namespace

TEST_CASE("a minimum cut costs least, and has the smallest source side of all that do") {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    MinimumCut cut;
    constexpr uint32_t inner = 6, all = inner + 2;
    for (uint32_t i = 0; i < inner; ++i)
      cut.addNode();
    std::vector<Edge> edges;
    for (int i = 0; i < 18; ++i) {
      uint32_t from = random() % all, to = random() % all;
      if (from == to || from == MinimumCut::sink || to == MinimumCut::source)
        continue;
      edges.push_back({from, to, static_cast<int64_t>(random() % 9)});
      cut.addEdge(from, to, edges.back().capacity);
    }
    std::vector<uint8_t> side = cut.solve();
    uint32_t got = 0, everyBest = UINT32_MAX;
    for (uint32_t i = 0; i < all; ++i)
      got |= static_cast<uint32_t>(side[i]) << i;
    int64_t best = INT64_MAX;
    for (uint32_t way = 0; way < 1u << all; ++way)
      if ((way & 1) && !(way & 2))
        best = std::min(best, costOf(edges, way));
    for (uint32_t way = 0; way < 1u << all; ++way)
      if ((way & 1) && !(way & 2) && costOf(edges, way) == best)
        everyBest &= way;
    INFO("seed " << seed);
    CHECK(costOf(edges, got) == best);
    CHECK(got == everyBest);
  }
}
