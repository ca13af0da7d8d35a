// Operators that Relay does not have: what they are composed of, and what is not
// legal about them. Values are compared by ONNX's own cases (test/conformance/onnx).
#include "ModelMaker.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::test;

namespace {

// One node over x: [2, 3, 4], result "y".
struct OneNode {
  OneNode(int64_t opset, const std::string &op, Names inputs = {"x"}, Names outputs = {"y"})
      : node((maker.opset(opset), maker.input("x", {2, 3, 4}), maker.node(op, inputs, outputs))) {
    for (const std::string &name : outputs)
      maker.output(name);
  }
  std::string made() const { return summary(maker); }
  ModelMaker maker;
  NodeMaker node;
};

} // namespace

TEST_CASE("losses") {
  OneNode plain(13, "NegativeLogLikelihoodLoss", {"x", "t"});
  plain.maker.input("t", {2, 4}, i64);
  CHECK(plain.made() == "expand_dims gather squeeze negative mean : float32");
  plain.node.text("reduction", "none").integer("ignore_index", -7);
  CHECK(has(plain.made(), ": Tensor[(2, 4), float32]"));
  OneNode odd(13, "NegativeLogLikelihoodLoss", {"x", "t"});
  odd.maker.input("t", {2, 4}, i64);
  odd.node.text("reduction", "most");
  CHECK(has(odd.made(), "reduction must be none, sum or mean"));
  OneNode flat(13, "NegativeLogLikelihoodLoss", {"x", "t"});
  flat.maker.input("t", {2}, i64);
  CHECK(has(flat.made(), "scores of rank 3, targets of rank 1"));
  OneNode logs(13, "SoftmaxCrossEntropyLoss", {"x", "t", "w"}, {"y", "p"});
  logs.maker.input("t", {2, 4}, i64);
  logs.maker.constant(floats("w", {3}));
  CHECK(has(logs.made(), "nn.log_softmax"));
  CHECK(has(logs.made(), ": (float32, Tensor[(2, 3, 4), float32])"));
}

TEST_CASE("Hardmax flattens before opset 13") {
  OneNode last(13, "Hardmax");
  CHECK(last.made() == "argmax one_hot : Tensor[(2, 3, 4), float32]");
  OneNode flat(11, "Hardmax");
  CHECK(flat.made() == "reshape argmax one_hot reshape : Tensor[(2, 3, 4), float32]");
}

TEST_CASE("normalisations") {
  OneNode layer(17, "LayerNormalization", {"x", "s"}, {"y", "mean", "inverse"});
  layer.maker.constant(floats("s", {3, 4}));
  layer.node.integer("axis", 1);
  CHECK(has(
      layer.made(),
      ": (Tensor[(2, 3, 4), float32], Tensor[(2, 1, 1), float32], Tensor[(2, 1, 1), float32])"));
  OneNode rms(23, "RMSNormalization", {"x", "s"});
  rms.maker.constant(floats("s", {4}));
  CHECK(rms.made() == "multiply mean add rsqrt multiply multiply : Tensor[(2, 3, 4), float32]");
  OneNode groups(18, "GroupNormalization", {"x", "s", "s"});
  groups.maker.constant(floats("s", {3}));
  groups.node.integer("num_groups", 3);
  CHECK(has(groups.made(), "nn.group_norm"));
  OneNode wrong(18, "GroupNormalization", {"x", "s", "s"});
  wrong.maker.constant(floats("s", {2}));
  wrong.node.integer("num_groups", 2);
  CHECK(has(wrong.made(), "for 2 groups of Tensor[(2, 3, 4), float32]"));
  OneNode training(15, "BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "m", "v"});
  training.maker.constant(floats("s", {3}));
  training.node.integer("training_mode", 1);
  CHECK(has(training.made(),
            ": (Tensor[(2, 3, 4), float32], Tensor[(3), float32], Tensor[(3), float32])"));
  OneNode old(8, "BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "m"});
  old.maker.constant(floats("s", {3}));
  CHECK(has(old.made(), "training mode before opset 14 is not supported"));
  OneNode perElement(8, "BatchNormalization", {"x", "s", "s", "s", "s"});
  perElement.maker.constant(floats("s", {3, 4}));
  perElement.node.integer("spatial", 0);
  CHECK(has(perElement.made(), "rsqrt"));
  CHECK(has(perElement.made(), ": Tensor[(2, 3, 4), float32]"));
}

TEST_CASE("windows and filter banks of a known size") {
  ModelMaker maker;
  maker.constant(longs("n", {}, {10}));
  maker.node("HannWindow", {"n"}, {"y"}).integer("periodic", 0).integer("output_datatype", 11);
  maker.output("y");
  CHECK(has(summary(maker), ": Tensor[(10), float64]"));
  ModelMaker mel;
  for (auto [name, value] :
       {std::pair("bins", 8), std::pair("length", 16), std::pair("rate", 8192)})
    mel.constant(longs(name, {}, {value}));
  mel.constant(floats("low", {}, {0}));
  mel.constant(floats("high", {}, {4096}));
  mel.node("MelWeightMatrix", {"bins", "length", "rate", "low", "high"}, {"y"});
  mel.output("y");
  CHECK(has(summary(mel), ": Tensor[(9, 8), float32]"));
}

TEST_CASE("TfIdfVectorizer") {
  auto make = [](const Ints &columns) {
    ModelMaker maker;
    maker.input("x", {2, 6}, i64);
    maker.node("TfIdfVectorizer", {"x"}, {"y"})
        .ints("pool_int64s", {2, 3, 5, 4, 5, 6, 7, 8})
        .ints("ngram_counts", {0, 4})
        .ints("ngram_indexes", columns)
        .integer("min_gram_length", 1)
        .integer("max_gram_length", 2)
        .integer("max_skip_count", 1)
        .text("mode", "TF");
    maker.output("y");
    return maker;
  };
  CHECK(has(summary(make({0, 1, 2, 3, 4, 6})), ": Tensor[(2, 7), float32]"));
  CHECK(has(summary(make({0, 1, 2, 3, 4})), "not one per n-gram, of which there are 6"));
  CHECK(has(summary(make({0, 1, 2, 3, 4, 4})), "two n-grams with one index"));
  CHECK(has(summary(make({0, 1, 2, 3, 4, -1})), "ngram_indexes are out of range"));
}

TEST_CASE("powers and bits of other types") {
  OneNode power(13, "Pow", {"i", "x"});
  power.maker.input("i", {4}, ::onnx::TensorProto::INT32);
  CHECK(power.made() == "cast cast power cast : Tensor[(2, 3, 4), int32]");
  OneNode bits(26, "BitCast");
  bits.node.integer("to", 6);
  CHECK(bits.made() == "reinterpret : Tensor[(2, 3, 4), int32]");
  OneNode wide(26, "BitCast");
  wide.node.integer("to", 7);
  CHECK(has(wide.made(), "from float32 to int64, of another size"));
  OneNode gate(28, "SwiGLU", {"x", "x"});
  CHECK(gate.made() == "sigmoid multiply multiply : Tensor[(2, 3, 4), float32]");
}

TEST_CASE("pools that are composed") {
  OneNode places(12, "MaxPool", {"x"}, {"y", "i"});
  places.node.ints("kernel_shape", {2}).ints("pads", {1, 0});
  CHECK(has(places.made(), ": (Tensor[(2, 3, 4), float32], Tensor[(2, 3, 4), int64])"));
  OneNode powers(18, "LpPool");
  powers.node.ints("kernel_shape", {3}).integer("p", 3);
  CHECK(has(powers.made(), ": Tensor[(2, 3, 2), float32]"));
  OneNode norm(18, "LpPool");
  norm.node.ints("kernel_shape", {3}).integer("p", 0);
  CHECK(has(norm.made(), "p is 0"));
  OneNode large(18, "LpPool");
  large.node.ints("kernel_shape", {5});
  CHECK(has(large.made(), "a window of 5 over 4 elements"));
  OneNode all(2, "GlobalLpPool");
  CHECK(all.made() == "multiply sum sqrt : Tensor[(2, 3, 1), float32]");
  OneNode back(11, "MaxUnpool", {"x", "i"});
  back.maker.input("i", {2, 3, 4}, i64);
  back.node.ints("kernel_shape", {2}).ints("strides", {2});
  CHECK(has(back.made(), "scatter_elements reshape : Tensor[(2, 3, 8), float32]"));
  OneNode shaped(11, "MaxUnpool", {"x", "i", "s"});
  shaped.maker.input("i", {2, 3, 4}, i64);
  shaped.maker.input("s", {2}, i64);
  shaped.node.ints("kernel_shape", {2}).ints("strides", {2});
  CHECK(has(shaped.made(), "error[INPUT]"));
  OneNode nothing(11, "MaxUnpool", {"x", "i"});
  nothing.maker.input("i", {2, 3, 4}, i64);
  nothing.node.ints("kernel_shape", {9}).ints("pads", {8, 8});
  CHECK(has(nothing.made(), "leaves nothing of axis 2"));
}

TEST_CASE("a transposed convolution that asks for more than it gives") {
  OneNode node(11, "ConvTranspose", {"x", "w"});
  node.maker.constant(floats("w", {3, 2, 3}));
  node.node.ints("output_shape", {8});
  CHECK(node.made() == "nn.conv1d_transpose nn.pad : Tensor[(2, 2, 8), float32]");
}

TEST_CASE("Resize: the operator of Relay where it says the same, else tables") {
  auto make = [](const std::vector<float> &scales) {
    ModelMaker maker;
    maker.opset(19);
    maker.input("x", {1, 2, 4, 4});
    maker.constant(floats("s", {static_cast<int64_t>(scales.size())}, scales));
    maker.node("Resize", {"x", "", "s"}, {"y"}).text("mode", "linear");
    maker.output("y");
    return maker;
  };
  CHECK(summary(make({1, 1, 2, 2})) == "image.resize2d : Tensor[(1, 2, 8, 8), float32]");
  ModelMaker odd = make({1, 1, 0.6f, 2});
  CHECK(has(summary(odd), "dyn.image.resize2d"));
  CHECK(has(summary(odd), ": Tensor[(1, 2, 2, 8), float32]"));
  CHECK(has(summary(make({1, 1, 2})), "scales of type Tensor[(3), float32] for 4 axes"));
  CHECK(has(summary(make({1, 1, 0, 2})), "scale 0 of 4 is not legal"));
  ModelMaker smooth = make({1, 1, 0.5f, 0.5f});
  NodeMaker(*smooth.graph.mutable_node(0)).integer("antialias", 1);
  CHECK(has(summary(smooth), ": Tensor[(1, 2, 2, 2), float32]"));
  ModelMaker cropped = make({1, 1, 2, 2});
  NodeMaker(*cropped.graph.mutable_node(0))
      .text("coordinate_transformation_mode", "tf_crop_and_resize");
  CHECK(has(summary(cropped), "roi is missing"));
  ModelMaker channels = make({1, 2, 1, 1});
  CHECK(has(summary(channels), ": Tensor[(1, 4, 4, 4), float32]"));
}

TEST_CASE("attention and what stands around it") {
  auto make = [](const Names &inputs, const Names &outputs = {"y"}) {
    ModelMaker maker;
    maker.opset(25);
    maker.input("q", {2, 5, 12});
    maker.input("k", {2, 7, 6});
    maker.input("m", {5, 6}, ::onnx::TensorProto::BOOL);
    maker.input("p", {2, 2, 4, 3});
    maker.node("Attention", inputs, outputs).integer("q_num_heads", 4).integer("kv_num_heads", 2);
    for (const std::string &name : outputs)
      maker.output(name);
    return maker;
  };
  auto node = [](ModelMaker &maker) { return NodeMaker(*maker.graph.mutable_node(0)); };
  CHECK(has(summary(make({"q", "k", "k"})), "nn.batch_matmul reshape reshape reshape multiply"));
  CHECK(has(summary(make({"q", "k", "k"})), ": Tensor[(2, 5, 12), float32]"));
  ModelMaker past = make({"q", "k", "k", "", "p", "p"}, {"y", "pk", "pv", "s"});
  CHECK(has(summary(past), "Tensor[(2, 2, 11, 3), float32], Tensor[(2, 2, 11, 3), float32], "
                           "Tensor[(2, 4, 5, 11), float32])"));
  ModelMaker masked = make({"q", "k", "k", "m"});
  node(masked).integer("is_causal", 1).integer("left_window_size", 2);
  CHECK(has(summary(masked), ": Tensor[(2, 5, 12), float32]"));
  CHECK(has(problemOf(make({"q", "k", "k", "", "p"})), "past_key and past_value come together"));
  ModelMaker mode = make({"q", "k", "k"});
  node(mode).integer("qk_matmul_output_mode", 4);
  CHECK(has(problemOf(mode), "qk_matmul_output_mode is 4"));
  ModelMaker heads = make({"q", "k", "k"});
  heads.graph.mutable_node(0)->mutable_attribute(1)->set_i(3);
  CHECK(has(problemOf(heads), "4 query heads for 3 heads of keys"));
}

TEST_CASE("rotary embeddings, caches and states") {
  OneNode turned(23, "RotaryEmbedding", {"x", "c", "c"});
  turned.maker.constant(floats("c", {2, 3, 1}));
  turned.node.integer("num_heads", 2);
  CHECK(has(turned.made(), ": Tensor[(2, 3, 4), float32]"));
  OneNode odd(23, "RotaryEmbedding", {"x", "c", "c"});
  odd.maker.constant(floats("c", {2, 3, 1}));
  odd.node.integer("num_heads", 2).integer("rotary_embedding_dim", 3);
  CHECK(has(odd.made(), "rotates 3 of 2 elements"));
  OneNode cache(24, "TensorScatter", {"x", "u", "i"});
  cache.maker.input("u", {2, 1, 4});
  cache.maker.input("i", {2}, i64);
  CHECK(has(cache.made(), "scatter_elements : Tensor[(2, 3, 4), float32]"));
  OneNode conv(27, "CausalConvWithState", {"x", "w"}, {"y", "s"});
  conv.maker.constant(floats("w", {3, 1, 3}));
  CHECK(has(conv.made(), ": (Tensor[(2, 3, 4), float32], Tensor[(2, 3, 2), float32])"));
  OneNode linear(27, "LinearAttention", {"x", "x", "x"}, {"y", "s"});
  linear.node.integer("q_num_heads", 2).integer("kv_num_heads", 2).text("update_rule", "linear");
  CHECK(has(linear.made(), ": (Tensor[(2, 3, 4), float32], Tensor[(2, 2, 2, 2), float32])"));
  OneNode rule(27, "LinearAttention", {"x", "x", "x"});
  rule.node.integer("q_num_heads", 2).integer("kv_num_heads", 2);
  CHECK(has(rule.made(), "update_rule gated_delta without decay and without beta"));
}

// As torch's older exporter turns its list of pads round.
TEST_CASE("pads that arithmetic gives are known, negative ones too") {
  ModelMaker model;
  model.opset(13);
  model.input("x", {2, 3, 4});
  model.constant(longs("pads", {3, 2}, {0, 2, 1, -1, 0, 0}));
  for (const char *name : {"last", "least", "axis", "step"})
    model.constant(longs(name, {1},
                         {std::string(name) == "axis"    ? 0
                          : std::string(name) == "least" ? INT64_MIN + 1
                                                         : -1}));
  model.node("Slice", {"pads", "last", "least", "axis", "step"}, {"turned"});
  model.node("Transpose", {"turned"}, {"sides"}).ints("perm", {1, 0});
  model.node("Reshape", {"sides", "last"}, {"widths"});
  model.node("Pad", {"x", "widths"}, {"y"});
  model.output("y");
  CHECK(summary(model) == "strided_slice nn.pad : Tensor[(2, 3, 6), float32]");
}

TEST_CASE("images, crops and grids of known shapes") {
  ModelMaker columns;
  columns.opset(18);
  columns.input("x", {1, 8, 4});
  columns.constant(longs("image", {2}, {3, 3}));
  columns.constant(longs("block", {2}, {2, 2}));
  columns.node("Col2Im", {"x", "image", "block"}, {"y"});
  columns.output("y");
  CHECK(has(summary(columns), "nn.conv2d_transpose : Tensor[(1, 2, 3, 3), float32]"));
  auto open = [](Names dims) {
    ModelMaker model;
    OnnxImportOptions options;
    options.allowSymbolicDims = true;
    options.dims = {{"C", 8}, {"L", 4}};
    std::erase_if(options.dims,
                  [&](const auto &dim) { return !std::ranges::count(dims, dim.first); });
    model.opset(18);
    model.symbolicInput("x", dims);
    model.constant(longs("image", {2}, {3, 3}));
    model.constant(longs("block", {2}, {2, 2}));
    model.node("Col2Im", {"x", "image", "block"}, {"y"});
    model.output("y");
    return summary(model, options);
  };
  CHECK(has(open({"N", "C", "L"}), "nn.conv2d_transpose : Tensor[(N, 2, 3, 3), float32]"));
  CHECK(has(open({"N", "C", "P"}), "scatter_elements"));
  OneNode crop(18, "CenterCropPad", {"x", "s"});
  crop.maker.constant(longs("s", {2}, {1, 9}));
  crop.node.ints("axes", {1, 2});
  CHECK(crop.made() == "strided_slice nn.pad : Tensor[(2, 1, 9), float32]");
  ModelMaker grid;
  grid.opset(20);
  grid.input("t", {2, 2, 3});
  grid.constant(longs("s", {4}, {2, 3, 5, 6}));
  grid.node("AffineGrid", {"t", "s"}, {"y"});
  grid.output("y");
  CHECK(has(summary(grid), ": Tensor[(2, 5, 6, 2), float32]"));
  OneNode slices(11, "Unique", {"x"}, {"y", "i", "r", "n"});
  slices.node.integer("axis", 1);
  CHECK(slices.made() == "unique cast cast cast : (Tensor[(2, ?, 4), float32], Tensor[(?), int64], "
                         "Tensor[(3), int64], Tensor[(?), int64])");
}

TEST_CASE("deformable convolutions are what taps read and a convolution of 1 by 1") {
  auto made = [](std::vector<int64_t> kernel, bool hasMask, bool isOpen = false) {
    ModelMaker model;
    OnnxImportOptions options;
    options.allowSymbolicDims = true;
    model.opset(19);
    if (isOpen) {
      options.dims = {{"N", 1}, {"H", 8}, {"W", 8}};
      model.symbolicInput("x", {"N", "C", "H", "W"});
    } else {
      model.input("x", {1, 4, 8, 8});
    }
    model.constant(floats("w", kernel));
    model.input("o", {1, 2 * kernel[2] * kernel[3], 9 - kernel[2], 9 - kernel[3]});
    Names inputs = {"x", "w", "o"};
    if (hasMask) {
      model.input("m", {1, kernel[2] * kernel[3], 9 - kernel[2], 9 - kernel[3]});
      inputs.insert(inputs.end(), {"", "m"});
    }
    model.node("DeformConv", inputs, {"y"});
    model.output("y");
    return summary(model, options);
  };
  CHECK(made({6, 4, 3, 3}, false) ==
        "cast nn.deformable_conv2d reshape nn.conv2d : Tensor[(1, 6, 6, 6), float32]");
  CHECK(
      made({6, 4, 3, 3}, true) ==
      "cast nn.deformable_conv2d take multiply reshape nn.conv2d : Tensor[(1, 6, 6, 6), float32]");
  CHECK(made({6, 4, 3, 3}, true, true) == made({6, 4, 3, 3}, true));
  CHECK(has(made({6, 5, 3, 3}, false), "weight has 5 input channels, data has 4 in 1 groups"));
}
