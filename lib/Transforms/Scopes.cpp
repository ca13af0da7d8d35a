// Rewriting outside of closed functions.

#include "Scopes.h"

namespace bycc {

ClosedBlocks::ClosedBlocks(const Module &module, FunctionId function)
    : closed_(module.numBlocks(), false) {
  walk(module, module.function(function).body, isClosedFunction(module, function));
}

void ClosedBlocks::walk(const Module &module, BlockId block, bool closed) {
  closed_[block.index] = closed;
  for (NodeId node : module.block(block).nodes) {
    NodeKind kind = module.node(node).kind;
    if (kind != NodeKind::If && kind != NodeKind::Function)
      continue;
    bool inner =
        closed || (kind == NodeKind::Function && isClosedFunction(module, module.functionOf(node)));
    for (BlockId child : innerBlocks(module, node))
      walk(module, child, inner);
  }
}

Expected<bool> rewriteOpenBlocks(Module &module, const RewriteFn &rewrite) {
  bool changed = false;
  for (FunctionId function : optimizableFunctions(module)) {
    ClosedBlocks closed(module, function);
    bool here = BYCC_TRY(
        rewriteFunction(module, function, [&](NodeId node, Builder &builder) -> Expected<NodeId> {
          return closed.contains(builder.block()) ? Expected<NodeId>(node) : rewrite(node, builder);
        }));
    if (here)
      removeDeadNodes(module, function, false);
    changed |= here;
  }
  return changed;
}

} // namespace bycc
