#include "TestGraph.h"

using namespace bycc;

TEST_CASE("a reshape of weights shares their bytes") {
  TestGraph g;
  NodeId x = g.param("x", {Dim(2), Dim(3)});
  NodeId w = g.floats({Dim(6)}, {1, 2, 3, 4, 5, 6});
  NodeId view =
      g.call(ops::reshape, {w}, {{"newshape", AttrValue::ints(std::vector<int64_t>{2, 3})}});
  g.finish(g.call(ops::add, {x, view}));
  CHECK(g.run(foldConstants));
  NodeId folded = g.module.operands(g.result())[1];
  REQUIRE(g.module.isConstant(folded));
  CHECK(g.module.constant(folded).data() == g.module.constant(w).data());
}

TEST_CASE("what was computed is released with the last of its readers") {
  TestGraph g;
  NodeId w = g.floats({Dim(3)}, {1, 2, 3});
  NodeId negative = g.call(ops::negative, {w}), read = g.call(ops::exp, {w});
  NodeId square = g.call(ops::multiply, {negative, negative});
  NodeId pair = g.builder.tuple(std::vector<NodeId>{square, read});
  NodeId first = *g.builder.project(pair, 0);
  NodeId twice = g.call(ops::add, {first, first});
  NodeId x = g.call(ops::add, {g.param("x", {Dim(3)}), twice});
  g.finish(g.call(ops::multiply, {g.call(ops::subtract, {x, first}), read}));
  CHECK(g.run(foldConstants));
  CHECK(g.count(ops::add) == 1);
  size_t released = 0;
  for (const Constant &constant : g.module.constants)
    released += constant.storage == nullptr;
  CHECK(released == 1); // `negative`: all others are read, square through the projection alone
  CHECK(g.module.constant(w).storage != nullptr);
}

TEST_CASE("a result that would grow too much stays an operator") {
  TestGraph g;
  NodeId small = g.floats({Dim(1)}, {1});
  NodeId large =
      g.call(ops::broadcast_to, {small}, {{"shape", AttrValue::ints(std::vector<int64_t>{1000})}});
  g.finish(g.call(ops::add, {large, g.param("x", {Dim(1000)})}));
  CHECK(!g.run(foldConstants, {{"max-bytes", "100"}}));
  CHECK(g.run(foldConstants, {{"max-bytes", "4000"}}));
  CHECK(g.module.isConstant(g.module.operands(g.result())[0]));
}

TEST_CASE("D4 constants that double in every call are folded up to a bound") {
  // One call grows by what it is made of, and what it is made of is counted once;
  // or two calls take turns, and the second is as large as its two inputs.
  bool negates = GENERATE(false, true);
  TestGraph g;
  NodeId t = g.floats({Dim(1)}, {1});
  for (int i = 0; i < 30; ++i) {
    NodeId other = negates ? g.call(ops::negative, {t}) : t;
    NodeId pair = g.builder.tuple(std::vector<NodeId>{t, other});
    t = g.call(ops::concatenate, {pair}, {{"axis", AttrValue(int64_t{0})}});
  }
  g.finish(g.call(ops::sum, {t}));
  CHECK(g.run(foldConstants, {{"max-bytes", "4096"}}));
  CHECK(g.count(ops::concatenate) > 15);
  CHECK(g.module.foldedBytes <= 2 * 4096 + 4 * 4);
  uint64_t bytes = 0;
  for (const Constant &constant : g.module.constants)
    bytes += constant.bytes;
  CHECK(bytes <= 3 * 4096);
}

TEST_CASE("a decided if is replaced by its branch") {
  TestGraph g;
  NodeId x = g.param("x", {Dim(4)});
  BlockId branches = g.module.addIfBlocks(g.body);
  BlockId otherwise(branches.index + 1);
  Builder taken(g.module, branches);
  g.module.block(branches).result = *taken.call(ops::exp, {x});
  g.module.block(otherwise).result = x;
  NodeId decided = *g.builder.ifNode(g.module.addScalar(DType::Bool, 1), branches);
  g.finish(g.call(ops::abs, {decided}));
  CHECK(g.run(foldConstants));
  REQUIRE(g.nodes().size() == 2);
  CHECK(g.module.isOp(g.nodes()[0], ops::exp));
}
