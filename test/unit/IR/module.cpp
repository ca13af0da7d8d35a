// Building, rewriting and checking blocks.
#include "bycc/IR/Builder.h"
#include "bycc/IR/Verifier.h"
#include "bycc/IR/Visitor.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

// def @main(%x: Tensor[(2, 3), float32]) { relu^n(x) }
Module chain(size_t length) {
  Module module;
  FunctionId main = module.addFunction("main");
  NodeId value = module.addParam("x", module.types.tensor(DType::Float32, {Dim(2), Dim(3)}));
  module.function(main).params.push_back(value);
  Builder builder(module, module.function(main).body);
  for (size_t i = 0; i < length; ++i)
    value = *builder.call(ops::nn_relu, {value});
  module.block(module.function(main).body).result = value;
  return module;
}

std::vector<NodeId> &nodes(Module &module) {
  return module.block(module.function(module.main()).body).nodes;
}

} // namespace

TEST_CASE("constants are hashed by value and share storage") {
  Module module;
  float data[2] = {1, 2};
  NodeId a = module.addConstant(DType::Float32, std::vector<Dim>{Dim(2)}, data, sizeof data);
  NodeId b = module.addConstant(DType::Float32, std::vector<Dim>{Dim(2)}, data, sizeof data);
  CHECK(module.constant(a).hash == module.constant(b).hash);
  NodeId again = module.addConstantNode(ConstantId(module.node(a).payload));
  CHECK(module.constant(again).data() == module.constant(a).data());
}

TEST_CASE("users count operand positions and results") {
  Module module = chain(2);
  Users users(module);
  NodeId x = module.function(module.main()).params[0];
  CHECK(users.of(x).size() == 1);
  CHECK(users.numResultUses(nodes(module).back()) == 1);
}

TEST_CASE("a rewrite replaces nodes and forwards their users") {
  Module module = chain(3);
  auto changed =
      rewriteFunction(module, module.main(), [&](NodeId node, Builder &) -> Expected<NodeId> {
        NodeId operand = module.operands(node)[0];
        return module.isOp(operand, ops::nn_relu) ? operand : node; // relu(relu(x)) -> relu(x)
      });
  REQUIRE(changed);
  CHECK(*changed);
  CHECK(nodes(module).size() == 1);
  CHECK(verify(module));
}

TEST_CASE("dead nodes go, lets only when asked") {
  Module module = chain(2);
  NodeId first = nodes(module)[0];
  Builder builder(module, module.function(module.main()).body);
  NodeId dead = *builder.call(ops::nn_relu, {first});
  module.node(dead).isLet = true;
  CHECK_FALSE(removeDeadNodes(module, module.main(), false));
  CHECK(removeDeadNodes(module, module.main(), true));
  CHECK(nodes(module).size() == 2);
}

TEST_CASE("the verifier names an operand that is not visible") {
  Module module = chain(2);
  std::swap(nodes(module)[0], nodes(module)[1]);
  auto result = verify(module);
  REQUIRE_FALSE(result);
  CHECK(result.error().message().find("not visible") != std::string::npos);
}

TEST_CASE("the verifier compares types with inference") {
  Module module = chain(1);
  module.node(nodes(module)[0]).type = module.types.tensor(DType::Float32, {Dim(7)});
  CHECK_FALSE(verify(module));
}

TEST_CASE("a chain of a million nodes is built, walked and freed (B2)") {
  Module module = chain(1'000'000);
  size_t count = 0;
  forEachNode(module, module.function(module.main()).body, [&](NodeId) { ++count; });
  CHECK(count == 1'000'000);
  CHECK(verify(module));
}
