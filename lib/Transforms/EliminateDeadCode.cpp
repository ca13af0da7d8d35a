// Drops what no result needs: nodes, lets (every operator is pure) and global
// functions that @main does not reach. A module without @main keeps all of its
// functions, since each may be an entry.

#include "bycc/IR/Visitor.h"
#include "bycc/Transforms/Passes.h"

#include <vector>

namespace bycc {
namespace {

// Global functions reachable from `entry` through references.
std::vector<uint8_t> reachableFunctions(const Module &module, FunctionId entry) {
  std::vector<uint8_t> seen(module.numFunctions(), 0);
  std::vector<FunctionId> work{entry};
  seen[entry.index] = 1;
  auto reach = [&](NodeId node) {
    if (!node || module.node(node).kind != NodeKind::Global)
      return;
    FunctionId callee = module.functionOf(node);
    if (seen[callee.index])
      return;
    seen[callee.index] = 1;
    work.push_back(callee);
  };
  while (!work.empty()) {
    FunctionId function = work.back();
    work.pop_back();
    forEachBlock(module, function, [&](BlockId block) {
      for (NodeId node : module.block(block).nodes)
        for (NodeId operand : module.operands(node))
          reach(operand);
      reach(module.block(block).result);
    });
  }
  return seen;
}

} // namespace

Expected<bool> eliminateDeadCode(Module &module, PassContext &) {
  bool changed = false;
  for (FunctionId function : module.globals())
    changed |= removeDeadNodes(module, function, true);
  FunctionId entry = module.main();
  if (!entry)
    return changed;
  changed |= module.removeGlobalsExcept(reachableFunctions(module, entry));
  return changed;
}

} // namespace bycc
