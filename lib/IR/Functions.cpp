#include "bycc/IR/Functions.h"

#include "bycc/IR/Visitor.h"

#include <algorithm>

namespace bycc {

bool hasAnyAttr(const Module &module, FunctionId function,
                std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(keys, [&](std::string_view key) {
    const AttrValue *value = module.functionAttr(function, key);
    return value && !value->isNone() && !value->equalsLoosely(AttrValue(0));
  });
}

bool isClosedFunction(const Module &module, FunctionId function) {
  return hasAnyAttr(module, function,
                    {"Composite", "Primitive", "Compiler", "Extern", "SkipOptimization"});
}

std::vector<uint8_t> reachableFunctions(const Module &module, std::vector<FunctionId> open) {
  std::vector<uint8_t> isReached(module.numFunctions(), 0);
  for (FunctionId root : open)
    isReached[root.index] = 1;
  auto reach = [&](NodeId node) {
    if (!node || module.node(node).kind != NodeKind::Global)
      return;
    FunctionId function = module.functionOf(node);
    if (!isReached[function.index]) {
      isReached[function.index] = 1;
      open.push_back(function);
    }
  };
  while (!open.empty()) {
    FunctionId function = open.back();
    open.pop_back();
    forEachBlock(module, function, [&](BlockId block) {
      for (NodeId node : module.block(block).nodes)
        for (NodeId operand : module.operands(node))
          reach(operand);
      reach(module.block(block).result);
    });
  }
  return isReached;
}

} // namespace bycc
