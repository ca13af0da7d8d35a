// Sequences: none is left in the program.
#include "ModelMaker.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::test;

namespace {

// Appends Neg(x) to the sequence in every turn.
::onnx::GraphProto appending(const std::string &after = "q1") {
  ModelMaker maker;
  maker.input("i", {}, i64);
  maker.input("go", {}, ::onnx::TensorProto::BOOL);
  maker.graph.add_input()->set_name("q");
  maker.node("Identity", {"go"}, {"goes"});
  maker.node("Neg", {"x"}, {"v"});
  maker.node("SequenceInsert", {"q", "v"}, {"q1"});
  maker.node("SequenceInsert", {"q1", "v"}, {"q2"});
  maker.node("SequenceLength", {"q"}, {"length"});
  if (after != "length")
    maker.graph.mutable_node()->RemoveLast();
  maker.output("goes");
  maker.output(after);
  return maker.graph;
}

ModelMaker loop(const ::onnx::GraphProto &body, int64_t axis, int64_t newAxis) {
  ModelMaker maker;
  maker.input("x", {2, 3});
  maker.input("n", {}, i64);
  maker.node("SequenceEmpty", {}, {"empty"});
  maker.node("Loop", {"n", "", "empty"}, {"q"}).graph("body", body).called("the loop");
  maker.node("ConcatFromSequence", {"q"}, {"y"}).integer("axis", axis).integer("new_axis", newAxis);
  maker.output("y");
  return maker;
}

ModelMaker split(const std::string &reader, bool keepDims, const Names &more = {}) {
  ModelMaker maker;
  maker.input("x", {3, 4});
  maker.input("n", {}, i64);
  maker.constant(longs("second", {}, {-2}));
  maker.constant(longs("sizes", {2}, {1, 3}));
  maker.node("SplitToSequence", {"x"}, {"q"}).integer("axis", 1).integer("keepdims", keepDims);
  Names inputs{"q"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  maker.node(reader, inputs, {"y"}).called("the reader");
  maker.output("y");
  return maker;
}

} // namespace

TEST_CASE("what a loop appends to a sequence is stacked") {
  CHECK(has(summary(loop(appending(), 0, 1)), ": Tensor[(?, 2, 3), float32]"));
  CHECK(has(summary(loop(appending(), -1, 1)), ": Tensor[(2, 3, ?), float32]"));
  CHECK(has(summary(loop(appending(), 0, 0)), ": Tensor[(?, 3), float32]"));
  CHECK(has(summary(loop(appending(), 1, 0)), ": Tensor[(2, ?), float32]"));
  CHECK(has(summary(loop(appending(), 0, 1)), "strided_set")); // into a tensor made before the loop
}

TEST_CASE("a loop that does more to a sequence is refused by name") {
  CHECK(has(problemOf(loop(appending("q2"), 0, 1)),
            "node 'the loop' (Loop): error[UNSUP]: a turn does more to sequence 0 than to append "
            "one element"));
  CHECK(has(problemOf(loop(appending("length"), 0, 1)),
            "reads a sequence that the loop around it makes"));
}

TEST_CASE("elements of a sequence of known length") {
  CHECK(has(summary(split("SequenceAt", true, {"second"})), ": Tensor[(3, 1), float32]"));
  CHECK(has(summary(split("SequenceAt", false, {"second"})), ": Tensor[(3), float32]"));
  std::string text = summary(split("SequenceAt", false, {"n"}));
  CHECK(has(text, "stack"));
  CHECK(has(text, "take"));
  CHECK(has(summary(split("SequenceLength", true)), ": int64"));
  CHECK(has(problemOf(split("SequenceErase", true)), "gives a sequence as a result"));
  CHECK(has(problemOf(split("Neg", true)),
            "node 'the reader' (Neg): error[UNSUP]: input 0 is a sequence"));
}

TEST_CASE("a sequence of unknown length is a stack") {
  ModelMaker maker = split("SequenceLength", false);
  auto *shape =
      maker.graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(1)->set_dim_param("count");
  CHECK(has(summary(maker, {.allowSymbolicDims = true}), ": int64"));
}

TEST_CASE("a sequence where a tensor is, and the other way round") {
  ModelMaker maker;
  maker.input("x", {3, 4});
  maker.node("ConcatFromSequence", {"x"}, {"y"}).integer("axis", 0).called("join");
  maker.output("y");
  CHECK(has(problemOf(maker),
            "node 'join' (ConcatFromSequence): error[INPUT]: input 0 is not a sequence"));
}

TEST_CASE("a slice at the place of a turn has one value") {
  // x[v[i : i + 1] : v[i + 1 : i + 2]], as bags of rows are cut out of a table
  ModelMaker maker;
  maker.input("x", {5, 3});
  maker.input("v", {4}, i64);
  maker.input("i", {1}, i64);
  maker.constant(longs("one", {}, {1}));
  maker.constant(longs("two", {}, {2}));
  maker.node("Add", {"i", "one"}, {"i1"});
  maker.node("Add", {"i", "two"}, {"i2"});
  maker.node("Slice", {"v", "i", "i1"}, {"begin"});
  maker.node("Slice", {"v", "i1", "i2"}, {"end"});
  maker.node("Slice", {"x", "begin", "end"}, {"y"}).called("rows");
  maker.output("y");
  CHECK(has(summary(maker), ": Tensor[(?, 3), float32]"));
  maker.graph.mutable_node(3)->set_input(1, "i");
  maker.graph.mutable_node(2)->set_input(2, "i2");
  CHECK(has(problemOf(maker), "node 'rows' (Slice): error[UNSUP]: how many values starts has"));
}

TEST_CASE("a branch that gives what could not be made outside is one problem") {
  ModelMaker first, second, maker;
  first.node("Identity", {"bad"}, {"t"});
  first.output("t");
  second.node("Neg", {"x"}, {"e"});
  second.output("e");
  maker.input("x", {2});
  maker.input("c", {}, ::onnx::TensorProto::BOOL);
  maker.node("SequenceMap", {"x"}, {"bad"}).called("the cause");
  maker.node("If", {"c"}, {"y"})
      .graph("then_branch", first.graph)
      .graph("else_branch", second.graph);
  maker.output("y");
  CHECK(has(problemOf(maker), "node 'the cause' (SequenceMap): error[UNSUP]"));
}
