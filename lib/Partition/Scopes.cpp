// Walks over host scopes.

#include "Scopes.h"

#include "bycc/IR/Functions.h"

#include <algorithm>

namespace bycc {

std::vector<BlockId> openBlocks(const Module &module, NodeId node) {
  NodeKind kind = module.node(node).kind;
  if (kind == NodeKind::If ||
      (kind == NodeKind::Function && !isClosedFunction(module, module.functionOf(node))))
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

bool removeUnreachableFunctions(Module &module, std::vector<FunctionId> roots) {
  return module.removeGlobalsExcept(reachableFunctions(module, std::move(roots)));
}

namespace {

NodeId fieldInSight(const Module &module, NodeId value) {
  while (module.node(value).kind == NodeKind::Project) {
    NodeId tuple = fieldInSight(module, module.operands(value)[0]);
    if (module.node(tuple).kind != NodeKind::Tuple)
      break;
    value = module.operands(tuple)[module.node(value).payload];
  }
  return value;
}

} // namespace

bool dropUnneeded(Module &module) {
  bool changed = false;
  auto look = [&](NodeId &value) {
    NodeId field =
        module.node(value).kind == NodeKind::Project ? fieldInSight(module, value) : value;
    changed |= field != value;
    value = field;
  };
  for (BlockId block : hostBlocks(module)) {
    for (NodeId node : module.block(block).nodes)
      for (NodeId &operand : module.mutableOperands(node))
        look(operand);
    if (NodeId &result = module.block(block).result)
      look(result);
  }
  for (FunctionId function : optimizableFunctions(module))
    changed |= removeDeadNodes(module, function, true);
  return changed;
}

int32_t firstFreeRegion(const Module &module) {
  int32_t next = 0;
  for (FunctionId function : module.globals())
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      if (const Annotation *annotation = module.annotation(node))
        next = std::max(next, annotation->region + 1);
    });
  return next;
}

} // namespace bycc
