#include "TestGraph.h"

#include <cmath>
#include <random>

using namespace bycc;

TEST_CASE("batch norm disappears into the convolution before it") {
  TestGraph g;
  NodeId x = g.param("x", {Dim(1), Dim(1), Dim(2), Dim(2)});
  NodeId w = g.floats({Dim(2), Dim(1), Dim(1), Dim(1)}, {1, 2});
  NodeId conv = g.call(ops::nn_conv2d, {x, w});
  NodeId norm = g.call(ops::nn_batch_norm,
                       {conv, g.floats({Dim(2)}, {1, 1}), g.floats({Dim(2)}, {0, 3}),
                        g.floats({Dim(2)}, {1, 1}), g.floats({Dim(2)}, {3, 3})},
                       {{"epsilon", AttrValue(1.0)}});
  g.finish(*g.builder.project(norm, 0));
  CHECK(g.run(simplifyInference));
  CHECK(g.run(foldConstants));
  CHECK(g.run(foldScaleAxis));
  CHECK(g.run(foldConstants));
  g.run(simplifyExpr);
  CHECK(g.nodes().size() == 2);
  REQUIRE(g.module.isOp(g.result(), ops::nn_bias_add));
  const Constant &bias = g.module.constant(g.module.operands(g.result())[1]);
  CHECK(reinterpret_cast<const float *>(bias.data())[1] == 2.5f);
}

TEST_CASE("bias constants are views of the same bytes") {
  TestGraph g;
  NodeId x = g.param("x", {Dim(1), Dim(1), Dim(2), Dim(2)});
  NodeId conv = g.call(ops::nn_conv2d, {x, g.floats({Dim(2), Dim(1), Dim(1), Dim(1)}, {1, 2})});
  NodeId bias = g.floats({Dim(2), Dim(1), Dim(1)}, {5, 6});
  g.finish(g.call(ops::add, {bias, conv}));
  CHECK(g.run(canonicalizeOps));
  REQUIRE(g.module.isOp(g.result(), ops::nn_bias_add));
  CHECK(g.module.constant(g.module.operands(g.result())[1]).data() ==
        g.module.constant(bias).data());
}

TEST_CASE("only exact identities are used") {
  TestGraph g;
  NodeId x = g.param("x", {Dim(4)});
  auto scalar = [&](double value) { return g.module.addScalar(DType::Float32, value); };
  NodeId kept[] = {g.call(ops::add, {x, scalar(0)}), g.call(ops::subtract, {x, scalar(-0.0)}),
                   g.call(ops::divide, {x, scalar(3)}), g.call(ops::multiply, {x, scalar(0)})};
  NodeId gone[] = {g.call(ops::add, {x, scalar(-0.0)}), g.call(ops::subtract, {x, scalar(0)}),
                   g.call(ops::divide, {x, scalar(1)}), g.call(ops::multiply, {scalar(1), x})};
  std::vector<NodeId> fields(std::begin(kept), std::end(kept));
  fields.insert(fields.end(), std::begin(gone), std::end(gone));
  g.finish(g.builder.tuple(fields));
  CHECK(g.run(simplifyExpr));
  for (size_t i = 0; i < 4; ++i) {
    CHECK(g.module.operands(g.result())[i] == kept[i]);
    CHECK(g.module.operands(g.result())[i + 4] == x);
  }
}

TEST_CASE("a broadcast that enlarges is no identity") {
  TestGraph g;
  NodeId x = g.param("x", {Dim(1)});
  NodeId y = g.call(ops::multiply, {x, g.floats({Dim(3)}, {1, 1, 1})});
  g.finish(y);
  CHECK(!g.run(simplifyExpr));
  CHECK(g.result() == y);
}

TEST_CASE("common subexpressions are found through equal constants") {
  TestGraph g;
  NodeId x = g.param("x", {Dim(2)});
  NodeId a = g.call(ops::add, {x, g.floats({Dim(2)}, {1, 2})});
  NodeId b = g.call(ops::add, {x, g.floats({Dim(2)}, {1, 2})});
  NodeId c = g.call(ops::add, {x, g.floats({Dim(2)}, {1, 3})});
  g.finish(g.builder.tuple(std::vector{a, b, c}));
  CHECK(g.run(eliminateCommonSubexpr));
  auto fields = g.module.operands(g.result());
  CHECK(fields[0] == fields[1]);
  CHECK(fields[0] != fields[2]);
  CHECK(g.count(ops::add) == 2);
}

TEST_CASE("composites and vendor functions are left alone") {
  TestGraph g;
  NodeId x = g.param("x", {Dim(4)});
  FunctionId f = g.module.addFunction({}, g.body);
  NodeId p = g.module.addParam("p", g.module.type(x));
  g.module.function(f).params = {p};
  g.module.setFunctionAttr(f, "Composite", AttrValue("v.one"));
  Builder inner(g.module, g.module.function(f).body);
  NodeId scalar = g.module.addScalar(DType::Float32, 1);
  g.module.block(g.module.function(f).body).result = *inner.call(ops::multiply, {p, scalar});
  NodeId callee = g.builder.localFunction(f);
  g.finish(*g.builder.callFunction(callee, std::vector{x}));
  CHECK(!g.run(simplifyExpr));
  CHECK(!g.run(fuseOps));
}

TEST_CASE("clean-up passes run twice equal one run") {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    TestGraph g;
    std::vector<NodeId> values{g.param("x", {Dim(2), Dim(6)}), g.param("y", {Dim(2), Dim(6)})};
    auto pick = [&] {
      return values[values.size() - 1 - random() % std::min<size_t>(values.size(), 4)];
    };
    auto scalar = [&] {
      double all[] = {1, 0, -0.0, 2, 4};
      return g.module.addScalar(DType::Float32, all[random() % 5]);
    };
    auto shape = [](std::vector<int64_t> dims) {
      return AttrDict{{"newshape", AttrValue::ints(dims)}};
    };
    auto there = [&](NodeId a) { return g.call(ops::reshape, {a}, shape({3, 4})); };
    auto back = [&](NodeId a) { return g.call(ops::reshape, {a}, shape({2, 6})); };
    auto flip = [&](NodeId a) { return g.call(ops::transpose, {a}, {{"axes", AttrValue()}}); };
    auto cast = [&](NodeId a, const char *to) {
      return g.call(ops::cast, {a}, {{"dtype", AttrValue(to)}});
    };
    for (int i = 0; i < 25; ++i) {
      NodeId a = pick();
      switch (random() % 12) {
      case 0:
        a = back(g.call(ops::nn_relu, {there(a)}));
        break;
      case 1:
        a = flip(g.call(ops::negative, {flip(a)}));
        break;
      case 2:
        a = cast(cast(a, random() % 2 ? "float64" : "float16"), "float32");
        break;
      case 3:
        a = g.call(ops::multiply, {a, scalar()});
        break;
      case 4:
        a = g.call(ops::add, {scalar(), a});
        break;
      case 5:
        a = g.call(ops::divide, {a, scalar()});
        break;
      case 6:
        a = g.call(ops::subtract, {a, g.call(ops::negative, {pick()})});
        break;
      case 7:
        a = back(g.call(ops::multiply, {there(a), scalar()}));
        break;
      case 8:
        a = g.call(ops::clip, {a}, {{"a_min", AttrValue(-1.0)}, {"a_max", AttrValue(4.0)}});
        break;
      case 9:
        a = g.call(ops::maximum, {a, scalar()});
        break;
      case 10:
        a = *g.builder.project(g.builder.tuple(std::vector{pick(), a}), random() % 2);
        break;
      default:
        a = g.call(ops::add, {a, pick()});
        break;
      }
      values.push_back(a);
    }
    g.finish(g.builder.tuple(std::vector{values.back(), pick()}));
    for (auto *pass : {simplifyExpr, canonicalizeOps, eliminateCommonSubexpr, foldScaleAxis,
                       eliminateDeadCode, toGraphNormalForm, simplifyInference, inferType})
      g.run(pass);
  }
}
