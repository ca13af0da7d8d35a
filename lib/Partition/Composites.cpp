// The reverse of what merge-composite does: the call's id becomes the root
// operator again, so that its users need no change; inner nodes keep their ids.

#include "Composites.h"

#include "bycc/Target/Placement.h"

#include <algorithm>
#include <unordered_set>

namespace bycc {

namespace {

bool canDissolve(const Module &module, const Users &users, NodeId call) {
  NodeId callee = module.operands(call)[0];
  const Function &function = module.function(module.functionOf(callee));
  const std::vector<NodeId> &nodes = module.block(function.body).nodes;
  return users.count(callee) == 1 && !nodes.empty() &&
         module.block(function.body).result == nodes.back();
}

// The nodes that stand for the call now, in order.
std::vector<NodeId> dissolve(Module &module, BlockId block, NodeId call) {
  FunctionId id = module.functionOf(module.operands(call)[0]);
  std::vector<NodeId> arguments(module.operands(call).begin() + 1, module.operands(call).end());
  const std::vector<NodeId> &params = module.function(id).params;
  std::vector<NodeId> nodes = module.block(module.function(id).body).nodes;
  for (NodeId node : nodes) {
    for (NodeId &operand : module.mutableOperands(node))
      if (auto param = std::ranges::find(params, operand); param != params.end())
        operand = arguments[static_cast<size_t>(param - params.begin())];
    if (module.node(node).kind == NodeKind::Function)
      module.block(module.function(module.functionOf(node)).body).parent = block;
  }
  NodeId root = nodes.back();
  std::vector<NodeId> operands(module.operands(root).begin(), module.operands(root).end());
  Node content = module.node(root);
  content.isLet = module.node(call).isLet;
  module.node(call) = content;
  module.node(call).operandCount = 0; // its own from here on
  module.setOperands(call, operands);
  nodes.back() = call;
  return nodes;
}

} // namespace

void dissolveComposites(Module &module, BlockId block, const std::vector<NodeId> &calls,
                        const Users &users, PassContext &context) {
  std::unordered_set<NodeId> gone, chosen;
  for (NodeId call : calls)
    if (canDissolve(module, users, call)) {
      chosen.insert(call);
      gone.insert(module.operands(call)[0]);
    }
  std::vector<NodeId> old = std::move(module.block(block).nodes), fresh;
  for (NodeId node : old) {
    if (gone.contains(node))
      continue;
    if (!chosen.contains(node)) {
      fresh.push_back(node);
      continue;
    }
    NodeId root = module.block(module.function(*compositeOf(module, node)).body).nodes.back();
    std::vector<NodeId> nodes = dissolve(module, block, node);
    fresh.insert(fresh.end(), nodes.begin(), nodes.end());
    if (context.refusals)
      context.refusals->move(root, node);
    if (context.placement)
      context.placement->follow(root, node);
  }
  module.block(block).nodes = std::move(fresh);
}

} // namespace bycc
