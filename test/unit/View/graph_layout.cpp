#include "bycc/View/GraphLayout.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <set>

using namespace bycc;

namespace {

LayoutGraph chain(uint32_t count) {
  LayoutGraph graph;
  for (uint32_t i = 0; i < count; ++i) {
    graph.nodes.push_back({100, 40});
    if (i > 0)
      graph.edges.emplace_back(i - 1, i);
  }
  return graph;
}

LayoutGraph randomGraph(uint32_t count, uint32_t seed) {
  std::mt19937 random(seed);
  LayoutGraph graph;
  for (uint32_t i = 0; i < count; ++i) {
    graph.nodes.push_back({60.0 + random() % 120, 30.0 + random() % 20});
    for (uint32_t k = random() % 3; k > 0 && i > 0; --k) {
      uint32_t back = 1 + random() % (random() % 10 == 0 ? i : std::min(i, 20u));
      graph.edges.emplace_back(i - back, i);
    }
  }
  return graph;
}

// Of what lies in one layer, neighbours keep their distance; every edge goes down.
void check(const LayoutGraph &graph, const GraphLayout &layout) {
  REQUIRE(layout.layer.size() == graph.nodes.size());
  REQUIRE(layout.order.size() == layout.numLayers);
  std::vector<double> x = layout.x;
  std::vector<double> width;
  for (const LayoutGraph::Node &node : graph.nodes)
    width.push_back(node.width);
  std::vector<uint32_t> layer = layout.layer;
  for (uint32_t node = 0; node < graph.nodes.size(); ++node)
    for (size_t i = 0; i < layout.chain[node].size(); ++i) {
      x.push_back(layout.chain[node][i]);
      width.push_back(0);
      layer.push_back(layout.layer[node] + 1 + static_cast<uint32_t>(i));
    }
  size_t seen = 0;
  for (uint32_t l = 0; l < layout.numLayers; ++l) {
    REQUIRE(!layout.order[l].empty());
    for (size_t i = 0; i < layout.order[l].size(); ++i) {
      uint32_t vertex = layout.order[l][i];
      REQUIRE(layer[vertex] == l);
      ++seen;
      if (i > 0) {
        uint32_t left = layout.order[l][i - 1];
        REQUIRE(x[vertex] - x[left] >= (width[vertex] + width[left]) / 2 + 7.9);
      }
    }
  }
  REQUIRE(seen == x.size());
  for (auto [from, to] : graph.edges)
    if (from < to) {
      REQUIRE(layout.layer[from] < layout.layer[to]);
    }
  REQUIRE(layout.columns.front() == 0);
  REQUIRE(std::ranges::is_sorted(layout.columns));
  REQUIRE(layout.columns.back() < layout.numLayers);
}

} // namespace

TEST_CASE("nothing and one node", "[View]") {
  CHECK(layOut({}).numLayers == 0);
  GraphLayout layout = layOut(chain(1));
  CHECK(layout.numLayers == 1);
  CHECK(extentOf(chain(1), layout).width == 100);
}

TEST_CASE("a chain is a straight line", "[View]") {
  GraphLayout layout = layOut(chain(5));
  CHECK(layout.numLayers == 5);
  for (double x : layout.x)
    CHECK(std::abs(x - layout.x[0]) < 0.01);
  CHECK(layout.columns.size() == 1);
}

TEST_CASE("a long chain goes on beside itself", "[View]") {
  LayoutGraph graph = chain(400);
  GraphLayout layout = layOut(graph);
  check(graph, layout);
  LayoutExtent extent = extentOf(graph, layout);
  CHECK(layout.columns.size() > 4);
  CHECK(extent.width / extent.height > 0.5);
  CHECK(extent.width / extent.height < 3);
}

TEST_CASE("a diamond has its halves side by side", "[View]") {
  LayoutGraph graph = chain(1);
  graph.nodes.resize(4, {100, 40});
  graph.edges = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  GraphLayout layout = layOut(graph);
  check(graph, layout);
  CHECK(layout.layer == std::vector<uint32_t>{0, 1, 1, 2});
  CHECK(std::abs(layout.x[0] - layout.x[3]) < 0.01);
  CHECK(std::abs((layout.x[1] + layout.x[2]) / 2 - layout.x[0]) < 0.01);
}

TEST_CASE("edges of one source share their way", "[View]") {
  LayoutGraph graph = chain(10);
  graph.edges.insert(graph.edges.end(), {{0, 5}, {0, 8}});
  GraphLayout layout = layOut(graph);
  check(graph, layout);
  CHECK(layout.chain[0].size() == 7); // layers 1 to 7
  CHECK(layout.chain[3].empty());
}

TEST_CASE("edges against the order have no say", "[View]") {
  LayoutGraph graph = chain(4);
  GraphLayout plain = layOut(graph);
  graph.edges.emplace_back(3, 1);
  graph.edges.emplace_back(2, 2);
  GraphLayout layout = layOut(graph);
  check(graph, layout);
  CHECK(layout.layer == plain.layer);
}

TEST_CASE("many on one value are rows", "[View]") {
  LayoutGraph graph = chain(1);
  for (uint32_t i = 1; i <= 2000; ++i) {
    graph.nodes.push_back({100, 40});
    graph.edges.emplace_back(0, i);
  }
  GraphLayout layout = layOut(graph);
  check(graph, layout);
  CHECK(layout.numLayers > 20);
  LayoutExtent extent = extentOf(graph, layout);
  CHECK(extent.width < 10 * extent.height);
}

TEST_CASE("random graphs: no overlap, edges go down, equal from run to run", "[View]") {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    LayoutGraph graph = randomGraph(20 * seed, seed);
    GraphLayout layout = layOut(graph), again = layOut(graph);
    check(graph, layout);
    REQUIRE(layout.x == again.x);
    REQUIRE(layout.columns == again.columns);
  }
}

TEST_CASE("ten thousand nodes keep their points few", "[View]") {
  LayoutGraph graph = randomGraph(10000, 3);
  GraphLayout layout = layOut(graph);
  check(graph, layout);
  size_t points = 0;
  for (const std::vector<double> &points_ : layout.chain)
    points += points_.size();
  CHECK(points <= 3 * graph.nodes.size() + 500);
}
