// Drops what no result needs: nodes, lets (every operator is pure) and global
// functions that @main does not reach. A module without @main keeps all of its
// functions, since each may be an entry.

#include "bycc/IR/Functions.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Transforms/Passes.h"

namespace bycc {

Expected<bool> eliminateDeadCode(Module &module, PassContext &) {
  bool changed = false;
  for (FunctionId function : module.globals())
    changed |= removeDeadNodes(module, function, true);
  FunctionId entry = module.main();
  if (!entry)
    return changed;
  changed |= module.removeGlobalsExcept(reachableFunctions(module, {entry}));
  return changed;
}

} // namespace bycc
