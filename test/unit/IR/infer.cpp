// Inference of whole modules: order, recursion, branches, limits, messages.
#include "bycc/IR/Infer.h"
#include "bycc/IR/Builder.h"
#include "bycc/IR/Functions.h"

#include <catch2/catch.hpp>

#include <chrono>

using namespace bycc;

namespace {

// Nodes without inference, as a parser adds them.
struct Raw {
  Module module;

  TypeId tensor(std::initializer_list<Dim> shape) {
    return module.types.tensor(DType::Float32, shape);
  }
  FunctionId function(const char *name, BlockId parent = {}) {
    return module.addFunction(name, parent);
  }
  NodeId param(FunctionId f, const char *name, TypeId type) {
    NodeId node = module.addParam(name, type);
    module.function(f).params.push_back(node);
    return node;
  }
  NodeId add(BlockId block, NodeKind kind, std::initializer_list<NodeId> operands,
             uint32_t payload = 0, OpId op = {}) {
    Node node;
    node.kind = kind;
    node.op = op;
    node.payload = payload;
    NodeId id = module.addNode(node, std::span<const NodeId>(operands.begin(), operands.size()));
    module.block(block).nodes.push_back(id);
    module.block(block).result = id;
    return id;
  }
  NodeId call(BlockId block, OpId op, std::initializer_list<NodeId> operands) {
    return add(block, NodeKind::CallOp, operands, 0, op);
  }
  BlockId body(FunctionId f) { return module.function(f).body; }
};

std::string messages(const Expected<> &result) { return result ? "" : result.error().str(); }

} // namespace

TEST_CASE("C5: a program has a limited number of functions") {
  Raw raw;
  for (size_t i = 0; i <= maxFunctions; ++i)
    raw.function(("f" + std::to_string(i)).c_str());
  auto result = inferTypes(raw.module);
  CHECK(result.error().status() == Status::Limit);
  CHECK(result.error().message() == "the program has 10001 functions, the limit is 10000");
}

TEST_CASE("callees are inferred before callers, whatever their order") {
  Raw raw;
  FunctionId main = raw.function("main"), helper = raw.function("helper");
  NodeId x = raw.param(main, "x", raw.tensor({2, 3}));
  NodeId call = raw.add(raw.body(main), NodeKind::Call, {raw.module.globalRef(helper), x});
  NodeId y = raw.param(helper, "y", raw.tensor({2, Dim::unknown()}));
  raw.call(raw.body(helper), ops::nn_relu, {y});
  CHECK(messages(inferTypes(raw.module)) == "");
  CHECK(raw.module.types.str(raw.module.type(call)) == "Tensor[(2, ?), float32]");
}

TEST_CASE("a recursive function needs a declared result type (C5)") {
  for (bool isDeclared : {false, true}) {
    Raw raw;
    FunctionId f = raw.function("f");
    NodeId x = raw.param(f, "x", raw.tensor({2}));
    raw.add(raw.body(f), NodeKind::Call, {raw.module.globalRef(f), x});
    if (isDeclared)
      raw.module.function(f).resultType = raw.tensor({2});
    std::string text = messages(inferTypes(raw.module));
    if (isDeclared)
      CHECK(text == "");
    else
      CHECK_THAT(text, Catch::Contains("recursive function @f needs a declared result type"));
  }
}

TEST_CASE("a local function may call itself") {
  Raw raw;
  FunctionId main = raw.function("main");
  NodeId x = raw.param(main, "x", raw.tensor({2}));
  FunctionId local = raw.module.addFunction("", raw.body(main));
  raw.module.function(local).resultType = raw.tensor({2});
  NodeId y = raw.param(local, "y", raw.tensor({2}));
  NodeId closure = raw.add(raw.body(main), NodeKind::Function, {}, local.index);
  raw.add(raw.body(local), NodeKind::Call, {closure, y});
  raw.add(raw.body(main), NodeKind::Call, {closure, x});
  CHECK(messages(inferTypes(raw.module)) == "");
}

TEST_CASE("calls nested deeper than 100 and doubling chains are limits (C5)") {
  Raw deep;
  FunctionId previous;
  for (int i = 0; i < 101; ++i) {
    FunctionId f = deep.function(("f" + std::to_string(i)).c_str());
    NodeId x = deep.param(f, "x", deep.tensor({2}));
    if (previous)
      deep.add(deep.body(f), NodeKind::Call, {deep.module.globalRef(previous), x});
    else
      deep.call(deep.body(f), ops::abs, {x});
    previous = f;
  }
  auto result = inferTypes(deep.module);
  REQUIRE_FALSE(result);
  CHECK(result.error().status() == Status::Limit);

  Raw doubling;
  previous = {};
  for (int i = 0; i < 40; ++i) {
    FunctionId f = doubling.function(("f" + std::to_string(i)).c_str());
    NodeId x = doubling.param(f, "x", doubling.tensor({2}));
    for (int k = 0; k < 2 && previous; ++k)
      x = doubling.add(doubling.body(f), NodeKind::Call, {doubling.module.globalRef(previous), x});
    doubling.call(doubling.body(f), ops::abs, {x});
    previous = f;
  }
  result = inferTypes(doubling.module);
  REQUIRE_FALSE(result);
  CHECK(result.error().status() == Status::Limit);
}

TEST_CASE("branches of an if have one type; extents that differ are not known") {
  for (int rank : {1, 2}) {
    Raw raw;
    FunctionId main = raw.function("main");
    NodeId c = raw.param(main, "c", raw.module.types.tensor(DType::Bool, {}));
    NodeId x = raw.param(main, "x", raw.tensor({2}));
    NodeId y = raw.param(main, "y", rank == 1 ? raw.tensor({3}) : raw.tensor({2, 3}));
    BlockId blocks = raw.module.addIfBlocks(raw.body(main));
    raw.call(blocks, ops::abs, {x});
    raw.call(BlockId(blocks.index + 1), ops::abs, {y});
    NodeId node = raw.add(raw.body(main), NodeKind::If, {c}, blocks.index);
    std::string text = messages(inferTypes(raw.module));
    if (rank == 1)
      CHECK(raw.module.type(node) == raw.tensor({Dim::unknown()}));
    else
      CHECK_THAT(text, Catch::Contains("the branches of an if have one type"));
  }
}

TEST_CASE("several errors are reported, followers of a bad node are silent") {
  Raw raw;
  FunctionId main = raw.function("main");
  NodeId x = raw.param(main, "x", raw.tensor({2})), y = raw.param(main, "y", raw.tensor({3}));
  NodeId bad = raw.call(raw.body(main), ops::add, {x, y});
  raw.call(raw.body(main), ops::nn_relu, {bad});
  raw.call(raw.body(main), ops::subtract, {x, y});
  auto result = inferTypes(raw.module);
  REQUIRE_FALSE(result);
  CHECK(result.error().diagnostics().size() == 2);
}

TEST_CASE("a declared result and the body must agree (D6)") {
  Raw raw;
  FunctionId main = raw.function("main");
  NodeId x = raw.param(main, "x", raw.tensor({2}));
  raw.call(raw.body(main), ops::abs, {x});
  raw.module.function(main).resultType = raw.tensor({3});
  CHECK_THAT(messages(inferTypes(raw.module)),
             Catch::Contains("declares the result Tensor[(3), float32], the body has "
                             "Tensor[(2), float32]"));
}

TEST_CASE("parameters are held to the limits (D3 D4 D5)") {
  int64_t big = int64_t{1} << 62;
  for (const std::vector<Dim> &shape :
       {std::vector<Dim>{big, 4}, std::vector<Dim>{Dim(int64_t{1} << 31), Dim(int64_t{1} << 31)},
        std::vector<Dim>{Dim(int64_t{1} << 40)}, std::vector<Dim>(33, Dim(1))}) {
    Raw raw;
    FunctionId main = raw.function("main");
    NodeId x = raw.param(main, "x", raw.module.types.tensor(DType::Float32, shape));
    raw.call(raw.body(main), ops::abs, {x});
    auto result = inferTypes(raw.module);
    REQUIRE_FALSE(result);
    CHECK(result.error().status() == Status::Limit);
  }
}

TEST_CASE("symbolic dims go through the rules") {
  Module module;
  FunctionId main = module.addFunction("main");
  TypeTable &types = module.types;
  Dim n = types.symbol("N");
  NodeId x = module.addParam("x", types.tensor(DType::Float32, {n, 4, 8, 8}));
  NodeId w = module.addParam("w", types.tensor(DType::Float32, {6, 4, 3, 3}));
  module.function(main).params = {x, w};
  Builder builder(module, module.function(main).body);
  auto text = [&](Expected<NodeId> node) {
    return node ? types.str(module.type(*node)) : node.error().message();
  };
  NodeId y = *builder.call(ops::nn_conv2d, {x, w}, {{"padding", AttrValue(1)}});
  CHECK(text(y) == "Tensor[(N, 6, 8, 8), float32]");
  CHECK(text(builder.call(ops::nn_batch_flatten, {y})) == "Tensor[(N, 384), float32]");
  CHECK(text(builder.call(ops::reshape, {y},
                          {{"newshape", AttrValue(AttrValue::List{-1, 6, 64})}})) ==
        "Tensor[(N, 6, 64), float32]");
  CHECK(text(builder.call(ops::argwhere, {y})) == "Tensor[(?, 4), int32]");
  // An extent that nobody knows and that is copied says nothing about the others.
  NodeId z = module.addParam("z", types.tensor(DType::Float32, {Dim::unknown(), n, 4, 8}));
  module.function(main).params.push_back(z);
  CHECK(
      text(builder.call(ops::reshape, {z}, {{"newshape", AttrValue(AttrValue::List{0, 0, -1})}})) ==
      "Tensor[(?, N, 32), float32]");
  CHECK(text(builder.call(ops::reshape, {z},
                          {{"newshape", AttrValue(AttrValue::List{-1, 0, 32})}})) ==
        "Tensor[(?, N, 32), float32]");
  CHECK(text(builder.call(ops::contrib_reverse_reshape, {z},
                          {{"newshape", AttrValue(AttrValue::List{-1, 4, 0})}})) ==
        "Tensor[(?, 4, 8), float32]");
}

TEST_CASE("attributes are checked, normalised and defaults dropped (E4)") {
  auto check = [](AttrDict attrs) { return checkAttrs(ops::nn_conv2d, std::move(attrs), {}); };
  auto kept =
      check({{"strides", AttrValue(2)}, {"groups", AttrValue(1)}, {"out_dtype", AttrValue("")}});
  REQUIRE(kept);
  REQUIRE(kept->size() == 1);
  CHECK(kept->front().value == AttrValue(AttrValue::List{2}));
  auto bad = check({{"stride", AttrValue(2)}, {"groups", AttrValue("x")}});
  REQUIRE_FALSE(bad);
  CHECK(bad.error().diagnostics().size() == 2);
  CHECK_THAT(bad.error().str(), Catch::Contains("did you mean strides"));
  CHECK_FALSE(check({{"groups", AttrValue(1)}, {"groups", AttrValue(2)}}));
  CHECK_FALSE(checkAttrs(ops::nn_softmax, {{"axiss", AttrValue(1)}}, {}));
}

TEST_CASE("the operator table reads back") {
  CHECK(opInfo(ops::nn_conv2d).name == "nn.conv2d");
  CHECK(findOp("nn.conv2d") == ops::nn_conv2d);
  CHECK_FALSE(findOp("nn.conv4d"));
  CHECK(opInfo(ops::arange).minInputs == 0);
  CHECK(opInfo(ops::nn_conv2d).findAttr("strides")->defaultValue ==
        AttrValue(AttrValue::List{1, 1}));
  CHECK(allOpNames().size() == numOps());
}

TEST_CASE("FLOPs of calls") {
  Module module;
  FunctionId main = module.addFunction("main");
  NodeId x = module.addParam("x", module.types.tensor(DType::Float32, {1, 4, 8, 8}));
  NodeId w = module.addParam("w", module.types.tensor(DType::Float32, {6, 2, 3, 3}));
  Builder builder(module, module.function(main).body);
  NodeId y = *builder.call(ops::nn_conv2d, {x, w}, {{"groups", AttrValue(2)}});
  CHECK(opInfo(ops::nn_conv2d).flops(module, y) == 2.0 * 6 * 6 * 6 * 2 * 9);
  NodeId z = *builder.call(ops::nn_relu, {y});
  CHECK(opInfo(ops::nn_relu).flops(module, z) == 216);
}

TEST_CASE("a chain of a million operators is inferred in a loop (B2)") {
  Raw raw;
  FunctionId main = raw.function("main");
  NodeId x = raw.param(main, "x", raw.tensor({2, 3}));
  NodeId value = x;
  for (int i = 0; i < 1000000; ++i)
    value = raw.call(raw.body(main), i % 2 ? ops::add : ops::nn_relu,
                     i % 2 ? std::initializer_list<NodeId>{value, x}
                           : std::initializer_list<NodeId>{value});
  auto begin = std::chrono::steady_clock::now();
  CHECK(messages(inferTypes(raw.module)) == "");
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  WARN("a million operators in " << taken.count() << " s");
  CHECK(taken.count() < 10);
  CHECK(raw.module.type(value) == raw.tensor({2, 3}));
}
