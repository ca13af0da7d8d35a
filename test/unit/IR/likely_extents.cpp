// What open extents count as, and what is counted with them.
#include "bycc/IR/Builder.h"
#include "bycc/IR/LikelyExtents.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

// A program whose main has inputs of these shapes.
struct Program {
  Module module;
  FunctionId main = module.addFunction("main");
  std::vector<NodeId> inputs;

  Dim symbol(const char *name) { return module.types.symbol(name); }
  int64_t likely(Dim dim) const { return module.types.likely(dim); }
  NodeId input(std::initializer_list<Dim> shape) {
    inputs.push_back(module.addParam("x" + std::to_string(inputs.size()),
                                     module.types.tensor(DType::Float32, shape)));
    module.function(main).params.push_back(inputs.back());
    return inputs.back();
  }
  NodeId call(OpId op, std::initializer_list<NodeId> operands, AttrDict attrs = {}) {
    Builder builder(module, module.function(main).body);
    auto made = builder.call(op, std::vector<NodeId>(operands), std::move(attrs));
    INFO((made ? "" : made.error().str()));
    REQUIRE(made);
    module.block(module.function(main).body).result = *made;
    return *made;
  }
  double flops(NodeId call) const { return opInfo(module.node(call).op).flops(module, call); }
};

} // namespace

TEST_CASE("a batch counts 1 by its name, other symbols and unknown dims 64") {
  for (const char *name :
       {"batch", "Batch", "batch_size", "BATCH_SIZE", "N", "b", "B", "bs", "n_batch"})
    CHECK(usualExtent(name) == 1);
  for (const char *name : {"seq", "n", "height", "batches_per_epoch", "nb", "s0", ""})
    CHECK(usualExtent(name) == 64);
  TypeTable types;
  CHECK(types.likely(Dim(7)) == 7);
  CHECK(types.likely(Dim(0)) == 0);
  CHECK(types.likely(Dim::unknown()) == 64);
  CHECK(types.likely(types.symbol("N")) == 1);
  CHECK(types.likely(types.symbol("seq")) == 64);
}

TEST_CASE("rows of each image of a batch are not less than they count as") {
  TypeTable types;
  Dim n = types.symbol("N"), s = types.symbol("seq");
  for (Dim dim : {Dim(7), n, types.mul(n, 197), types.floorDiv(types.add(n, 63), 2)})
    CHECK_FALSE(types.mayBeLess(dim));
  for (Dim dim : {s, types.mul(n, s), types.add(types.mul(n, 3), s), Dim::unknown()})
    CHECK(types.mayBeLess(dim));
  types.setLikely(n, 8);
  CHECK(types.mayBeLess(types.mul(n, 197)));
}

TEST_CASE("an expression counts as what its symbols make of it, at least 0") {
  TypeTable types;
  Dim n = types.symbol("N"), s = types.symbol("seq");
  CHECK(types.likely(types.add(types.mul(s, n), 3)) == 67);
  CHECK(types.likely(types.floorDiv(s, 7)) == 9);
  CHECK(types.likely(types.dim(DimOp::CeilDiv, s, 7)) == 10);
  CHECK(types.likely(types.dim(DimOp::Mod, s, 7)) == 1);
  CHECK(types.likely(types.dim(DimOp::Min, s, types.mul(n, 3))) == 3);
  CHECK(types.likely(types.dim(DimOp::Max, s, types.mul(n, 3))) == 64);
  Dim window = types.floorDiv(types.sub(n, 6), 2); // -3: no window fits
  CHECK(types.likely(window) == 0);
  CHECK(types.likely(types.add(types.floorDiv(types.sub(n, 6), 4), 5)) == 3);
  CHECK(types.likely(types.floorDiv(s, types.sub(n, 1))) == 0); // by an extent of 0
  types.setLikely(s, int64_t{1} << 40);
  CHECK(types.likely(types.mul(types.mul(s, s), s)) == int64_t{1} << 40); // as far as it goes
  types.setLikely(s, 10);
  CHECK(types.likely(types.floorDiv(s, 7)) == 1); // made before, counts anew
}

TEST_CASE("a symbol that is the first dim of every input is a batch") {
  Program a;
  Dim s0 = a.symbol("s0"), s1 = a.symbol("s1");
  a.input({s0, s1});
  a.input({}); // has no dims
  a.input({s0, 4});
  findBatchExtents(a.module);
  CHECK(a.likely(s0) == 1);
  CHECK(a.likely(s1) == 64);

  Program b; // not of every one
  b.input({b.symbol("s0"), 4});
  b.input({4, b.symbol("s0")});
  findBatchExtents(b.module);
  CHECK(b.likely(b.symbol("s0")) == 64);

  Program c; // two different ones, and none
  c.input({c.symbol("s0")});
  c.input({c.symbol("s1")});
  findBatchExtents(c.module);
  CHECK(c.likely(c.symbol("s0")) == 64);

  Program d; // none of them has a name
  Dim x0 = d.symbol("x_0"), x1 = d.symbol("x_1"), y0 = d.symbol("y_0");
  d.input({x0, x1});
  d.input({y0, 3});
  findBatchExtents(d.module);
  CHECK(d.likely(x0) == 1);
  CHECK(d.likely(x1) == 64);
  CHECK(d.likely(y0) == 1);

  Program e; // PyTorch's exporter: tokens, mask
  Dim s10 = e.symbol("s10"), s12 = e.symbol("s12"), s86 = e.symbol("s86");
  e.input({s10, s12});
  e.input({s86, s12});
  findBatchExtents(e.module);
  CHECK(e.likely(s10) == 1);
  CHECK(e.likely(s12) == 64);
  CHECK(e.likely(s86) == 1);

  Program f; // no batch: a product's inner extent
  f.input({f.symbol("s0"), f.symbol("s1")});
  f.input({f.symbol("s1"), f.symbol("s2")});
  findBatchExtents(f.module);
  CHECK(f.likely(f.symbol("s0")) == 64);

  Program none;
  findBatchExtents(none.module);
}

TEST_CASE("an N behind a batch is a length") {
  Program audio;
  audio.input({audio.symbol("batch_size"), audio.symbol("N")});
  findBatchExtents(audio.module);
  CHECK(audio.likely(audio.symbol("N")) == 64);
  CHECK(audio.likely(audio.symbol("batch_size")) == 1);

  Program steps; // in front of the batch
  steps.input({steps.symbol("seq"), steps.symbol("N"), 8});
  findBatchExtents(steps.module);
  CHECK(steps.likely(steps.symbol("N")) == 1);
}

TEST_CASE("open extents are listed once, those of inputs first") {
  Program p;
  NodeId x = p.input({p.symbol("batch"), p.symbol("seq"), 8});
  p.call(ops::nn_relu, {x});
  CHECK(openExtents(p.module).text() == "with batch=1, seq=64 (likely)");
  NodeId y = p.input({p.module.types.add(p.symbol("past"), p.symbol("seq")), Dim::unknown()});
  OpenExtents open = openExtents(p.module);
  CHECK(open.text() == "with batch=1, seq=64, past=64, unknown extents as 64 (likely)");
  CHECK_FALSE(hasUnknownExtents(p.module, p.call(ops::nn_relu, {x})));
  CHECK(hasUnknownExtents(p.module, p.call(ops::nn_relu, {y})));
  for (int i = 0; i < 9; ++i)
    p.input({p.symbol(("s" + std::to_string(i)).c_str())});
  CHECK(openExtents(p.module).text() == "with batch=1, seq=64, past=64, s0=64, s1=64, s2=64, "
                                        "s3=64, s4=64, 4 more, unknown extents as 64 (likely)");

  Program closed;
  closed.call(ops::nn_relu, {closed.input({2, 3})});
  CHECK(openExtents(closed.module).empty());
  CHECK(openExtents(closed.module).text().empty());
  Program unknown;
  unknown.call(ops::nn_relu, {unknown.input({Dim::unknown()})});
  CHECK(openExtents(unknown.module).text() == "with unknown extents as 64 (likely)");
}

TEST_CASE("extents of the user's count; names that are no symbol are refused") {
  Program p;
  p.input({p.symbol("batch"), p.symbol("seq")});
  REQUIRE(setLikelyExtents(p.module, {{"batch", 8}, {"seq", 128}}));
  CHECK(openExtents(p.module).text() == "with batch=8, seq=128 (likely)");
  auto wrong = setLikelyExtents(p.module, {{"sek", 1}});
  REQUIRE_FALSE(wrong);
  CHECK(
      wrong.error().str() ==
      "error[ARG]: --likely: the model has no open dimension 'sek', did you mean 'seq'? [BY0508]\n"
      "note: open are batch, seq\n");
  Program closed;
  closed.input({2});
  CHECK(setLikelyExtents(closed.module, {}));
  auto none = setLikelyExtents(closed.module, {{"seq", 1}});
  REQUIRE_FALSE(none);
  CHECK(none.error().str() ==
        "error[ARG]: --likely: the model has no open dimension 'seq' [BY0508]\n"
        "note: none of its dimensions has a name and is open\n");
}

TEST_CASE("FLOPs are counted with likely extents") {
  Program p;
  Dim batch = p.symbol("batch"), seq = p.symbol("seq");
  NodeId x = p.input({batch, seq, 8}), w = p.input({4, 8});
  NodeId image = p.input({batch, 3, seq, seq}), kernel = p.input({5, 3, 3, 3});
  NodeId relu = p.call(ops::nn_relu, {x});
  NodeId dense = p.call(ops::nn_dense, {x, w}, {{"units", AttrValue(4)}});
  NodeId product = p.call(ops::nn_batch_matmul, {x, x}, {{"transpose_b", AttrValue(true)}});
  NodeId conv = p.call(ops::nn_conv2d, {image, kernel});
  CHECK(p.flops(relu) == 64 * 8);
  CHECK(p.flops(dense) == 2.0 * 64 * 4 * 8);
  CHECK(p.flops(product) == 2.0 * 64 * 64 * 8);
  CHECK(p.flops(conv) == 2.0 * 5 * 62 * 62 * 3 * 9);
  p.module.types.setLikely(batch, 2);
  p.module.types.setLikely(seq, 10);
  CHECK(p.flops(product) == 2.0 * 2 * 10 * 10 * 8);
  CHECK(p.flops(conv) == 2.0 * 2 * 5 * 8 * 8 * 3 * 9);
}
