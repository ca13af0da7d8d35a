// Versions of operators: the table against ONNX's own registry, and the forms
// that operators had in old opsets.
#include "ModelMaker.h"

#include <catch2/catch.hpp>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <set>

using namespace bycc;
using namespace bycc::test;

namespace {

// One node over x: [2, 3, 4, 5] at an old opset, result "y".
struct OldNode {
  OldNode(int64_t opset, const std::string &op, Names inputs = {"x"})
      : node((maker.opset(opset), maker.input("x", {2, 3, 4, 5}), maker.node(op, inputs, {"y"}))) {
    maker.output("y");
  }
  ModelMaker maker;
  NodeMaker node;
};

std::string textOf(const ModelMaker &maker) {
  Expected<Module> module = maker.import();
  return module ? printModule(*module) : module.error().str();
}

} // namespace

TEST_CASE("the table has every operator and version of ONNX's registry") {
  std::set<std::pair<std::string, int64_t>> table;
  for (const OnnxOperator &op : onnxOperators())
    for (const OnnxOperator::Version &version : op.versions)
      table.emplace(op.name, version.opset);
  size_t seen = 0;
  for (const ::onnx::OpSchema &schema : ::onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (!schema.domain().empty())
      continue;
    INFO(schema.Name() << " of opset " << schema.SinceVersion());
    CHECK(table.count({schema.Name(), schema.SinceVersion()}) == 1);
    ++seen;
  }
  CHECK(seen > 300);
}

TEST_CASE("an operator that an opset does not have") {
  CHECK(has(problemOf(OldNode(6, "Erf").maker),
            "operator Erf of opset 6 is not supported: it came with opset 9"));
  CHECK(has(problemOf(OldNode(10, "Upsample").maker),
            "Upsample of opset 10 is not supported: version 10 is deprecated"));
  CHECK(has(problemOf(OldNode(17, "StringNormalizer").maker),
            "StringNormalizer of opset 17 is not supported: it works on strings"));
}

TEST_CASE("broadcasting before opset 7") {
  OldNode plain(6, "Add", {"x", "b"});
  plain.maker.constant(floats("b", {3}));
  CHECK(has(problemOf(plain.maker), "without broadcast"));
  OldNode axis(6, "Add", {"x", "b"});
  axis.maker.constant(floats("b", {3, 4}));
  axis.node.integer("broadcast", 1).integer("axis", 1);
  CHECK(summary(axis.maker) == "expand_dims add : Tensor[(2, 3, 4, 5), float32]");
  CHECK(has(textOf(axis.maker), "axis=2"));
  OldNode suffix(1, "Mul", {"x", "b"});
  suffix.maker.constant(floats("b", {4, 5}));
  suffix.node.integer("broadcast", 1).ints("consumed_inputs", {0, 0});
  CHECK(summary(suffix.maker) == "multiply : Tensor[(2, 3, 4, 5), float32]");
  OldNode past(6, "Add", {"x", "b"});
  past.maker.constant(floats("b", {4, 5}));
  past.node.integer("broadcast", 1).integer("axis", 3);
  CHECK(has(problemOf(past.maker), "axis 3 for an operand of rank 2, the other has rank 4"));
  OldNode slope(6, "PRelu", {"x", "b"});
  slope.maker.constant(floats("b", {3}));
  CHECK(summary(slope.maker) == "nn.prelu : Tensor[(2, 3, 4, 5), float32]");
}

TEST_CASE("operands that were attributes") {
  OldNode reshape(1, "Reshape");
  reshape.node.ints("shape", {0, -1});
  CHECK(summary(reshape.maker) == "reshape : Tensor[(2, 60), float32]");
  OldNode pad(1, "Pad");
  pad.node.ints("paddings", {0, 0, 1, 0, 0, 0, 0, 2});
  CHECK(summary(pad.maker) == "nn.pad : Tensor[(2, 3, 5, 7), float32]");
  OldNode cast(1, "Cast");
  cast.node.text("to", "INT32");
  CHECK(summary(cast.maker) == "cast : Tensor[(2, 3, 4, 5), int32]");
  OldNode unknown(1, "Cast");
  unknown.node.text("to", "FLOAT33");
  CHECK(has(problemOf(unknown.maker), "element type 'FLOAT33' is not one of ONNX"));
  OldNode upsample(1, "Upsample");
  upsample.node.number("height_scale", 2).number("width_scale", 3).text("mode", "bilinear");
  CHECK(summary(upsample.maker) == "image.resize2d : Tensor[(2, 3, 8, 15), float32]");
  OldNode concat(1, "Concat", {"x", "x"});
  CHECK(summary(concat.maker) == "concatenate : Tensor[(2, 6, 4, 5), float32]");
}

TEST_CASE("inputs that became others") {
  OldNode tile(1, "Tile", {"x", "tiles", "axis"});
  tile.maker.constant(longs("tiles", {}, {3}));
  tile.maker.constant(longs("axis", {}, {1}));
  CHECK(summary(tile.maker) == "tile : Tensor[(2, 9, 4, 5), float32]");
  OldNode split(1, "Split", {"x", "lengths"});
  split.maker.constant(longs("lengths", {1}, {2}));
  CHECK(summary(split.maker) == "split : Tensor[(2, 3, 4, 5), float32]");
}

TEST_CASE("is_test of old opsets") {
  OldNode trained(6, "Dropout");
  CHECK(has(problemOf(trained.maker), "training mode"));
  OldNode tested(6, "Dropout");
  tested.node.integer("is_test", 1);
  CHECK(summary(tested.maker) == ": Tensor[(2, 3, 4, 5), float32]");
  OldNode norm(6, "BatchNormalization", {"x", "s", "b", "m", "v"});
  for (const char *name : {"s", "b", "m", "v"})
    norm.maker.constant(floats(name, {3}));
  CHECK(has(problemOf(norm.maker), "training mode"));
  norm.node.integer("is_test", 1);
  CHECK(summary(norm.maker) == "nn.batch_norm : Tensor[(2, 3, 4, 5), float32]");
}

TEST_CASE("what opset 28 added") {
  ModelMaker maker;
  maker.opset(28);
  maker.input("x", {4}, ::onnx::TensorProto::INT8);
  maker.input("n", {4}, ::onnx::TensorProto::INT8);
  maker.node("BitShift", {"x", "n"}, {"y"}).text("direction", "RIGHT");
  maker.output("y");
  CHECK(has(summary(maker), "right_shift"));
  maker.opset(27);
  CHECK(has(problemOf(maker), "shifts int8, wanted unsigned integers"));
  OldNode blocks(28, "SpaceToDepth");
  blocks.maker.graph.mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(3)
      ->set_dim_value(6);
  blocks.node.integer("blocksize", 2).text("mode", "CRD");
  CHECK(summary(blocks.maker) == "nn.space_to_depth : Tensor[(2, 12, 2, 3), float32]");
}
