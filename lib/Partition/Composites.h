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

// The vendor of the composite that a node calls; invalid when it calls none.
StringId ownerOf(Module &module, NodeId unit);

// Could its operators take the place of the call? Not when others call its function.
bool canTakeApart(const Module &module, const Users &users, NodeId call);

// The ids that a unit's operators have once it is taken apart.
std::vector<NodeId> operatorsApart(const Module &module, NodeId unit);

// While it lives, a composite's operators use the arguments of its call directly, as
// they will once it is taken apart: vendors look at what an operand is.
class ApartView {
public:
  ApartView(Module &module, NodeId call) : module_(module) { open(call); }
  ~ApartView();
  ApartView(const ApartView &) = delete;
  ApartView &operator=(const ApartView &) = delete;

private:
  void open(NodeId call);
  Module &module_;
  std::vector<std::pair<NodeId, std::vector<NodeId>>> operands_; // as they were
};

// Puts the operators of composites back in the place of their calls, all of which
// stand in `block`: a composite is a unit of its vendor and of no use to others. The
// operators get the annotation that the call has. One that cannot be taken apart
// stays. `users` are those of the module before.
void dissolveComposites(Module &module, BlockId block, const std::vector<NodeId> &calls,
                        const Users &users, PassContext &context);

} // namespace bycc
