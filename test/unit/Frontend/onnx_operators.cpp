// What the converters make of each operator: the Relay operators and the type of
// the result. Values are compared elsewhere, against the reference evaluator.
#include "ModelMaker.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::test;

namespace {

struct Given {
  std::string name;
  Ints dims;
  int type = f32;
};

// One node "op" over parameters and constants; result "y".
ModelMaker make(const std::string &op, const Names &inputs, const std::vector<Given> &params,
                const std::vector<::onnx::TensorProto> &constants = {}, int64_t opset = 17) {
  ModelMaker maker;
  maker.opset(opset);
  for (const Given &given : params)
    maker.input(given.name, given.dims, given.type);
  for (const ::onnx::TensorProto &tensor : constants)
    maker.constant(tensor);
  maker.node(op, inputs, {"y"});
  maker.output("y");
  return maker;
}

NodeMaker last(ModelMaker &maker) {
  return NodeMaker(*maker.graph.mutable_node(maker.graph.node_size() - 1));
}

std::string text(const ModelMaker &maker) {
  Expected<Module> module = maker.import();
  return module ? printModule(*module) : module.error().str();
}

} // namespace

TEST_CASE("plain renames") {
  using Row = std::pair<const char *, const char *>;
  for (auto [onnx, relay] : {Row{"Abs", "abs"},
                             {"Erf", "erf"},
                             {"Exp", "exp"},
                             {"Relu", "nn.relu"},
                             {"Sigmoid", "sigmoid"},
                             {"Sqrt", "sqrt"},
                             {"Tanh", "tanh"}})
    CHECK(summary(make(onnx, {"x"}, {{"x", {2, 3}}})) ==
          std::string(relay) + " : Tensor[(2, 3), float32]");
  for (auto [onnx, relay] : {Row{"Add", "add"},
                             {"Div", "divide"},
                             {"Mul", "multiply"},
                             {"Pow", "power"},
                             {"Sub", "subtract"}})
    CHECK(summary(make(onnx, {"x", "z"}, {{"x", {2, 1}}, {"z", {3}}})) ==
          std::string(relay) + " : Tensor[(2, 3), float32]");
  CHECK(summary(make("Less", {"x", "z"}, {{"x", {2}}, {"z", {2}}})) == "less : Tensor[(2), bool]");
}

TEST_CASE("Conv") {
  ModelMaker maker = make("Conv", {"x", "w", "b"}, {{"x", {1, 4, 9, 9}}},
                          {floats("w", {8, 2, 3, 3}), floats("b", {8})});
  last(maker).integer("group", 2).ints("strides", {2, 2}).ints("pads", {1, 1, 1, 1});
  CHECK(summary(maker) == "nn.conv2d nn.bias_add : Tensor[(1, 8, 5, 5), float32]");
  CHECK(has(text(maker), "padding=[1, 1]"));
  maker = make("Conv", {"x", "w"}, {{"x", {1, 4, 9}}}, {floats("w", {8, 4, 2})});
  last(maker).text("auto_pad", "SAME_UPPER");
  CHECK(summary(maker) == "nn.conv1d : Tensor[(1, 8, 9), float32]");
  CHECK(has(text(maker), "padding=[0, 1]"));
  maker = make("Conv", {"x", "w"}, {{"x", {1, 4, 9, 9, 9}}}, {floats("w", {8, 4, 3, 3, 3})});
  last(maker).text("auto_pad", "VALID");
  CHECK(summary(maker) == "nn.conv3d : Tensor[(1, 8, 7, 7, 7), float32]");
}

TEST_CASE("ConvTranspose") {
  ModelMaker maker =
      make("ConvTranspose", {"x", "w"}, {{"x", {1, 4, 5, 5}}}, {floats("w", {4, 6, 3, 3})});
  last(maker).ints("strides", {2, 2}).ints("pads", {1, 1, 1, 1}).ints("output_padding", {1, 1});
  CHECK(summary(maker) == "nn.conv2d_transpose : Tensor[(1, 6, 10, 10), float32]");
}

TEST_CASE("pools") {
  ModelMaker maker = make("MaxPool", {"x"}, {{"x", {1, 4, 8, 8}}});
  last(maker).ints("kernel_shape", {3, 3}).ints("strides", {2, 2}).integer("ceil_mode", 1);
  CHECK(summary(maker) == "nn.max_pool2d : Tensor[(1, 4, 4, 4), float32]");
  // The window that would start in the padding is not taken.
  maker = make("MaxPool", {"x"}, {{"x", {1, 4, 6, 6}}});
  last(maker)
      .ints("kernel_shape", {2, 2})
      .ints("strides", {3, 3})
      .ints("pads", {0, 0, 1, 1})
      .integer("ceil_mode", 1);
  CHECK(summary(maker) == "nn.max_pool2d : Tensor[(1, 4, 2, 2), float32]");
  maker = make("AveragePool", {"x"}, {{"x", {1, 4, 8}}});
  last(maker).ints("kernel_shape", {2}).integer("count_include_pad", 1);
  CHECK(summary(maker) == "nn.avg_pool1d : Tensor[(1, 4, 7), float32]");
  CHECK(summary(make("GlobalAveragePool", {"x"}, {{"x", {1, 4, 8, 8}}})) ==
        "nn.global_avg_pool2d : Tensor[(1, 4, 1, 1), float32]");
  CHECK(summary(make("GlobalMaxPool", {"x"}, {{"x", {1, 4, 8}}})) ==
        "max : Tensor[(1, 4, 1), float32]");
}

TEST_CASE("Gemm and MatMul take weights as they lie in the file") {
  ModelMaker maker =
      make("Gemm", {"x", "w", "b"}, {{"x", {2, 3}}}, {floats("w", {5, 3}), floats("b", {5})});
  last(maker).integer("transB", 1);
  CHECK(summary(maker) == "nn.dense nn.bias_add : Tensor[(2, 5), float32]");
  maker =
      make("Gemm", {"x", "w", "b"}, {{"x", {2, 3}}}, {floats("w", {3, 5}), floats("b", {2, 1})});
  CHECK(summary(maker) == "nn.matmul add : Tensor[(2, 5), float32]");
  maker = make("MatMul", {"x", "w"}, {{"x", {2, 4, 3}}}, {floats("w", {3, 5})});
  CHECK(summary(maker) == "reshape nn.matmul reshape : Tensor[(2, 4, 5), float32]");
  maker.constant(floats("b", {5}));
  maker.node("Add", {"b", "y"}, {"z"});
  maker.graph.mutable_output(0)->set_name("z");
  CHECK(summary(maker) == "reshape nn.matmul nn.bias_add reshape : Tensor[(2, 4, 5), float32]");
}

TEST_CASE("MatMul of any rank") {
  CHECK(summary(make("MatMul", {"a", "b"}, {{"a", {2, 3}}, {"b", {3, 4}}})) ==
        "nn.matmul : Tensor[(2, 4), float32]");
  CHECK(summary(make("MatMul", {"a", "b"}, {{"a", {6, 2, 3}}, {"b", {6, 3, 4}}})) ==
        "nn.batch_matmul : Tensor[(6, 2, 4), float32]");
  CHECK(summary(make("MatMul", {"a", "b"}, {{"a", {5, 6, 2, 3}}, {"b", {6, 3, 4}}})) ==
        "reshape broadcast_to reshape nn.batch_matmul reshape : Tensor[(5, 6, 2, 4), float32]");
  CHECK(summary(make("MatMul", {"a", "b"}, {{"a", {3}}, {"b", {3}}})) ==
        "expand_dims expand_dims nn.matmul squeeze : float32");
  CHECK(has(summary(make("MatMul", {"a", "b"}, {{"a", {2, 3}}, {"b", {4, 5}}})),
            "inner dims 3 and 4 differ, of Tensor["));
}

TEST_CASE("quantised products") {
  constexpr int u8 = ::onnx::TensorProto::UINT8, i8 = ::onnx::TensorProto::INT8;
  std::vector<Given> params{
      {"x", {1, 3, 8, 8}, u8}, {"xs", {}}, {"xz", {}, u8}, {"w", {4, 3, 3, 3}, i8}, {"ws", {4}},
      {"wz", {4}, i8},         {"ys", {}}, {"yz", {}, u8}};
  ModelMaker maker = make("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"}, params);
  last(maker).ints("pads", {1, 1, 1, 1});
  CHECK(has(summary(maker), "qnn.conv2d"));
  CHECK(has(summary(maker), "qnn.requantize : Tensor[(1, 4, 8, 8), uint8]"));
  CHECK(has(text(maker), "padding=[1, 1]"));
  params[0].dims = {2, 5, 3}, params[3].dims = {3, 4};
  maker = make("QLinearMatMul", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"}, params);
  CHECK(has(summary(maker), "qnn.dense"));
  CHECK(has(summary(maker), "qnn.requantize : Tensor[(2, 5, 4), uint8]"));
  maker = make("MatMulInteger", {"x", "w"}, {{"x", {2, 5, 3}, u8}, {"w", {2, 3, 4}, i8}});
  CHECK(has(summary(maker), "qnn.batch_matmul : Tensor[(2, 5, 4), int32]"));
  maker = make("ConvInteger", {"x", "w", "z"},
               {{"x", {1, 1, 3, 3}, u8}, {"w", {1, 1, 2, 2}, u8}, {"z", {}, u8}});
  CHECK(has(summary(maker), "qnn.conv2d : Tensor[(1, 1, 2, 2), int32]"));
  maker = make("MatMulInteger", {"x", "w"}, {{"x", {2, 5, 3}, u8}, {"w", {1, 3, 4}, i8}});
  CHECK(has(summary(maker),
            "nn.batch_matmul : Tensor[(2, 5, 4), int32]")); // of int32, since a stack is shared
  maker = make("MatMulInteger", {"x", "w", "z"},
               {{"x", {5, 3}, u8}, {"w", {3, 4}, i8}, {"z", {5}, u8}});
  CHECK(has(summary(maker), "nn.matmul : Tensor[(5, 4), int32]"));
  maker = make("ConvInteger", {"x", "w"}, {{"x", {1, 2, 7}, u8}, {"w", {3, 2, 2}, u8}});
  last(maker).ints("pads", {1, 2}).ints("strides", {2});
  CHECK(has(summary(maker), "qnn.conv2d squeeze : Tensor[(1, 3, 5), int32]"));
  CHECK(has(text(maker), "strides=[1, 2], padding=[0, 1, 0, 2]"));
}

TEST_CASE("quantised operators of ONNX Runtime's own") {
  constexpr int u8 = ::onnx::TensorProto::UINT8, i8 = ::onnx::TensorProto::INT8;
  auto of = [](const char *op, const Names &inputs, const std::vector<Given> &params) {
    ModelMaker maker = make(op, inputs, params);
    maker.opset(1, "com.microsoft");
    last(maker).domain("com.microsoft");
    return maker;
  };
  std::vector<Given> params{
      {"x", {2, 3, 4, 4}, u8}, {"xs", {}}, {"xz", {}, u8}, {"ys", {}}, {"yz", {}, u8}};
  std::string result = "qnn.quantize : Tensor[(2, 3, 4, 4), uint8]";
  ModelMaker maker = of("QLinearSigmoid", {"x", "xs", "xz", "ys", "yz"}, params);
  CHECK(has(summary(maker), "qnn.dequantize"));
  CHECK(has(summary(maker), "sigmoid"));
  CHECK(has(summary(maker), result));
  CHECK(has(text(maker), "rounding=\"TONEAREST_EVEN\""));
  maker = of("QLinearLeakyRelu", {"x", "xs", "", "ys", "yz"}, params);
  last(maker).number("alpha", 0.5f);
  CHECK(has(text(maker), "alpha=0.5"));
  CHECK(has(problemOf(of("QLinearLeakyRelu", {"x", "xs", "xz"}, params)), "input 3 is missing"));
  maker = of("QLinearSoftmax", {"x", "xs", "xz", "ys", "yz"}, params);
  last(maker).integer("axis", 1).integer("opset", 13);
  CHECK(has(text(maker), "nn.softmax(%"));
  CHECK(has(text(maker), "axis=1"));
  maker = of("QLinearSoftmax", {"x", "xs", "xz", "ys", "yz"}, params);
  last(maker).integer("axis", 1).integer("opset", 12);
  CHECK(has(problemOf(maker), "softmax of several axes"));
  maker = of("QLinearGlobalAveragePool", {"x", "xs", "xz", "ys", "yz"}, params);
  CHECK(has(summary(maker), "qnn.quantize : Tensor[(2, 3, 1, 1), uint8]"));
  last(maker).integer("channels_last", 1);
  CHECK(has(summary(maker), "qnn.quantize : Tensor[(2, 1, 1, 4), uint8]"));
  for (const char *op : {"QLinearAdd", "QLinearMul"}) {
    maker = of(op, {"x", "xs", "xz", "x", "ys", "yz", "ys", "yz"}, params);
    CHECK(has(summary(maker), result));
    CHECK(has(summary(maker), op[7] == 'A' ? "add" : "multiply"));
  }
  maker = of("QLinearConcat", {"ys", "yz", "x", "xs", "xz", "x", "ys", "yz"}, params);
  last(maker).integer("axis", -3);
  CHECK(has(summary(maker), "qnn.quantize : Tensor[(2, 6, 4, 4), uint8]"));
  maker = of("QLinearConcat", {"ys", "yz"}, params);
  CHECK(has(problemOf(maker), "has 2 inputs, at least one part is wanted"));

  params = {{"x", {3, 5}, u8},
            {"xs", {}},
            {"xz", {}, u8},
            {"w", {4, 3}, i8},
            {"ws", {4}},
            {"wz", {4}, i8},
            {"c", {4}, ::onnx::TensorProto::INT32},
            {"ys", {}},
            {"yz", {}, u8}};
  Names inputs{"x", "xs", "xz", "w", "ws", "wz", "c", "ys", "yz"};
  maker = of("QGemm", inputs, params);
  last(maker).integer("transA", 1).integer("transB", 1).number("alpha", 0.5f);
  CHECK(has(summary(maker), "qnn.dense add"));
  CHECK(has(summary(maker), "qnn.requantize : Tensor[(5, 4), uint8]"));
  inputs.resize(7);
  maker = of("QGemm", inputs, params);
  last(maker).integer("transA", 1).integer("transB", 1);
  CHECK(has(summary(maker), ": Tensor[(5, 4), float32]"));
}

TEST_CASE("QuantizeLinear and DequantizeLinear of every form") {
  constexpr int u8 = ::onnx::TensorProto::UINT8, i8 = ::onnx::TensorProto::INT8,
                u16 = ::onnx::TensorProto::UINT16, half = ::onnx::TensorProto::FLOAT16;
  ModelMaker maker = make("QuantizeLinear", {"x", "s"}, {{"x", {2, 6}}, {"s", {}}}, {}, 21);
  last(maker).integer("output_dtype", u16);
  CHECK(summary(maker) == "qnn.quantize : Tensor[(2, 6), uint16]");
  CHECK(has(text(maker), "rounding=\"TONEAREST_EVEN\""));
  maker = make("QuantizeLinear", {"x", "s"}, {{"x", {2, 6}}, {"s", {}}}, {}, 21);
  last(maker).integer("output_dtype", 17); // an 8-bit float
  CHECK(has(summary(maker), "error[UNSUP]"));
  maker = make("QuantizeLinear", {"x", "s", "z"}, {{"x", {2, 6}}, {"s", {2, 3}}, {"z", {2, 3}, i8}},
               {}, 21);
  last(maker).integer("axis", 1).integer("block_size", 2);
  CHECK(has(summary(maker), "rint cast add clip cast : Tensor[(2, 6), int8]"));
  maker = make("QuantizeLinear", {"x", "s"}, {{"x", {2, 6}}, {"s", {2, 3}}}, {}, 21);
  last(maker).integer("axis", 1).integer("block_size", 1);
  CHECK(has(summary(maker), "blocks of 1 along axis 1 do not cover the input"));
  maker = make("DequantizeLinear", {"x", "s"}, {{"x", {2, 6}, u8}, {"s", {6}, half}}, {}, 21);
  CHECK(summary(maker) == "cast qnn.dequantize cast : Tensor[(2, 6), float16]");
  CHECK(has(summary(make("DynamicQuantizeLinear", {"x"}, {{"x", {2, 6}}})),
            "qnn.quantize : Tensor[(2, 6), uint8]"));
}

TEST_CASE("normalisation") {
  std::vector<::onnx::TensorProto> four;
  for (const char *name : {"s", "b", "m", "v"})
    four.push_back(floats(name, {4}));
  CHECK(summary(make("BatchNormalization", {"x", "s", "b", "m", "v"}, {{"x", {1, 4, 2, 2}}},
                     four)) == "nn.batch_norm : Tensor[(1, 4, 2, 2), float32]");
  CHECK(summary(make("InstanceNormalization", {"x", "s", "b"}, {{"x", {1, 4, 2, 2}}}, four)) ==
        "nn.instance_norm : Tensor[(1, 4, 2, 2), float32]");
  CHECK(summary(make("LayerNormalization", {"x", "s", "b"}, {{"x", {2, 3, 4}}}, four)) ==
        "nn.layer_norm : Tensor[(2, 3, 4), float32]");
  ModelMaker maker =
      make("LayerNormalization", {"x", "s"}, {{"x", {2, 2, 2}}}, {floats("s", {2, 2})});
  last(maker).integer("axis", 1);
  CHECK(summary(maker) ==
        "reshape zeros_like reshape nn.layer_norm reshape : Tensor[(2, 2, 2), float32]");
}

TEST_CASE("Softmax flattens before opset 13") {
  ModelMaker maker = make("Softmax", {"x"}, {{"x", {2, 3, 4}}}, {}, 11);
  CHECK(summary(maker) == "reshape nn.softmax reshape : Tensor[(2, 3, 4), float32]");
  maker = make("Softmax", {"x"}, {{"x", {2, 3, 4}}}, {}, 13);
  CHECK(summary(maker) == "nn.softmax : Tensor[(2, 3, 4), float32]");
}

TEST_CASE("Clip by attribute and by input") {
  ModelMaker maker = make("Clip", {"x"}, {{"x", {2}}}, {}, 9);
  last(maker).number("min", 0).number("max", 6);
  CHECK(summary(maker) == "clip : Tensor[(2), float32]");
  CHECK(summary(make("Clip", {"x", "lo", "hi"}, {{"x", {2}}},
                     {floats("lo", {}, {0}), floats("hi", {}, {6})})) ==
        "clip : Tensor[(2), float32]");
  CHECK(summary(make("Clip", {"x", "lo"}, {{"x", {2}}}, {floats("lo", {}, {0})})) ==
        "maximum : Tensor[(2), float32]");
}

TEST_CASE("axes as attribute and as input") {
  ModelMaker maker = make("ReduceMean", {"x"}, {{"x", {2, 3, 4}}});
  last(maker).ints("axes", {-1}).integer("keepdims", 0);
  CHECK(summary(maker) == "mean : Tensor[(2, 3), float32]");
  CHECK(summary(make("ReduceSum", {"x", "a"}, {{"x", {2, 3, 4}}}, {longs("a", {1}, {1})})) ==
        "sum : Tensor[(2, 1, 4), float32]");
  CHECK(summary(make("ReduceMean", {"x", "a"}, {{"x", {2, 3, 4}}}, {longs("a", {1}, {1})}, 18)) ==
        "mean : Tensor[(2, 1, 4), float32]");
  CHECK(summary(make("Unsqueeze", {"x", "a"}, {{"x", {2}}}, {longs("a", {2}, {0, 2})})) ==
        "expand_dims expand_dims : Tensor[(1, 2, 1), float32]");
  maker = make("Squeeze", {"x"}, {{"x", {1, 2, 1}}}, {}, 11);
  last(maker).ints("axes", {0});
  CHECK(summary(maker) == "squeeze : Tensor[(2, 1), float32]");
}

TEST_CASE("Slice") {
  auto slice = [](Ints begin, Ints end, Ints axes, Ints steps) {
    int64_t count = static_cast<int64_t>(begin.size());
    return summary(make("Slice", {"x", "b", "e", "a", "s"}, {{"x", {10, 20}}},
                        {longs("b", {count}, begin), longs("e", {count}, end),
                         longs("a", {count}, axes), longs("s", {count}, steps)}));
  };
  CHECK(slice({2}, {INT64_MAX}, {1}, {3}) == "strided_slice : Tensor[(10, 6), float32]");
  CHECK(slice({-3, 1}, {100, -1}, {0, 1}, {1, 1}) == "strided_slice : Tensor[(3, 18), float32]");
  CHECK(slice({-1}, {INT64_MIN}, {0}, {-1}) == "strided_slice : Tensor[(10, 20), float32]");
  CHECK(slice({8}, {2}, {0}, {-2}) == "strided_slice : Tensor[(3, 20), float32]");
  CHECK(slice({7}, {2}, {0}, {1}) == "strided_slice : Tensor[(0, 20), float32]");
}

TEST_CASE("Split, Concat, Pad, Expand, Tile, Transpose") {
  ModelMaker maker = make("Split", {"x"}, {{"x", {2, 6}}});
  last(maker).integer("axis", 1);
  maker.graph.mutable_node(0)->add_output("z");
  maker.output("z");
  CHECK(summary(maker) == "split : (Tensor[(2, 3), float32], Tensor[(2, 3), float32])");
  maker = make("Concat", {"x", "x"}, {{"x", {2, 6}}});
  last(maker).integer("axis", -1);
  CHECK(summary(maker) == "concatenate : Tensor[(2, 12), float32]");
  CHECK(summary(make("Pad", {"x", "p"}, {{"x", {2, 6}}}, {longs("p", {4}, {0, 1, 0, 2})})) ==
        "nn.pad : Tensor[(2, 9), float32]");
  CHECK(summary(make("Expand", {"x", "s"}, {{"x", {2, 1}}}, {longs("s", {3}, {4, 1, 3})})) ==
        "broadcast_to : Tensor[(4, 2, 3), float32]");
  CHECK(summary(make("Tile", {"x", "r"}, {{"x", {2, 1}}}, {longs("r", {2}, {2, 3})})) ==
        "tile : Tensor[(4, 3), float32]");
  CHECK(summary(make("Transpose", {"x"}, {{"x", {2, 3, 4}}})) ==
        "transpose : Tensor[(4, 3, 2), float32]");
}

TEST_CASE("indices") {
  CHECK(summary(make("Gather", {"x", "i"}, {{"x", {5, 3}}, {"i", {2, 2}, i64}})) ==
        "take : Tensor[(2, 2, 3), float32]");
  CHECK(has(text(make("Gather", {"x", "i"}, {{"x", {5, 3}}}, {longs("i", {}, {-1})})),
            "mode=\"error\""));
  CHECK(summary(make("NonZero", {"x"}, {{"x", {2, 3}}})) ==
        "argwhere transpose cast : Tensor[(2, ?), int64]");
  ModelMaker maker = make("TopK", {"x", "k"}, {{"x", {2, 6}}}, {longs("k", {1}, {3})});
  maker.graph.mutable_node(0)->add_output("z");
  maker.output("z");
  CHECK(summary(maker) == "topk : (Tensor[(2, 3), float32], Tensor[(2, 3), int64])");
  CHECK(summary(make("ArgMax", {"x"}, {{"x", {2, 6}}})) == "argmax cast : Tensor[(1, 6), int64]");
}

TEST_CASE("Resize") {
  ModelMaker maker = make("Resize", {"x", "", "scales"}, {{"x", {1, 2, 4, 4}}},
                          {floats("scales", {4}, {1, 1, 2, 2})});
  CHECK(summary(maker) == "image.resize2d : Tensor[(1, 2, 8, 8), float32]");
  maker = make("Resize", {"x", "", "", "sizes"}, {{"x", {1, 2, 4, 4}}},
               {longs("sizes", {4}, {1, 2, 3, 5})});
  last(maker).text("mode", "linear");
  CHECK(summary(maker) == "image.resize2d : Tensor[(1, 2, 3, 5), float32]");
}

TEST_CASE("shapes computed by the graph are folded") {
  ModelMaker maker;
  maker.input("x", {2, 3, 4});
  maker.constant(longs("one", {}, {1}));
  maker.constant(longs("zero", {1}, {0}));
  maker.constant(longs("minus", {1}, {-1}));
  maker.node("Shape", {"x"}, {"s"});
  maker.node("Gather", {"s", "one"}, {"d"});
  maker.node("Unsqueeze", {"d", "zero"}, {"u"});
  maker.node("Concat", {"minus", "u"}, {"t"}).integer("axis", 0);
  maker.node("Reshape", {"x", "t"}, {"y"});
  maker.output("y");
  CHECK(summary(maker) == "reshape : Tensor[(8, 3), float32]");
}

TEST_CASE("If, Dropout, Identity and Constant") {
  ModelMaker maker = make("Dropout", {"x"}, {{"x", {2}}});
  CHECK(summary(maker) == ": Tensor[(2), float32]");
  maker = ModelMaker();
  maker.node("Constant", {}, {"y"}).tensor("value", floats("", {2}));
  maker.output("y");
  CHECK(summary(maker) == ": Tensor[(2), float32]");
}
