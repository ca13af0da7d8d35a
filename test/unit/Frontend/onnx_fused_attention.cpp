// Attention as ONNX Runtime's optimiser writes it.
#include "FusedProgram.h"

using namespace bycc;
using namespace bycc::test;

namespace {

constexpr int i32 = ::onnx::TensorProto::INT32;

// Queries, keys and values of 2 samples with 5 tokens and 2 heads of 4 elements, and a past of 3.
Program withHeads() {
  Program p(23);
  for (const char *name : {"q", "k", "v"})
    p.input(name, {2, 5, 8});
  for (const char *name : {"pk", "pv"})
    p.input(name, {2, 2, 3, 4});
  return p;
}

NodeMaker ours(Program &p, const Names &inputs, const Names &outputs = {"y"}) {
  return p.ours("MultiHeadAttention", inputs, outputs).integer("num_heads", 2);
}

NodeMaker ofOnnx(Program &p, const Names &inputs, const Names &outputs = {"y"}) {
  return p.node("Attention", inputs, outputs).integer("q_num_heads", 2).integer("kv_num_heads", 2);
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++found;
  return found;
}

// GroupQueryAttention of 4 heads over 2 of keys with a past of `room` rows.
Program grouped(int64_t length, int64_t room, std::optional<int64_t> total) {
  Program p;
  p.input("q", {2, length, 16});
  for (const char *name : {"k", "v"})
    p.input(name, {2, length, 8});
  for (const char *name : {"pk", "pv"})
    p.input(name, {2, 2, room, 4});
  p.input("lengths", {2}, i32);
  p.input("total", {}, i32);
  if (total)
    p.constant(longs("known", {}, {*total}));
  p.ours("GroupQueryAttention", {"q", "k", "v", "pk", "pv", "lengths", total ? "known" : "total"},
         {"y", "present", "other"})
      .integer("num_heads", 4)
      .integer("kv_num_heads", 2);
  return p;
}

} // namespace

TEST_CASE("attention of many heads is ONNX's") {
  Program fused = withHeads(), plain = withHeads();
  ours(fused, {"q", "k", "v", "", "", "", "pk", "pv"}, {"y", "key", "value"});
  ofOnnx(plain, {"q", "k", "v", "", "pk", "pv"}, {"y", "key", "value"});
  CHECK(fused.text({"y", "key", "value"}) == plain.text({"y", "key", "value"}));
  fused = withHeads(), plain = withHeads();
  for (Program *p : {&fused, &plain})
    p->input("summand", {1, 2, 5, 5});
  ours(fused, {"q", "k", "v", "", "", "summand"}).number("scale", 0.25f);
  ofOnnx(plain, {"q", "k", "v", "summand"}).number("scale", 0.25f);
  // ONNX's gives 0 where nothing may be looked at.
  CHECK(has(plain.text(), fused.text().substr(fused.text().find("nn.softmax"), 20)));
  CHECK(count(fused.text(), "where") == 0);
}

TEST_CASE("packed operands and a bias of the projections") {
  Program fused(23), plain(23);
  fused.input("qkv", {2, 5, 2, 3, 4});
  ours(fused, {"qkv"});
  CHECK(count(fused.text(), "strided_slice") == 3);
  CHECK(has(fused.text(), "-> Tensor[(2, 5, 8), float32]"));
  fused = withHeads(), plain = withHeads();
  for (Program *p : {&fused, &plain})
    p->constant(floats("w", {8, 8}));
  fused.constant(floats("b", {24}));
  fused.node("MatMul", {"q", "w"}, {"product"});
  ours(fused, {"product", "k", "v", "b"});
  CHECK(count(fused.text(), "strided_slice") == 0); // of a constant
  CHECK(count(fused.text(), "nn.bias_add") == 1);
  fused = withHeads();
  fused.input("kv", {2, 5, 2, 2, 4});
  fused.constant(floats("b", {24}));
  ours(fused, {"q", "kv", "", "b"});
  CHECK(has(fused.text(), "UNSUP]: a bias of packed operands"));
}

TEST_CASE("masks of each rank add what the filter says") {
  using Row = std::pair<Ints, const char *>;
  for (const auto &[dims, condition] :
       {Row{{2}, "less("}, Row{{4}, "logical_and("}, Row{{8}, "less("}, Row{{2, 5}, "greater("},
        Row{{2, 5, 5}, "greater("}}) {
    Program p = withHeads();
    p.input("mask", dims, i32);
    ours(p, {"q", "k", "v", "", "mask"}).number("mask_filter_value", -3);
    CHECK(has(p.text(), condition));
    CHECK(has(p.text(), "-3f"));
    CHECK(count(p.text(), "where(") == 1);
  }
  Program p = withHeads();
  p.input("mask", {2, 1, 9, 9}, i32);
  ours(p, {"q", "k", "v", "", "mask"});
  CHECK(has(p.text(), "UNSUP]: a mask of rank 4"));
}

TEST_CASE("attention with its projection") {
  Program p;
  p.input("x", {2, 5, 12});
  p.input("past", {2, 2, 2, 3, 4});
  p.constant(floats("w", {12, 24}));
  p.constant(floats("b", {24}));
  p.ours("Attention", {"x", "w", "b", "", "past"}, {"y", "present"})
      .integer("num_heads", 2)
      .integer("unidirectional", 1);
  std::string text = p.text({"y", "present"});
  CHECK(count(text, "nn.matmul(") == 3);
  CHECK(count(text, "nn.bias_add") == 3);
  CHECK(has(text, "less_equal"));
  CHECK(has(text, "(Tensor[(2, 5, 8), float32], Tensor[(2, 2, 2, 8, 4), float32])"));
  Program open;
  open.input("x", {2, 5, 12});
  open.input("w", {12, 22});
  open.ours("Attention", {"x", "w"}).integer("num_heads", 2).ints("qkv_hidden_sizes", {8, 8, 6});
  CHECK(count(open.text(), "nn.matmul(") == 1);
  CHECK(count(open.text(), "strided_slice") == 3);
  CHECK(has(open.text(), "-> Tensor[(2, 5, 6), float32]"));
  Program turned;
  turned.input("x", {2, 5, 12});
  turned.constant(floats("w", {12, 24}));
  turned.ours("Attention", {"x", "w"}).integer("num_heads", 2).integer("do_rotary", 1);
  CHECK(has(turned.text(), "do_rotary is not supported"));
}

TEST_CASE("rotation by tables of positions is ONNX's") {
  for (bool isPacked : {false, true}) {
    Program fused(23), plain(23);
    for (Program *p : {&fused, &plain}) {
      p->input("x", isPacked ? Ints{2, 5, 16} : Ints{2, 2, 5, 8});
      p->input("at", {2, 5}, i64);
      for (const char *table : {"cos", "sin"})
        p->constant(floats(table, {20, 4}, {static_cast<float>(table[0])}));
    }
    fused.ours("RotaryEmbedding", {"x", "at", "cos", "sin"}).integer("interleaved", 1);
    plain.node("RotaryEmbedding", {"x", "cos", "sin", "at"}, {"y"})
        .integer("interleaved", 1)
        .integer("num_heads", 2);
    CHECK(fused.text() == plain.text());
  }
}

TEST_CASE("grouped queries over a past") {
  // It grows, or has room, as the total says.
  CHECK(has(grouped(1, 3, 4).text({"present"}), "-> Tensor[(2, 2, 4, 4), float32]"));
  CHECK(has(grouped(1, 9, 4).text({"present"}), "-> Tensor[(2, 2, 9, 4), float32]"));
  CHECK(has(grouped(1, 9, {}).text({"present"}), "-> Tensor[(2, 2, ?, 4), float32]"));
  CHECK(has(grouped(5, 0, 5).text({"present"}), "-> Tensor[(2, 2, 5, 4), float32]"));
  std::string text = grouped(1, 3, 4).text();
  CHECK(count(text, "scatter_elements") == 2);
  CHECK(count(text, "repeat(") == 0); // heads of a group are rows of one product
  CHECK(has(text, "-> Tensor[(2, 1, 16), float32]"));
  Program sink = grouped(5, 0, 5);
  NodeMaker(*sink.graph.mutable_node(0)).integer("smooth_softmax", 1).number("softcap", 2);
  CHECK(has(sink.text(), "tanh"));
  CHECK(has(sink.text(), "zeros_like"));
  Program refused = grouped(5, 0, 5);
  NodeMaker(*refused.graph.mutable_node(0)).text("k_quant_type", "PER_TENSOR");
  CHECK(has(refused.text(), "k_quant_type is not supported"));
  refused = grouped(5, 0, 5);
  NodeMaker(*refused.graph.mutable_node(0)).integer("sliding_window_cache", 1);
  CHECK(has(refused.text(), "sliding_window_cache without a window"));
}

TEST_CASE("a past of the last tokens alone keeps its size") {
  for (std::optional<int64_t> total : {std::optional<int64_t>(12), std::optional<int64_t>()}) {
    Program p = grouped(2, 8, total);
    NodeMaker(*p.graph.mutable_node(0))
        .integer("sliding_window_cache", 1)
        .integer("local_window_size", 5);
    CHECK(has(p.text({"present"}), "-> Tensor[(2, 2, 8, 4), float32]"));
    CHECK(has(p.text(), "floor_divide"));
    CHECK(has(p.text(), "-> Tensor[(2, 2, 16), float32]"));
  }
}
