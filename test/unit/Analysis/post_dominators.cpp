#include "bycc/Analysis/PostDominators.h"
#include "bycc/IR/Builder.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

using namespace bycc;

namespace {

struct Graph {
  Module module;
  FunctionId main = module.addFunction("main");
  BlockId body = module.function(main).body;
  Builder builder{module, body};
  NodeId x = module.addParam("x", module.types.tensor(DType::Float32, {Dim(4)}));
  Graph() { module.function(main).params = {x}; }
  NodeId abs(NodeId a) { return *builder.call(ops::abs, {a}); }
  NodeId add(NodeId a, NodeId b) { return *builder.call(ops::add, {a, b}); }
  void finish(NodeId result) { module.block(body).result = result; }
};

// The definition: nodes without which the end cannot be reached from `from`.
uint32_t slowPostDominator(const BlockGraph &graph, uint32_t from) {
  auto reachesEndWithout = [&](uint32_t cut) {
    std::set<uint32_t> seen;
    std::vector<uint32_t> work{from};
    while (!work.empty()) {
      uint32_t at = work.back();
      work.pop_back();
      if (at == cut || !seen.insert(at).second)
        continue;
      if (graph.users(at).empty() || graph.isResult(at))
        return true;
      for (uint32_t user : graph.users(at))
        work.push_back(user);
    }
    return false;
  };
  for (uint32_t at = from + 1; at < graph.size(); ++at)
    if (!reachesEndWithout(at))
      return at;
  return PostDominators::none;
}

} // namespace

TEST_CASE("a diamond meets at its end") {
  Graph g;
  NodeId top = g.abs(g.x), left = g.abs(top), right = g.abs(top), end = g.add(left, right);
  g.finish(end);
  NodePositions positions;
  BlockGraph graph(g.module, g.body, positions);
  PostDominators dominators(graph);
  CHECK(dominators.of(0) == 3);
  CHECK(dominators.of(1) == 3);
  CHECK(dominators.of(2) == 3);
  CHECK(dominators.of(3) == PostDominators::none);
}

TEST_CASE("post-dominators agree with the definition on random graphs") {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    Graph g;
    std::vector<NodeId> values{g.x};
    auto pick = [&] {
      return values[values.size() - 1 - random() % std::min<size_t>(values.size(), 5)];
    };
    for (int i = 0; i < 24; ++i)
      values.push_back(random() % 2 ? g.abs(pick()) : g.add(pick(), pick()));
    g.finish(values[values.size() - 1 - random() % 3]);
    NodePositions positions;
    BlockGraph graph(g.module, g.body, positions);
    PostDominators dominators(graph);
    for (uint32_t at = 0; at < graph.size(); ++at)
      CHECK(dominators.of(at) == slowPostDominator(graph, at));
  }
}

TEST_CASE("a block inside counts as a use by its owner") {
  Graph g;
  NodeId a = g.abs(g.x);
  NodeId condition = g.module.addScalar(DType::Bool, 1);
  BlockId branches = g.module.addIfBlocks(g.body);
  BlockId otherwise(branches.index + 1);
  Builder inner(g.module, branches);
  g.module.block(branches).result = *inner.call(ops::exp, {a});
  g.module.block(otherwise).result = a;
  NodeId decision = *g.builder.ifNode(condition, branches);
  g.finish(decision);
  NodePositions positions;
  BlockGraph graph(g.module, g.body, positions);
  REQUIRE(graph.size() == 2);
  CHECK(graph.users(0).size() == 2);
  CHECK(PostDominators(graph).of(0) == 1);
}
