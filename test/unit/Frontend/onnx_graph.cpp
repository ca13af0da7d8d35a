// Graph structure, shapes and types: rows C1 to C9 and D1 to D9 of the bad-input
// list, and what an import gives besides operators.
#include "ModelMaker.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::test;

namespace {

ModelMaker unary(const std::string &op = "Relu", const Ints &dims = {2, 3}) {
  ModelMaker maker;
  maker.input("x", dims);
  maker.node(op, {"x"}, {"y"}).called("the node");
  maker.output("y");
  return maker;
}

std::string dimText(int64_t dim) { return problemOf(unary("Relu", {dim})); }

} // namespace

TEST_CASE("inputs, outputs and sources keep their names") {
  ModelMaker maker;
  maker.input("in/a", {2, 3});
  maker.input("b", {2, 3}, i64);
  maker.node("Relu", {"in/a"}, {"r"}).called("first");
  maker.node("Neg", {"b"}, {"n"});
  maker.output("n");
  maker.output("r");
  Expected<Module> module = maker.import();
  REQUIRE(module);
  const Function &main = module->function(module->main());
  CHECK(module->string(module->node(main.params[0]).name) == "in/a");
  CHECK(module->types.str(module->type(main.params[1])) == "Tensor[(2, 3), int64]");
  NodeId result = module->block(main.body).result;
  CHECK(module->types.str(module->type(result)) ==
        "(Tensor[(2, 3), int64], Tensor[(2, 3), float32])");
  CHECK(module->source(module->operands(result)[1]).str() == "test.onnx: node 'first' (Relu)");
  CHECK(module->source(module->operands(result)[0]).node == "n");
  REQUIRE(module->moduleAttrs.size() == 2);
  CHECK(module->moduleAttrs[0].key == "input_names");
  CHECK(module->moduleAttrs[0].value.asList()[0].asString() == "in/a");
  CHECK(module->moduleAttrs[1].value.asList()[1].asString() == "r");
}

TEST_CASE("all problems come in one error") {
  ModelMaker maker;
  maker.input("x", {2});
  maker.node("Frobnicate", {"x"}, {"a"}).called("one");
  maker.node("Relu", {"a"}, {"b"});
  maker.node("Twist", {"b"}, {"c"}).called("two").domain("my.ops");
  maker.node("Cast", {"x"}, {"d"}).called("three").integer("to", 14);
  maker.output("c");
  std::string text = problemOf(maker);
  CHECK(has(text, "test.onnx: node 'one' (Frobnicate): error[UNSUP]: operator Frobnicate of opset "
                  "17 is not supported"));
  CHECK(has(text, "test.onnx: node 'two' (Twist): error[UNSUP]: operator my.ops.Twist"));
  CHECK(
      has(text,
          "test.onnx: node 'three' (Cast): error[UNSUP]: element type complex64 is not supported"));
  CHECK_FALSE(has(text, "Relu"));
}

TEST_CASE("dims are bound by name and by shape") {
  ModelMaker maker = unary("Relu", {1, 3});
  maker.graph.mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("N");
  CHECK(has(problemOf(maker), "node 'x' (input): error[INPUT]: dimension 'N' is not bound"));
  OnnxImportOptions options;
  options.dims["N"] = 4;
  CHECK(summary(maker, options) == "nn.relu : Tensor[(4, 3), float32]");
  options = {};
  options.shapes["x"] = {5, 3};
  CHECK(summary(maker, options) == "nn.relu : Tensor[(5, 3), float32]");
  options.shapes["x"] = {5, 4};
  CHECK(has(problemOf(maker, options), "error[ARG]"));
  options = {};
  options.allowSymbolicDims = true;
  CHECK(summary(maker, options) == "nn.relu : Tensor[(N, 3), float32]");
  options.shapes["y"] = {1};
  CHECK(has(problemOf(maker, options), "there is no input 'y'"));
  options = {};
  options.dims["M"] = 1;
  CHECK(has(problemOf(maker, options), "did you mean 'N'?"));
}

TEST_CASE("C1: one name for two values is refused, node names are made unique") {
  ModelMaker maker = unary();
  maker.node("Neg", {"x"}, {"y"});
  CHECK(has(problemOf(maker), "error[INPUT]: value 'y' is made twice"));
  maker = unary();
  maker.input("x", {2, 3});
  CHECK(has(problemOf(maker), "two inputs are called 'x'"));
  maker = unary();
  maker.constant(floats("w", {1}));
  maker.constant(floats("w", {1}));
  CHECK(has(problemOf(maker), "value 'w' is made twice"));
  maker = unary();
  maker.node("Neg", {"y"}, {"z"}).called("the node");
  maker.graph.mutable_output(0)->set_name("z");
  Expected<Module> module = maker.import();
  REQUIRE(module);
  NodeId result = module->block(module->function(module->main()).body).result;
  CHECK(module->source(result).node == "the node.1");
}

TEST_CASE("C1: a node with neither name nor output is found by its number") {
  ModelMaker maker;
  maker.input("x", {1});
  maker.node("Relu", {"x"}, {"y"});
  maker.node("Relu", {"x"}, {});
  maker.output("y");
  CHECK(has(problemOf(maker), "node 'number 1' (Relu): error[INPUT]: the node has no output"));
}

TEST_CASE("B6: a name of a mebibyte is refused") {
  ModelMaker maker;
  maker.input(std::string(1 << 20, 'a'), {1});
  std::string problem = problemOf(maker);
  CHECK(has(problem, "error[INPUT]"));
  CHECK(has(problem, "a name of 1048576 bytes"));
}

TEST_CASE("C2: values that nobody makes are named") {
  ModelMaker maker = unary();
  maker.graph.mutable_node(0)->set_input(0, "ghost");
  CHECK(has(problemOf(maker), "input 'ghost' is made by no node"));
  maker = unary();
  maker.output("ghost");
  CHECK(has(problemOf(maker), "graph output 'ghost' is made by no node"));
}

TEST_CASE("C3: cycles are refused, other orders are sorted") {
  for (int length : {1, 2, 100000}) {
    ModelMaker maker;
    for (int i = 0; i < length; ++i)
      maker.node("Neg", {"v" + std::to_string(i)}, {"v" + std::to_string((i + 1) % length)});
    maker.output("v0");
    CHECK(has(problemOf(maker), "error[INPUT]: the node is on a cycle"));
  }
  ModelMaker maker;
  maker.input("x", {2});
  maker.node("Exp", {"a"}, {"y"});
  maker.node("Neg", {"x"}, {"a"});
  maker.output("y");
  CHECK(summary(maker) == "negative exp : Tensor[(2), float32]");
}

TEST_CASE("C4: graphs without work are legal") {
  ModelMaker maker;
  maker.input("x", {2});
  maker.input("unused", {3});
  maker.constant(floats("c", {1}));
  maker.output("x");
  maker.output("c");
  maker.output("x");
  CHECK(summary(maker) == ": (Tensor[(2), float32], Tensor[(1), float32], Tensor[(2), float32])");
  CHECK(maker.import()->function(maker.import()->main()).params.size() == 2);
}

TEST_CASE("C6: branches capture outer values and nest to a limit") {
  auto branch = [](const std::string &op) {
    ::onnx::GraphProto graph;
    ::onnx::NodeProto &node = *graph.add_node();
    node.set_op_type(op);
    node.add_input("x");
    node.add_output("r");
    graph.add_output()->set_name("r");
    return graph;
  };
  ModelMaker maker;
  maker.input("c", {}, ::onnx::TensorProto::BOOL);
  maker.input("x", {2});
  maker.node("If", {"c"}, {"y"})
      .graph("then_branch", branch("Neg"))
      .graph("else_branch", branch("Exp"));
  maker.output("y", {2});
  CHECK(summary(maker) == "negative exp : Tensor[(2), float32]");

  ::onnx::GraphProto deep = branch("Neg");
  for (int i = 0; i < 40; ++i) {
    ModelMaker outer;
    outer.node("If", {"c"}, {"r"}).graph("then_branch", deep).graph("else_branch", branch("Exp"));
    outer.output("r");
    deep = outer.graph;
  }
  maker.graph.mutable_node(0)->mutable_attribute(0)->mutable_g()->CopyFrom(deep);
  CHECK(has(problemOf(maker), "error[LIMIT]"));
}

TEST_CASE("a known condition leaves one branch") {
  ModelMaker branch;
  branch.node("Neg", {"x"}, {"r"});
  branch.output("r");
  ModelMaker other;
  other.node("Exp", {"x"}, {"r"});
  other.output("r");
  ModelMaker maker;
  maker.input("x", {2});
  maker.node("Shape", {"x"}, {"s"});
  maker.constant(longs("two", {1}, {2}));
  maker.node("Equal", {"s", "two"}, {"c"});
  maker.node("If", {"c"}, {"y"})
      .graph("then_branch", branch.graph)
      .graph("else_branch", other.graph);
  maker.output("y", {2});
  CHECK(summary(maker) == "negative : Tensor[(2), float32]");
}

TEST_CASE("C7: inputs are counted") {
  ModelMaker maker = unary("Add");
  CHECK(has(problemOf(maker), "node 'the node' (Add): error[INPUT]: input 1 is missing"));
  maker = unary();
  maker.graph.mutable_node(0)->add_input("x");
  CHECK(has(problemOf(maker), "has 2 inputs, at most 1 are legal"));
  maker = unary("Clip");
  maker.graph.mutable_node(0)->add_input("");
  maker.constant(floats("six", {}, {6}));
  maker.graph.mutable_node(0)->add_input("six");
  CHECK(summary(maker) == "minimum : Tensor[(2, 3), float32]");
  for (const char *op : {"Sum", "Mean", "Max", "Concat"}) {
    ModelMaker gap;
    gap.input("x", {2, 3});
    gap.node(op, {"x", "", "x"}, {"y"});
    gap.output("y");
    CHECK(has(problemOf(gap), "input 1 is missing"));
    gap.graph.mutable_node(0)->mutable_input()->RemoveLast();
    CHECK(has(problemOf(gap), "input 1 is missing"));
  }
}

TEST_CASE("C8: opsets are checked") {
  ModelMaker maker = unary();
  for (int64_t version : {0, -1}) {
    maker.opset(version);
    CHECK(has(problemOf(maker), "error[INPUT]: opset version"));
  }
  maker.opset(999);
  CHECK(has(problemOf(maker), "error[UNSUP]: opset 999 of ai.onnx is not supported, 1 to 28 are"));
  maker.opset(17);
  maker.opset(16, "ai.onnx");
  CHECK(has(problemOf(maker), "error[INPUT]: domain '' is imported twice, as versions 17 and 16"));
  maker = unary();
  maker.opset(17);
  maker.opset(17, "ai.onnx");
  CHECK(problemOf(maker) == ""); // some exporters do
  maker.model.mutable_graph()->mutable_node(0)->set_domain("ai.onnx.ml");
  CHECK(has(problemOf(maker),
            "error[UNSUP]: operator ai.onnx.ml.Relu is not supported, nor is its domain imported"));
  maker.model.mutable_graph()->mutable_node(0)->set_domain("com.microsoft");
  maker.opset(1, "com.microsoft");
  CHECK(has(problemOf(maker),
            "error[UNSUP]: operator com.microsoft.Relu of opset 1 is not supported"));
  CHECK(has(problemOf(maker), "operators of domain com.microsoft are no part of ONNX"));
  maker.model.mutable_graph()->mutable_node(0)->set_domain("com.microsoft.nchwc");
  CHECK(has(problemOf(maker), "save it again at its level 'extended'"));
  maker = unary();
  maker.model.clear_opset_import();
  CHECK(has(problemOf(maker), "error[INPUT]: no opset"));
  maker = unary("Gelu");
  CHECK(has(problemOf(maker), "operator Gelu of opset 17"));
  maker = unary();
  maker.model.set_ir_version(15);
  CHECK(has(problemOf(maker), "error[UNSUP]: ir_version 15, known are versions up to 14"));
}

TEST_CASE("C9: wide nodes and much used values are read in linear time") {
  ModelMaker maker;
  maker.input("x", {1});
  Names all(100000, "x");
  maker.node("Concat", all, {"y"}).integer("axis", 0);
  maker.output("y");
  CHECK(has(summary(maker), "Tensor[(100000), float32]"));
}

TEST_CASE("D1: negative dims are refused") {
  CHECK(has(dimText(-1), "error[INPUT]: dimension 0 is -1"));
  CHECK(has(dimText(INT64_MIN), "error[INPUT]"));
}

TEST_CASE("D1: a negative dim of an input can be bound or left open") {
  ModelMaker maker = unary("Relu", {-1, 3});
  maker.graph.clear_output();
  maker.output("y", {-1, 3});
  CHECK(has(problemOf(maker), "note: bind it with --shape x=..., or leave it open with "
                              "--declared-types=warn"));
  OnnxImportOptions bound;
  bound.shapes = {{"x", {5, 3}}};
  CHECK(summary(maker, bound) == "nn.relu : Tensor[(5, 3), float32]");
  bound.shapes = {{"x", {5, 4}}};
  CHECK(has(problemOf(maker, bound), "dimension 1 is 3 in the model, cannot be bound to 4"));
  OnnxImportOptions open;
  std::vector<Diagnostic> warnings;
  open.allowSymbolicDims = true;
  open.declaredWarnings = &warnings;
  CHECK(summary(maker, open) == "nn.relu : Tensor[(x_0, 3), float32]");
  CHECK(warnings.empty());
  maker = unary("Relu", {2, 3});
  maker.graph.clear_output();
  maker.output("y", {-1, 3});
  CHECK(has(problemOf(maker), "error[INPUT]: dimension 0 is -1"));
}

TEST_CASE("D6: shapes of inputs leave extents open, and beat a name that two inputs share") {
  ModelMaker maker;
  maker.symbolicInput("x", {"n", "w"});
  maker.symbolicInput("y", {"n", "w"});
  maker.node("MatMul", {"x", "t"}, {"z"});
  maker.node("Transpose", {"y"}, {"t"});
  maker.output("z");
  OnnxImportOptions options;
  options.allowSymbolicDims = true;
  options.shapes = {{"y", {openExtent, 8}}};
  CHECK(summary(maker, options) == "transpose nn.matmul : Tensor[(n, n), float32]");
  options.shapes = {{"x", {openExtent, 8}}};
  CHECK(summary(maker, options) == "transpose nn.matmul : Tensor[(n, n), float32]");
  options.shapes = {{"x", {3, 8}}, {"y", {4, 8}}};
  CHECK(summary(maker, options) == "transpose nn.matmul : Tensor[(3, 4), float32]");
  options.dims = {{"w", 7}};
  CHECK(has(problemOf(maker, options), "dimension 1 is 7 in the model, cannot be bound to 8"));
}

TEST_CASE("dimensions called ? are not one extent") {
  ModelMaker maker;
  maker.symbolicInput("x", {"?", "?"});
  maker.node("Relu", {"x"}, {"y"});
  maker.output("y");
  OnnxImportOptions options;
  options.allowSymbolicDims = true;
  CHECK(summary(maker, options) == "nn.relu : Tensor[(x_0, x_1), float32]");
  options.dims = {{"x_1", 5}};
  CHECK(summary(maker, options) == "nn.relu : Tensor[(x_0, 5), float32]");
}

TEST_CASE("an extent of an input that has no name gets one, which no other has") {
  ModelMaker maker;
  maker.symbolicInput("x", {"", "x_0"});
  maker.symbolicInput("y.z", {"", "x_0"});
  maker.node("Concat", {"x", "y.z"}, {"a"}).integer("axis", 0);
  maker.node("Relu", {"a"}, {"b"});
  maker.output("b");
  OnnxImportOptions options;
  options.allowSymbolicDims = true;
  CHECK(has(summary(maker, options), "nn.relu : Tensor[((x_0_ + y_z_0), x_0), float32]"));
  options.dims = {{"x_0_", 5}, {"y.z_0", 2}};
  CHECK(has(summary(maker, options), "nn.relu : Tensor[(7, x_0), float32]"));
  options.dims = {{"y_0", 2}};
  CHECK(has(problemOf(maker, options), "there is no dimension 'y_0'"));
  options.dims = {{"depth", 2}};
  CHECK(has(problemOf(maker, options), "note: there are: x_0, x_0_, y.z_0"));
  options.dims = {};
  options.shapes = {{"x", {openExtent, 4}}};
  CHECK(has(summary(maker, options), "nn.relu : Tensor[((x_0_ + y_z_0), 4), float32]"));
  CHECK(has(problemOf(maker), "note: bind it with --dim x_0_=N"));
}

TEST_CASE("D2: dims of 0 are legal") {
  CHECK(summary(unary("Relu", {0, 3})) == "nn.relu : Tensor[(0, 3), float32]");
}

TEST_CASE("D3: products of dims that wrap are a limit") {
  for (Ints dims : {Ints{int64_t{1} << 32, int64_t{1} << 32}, Ints{int64_t{1} << 62, 4},
                    Ints{int64_t{1} << 31, int64_t{1} << 31, 4}})
    CHECK(has(problemOf(unary("Relu", dims)), "error[LIMIT]"));
}

TEST_CASE("D4: a small file cannot declare much constant data") {
  ModelMaker maker = unary();
  ::onnx::TensorProto tensor = floats("w", {1});
  tensor.set_dims(0, int64_t{1} << 40);
  maker.constant(tensor);
  std::string text = problemOf(maker);
  CHECK((has(text, "error[LIMIT]") || has(text, "error[INPUT]")));
}

TEST_CASE("D5: ranks are limited") {
  CHECK(problemOf(unary("Relu", Ints(13, 1))) == "");
  CHECK(has(problemOf(unary("Relu", Ints(33, 1))), "error[LIMIT]"));
  ModelMaker maker;
  maker.input("x", {1});
  maker.constant(longs("shape", {1000}, Ints(1000, 1)));
  maker.node("Reshape", {"x", "shape"}, {"y"});
  maker.output("y");
  CHECK(has(problemOf(maker), "error[LIMIT]"));
}

TEST_CASE("D6: declared types must be the inferred ones") {
  ModelMaker maker = unary();
  maker.graph.clear_output();
  maker.output("y", {2, 4});
  CHECK(has(problemOf(maker),
            "is declared as Tensor[(2, 4), float32], but is Tensor[(2, 3), float32]"));
  maker.graph.clear_output();
  maker.output("y", {2, 3}, i64);
  CHECK(has(problemOf(maker), "error[INPUT]"));
  CHECK(has(problemOf(maker), "note: --declared-types=warn makes it a warning"));
  OnnxImportOptions options;
  std::vector<Diagnostic> warnings;
  options.declaredWarnings = &warnings;
  CHECK(summary(maker, options) == "nn.relu : Tensor[(2, 3), float32]");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].message ==
        "is declared as Tensor[(2, 3), int64], but is Tensor[(2, 3), float32]");
  ModelMaker add;
  add.input("a", {2, 3});
  add.input("b", {4});
  add.node("Add", {"a", "b"}, {"y"});
  add.output("y");
  CHECK(has(problemOf(add), "Tensor[(2, 3), float32] and Tensor[(4), float32] do not broadcast"));
  ModelMaker join;
  join.input("a", {2, 3});
  join.input("b", {4, 5});
  join.node("Concat", {"a", "b"}, {"y"}).integer("axis", 0);
  join.output("y");
  CHECK(has(problemOf(join), "Tensor[(2, 3), float32] and Tensor[(4, 5), float32]"));
}

TEST_CASE("C1 D6: an input with an initializer has its type") {
  auto problem = [](const Ints &dims, int type) {
    ModelMaker maker;
    maker.input("x", {3});
    maker.input("w", dims, type);
    maker.constant(floats("w", {3}, {1, 2, 3}));
    maker.node("Add", {"x", "w"}, {"y"});
    maker.output("y");
    return problemOf(maker);
  };
  CHECK(problem({3}, f32) == "");
  CHECK(has(problem({2}, f32),
            "error[INPUT]: declared as float32[2], its initializer is Tensor[(3), float32]"));
  CHECK(has(problem({3, 1}, f32), "declared as float32[3, 1], its"));
  CHECK(has(problem({3}, i64), "declared as int64[3], its"));
}

TEST_CASE("D6: a dimension of two inputs with initializers has one extent") {
  auto problem = [](int64_t other) {
    ModelMaker maker;
    maker.input("x", {3});
    for (auto [name, extent] : {std::pair("v", int64_t{3}), {"w", other}}) {
      maker.symbolicInput(name, {"n"});
      maker.constant(floats(name, {extent}));
    }
    maker.node("Concat", {"v", "w", "x"}, {"y"}).integer("axis", 0);
    maker.output("y");
    return problemOf(maker);
  };
  CHECK(problem(3) == "");
  CHECK(has(problem(4),
            "its initializer is Tensor[(4), float32] with n = 4, that of another input has n = 3"));
}

TEST_CASE("D8: mixed dtypes are refused") {
  ModelMaker maker;
  maker.input("a", {2}, i64);
  maker.input("b", {2}, ::onnx::TensorProto::INT32);
  maker.node("Add", {"a", "b"}, {"y"});
  maker.output("y");
  CHECK(has(problemOf(maker), "error[INPUT]"));
}

TEST_CASE("D9: element types are checked") {
  for (int type : {0, 9999, -1}) {
    ModelMaker maker;
    maker.input("x", {2}, type);
    maker.output("x");
    CHECK(has(problemOf(maker), "error[INPUT]: element type"));
  }
  for (int type : {8, 14, 15, 17, 20, 22}) {
    ModelMaker maker;
    maker.input("x", {2}, type);
    maker.output("x");
    CHECK(has(problemOf(maker), "error[UNSUP]: element type"));
  }
}
