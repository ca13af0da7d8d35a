// Operators of ONNX Runtime's own beside the fused ones: in integers, by positions, on tensors.
#include "FusedProgram.h"

using namespace bycc;
using namespace bycc::test;

namespace {

constexpr int u8 = ::onnx::TensorProto::UINT8, i8 = ::onnx::TensorProto::INT8,
              i32 = ::onnx::TensorProto::INT32;

// What node `op` over these inputs becomes: operators and the type of the result.
using Inputs = std::vector<std::tuple<std::string, Ints, int>>;
Program of(const std::string &op, const Inputs &inputs) {
  Program p;
  Names names;
  for (const auto &[name, dims, type] : inputs) {
    names.push_back(name);
    if (!name.empty())
      p.input(name, dims, type);
  }
  p.ours(op, names);
  p.output("y");
  return p;
}
NodeMaker made(Program &p) { return NodeMaker(*p.graph.mutable_node(0)); }

// A convolution in integers, of images with the channels at `axis`.
Program quantisedConv(const std::string &domain, int64_t axis) {
  Program p;
  p.input("x", axis == 1 ? Ints{1, 4, 7, 7} : Ints{1, 7, 7, 4}, u8);
  p.input("w", {6, 4, 3, 3}, i8);
  for (const char *name : {"xs", "ws", "ys"})
    p.input(name, {});
  for (const char *name : {"xz", "yz"})
    p.input(name, {}, u8);
  p.input("wz", {}, i8);
  p.node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"}, {"y"}).domain(domain);
  p.output("y");
  return p;
}

} // namespace

TEST_CASE("products in integers with their scales") {
  Program p =
      of("DynamicQuantizeMatMul",
         {{"x", {2, 5, 4}, f32}, {"w", {4, 6}, i8}, {"s", {6}, f32}, {"", {}, 0}, {"b", {6}, f32}});
  CHECK(has(summary(p), "qnn.quantize transpose qnn.dense multiply cast multiply add : "
                        "Tensor[(2, 5, 6), float32]"));
  p = of(
      "MatMulIntegerToFloat",
      {{"x", {2, 5, 4}, u8}, {"w", {4, 6}, i8}, {"xs", {}, f32}, {"ws", {6}, f32}, {"xz", {}, u8}});
  CHECK(has(summary(p), "transpose qnn.dense multiply cast multiply : Tensor[(2, 5, 6), float32]"));
  p = of("MatMulIntegerToFloat",
         {{"x", {2, 5, 4}, u8}, {"w", {4, 6}, i8}, {"xs", {4}, f32}, {"ws", {6}, f32}});
  CHECK(has(summary(p), "A has one scale"));
  p = of("QAttention", {{"x", {2, 5, 4}, u8},
                        {"w", {4, 24}, i8},
                        {"b", {24}, f32},
                        {"xs", {}, f32},
                        {"ws", {}, f32}});
  made(p).integer("num_heads", 2);
  CHECK(has(summary(p), "qnn.dense"));
  CHECK(has(summary(p), "nn.softmax"));
  CHECK(has(summary(p), ": Tensor[(2, 5, 8), float32]"));
}

TEST_CASE("integers with the channels last") {
  std::string plain = summary(quantisedConv("", 1));
  CHECK(has(plain, "qnn.requantize : Tensor[(1, 6, 5, 5), uint8]"));
  CHECK(summary(quantisedConv("com.microsoft", 1)) == plain);
  Program last = quantisedConv("com.microsoft", 3);
  made(last).integer("channels_last", 1);
  CHECK(has(summary(last), "transpose : Tensor[(1, 5, 5, 6), uint8]"));
  Program pool = of("NhwcMaxPool", {{"x", {1, 8, 8, 4}, u8}});
  made(pool).ints("kernel_shape", {2, 2}).ints("strides", {2, 2});
  CHECK(summary(pool) == "transpose nn.max_pool2d transpose : Tensor[(1, 4, 4, 4), uint8]");
  Inputs inputs{
      {"x", {1, 8, 8, 4}, u8}, {"xs", {}, f32}, {"xz", {}, u8}, {"ys", {}, f32}, {"yz", {}, u8}};
  Program mean = of("QLinearAveragePool", inputs);
  made(mean).ints("kernel_shape", {2, 2}).integer("channels_last", 1);
  CHECK(has(summary(mean), "transpose nn.avg_pool2d transpose"));
  CHECK(has(summary(mean), "qnn.quantize : Tensor[(1, 7, 7, 4), uint8]"));
  mean = of("QLinearReduceMean", inputs);
  made(mean).ints("axes", {1, -1}).integer("keepdims", 0);
  CHECK(has(summary(mean), "mean"));
  CHECK(has(summary(mean), "qnn.quantize : Tensor[(1, 8), uint8]"));
}

TEST_CASE("a quantised LSTM has weights of floats") {
  auto make = [](const Ints &scale) {
    Program p = of("DynamicQuantizeLSTM", {{"x", {6, 2, 5}, f32},
                                           {"w", {1, 5, 16}, i8},
                                           {"r", {1, 4, 16}, i8},
                                           {"", {}, 0},
                                           {"", {}, 0},
                                           {"", {}, 0},
                                           {"", {}, 0},
                                           {"", {}, 0},
                                           {"ws", scale, f32},
                                           {"wz", scale, i8},
                                           {"rs", scale, f32},
                                           {"rz", scale, i8}});
    made(p).integer("hidden_size", 4);
    return p;
  };
  for (const Ints &scale : {Ints{1}, Ints{1, 16}})
    CHECK(has(summary(make(scale)), ": Tensor[(6, 1, 2, 4), float32]"));
}

TEST_CASE("summands by the distance of tokens") {
  Program p;
  p.input("table", {32, 4});
  p.constant(longs("queries", {}, {5}));
  p.constant(longs("keys", {}, {7}));
  p.ours("RelativePositionBias", {"table", "queries", "keys"}).integer("max_distance", 128);
  p.output("y");
  CHECK(summary(p).ends_with("take add take expand_dims : Tensor[(1, 4, 5, 7), float32]"));
  Program narrow;
  narrow.input("table", {32, 4});
  narrow.constant(longs("n", {}, {5}));
  narrow.ours("RelativePositionBias", {"table", "n", "n"}).integer("max_distance", 16);
  narrow.output("y");
  CHECK(has(problemOf(narrow), "for distances up to 16"));
  p = of("GatedRelativePositionBias", {{"q", {2, 5, 16}, f32},
                                       {"qb", {16}, f32},
                                       {"rel", {1, 2, 5, 5}, f32},
                                       {"w", {8, 6}, f32},
                                       {"b", {6}, f32},
                                       {"eco", {1, 2, 1, 1}, f32}});
  made(p).integer("num_heads", 2);
  CHECK(has(summary(p), "sigmoid"));
  CHECK(has(summary(p), ": Tensor[(2, 2, 5, 5), float32]"));
}

TEST_CASE("operators on tensors") {
  Program p;
  p.input("x", {2, 9, 3});
  p.ours("UnfoldTensor", {"x"}).integer("dim", 1).integer("size", 3).integer("step", 2);
  p.output("y");
  CHECK(summary(p) == "reshape take transpose : Tensor[(2, 4, 3, 3), float32]");
  CHECK(has(summary(of("CDist", {{"a", {4, 6}, f32}, {"b", {5, 6}, f32}})),
            ": Tensor[(4, 5), float32]"));
  CHECK(has(summary(of("ComplexMulConj", {{"a", {4, 2}, f32}, {"b", {3, 4, 2}, f32}})),
            "add subtract stack : Tensor[(3, 4, 2), float32]"));
  CHECK(has(summary(of("ComplexMul", {{"a", {4, 3}, f32}, {"b", {4, 2}, f32}})),
            "the last axis has 2 elements"));
  CHECK(summary(of("IsAllFinite", {{"a", {4}, f32}, {"b", {2}, f32}})) ==
        "isfinite all isfinite all logical_and : bool");
  Program unique = of("Unique", {{"x", {6}, f32}});
  CHECK(has(summary(unique), "unique : Tensor[(?), float32]"));
  Program range;
  range.constant(longs("from", {}, {2}));
  range.constant(longs("to", {}, {5}));
  range.ours("Range", {"from", "to"});
  range.output("y");
  CHECK(summary(range) == ": Tensor[(3), int64]");
  Program expanded;
  expanded.input("x", {2, 3});
  ::onnx::TensorProto axis;
  axis.set_name("axis");
  axis.set_data_type(i32);
  axis.add_int32_data(-1);
  expanded.constant(axis);
  expanded.ours("ExpandDims", {"x", "axis"});
  expanded.output("y");
  CHECK(summary(expanded) == "expand_dims : Tensor[(2, 3, 1), float32]");
}

TEST_CASE("ranks and sizes that no operator has are errors") {
  for (auto [op, inputs] :
       {std::pair("NhwcMaxPool", 1), {"BiasSplitGelu", 2}, {"SkipLayerNormalization", 3}}) {
    Program p;
    p.input("x", {});
    p.ours(op, Names(static_cast<size_t>(inputs), "x"));
    p.output("y");
    CHECK(has(problemOf(p), "error[INPUT]"));
  }
  Program conv = quantisedConv("com.microsoft", 1);
  conv.graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->clear_dim();
  made(conv).integer("channels_last", 1);
  CHECK(has(problemOf(conv), "an input of rank 0"));
  Program unfold = of("UnfoldTensor", {{"x", {1000000}, f32}});
  made(unfold).integer("size", 500000);
  CHECK(has(problemOf(unfold), "error[LIMIT]"));
}
