#include "TestGraph.h"

#include "bycc/IR/Visitor.h"

#include <chrono>
#include <random>

using namespace bycc;

namespace {

size_t numKernels(const TestGraph &g) {
  size_t total = 0;
  for (NodeId node : g.nodes())
    total += g.module.node(node).kind == NodeKind::Function;
  return total;
}

} // namespace

TEST_CASE("a chain is cut at the group limit") {
  TestGraph g;
  NodeId value = g.param("x", {Dim(4)});
  for (int i = 0; i < 20; ++i)
    value = g.call(ops::abs, {value});
  g.finish(value);
  CHECK(g.run(fuseOps, {{"max-nodes", "5"}}));
  CHECK(numKernels(g) == 4);
}

TEST_CASE("a value with a user outside ends its group") {
  TestGraph g;
  NodeId x = g.param("x", {Dim(4)});
  NodeId a = g.call(ops::abs, {x}), b = g.call(ops::exp, {a}), c = g.call(ops::log, {b});
  g.finish(g.builder.tuple(std::vector{b, c}));
  CHECK(g.run(fuseOps));
  CHECK(numKernels(g) == 1);
  CHECK(g.count(ops::log) == 1);
}

TEST_CASE("costly functions are not repeated by a broadcast") {
  TestGraph g;
  NodeId x = g.param("x", {Dim(100), Dim(4)}), row = g.param("row", {Dim(4)});
  NodeId cheap = g.call(ops::abs, {row}), costly = g.call(ops::exp, {row});
  g.finish(g.call(ops::add, {g.call(ops::add, {x, cheap}), costly}));
  CHECK(g.run(fuseOps));
  CHECK(g.count(ops::exp) == 1);
  CHECK(g.count(ops::abs) == 0);
}

TEST_CASE("random graphs stay valid and every operator is kept once") {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    TestGraph g;
    std::vector<NodeId> values{g.param("x", {Dim(4), Dim(6)}), g.param("y", {Dim(1), Dim(6)})};
    auto pick = [&] {
      return values[values.size() - 1 - random() % std::min<size_t>(values.size(), 6)];
    };
    NodeId weight = g.floats({Dim(6), Dim(6)}, std::vector<float>(36, 0.5f));
    for (int i = 0; i < 30; ++i)
      switch (random() % 6) {
      case 0:
        values.push_back(g.call(ops::exp, {pick()}));
        break;
      case 1:
        values.push_back(g.call(
            ops::sum, {pick()},
            {{"axis", AttrValue::ints(std::vector<int64_t>{0})}, {"keepdims", AttrValue(true)}}));
        break;
      case 2:
        values.push_back(g.call(ops::nn_dense, {pick(), weight}, {{"units", AttrValue(6)}}));
        break;
      case 3:
        values.push_back(g.call(ops::reverse, {pick()}, {{"axis", AttrValue(1)}}));
        break;
      default:
        values.push_back(g.call(ops::add, {pick(), pick()}));
        break;
      }
    g.finish(g.builder.tuple(std::vector{values.back(), pick()}));
    PassContext context;
    REQUIRE(eliminateDeadCode(g.module, context));
    size_t before = 0, after = 0;
    auto countOps = [&](size_t &total) {
      forEachNode(g.module, g.body,
                  [&](NodeId node) { total += g.module.node(node).kind == NodeKind::CallOp; });
    };
    countOps(before);
    g.run(fuseOps); // verifies: order and visibility of operands
    countOps(after);
    CHECK(before == after);
  }
}

TEST_CASE("time per node does not grow with the graph") {
  auto seconds = [](int count) {
    TestGraph g;
    NodeId x = g.param("x", {Dim(4)}), a = x, b = x;
    for (int i = 0; i < count / 2; ++i) { // a ladder: post-dominators are far
      NodeId next = g.call(ops::add, {a, b});
      b = g.call(ops::exp, {a});
      a = next;
    }
    g.finish(g.call(ops::add, {a, b}));
    PassContext context;
    auto start = std::chrono::steady_clock::now();
    REQUIRE(fuseOps(g.module, context));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double small = seconds(4000), large = seconds(64000);
  CHECK(large < 0.2 + 16 * 4 * small); // generous: other work runs beside
}
