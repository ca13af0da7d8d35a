// Functions, branches, closures and recursion; what does not fit is refused.
#include "bycc/Eval/Eval.h"
#include "bycc/IR/Builder.h"
#include "bycc/IR/Infer.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

Tensor floats(std::vector<int64_t> shape, std::vector<double> values) {
  return *Tensor::fromDoubles(DType::Float32, std::move(shape), values);
}

Tensor flag(bool value) {
  double number = value;
  return *Tensor::fromDoubles(DType::Bool, {}, {&number, 1});
}

struct Program {
  Module module;
  FunctionId main = module.addFunction("main");
  Builder builder{module, module.function(main).body};
  TypeId vector = module.types.tensor(DType::Float32, {2});

  NodeId param(FunctionId f, const char *name, TypeId type) {
    NodeId node = module.addParam(name, type);
    module.function(f).params.push_back(node);
    return node;
  }
  void result(FunctionId f, NodeId node) { module.block(module.function(f).body).result = node; }
  std::vector<double> run(std::vector<Tensor> inputs) {
    auto outputs = evaluate(module, main, inputs);
    INFO((outputs ? "" : outputs.error().str()));
    REQUIRE(outputs);
    std::vector<double> values;
    for (const Tensor &output : *outputs)
      for (int64_t i = 0; i < output.numElements(); ++i)
        values.push_back(output.real(i));
    return values;
  }
};

using Values = std::vector<double>;

} // namespace

TEST_CASE("tuples are flattened, shared values computed once") {
  Program p;
  NodeId x = p.param(p.main, "x", p.vector);
  NodeId y = *p.builder.call(ops::add, {x, x});
  NodeId pair = p.builder.tuple(std::vector<NodeId>{y, x});
  NodeId nested = p.builder.tuple(std::vector<NodeId>{pair, *p.builder.project(pair, 1)});
  p.result(p.main, nested);
  CHECK(p.run({floats({2}, {1, 2})}) == Values{2, 4, 1, 2, 1, 2});
}

TEST_CASE("an if runs one branch; branches see outer values") {
  Program p;
  NodeId c = p.param(p.main, "c", p.module.types.tensor(DType::Bool, {}));
  NodeId x = p.param(p.main, "x", p.vector);
  NodeId y = *p.builder.call(ops::add, {x, x});
  BlockId blocks = p.module.addIfBlocks(p.module.function(p.main).body);
  Builder first(p.module, blocks), second(p.module, BlockId(blocks.index + 1));
  p.module.block(blocks).result = *first.call(ops::negative, {y});
  p.module.block(BlockId(blocks.index + 1)).result = y; // an outer value as it is
  NodeId chosen = *p.builder.ifNode(c, blocks);
  p.result(p.main, *p.builder.call(ops::add, {chosen, y}));
  CHECK(p.run({flag(true), floats({2}, {1, 2})}) == Values{0, 0});
  CHECK(p.run({flag(false), floats({2}, {1, 2})}) == Values{4, 8});
}

TEST_CASE("local functions keep the values around them") {
  Program p;
  NodeId x = p.param(p.main, "x", p.vector);
  NodeId y = *p.builder.call(ops::add, {x, x});
  FunctionId local = p.module.addFunction("", p.module.function(p.main).body);
  NodeId z = p.param(local, "z", p.vector);
  Builder inner(p.module, p.module.function(local).body);
  p.result(local, *inner.call(ops::multiply, {z, y}));
  NodeId closure = p.builder.localFunction(local);
  NodeId once = *p.builder.callFunction(closure, std::vector<NodeId>{x});
  p.result(p.main, *p.builder.callFunction(closure, std::vector<NodeId>{once}));
  CHECK(p.run({floats({2}, {1, 3})}) == Values{4, 108});
}

namespace {

// def @down(%n: float32) { if (%n > 0) { @down(%n - 1) } else { %n } }, or with
// abs(@down(%n - 1)), which is no last step.
void addDown(Program &p, bool isTail) {
  TypeId scalar = p.module.types.tensor(DType::Float32, {});
  FunctionId down = p.module.addFunction("down");
  p.module.function(down).resultType = scalar;
  NodeId n = p.param(down, "n", scalar);
  BlockId body = p.module.function(down).body;
  Builder builder(p.module, body);
  NodeId zero = p.module.addScalar(DType::Float32, 0), one = p.module.addScalar(DType::Float32, 1);
  NodeId positive = *builder.call(ops::greater, {n, zero});
  BlockId blocks = p.module.addIfBlocks(body);
  Builder first(p.module, blocks);
  NodeId less = *first.call(ops::subtract, {n, one});
  NodeId again = *first.callFunction(p.module.globalRef(down), std::vector<NodeId>{less});
  p.module.block(blocks).result = isTail ? again : *first.call(ops::abs, {again});
  p.module.block(BlockId(blocks.index + 1)).result = n;
  p.result(down, *builder.ifNode(positive, blocks));
  NodeId x = p.param(p.main, "x", scalar);
  p.result(p.main, *p.builder.callFunction(p.module.globalRef(down), std::vector<NodeId>{x}));
  REQUIRE(inferTypes(p.module));
}

} // namespace

TEST_CASE("recursion runs to depth 100 and no deeper") {
  Program p;
  addDown(p, false);
  CHECK(p.run({floats({}, {50})}) == Values{0});
  auto tooDeep = evaluate(p.module, p.main, std::vector<Tensor>{floats({}, {200})});
  REQUIRE_FALSE(tooDeep);
  CHECK(tooDeep.error().status() == Status::Limit);
}

TEST_CASE("a call of the function itself as its last step is a loop") {
  Program p;
  addDown(p, true);
  CHECK(p.run({floats({}, {100000})}) == Values{0});
}

TEST_CASE("inputs are checked against the parameters (J1)") {
  Program p;
  NodeId x = p.param(p.main, "x", p.vector);
  p.result(p.main, *p.builder.call(ops::abs, {x}));
  std::vector<std::vector<Tensor>> wrong{
      {}, {floats({3}, {1, 2, 3})}, {floats({1, 2}, {1, 2})}, {flag(true)}};
  for (const std::vector<Tensor> &inputs : wrong) {
    auto outputs = evaluate(p.module, p.main, inputs);
    REQUIRE_FALSE(outputs);
    CHECK(outputs.error().status() == Status::Arg);
  }
}

TEST_CASE("shapes that depend on data reach the operators behind") {
  Program p;
  NodeId x = p.param(p.main, "x", p.module.types.tensor(DType::Float32, {Dim::unknown()}));
  NodeId found = *p.builder.call(ops::argwhere, {x});
  NodeId flat = *p.builder.call(ops::squeeze, {found}, {{"axis", AttrValue(1)}});
  NodeId sum = *p.builder.call(ops::add, {flat, flat});
  p.result(p.main, sum);
  CHECK(p.run({floats({5}, {0, 3, 0, 0, 1})}) == Values{2, 8});
}

TEST_CASE("a fold gets constants and gives constants") {
  Module module;
  FunctionId main = module.addFunction("main");
  Builder builder(module, module.function(main).body);
  float data[] = {1, 2, 3, 4};
  NodeId x = module.addConstant(DType::Float32, std::vector<Dim>{2, 2}, data, sizeof data);
  NodeId pair = builder.tuple(std::vector<NodeId>{x, x});
  NodeId joined = *builder.call(ops::concatenate, {pair});
  std::vector<Constant> inputs{module.constant(x), module.constant(x)};
  auto folded = evaluateCall(module, joined, inputs);
  REQUIRE(folded);
  REQUIRE(folded->size() == 1);
  CHECK(folded->front().type == module.type(joined));
  CHECK(folded->front().bytes == 32);
}

TEST_CASE("a chain of 300,000 operators runs in a loop") {
  Program p;
  NodeId value = p.param(p.main, "x", p.vector);
  NodeId one = p.module.addScalar(DType::Float32, 1);
  for (int i = 0; i < 300000; ++i)
    value = *p.builder.call(ops::maximum, {value, one});
  p.result(p.main, value);
  CHECK(p.run({floats({2}, {0, 5})}) == Values{1, 5});
}
