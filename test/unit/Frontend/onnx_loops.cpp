// Loop, Scan, If and the recurrent operators.
#include "ModelMaker.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::test;

namespace {

constexpr int flag = ::onnx::TensorProto::BOOL;

::onnx::TensorProto flagOf(const std::string &name, bool value) {
  ::onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(flag);
  tensor.add_int32_data(value);
  return tensor;
}

// s' = op(s, more..), row = s'; goes on as before.
::onnx::GraphProto body(const std::string &op, const Names &inputs, bool hasRow = true) {
  ModelMaker maker;
  maker.input("i", {}, i64);
  maker.input("go", {}, flag);
  maker.graph.add_input()->set_name("s");
  maker.node(op, inputs, {"s1"}).integer("axis", 0);
  maker.node("Identity", {"go"}, {"goes"});
  maker.output("goes");
  maker.output("s1");
  if (hasRow)
    maker.output("s1");
  if (op != "Concat")
    maker.graph.mutable_node(0)->clear_attribute();
  return maker.graph;
}

ModelMaker loop(const ::onnx::GraphProto &graph, const Names &inputs, const Names &outputs) {
  ModelMaker maker;
  maker.input("x", {2});
  maker.input("n", {}, i64);
  maker.input("c", {}, flag);
  maker.constant(longs("five", {}, {5}));
  maker.constant(flagOf("true", true));
  maker.node("Loop", inputs, outputs).graph("body", graph).called("the loop");
  for (const std::string &name : outputs)
    maker.output(name);
  return maker;
}

ModelMaker recurrent(const std::string &op, int64_t gates, int64_t length = 6) {
  ModelMaker maker;
  maker.input("x", {length, 2, 3});
  maker.constant(floats("W", {1, gates * 4, 3}));
  maker.constant(floats("R", {1, gates * 4, 4}));
  maker.node(op, {"x", "W", "R"}, {"y", "h"}).called("cell").integer("hidden_size", 4);
  maker.output("y");
  maker.output("h");
  return maker;
}

} // namespace

TEST_CASE("a loop is a function that calls itself") {
  std::string text = summary(loop(body("Relu", {"s"}), {"five", "", "x"}, {"y", "rows"}));
  CHECK(has(text, "less"));
  CHECK_FALSE(has(text, "logical_and")); // the condition never changes
  CHECK(has(text, "strided_set"));       // rows of a known number
  CHECK(has(text, ": (Tensor[(2), float32], Tensor[(5, 2), float32])"));
}

TEST_CASE("a condition known at run time only is carried on, rows are appended") {
  std::string text = summary(loop(body("Relu", {"s"}), {"n", "c", "x"}, {"y", "rows"}));
  CHECK(has(text, "logical_and"));
  CHECK(has(text, "concatenate"));
  CHECK(has(text, ": (Tensor[(2), float32], Tensor[(?, 2), float32])"));
}

TEST_CASE("an extent that changes from turn to turn becomes unknown") {
  std::string text = summary(loop(body("Concat", {"s", "x"}, false), {"n", "", "x"}, {"y"}));
  CHECK(has(text, ": Tensor[(?), float32]"));
}

TEST_CASE("loops that cannot be are refused by name") {
  CHECK(has(problemOf(loop(body("Relu", {"s"}), {"", "", "x"}, {"y"})),
            "node 'the loop' (Loop): error[UNSUP]: the loop has neither a trip count nor a "
            "condition that could end it"));
  CHECK(has(
      problemOf(loop(body("Shape", {"s"}), {"five", "", "x"}, {"y"})),
      "value 0 that the loop carries on changes from Tensor[(2), float32] to Tensor[(1), int64]"));
  CHECK(has(problemOf(loop(body("Relu", {"s"}), {"five", "", "x", "x"}, {"y"})),
            "body has 3 inputs, wanted 4"));
}

TEST_CASE("branches with other extents") {
  ModelMaker first, second, maker;
  first.node("Concat", {"x", "x"}, {"t"}).integer("axis", 0);
  first.output("t");
  second.node("Neg", {"x"}, {"e"});
  second.output("e");
  maker.input("x", {2});
  maker.input("c", {}, flag);
  maker.node("If", {"c"}, {"y"})
      .graph("then_branch", first.graph)
      .graph("else_branch", second.graph);
  maker.output("y");
  CHECK(has(summary(maker), ": Tensor[(?), float32]"));
}

TEST_CASE("recurrent operators: one product of the inputs, a loop over time") {
  for (auto [op, gates] : {std::pair{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}}) {
    std::string text = summary(recurrent(op, gates));
    CHECK(has(text, "nn.dense reshape"));
    CHECK(has(text, "strided_set"));
    CHECK(has(text, ": (Tensor[(6, 1, 2, 4), float32], Tensor[(1, 2, 4), float32])"));
    CHECK_FALSE(has(summary(recurrent(op, gates, 2)), "strided_set")); // unrolled
    // steps and batch known at run time only: rows are written into a tensor all the same
    ModelMaker open = recurrent(op, gates);
    auto *shape =
        open.graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(0)->set_dim_param("seq");
    shape->mutable_dim(1)->set_dim_param("batch");
    text = summary(open, {.allowSymbolicDims = true});
    CHECK(has(text, "strided_set"));
    CHECK(has(text, ": (Tensor[(seq, 1, batch, 4), float32], Tensor[(1, batch, 4), float32])"));
  }
}

TEST_CASE("recurrent operators say what is wrong") {
  ModelMaker maker = recurrent("LSTM", 3);
  CHECK(has(problemOf(maker), "node 'cell' (LSTM): error[INPUT]: W has type Tensor[(1, 12, 3), "
                              "float32], wanted Tensor[(1, 16, 3), float32]"));
  maker = recurrent("GRU", 3);
  NodeMaker(*maker.graph.mutable_node(0)).text("direction", "sideways");
  CHECK(has(problemOf(maker), "direction is 'sideways'"));
}
