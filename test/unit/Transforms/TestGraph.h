// A small @main to build in tests.
#pragma once

#include "bycc/IR/Builder.h"
#include "bycc/IR/Printer.h"
#include "bycc/IR/Verifier.h"
#include "bycc/Transforms/Passes.h"

#include <catch2/catch.hpp>

namespace bycc {

struct TestGraph {
  Module module;
  FunctionId main = module.addFunction("main");
  BlockId body = module.function(main).body;
  Builder builder{module, body};
  TargetInfo target;

  NodeId param(std::string_view name, std::initializer_list<Dim> shape,
               DType dtype = DType::Float32) {
    NodeId node = module.addParam(name, module.types.tensor(dtype, shape));
    module.function(main).params.push_back(node);
    return node;
  }
  NodeId floats(std::initializer_list<Dim> shape, std::vector<float> values) {
    return module.addConstant(DType::Float32, {shape.begin(), shape.size()}, values.data(),
                              values.size() * 4);
  }
  NodeId call(OpId op, std::initializer_list<NodeId> operands, AttrDict attrs = {}) {
    auto node = builder.call(op, operands, std::move(attrs));
    INFO((node ? "" : node.error().str()));
    REQUIRE(node);
    return *node;
  }
  void finish(NodeId result) { module.block(body).result = result; }

  // Runs the pass, checks the module, and that a second run changes nothing.
  bool run(Expected<bool> (*pass)(Module &, PassContext &), PassOptions options = {}) {
    PassContext context;
    context.target = &target;
    context.options = std::move(options);
    auto changed = pass(module, context);
    INFO((changed ? "" : changed.error().str()));
    REQUIRE(changed);
    auto verified = verify(module);
    INFO((verified ? "" : verified.error().str()));
    REQUIRE(verified);
    std::string once = printModule(module);
    REQUIRE(pass(module, context));
    CHECK(printModule(module) == once);
    return *changed;
  }
  NodeId result() const { return module.block(body).result; }
  const std::vector<NodeId> &nodes() const { return module.block(body).nodes; }
  size_t count(OpId op) const {
    size_t total = 0;
    for (NodeId node : nodes())
      total += module.isOp(node, op);
    return total;
  }
};

} // namespace bycc
