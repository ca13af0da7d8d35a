// Drops what computes nothing and merges chains. One forward walk: when a node
// is reached its operands are simple already, so each rule looks one step back.
// A rule may make a call that another rule applies to; these are tried again a
// bounded number of times. The rules are in Simplify*.cpp.

#include "Scopes.h"
#include "SimplifyRules.h"
#include "bycc/Transforms/Passes.h"

namespace bycc {
namespace {

// Longest chain of rules on one node; each shortens the program, so few apply.
constexpr int maxRounds = 8;

Expected<NodeId> simplifyCall(Module &module, NodeId call, Builder &builder) {
  for (auto *rule :
       {simplifyCast, simplifyArithmetic, simplifyMovement, simplifyConvolution, sinkView})
    if (NodeId to = BYCC_TRY(rule(module, call, builder)); to != call)
      return to;
  return call;
}

// (t.0, t.1) => t when t has exactly these fields
NodeId simplifyTuple(const Module &module, NodeId node) {
  std::span<const NodeId> fields = module.operands(node);
  if (fields.empty() || module.node(fields[0]).kind != NodeKind::Project)
    return node;
  NodeId tuple = module.operands(fields[0])[0];
  if (module.types.fields(module.type(tuple)).size() != fields.size())
    return node;
  for (uint32_t i = 0; i < fields.size(); ++i)
    if (module.node(fields[i]).kind != NodeKind::Project ||
        module.operands(fields[i])[0] != tuple || module.node(fields[i]).payload != i)
      return node;
  return tuple;
}

Expected<NodeId> simplify(Module &module, NodeId node, Builder &builder) {
  for (int round = 0; round < maxRounds; ++round) {
    NodeId to = node;
    switch (module.node(node).kind) {
    case NodeKind::CallOp:
      to = BYCC_TRY(simplifyCall(module, node, builder));
      break;
    case NodeKind::Project:
      to = simplifyProject(module, node);
      break;
    case NodeKind::Tuple:
      to = simplifyTuple(module, node);
      break;
    default:
      break;
    }
    if (to == node)
      break;
    node = to;
  }
  return node;
}

} // namespace

NodeId simplifyProject(const Module &module, NodeId node) {
  if (module.node(node).kind != NodeKind::Project)
    return node;
  NodeId tuple = module.operands(node)[0];
  return module.node(tuple).kind == NodeKind::Tuple
             ? module.operands(tuple)[module.node(node).payload]
             : node;
}

Expected<bool> simplifyExpr(Module &module, PassContext &) {
  return rewriteOpenBlocks(
      module, [&](NodeId node, Builder &builder) { return simplify(module, node, builder); });
}

} // namespace bycc
