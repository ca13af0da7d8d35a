// Operands that are known only when the model runs: inputs of the graph here.
#include "ModelMaker.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::test;

namespace {

// "op" over x and integer vectors s, t, ... of the given lengths, all inputs; result "y".
ModelMaker make(const std::string &op, const Ints &x, const std::vector<Ints> &operands,
                int64_t opset = 18) {
  ModelMaker maker;
  maker.opset(opset);
  maker.input("x", x);
  Names inputs{"x"};
  for (size_t i = 0; i < operands.size(); ++i) {
    inputs.push_back(std::string(1, static_cast<char>('s' + i)));
    maker.input(inputs.back(), operands[i], i64);
  }
  maker.node(op, inputs, {"y"});
  maker.output("y");
  return maker;
}

NodeMaker last(ModelMaker &maker) {
  return NodeMaker(*maker.graph.mutable_node(maker.graph.node_size() - 1));
}

// The last operator and the type of the result.
std::string end(const ModelMaker &maker) {
  OnnxImportOptions options;
  options.allowSymbolicDims = true;
  std::string all = summary(maker, options);
  size_t colon = all.find(" :");
  if (colon == std::string::npos || all.find("error") != std::string::npos)
    return all;
  size_t blank = all.rfind(' ', colon - 1);
  return all.substr(blank == std::string::npos ? 0 : blank + 1);
}

} // namespace

TEST_CASE("shapes as operands") {
  CHECK(end(make("Reshape", {2, 3}, {{3}})) == "dyn.reshape : Tensor[(?, ?, ?), float32]");
  CHECK(end(make("Expand", {3, 1}, {{3}})) == "dyn.broadcast_to : Tensor[(?, 3, ?), float32]");
  CHECK(end(make("Tile", {3, 1}, {{2}})) == "dyn.tile : Tensor[(?, ?), float32]");
  ModelMaker maker;
  maker.input("s", {2}, i64);
  maker.node("ConstantOfShape", {"s"}, {"y"});
  maker.output("y");
  CHECK(end(maker) == "dyn.full : Tensor[(?, ?), float32]");
}

TEST_CASE("a shape operand of unknown length takes the declared rank") {
  ModelMaker maker;
  maker.input("x", {2, 3});
  maker.symbolicInput("s", {"K"}, i64);
  maker.node("Reshape", {"x", "s"}, {"y"});
  maker.output("y");
  CHECK(has(end(maker), "how many values shape has must be known when the model is read"));
  maker.graph.clear_output();
  maker.output("y", {6, 1});
  CHECK(has(end(maker), "dyn.reshape"));
}

TEST_CASE("slices with bounds as operands") {
  CHECK(end(make("Slice", {4, 5}, {{1}, {1}})) == "dyn.strided_slice : Tensor[(?, 5), float32]");
  CHECK(end(make("Slice", {4, 5}, {{1}, {1}, {1}, {1}})) ==
        "dyn.strided_slice : Tensor[(?, ?), float32]");
  CHECK(has(end(make("Slice", {4, 5}, {{1}, {2}})), "1 starts and 2 ends for rank 2"));
}

TEST_CASE("known bounds over an axis of unknown size stay attributes") {
  ModelMaker maker;
  maker.symbolicInput("x", {"N"});
  maker.constant(longs("from", {1}, {1}));
  maker.constant(longs("to", {1}, {1 << 30}));
  maker.node("Slice", {"x", "from", "to"}, {"y"});
  maker.output("y");
  CHECK(has(end(maker), "strided_slice : "));
  CHECK(!has(end(maker), "dyn."));
}

TEST_CASE("split by lengths and of an axis of unknown size") {
  ModelMaker maker = make("Split", {6, 5}, {{2}});
  maker.graph.mutable_node(0)->add_output("z");
  CHECK(end(maker) == "dyn.strided_slice : Tensor[(?, 5), float32]");
  maker = ModelMaker();
  maker.opset(18);
  maker.symbolicInput("x", {"N"});
  maker.node("Split", {"x"}, {"y", "z"}).integer("num_outputs", 2);
  maker.output("z");
  CHECK(has(end(maker), "dyn.strided_slice : "));
}

TEST_CASE("pads as operands") {
  CHECK(end(make("Pad", {4, 5}, {{4}})) == "dyn.nn.pad : Tensor[(?, ?), float32]");
  ModelMaker maker = make("Pad", {4, 5}, {{2}});
  maker.graph.mutable_node(0)->add_input("");
  maker.graph.mutable_node(0)->add_input("axes");
  maker.input("axes", {1}, i64);
  CHECK(end(maker) == "dyn.nn.pad : Tensor[(?, ?), float32]");
  maker = make("Pad", {4, 5}, {{4}});
  last(maker).text("mode", "wrap");
  CHECK(end(maker) == "take : Tensor[(?, ?), float32]");
  CHECK(has(end(make("Pad", {4, 5}, {{3}})), "3 pads for 2 axes"));
}

TEST_CASE("pads that take away, and that wrap") {
  ModelMaker maker = make("Pad", {4, 5}, {});
  maker.graph.mutable_node(0)->add_input("pads");
  maker.constant(longs("pads", {4}, {-1, 2, 0, -3}));
  CHECK(summary(maker) == "strided_slice nn.pad : Tensor[(3, 4), float32]");
  last(maker).text("mode", "wrap");
  CHECK(summary(maker) == "strided_slice arange take : Tensor[(3, 4), float32]");
}

TEST_CASE("axes as operands") {
  CHECK(end(make("Squeeze", {1, 5}, {{1}})) == "dyn.squeeze : Tensor[(5), float32]");
  CHECK(end(make("Unsqueeze", {4, 5}, {{2}})) == "dyn.reshape : Tensor[(?, ?, ?, ?), float32]");
  for (const char *op :
       {"ReduceMax", "ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"}) {
    ModelMaker maker = make(op, {4, 5}, {{1}});
    CHECK(has(end(maker), ": Tensor[(?, ?), float32]"));
    last(maker).integer("keepdims", 0);
    CHECK(end(maker) == "dyn.squeeze : Tensor[(?), float32]");
  }
  CHECK(end(make("CumSum", {4, 5}, {{}})) == "dyn.reshape : Tensor[(4, 5), float32]");
}

TEST_CASE("counts as operands") {
  CHECK(has(end(make("TopK", {4, 5}, {{1}})), "dyn.topk : Tensor[(4, ?), float32]"));
  ModelMaker maker;
  maker.input("s", {3}, i64);
  maker.input("d", {}, i64);
  maker.constant(floats("values", {2}, {0, 1}));
  maker.node("OneHot", {"s", "d", "values"}, {"y"});
  maker.output("y");
  CHECK(end(maker) == "dyn.one_hot : Tensor[(3, ?), float32]");
  maker = ModelMaker();
  for (const char *name : {"a", "b", "c"})
    maker.input(name, {}, i64);
  maker.node("Range", {"a", "b", "c"}, {"y"});
  maker.output("y");
  CHECK(end(maker) == "arange : Tensor[(?), int64]");
}

TEST_CASE("Compress takes what the condition keeps") {
  ModelMaker maker;
  maker.input("x", {4, 5});
  maker.input("c", {3}, ::onnx::TensorProto::BOOL);
  maker.node("Compress", {"x", "c"}, {"y"}).integer("axis", 1);
  maker.output("y");
  CHECK(end(maker) == "take : Tensor[(4, ?), float32]");
}

TEST_CASE("names of dimensions become identifiers") {
  ModelMaker maker;
  maker.symbolicInput("x", {"past + 1", "past_+_1", "3d", "min"});
  maker.node("Abs", {"x"}, {"y"});
  maker.output("y");
  CHECK(end(maker) == "abs : Tensor[(past___1, past___1_, _3d, _min), float32]");
}

TEST_CASE("stacks of matrices with symbolic extents") {
  ModelMaker maker;
  maker.symbolicInput("a", {"N", "H", "S", "D"});
  maker.symbolicInput("b", {"N", "H", "D", "S"});
  maker.node("MatMul", {"a", "b"}, {"y"});
  maker.output("y");
  CHECK(end(maker) == "reshape_like : Tensor[(N, H, S, S), float32]");
}

namespace {

// A pool over x[N, C, W] with auto_pad.
ModelMaker samePool(const std::string &op, int64_t kernel, int64_t stride,
                    const std::string &autoPad = "SAME_UPPER", const std::string &x = "x") {
  ModelMaker maker;
  maker.symbolicInput("x", {"N", "C", "W"});
  if (x == "twice")
    maker.node("Concat", {"x", "x"}, {"twice"}).integer("axis", 2);
  maker.node(op, {x}, {"y"})
      .ints("kernel_shape", {kernel})
      .ints("strides", {stride})
      .text("auto_pad", autoPad);
  maker.output("y");
  return maker;
}

std::string summaryOf(const ModelMaker &maker) {
  OnnxImportOptions options;
  options.allowSymbolicDims = true;
  return summary(maker, options);
}

std::string paddingOf(const ModelMaker &maker) {
  OnnxImportOptions options;
  options.allowSymbolicDims = true;
  std::string text = printModule(*maker.import(options));
  size_t at = text.find("padding=");
  return text.substr(at, text.find(']', at) + 1 - at);
}

} // namespace

TEST_CASE("auto_pad over an open extent is an attribute where the begin does not depend on it") {
  ModelMaker maker = samePool("MaxPool", 3, 1);
  CHECK(summaryOf(maker) == "nn.max_pool1d : Tensor[(N, C, W), float32]");
  CHECK(paddingOf(maker) == "padding=[1]");
  maker = samePool("MaxPool", 2, 2);
  CHECK(summaryOf(maker) == "nn.max_pool1d : Tensor[(N, C, ((W + 1) / 2)), float32]");
  CHECK(paddingOf(maker) == "padding=[0, 1]");
  maker = samePool("AveragePool", 3, 2, "SAME_LOWER");
  CHECK(summaryOf(maker) == "nn.avg_pool1d : Tensor[(N, C, ((W + 1) / 2)), float32]");
  CHECK(paddingOf(maker) == "padding=[1]");
  maker = samePool("LpPool", 4, 2);
  CHECK(has(summaryOf(maker), "sqrt : Tensor[(N, C, ((W + 1) / 2)), float32]"));
  CHECK(paddingOf(maker) == "padding=[1, 2]");
  // Of an even extent the remainder is known.
  maker = samePool("MaxPool", 3, 2, "SAME_UPPER", "twice");
  CHECK(summaryOf(maker) == "concatenate nn.max_pool1d : Tensor[(N, C, W), float32]");
  CHECK(paddingOf(maker) == "padding=[0, 1]");
}

TEST_CASE("auto_pad over an open extent is a pad of its own where its begin depends on it") {
  CHECK(has(summaryOf(samePool("MaxPool", 3, 2)),
            "dyn.nn.pad nn.max_pool1d : Tensor[(N, C, ((W + 1) / 2)), float32]"));
  CHECK(has(summaryOf(samePool("LpPool", 5, 4)), ": Tensor[(N, C, ((W + 3) / 4)), float32]"));
  // The padding does not count: as many ones tell how many do.
  CHECK(has(summaryOf(samePool("AveragePool", 3, 2)), "dyn.full dyn.nn.pad nn.avg_pool1d divide : "
                                                      "Tensor[(N, C, ((W + 1) / 2)), float32]"));
  ModelMaker maker = samePool("AveragePool", 3, 2);
  last(maker).integer("count_include_pad", 1);
  CHECK(!has(summaryOf(maker), " divide"));
  maker = samePool("MaxPool", 3, 2);
  maker.graph.mutable_node(0)->add_output("places");
  CHECK(has(summaryOf(maker), "indices need an image of known extents"));
}

TEST_CASE("auto_pad of convolutions over open extents") {
  ModelMaker maker;
  OnnxImportOptions options;
  options.allowSymbolicDims = true;
  options.dims = {{"C", 2}};
  auto last = [&](const char *op, int64_t stride) {
    maker = ModelMaker();
    maker.symbolicInput("x", {"N", "C", "H", "W"});
    maker.constant(floats("w", {2, 2, 3, 3}));
    maker.node(op, {"x", "w"}, {"y"}).ints("strides", {1, stride}).text("auto_pad", "SAME_UPPER");
    maker.output("y");
    return summary(maker, options);
  };
  CHECK(last("Conv", 1) == "nn.conv2d : Tensor[(N, 2, H, W), float32]");
  CHECK(has(last("Conv", 2), "dyn.nn.pad nn.conv2d : Tensor[(N, 2, H, ((W + 1) / 2)), float32]"));
  CHECK(last("ConvTranspose", 2) == "nn.conv2d_transpose : Tensor[(N, 2, H, (W * 2)), float32]");
}

TEST_CASE("ceil_mode over open extents") {
  ModelMaker maker;
  auto pool = [&](int64_t kernel, int64_t stride, int64_t pad) {
    maker = ModelMaker();
    maker.symbolicInput("x", {"N", "C", "W"});
    maker.node("MaxPool", {"x"}, {"y"})
        .ints("kernel_shape", {kernel})
        .ints("strides", {stride})
        .ints("pads", {pad, pad})
        .integer("ceil_mode", 1);
    maker.output("y");
    return summaryOf(maker);
  };
  CHECK(pool(3, 2, 0) == "nn.max_pool1d : Tensor[(N, C, (W / 2)), float32]");
  CHECK(pool(3, 2, 1) == "nn.max_pool1d : Tensor[(N, C, ((W / 2) + 1)), float32]");
  // With some extents the last window would start in the padding.
  CHECK(has(pool(2, 2, 1), "this ceil_mode needs a static input"));
}

namespace {

// y = squeezed where an extent is 1, as torch writes squeeze(axis); `node` makes the condition "c"
// of "s", the shape of x[N, 3, W].
template <typename MakeCondition> ModelMaker squeezesIf(MakeCondition condition, bool isElse) {
  ModelMaker squeezed, same, maker;
  maker.opset(13);
  maker.symbolicInput("x", {"N", "C", "W"});
  for (int64_t number : {1, 2})
    maker.constant(longs(number == 1 ? "one" : "two", {}, {number}));
  maker.constant(longs("last", {1}, {-1}));
  maker.node("Shape", {"x"}, {"s"});
  condition(maker);
  squeezed.node("Squeeze", {"x", "last"}, {"r"});
  squeezed.output("r");
  same.node("Identity", {"x"}, {"r"});
  same.output("r");
  maker.node("If", {"c"}, {"y"})
      .graph("then_branch", (isElse ? same : squeezed).graph)
      .graph("else_branch", (isElse ? squeezed : same).graph);
  maker.output("y");
  return maker;
}

void isOne(ModelMaker &maker, const std::string &index, const std::string &result) {
  maker.node("Gather", {"s", index}, {"extent"});
  maker.node("Equal", {"one", "extent"}, {result});
}

} // namespace

TEST_CASE("an if that squeezes where an extent is 1 squeezes") {
  ModelMaker maker = squeezesIf([](ModelMaker &m) { isOne(m, "two", "c"); }, false);
  CHECK(end(maker) == "squeeze : Tensor[(N, C), float32]");
  maker = squeezesIf(
      [](ModelMaker &m) {
        isOne(m, "two", "is");
        m.node("Not", {"is"}, {"c"});
      },
      true);
  CHECK(end(maker) == "squeeze : Tensor[(N, C), float32]");
  // The extent is known.
  OnnxImportOptions options;
  options.allowSymbolicDims = true;
  options.dims = {{"W", 7}};
  CHECK(summary(maker, options) == ": Tensor[(N, C, 7), float32]");
}

TEST_CASE("an if whose branches differ in rank is not decided by another condition") {
  const char *wanted = "which branch is taken must be known when the model is read, as they differ "
                       "in rank: Tensor[(N, C), float32] and Tensor[(N, C, W), float32]";
  ModelMaker maker = squeezesIf([](ModelMaker &m) { isOne(m, "one", "c"); }, false);
  CHECK(has(end(maker), wanted));
  CHECK(has(end(maker), "note: bind extents: --dim C=N --dim N=N --dim W=N"));
  maker = squeezesIf([](ModelMaker &m) { m.input("c", {}, ::onnx::TensorProto::BOOL); }, false);
  CHECK(has(end(maker), wanted));
  CHECK(!has(end(maker), "note:"));
  maker = squeezesIf([](ModelMaker &m) { isOne(m, "two", "c"); }, true);
  CHECK(has(end(maker), "differ in rank"));
}

TEST_CASE("squeezing all axes of 1 says how to bind those that may be") {
  ModelMaker maker;
  maker.opset(13);
  maker.symbolicInput("x", {"batch size", ""});
  maker.node("Squeeze", {"x"}, {"y"});
  maker.output("y");
  CHECK(has(end(maker), "which axes of Tensor[(batch_size, x_1), float32] are 1 is not known"));
  CHECK(has(end(maker), "note: bind extents: --dim 'batch size'=N --dim x_1=N"));
  OnnxImportOptions options;
  options.shapes = {{"x", {1, 5}}};
  CHECK(summary(maker, options) == "squeeze : Tensor[(5), float32]");
}
