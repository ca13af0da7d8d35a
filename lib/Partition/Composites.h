// Composites as calls in host code: looking into them, and taking them apart.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Target/PassContext.h"
#include "bycc/Target/Vendor.h"

#include <vector>

namespace bycc {

// Visits the operator calls that a node stands for: itself, or what the
// composite that it calls is made of (composites in it as well).
template <typename Visit> void forEachOperator(const Module &module, NodeId node, Visit &&visit) {
  if (module.node(node).kind == NodeKind::CallOp) {
    visit(node);
  } else if (std::optional<FunctionId> composite = compositeOf(module, node)) {
    for (NodeId inner : module.block(module.function(*composite).body).nodes)
      forEachOperator(module, inner, visit);
  }
}

// The operator that gives a unit's result, composites looked through.
NodeId rootOperator(const Module &module, NodeId unit);

// Puts the operators of composites back in the place of their calls, all of which
// stand in `block`: a composite is a vendor's unit and of no use on the host. One
// whose function has other callers stays. `users` are those of the module before.
void dissolveComposites(Module &module, BlockId block, const std::vector<NodeId> &calls,
                        const Users &users, PassContext &context);

} // namespace bycc
