// Infers every type again. Passes keep types up to date on their own; this is
// for programs whose types were never inferred, and for checking that claim.

#include "bycc/IR/Infer.h"
#include "bycc/Transforms/Passes.h"

#include <vector>

namespace bycc {

Expected<bool> inferType(Module &module, PassContext &) {
  std::vector<TypeId> before;
  before.reserve(module.numNodes());
  for (uint32_t i = 0; i < module.numNodes(); ++i)
    before.push_back(module.type(NodeId(i)));
  BYCC_TRY(inferTypes(module));
  for (uint32_t i = 0; i < before.size(); ++i)
    if (module.type(NodeId(i)) != before[i])
      return true;
  return false;
}

} // namespace bycc
