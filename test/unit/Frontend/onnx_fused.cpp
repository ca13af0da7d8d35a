// Operators that ONNX Runtime's optimiser writes become what the operators become that it joined.
#include "FusedProgram.h"

using namespace bycc;
using namespace bycc::test;

namespace {

Program withConv() {
  Program p;
  p.input("x", {1, 4, 9, 9});
  p.constant(floats("w", {8, 2, 3, 3}));
  p.constant(floats("b", {8}));
  return p;
}

Program withMatrices(const Ints &a = {2, 3, 4}, const Ints &b = {2, 4, 5}) {
  Program p;
  p.input("a", a);
  p.input("b", b);
  return p;
}

// Rows of 8 with all that their normalisations ask for.
Program withRows(int64_t version = 17) {
  Program p(version);
  for (const char *name : {"x", "s"})
    p.input(name, {2, 5, 8});
  for (const char *name : {"gamma", "beta", "b"})
    p.constant(floats(name, {8}, {static_cast<float>(name[0])}));
  p.constant(floats("w", {8, 8}));
  return p;
}

} // namespace

TEST_CASE("a convolution with its activation") {
  using Row = std::pair<const char *, std::vector<float>>;
  for (const auto &[name, parameters] :
       {Row{"Relu", {}}, Row{"Tanh", {}}, Row{"LeakyRelu", {0.25f}},
        Row{"HardSigmoid", {0.5f, 0.25f}}}) {
    Program fused = withConv(), plain = withConv();
    fused.ours("FusedConv", {"x", "w", "b"})
        .integer("group", 2)
        .text("activation", name)
        .numbers("activation_params", parameters);
    plain.node("Conv", {"x", "w", "b"}, {"c"}).integer("group", 2);
    NodeMaker activation = plain.node(name, {"c"}, {"y"});
    for (size_t i = 0; i < parameters.size(); ++i)
      activation.number(i == 0 ? "alpha" : "beta", parameters[i]);
    CHECK(fused.text() == plain.text());
  }
  Program fused = withConv(), plain = withConv();
  for (Program *p : {&fused, &plain})
    p->input("z", {1, 8, 7, 7});
  fused.ours("FusedConv", {"x", "w", "", "z"})
      .integer("group", 2)
      .text("activation", "Clip")
      .numbers("activation_params", {0, 6});
  plain.constant(floats("low", {}, {0}));
  plain.constant(floats("high", {}, {6}));
  plain.node("Conv", {"x", "w"}, {"c"}).integer("group", 2);
  plain.node("Add", {"c", "z"}, {"d"});
  plain.node("Clip", {"d", "low", "high"}, {"y"});
  CHECK(fused.text() == plain.text());
  Program other = withConv();
  other.ours("FusedConv", {"x", "w"}).integer("group", 2).text("activation", "Cube");
  CHECK(has(other.text(), "activation 'Cube' is not supported"));
}

TEST_CASE("products with transposes, a factor and an activation") {
  Program fused = withMatrices({4, 3}, {5, 4}), plain = fused;
  for (Program *p : {&fused, &plain})
    p->constant(floats("c", {5}));
  fused.ours("FusedGemm", {"a", "b", "c"})
      .integer("transA", 1)
      .integer("transB", 1)
      .number("alpha", 0.5f)
      .text("activation", "LeakyRelu")
      .number("activation_alpha", 0.25f);
  plain.node("Gemm", {"a", "b", "c"}, {"p"})
      .integer("transA", 1)
      .integer("transB", 1)
      .number("alpha", 0.5f);
  plain.node("LeakyRelu", {"p"}, {"y"}).number("alpha", 0.25f);
  CHECK(fused.text() == plain.text());

  fused = withMatrices({2, 4, 3}, {2, 5, 4});
  fused.ours("FusedMatMul", {"a", "b"})
      .integer("transA", 1)
      .integer("transB", 1)
      .number("alpha", 0.5f);
  plain = withMatrices({2, 4, 3}, {2, 5, 4});
  plain.node("Transpose", {"a"}, {"at"}).ints("perm", {0, 2, 1});
  plain.node("Transpose", {"b"}, {"bt"}).ints("perm", {0, 2, 1});
  plain.node("MatMul", {"at", "bt"}, {"p"});
  plain.constant(floats("half", {}, {0.5f}));
  plain.node("Mul", {"p", "half"}, {"y"});
  CHECK(fused.text() == plain.text());

  fused = withMatrices({3, 2, 6, 4}, {2, 6, 4, 5});
  fused.ours("FusedMatMul", {"a", "b"}).integer("transBatchA", 1);
  plain = withMatrices({3, 2, 6, 4}, {2, 6, 4, 5});
  plain.node("Transpose", {"a"}, {"at"}).ints("perm", {1, 2, 0, 3});
  plain.node("MatMul", {"at", "b"}, {"y"});
  CHECK(fused.text() == plain.text());
}

TEST_CASE("gelu and its relatives") {
  for (const char *name : {"BiasGelu", "FastGelu"}) {
    bool isFast = std::string(name) == "FastGelu";
    Program fused = withRows(20), plain = withRows(20);
    for (Program *p : {&fused, &plain})
      p->node("MatMul", {"x", "w"}, {"h"});
    fused.ours(name, {"h", "b"});
    plain.node("Add", {"h", "b"}, {"sum"});
    plain.node("Gelu", {"sum"}, {"y"}).text("approximate", isFast ? "tanh" : "none");
    CHECK(fused.text() == plain.text());
    CHECK(has(fused.text(), "nn.bias_add"));
  }
  Program fused = withRows(24), plain = withRows(24);
  fused.ours("QuickGelu", {"x"}).number("alpha", 1);
  plain.node("Swish", {"x"}, {"y"});
  CHECK(fused.text() == plain.text());
  fused = withRows(), plain = withRows();
  fused.ours("BiasSplitGelu", {"x", "b"});
  CHECK(has(fused.text(), "-> Tensor[(2, 5, 4), float32]"));
  fused = withRows();
  fused.ours("BiasSoftmax", {"x", "s"}).integer("axis", 2).integer("is_inner_broadcast", 0);
  plain.node("Add", {"x", "s"}, {"sum"});
  plain.node("Softmax", {"sum"}, {"y"});
  CHECK(fused.text() == plain.text());
}

TEST_CASE("normalisations of sums") {
  Program fused = withRows(), plain = withRows();
  for (Program *p : {&fused, &plain})
    p->node("MatMul", {"x", "w"}, {"h"});
  fused.ours("SkipLayerNormalization", {"s", "h", "gamma", "beta", "b"}, {"y", "", "", "sum"})
      .number("epsilon", 1e-6f);
  plain.node("Add", {"h", "b"}, {"biased"});
  plain.node("Add", {"s", "biased"}, {"sum"});
  plain.node("LayerNormalization", {"sum", "gamma", "beta"}, {"y"}).number("epsilon", 1e-6f);
  CHECK(fused.text({"y", "sum"}) == plain.text({"y", "sum"}));

  fused = withRows(23), plain = withRows(23);
  fused.ours("SkipSimplifiedLayerNormalization", {"x", "s", "gamma"}).number("epsilon", 1e-6f);
  plain.node("Add", {"x", "s"}, {"sum"});
  plain.node("RMSNormalization", {"sum", "gamma"}, {"y"}).number("epsilon", 1e-6f);
  CHECK(fused.text() == plain.text());

  // Of ONNX's own domain, where ONNX has them later or not at all.
  fused = withRows(11), plain = withRows();
  fused.node("LayerNormalization", {"x", "gamma", "beta"}, {"y"});
  plain.node("LayerNormalization", {"x", "gamma", "beta"}, {"y"});
  CHECK(fused.text() == plain.text());
  fused = withRows(11), plain = withRows(23);
  fused.node("SimplifiedLayerNormalization", {"x", "gamma"}, {"y"});
  plain.node("RMSNormalization", {"x", "gamma"}, {"y"});
  CHECK(fused.text() == plain.text());
}

TEST_CASE("embeddings and their normalisation") {
  constexpr int i32 = ::onnx::TensorProto::INT32;
  Program p = withRows();
  for (const char *name : {"ids", "segments", "mask"})
    p.input(name, {2, 5}, i32);
  for (const char *name : {"words", "places", "kinds"})
    p.constant(floats(name, {10, 8}, {static_cast<float>(name[0])}));
  p.ours("EmbedLayerNormalization",
         {"ids", "segments", "words", "places", "kinds", "gamma", "beta", "mask"}, {"y", "count"});
  std::string text = p.text();
  CHECK(has(text, "nn.layer_norm"));
  CHECK(has(text, "epsilon=1e-12"));
  CHECK(summary(p) == "arange take take add take add nn.layer_norm : Tensor[(2, 5, 8), float32]");
  p.text({"count"});
  CHECK(summary(p) == "equal cast sum : Tensor[(2), int32]");
}

TEST_CASE("layouts with the channels last") {
  Program p;
  p.input("x", {1, 9, 9, 4});
  p.input("s", {1, 8});
  p.constant(floats("w", {8, 3, 3, 2}));
  p.constant(floats("b", {8}));
  p.ours("NhwcConv", {"x", "w", "b"}, {"c"}).integer("group", 2).ints("kernel_shape", {3, 3});
  p.ours("SkipGroupNorm", {"c", "b", "b", "s", "b"}).integer("groups", 2).integer("activation", 1);
  p.output("y");
  CHECK(summary(p) == "transpose transpose nn.conv2d nn.bias_add transpose expand_dims add add "
                      "transpose nn.group_norm sigmoid multiply transpose : "
                      "Tensor[(1, 7, 7, 8), float32]");
}
