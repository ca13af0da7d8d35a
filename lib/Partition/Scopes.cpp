// Walks over host scopes.

#include "Scopes.h"

#include <algorithm>

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

bool removeUnreachableFunctions(Module &module, std::vector<FunctionId> open) {
  std::vector<uint8_t> isReached(module.numFunctions(), 0);
  for (FunctionId root : open)
    isReached[root.index] = 1;
  auto reach = [&](NodeId node) {
    if (module.node(node).kind != NodeKind::Global)
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
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      for (NodeId operand : module.operands(node))
        reach(operand);
    });
    forEachBlock(module, function, [&](BlockId block) {
      if (NodeId result = module.block(block).result)
        reach(result);
    });
  }
  return module.removeGlobalsExcept(isReached);
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
    NodeId field = module.node(value).kind == NodeKind::Project ? fieldInSight(module, value) : value;
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
