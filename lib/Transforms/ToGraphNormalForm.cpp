// Turns lets into graph bindings. A let is a node of its block with a mark that
// keeps it alive and in the printed program; dropping the mark is all there is
// to do, since order and operands are those of the block anyway:
//
//   let %x = abs(%a);        %0 = abs(%a);
//   let %y = exp(%x);   =>   %1 = exp(%0);
//   %y                       %1
//
// Functions keep the mark: a recursive one is found by its let name.

#include "Scopes.h"
#include "bycc/Transforms/Passes.h"

namespace bycc {

Expected<bool> toGraphNormalForm(Module &module, PassContext &) {
  bool changed = false;
  for (FunctionId function : optimizableFunctions(module)) {
    ClosedBlocks closed(module, function);
    forEachBlock(module, function, [&](BlockId block) {
      if (closed.contains(block))
        return;
      for (NodeId id : module.block(block).nodes) {
        Node &node = module.node(id);
        if (!node.isLet || node.kind == NodeKind::Function)
          continue;
        node.isLet = false;
        changed = true;
      }
    });
  }
  return changed;
}

} // namespace bycc
