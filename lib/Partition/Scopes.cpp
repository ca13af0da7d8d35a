// Walks over host scopes.

#include "Scopes.h"

namespace bycc {

bool isClosed(const Module &module, NodeId functionNode) {
  FunctionId function = module.functionOf(functionNode);
  for (const char *key : {"Composite", "Primitive", "Compiler", "Extern", "SkipOptimization"})
    if (const AttrValue *value = module.functionAttr(function, key);
        value && !(value->isInt() && value->asInt() == 0))
      return true;
  return false;
}

std::vector<BlockId> openBlocks(const Module &module, NodeId node) {
  NodeKind kind = module.node(node).kind;
  if (kind == NodeKind::If || (kind == NodeKind::Function && !isClosed(module, node)))
    return innerBlocks(module, node);
  return {};
}

std::vector<BlockId> hostBlocks(const Module &module) {
  std::vector<BlockId> blocks;
  auto visit = [&](auto &&self, BlockId block) -> void {
    blocks.push_back(block);
    for (NodeId node : module.block(block).nodes)
      if (NodeKind kind = module.node(node).kind;
          kind == NodeKind::If || kind == NodeKind::Function)
        for (BlockId inner : openBlocks(module, node))
          self(self, inner);
  };
  for (FunctionId function : optimizableFunctions(module))
    visit(visit, module.function(function).body);
  return blocks;
}

} // namespace bycc
