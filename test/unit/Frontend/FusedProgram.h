// Programs of ONNX Runtime's own operators, and what they become.
#pragma once

#include "ModelMaker.h"

#include <catch2/catch.hpp>

namespace bycc::test {

// A graph over inputs and constants; its nodes follow.
struct Program : ModelMaker {
  explicit Program(int64_t version = 17) {
    opset(version);
    opset(1, "com.microsoft");
  }
  NodeMaker ours(const std::string &op, const Names &inputs, const Names &outputs = {"y"}) {
    return node(op, inputs, outputs).domain("com.microsoft");
  }
  std::string text(const Names &results = {"y"}) {
    graph.clear_output();
    for (const std::string &name : results)
      output(name);
    Expected<Module> module = import();
    return module ? printModule(*module) : module.error().str();
  }
};

} // namespace bycc::test
