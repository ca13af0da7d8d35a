// Names of a match's parts as text that stays true when the nodes move into a
// composite's body: everything is counted within the composite.

#include "bycc/Target/RegionView.h"

#include <algorithm>

namespace bycc {

namespace {

class RoleWriter {
public:
  RoleWriter(const Module &module, const Match &match) : module_(module), match_(match) {
    for (NodeId node : match.nodes)
      if (NodeKind kind = module.node(node).kind;
          kind == NodeKind::CallOp || kind == NodeKind::Call)
        calls_.push_back(node);
  }

  // Nothing for what a vendor does not see: tuples, and constants that only they hold.
  std::optional<std::string> text(const MatchRole &role) const {
    if (auto leaf = std::ranges::find(match_.leaves, role.node); leaf != match_.leaves.end())
      return role.name + "=" +
             std::to_string(firstTensor(match_.leaves, leaf - match_.leaves.begin()));
    if (auto call = std::ranges::find(calls_, role.node); call != calls_.end())
      return "@" + role.name + "=" + std::to_string(call - calls_.begin());
    if (module_.isConstant(role.node))
      return constant(role);
    if (module_.node(role.node).kind == NodeKind::Project)
      return field(role);
    return std::nullopt;
  }

private:
  size_t numTensors(NodeId node) const { return module_.types.numLeaves(module_.type(node)); }

  template <typename Nodes> size_t firstTensor(const Nodes &nodes, ptrdiff_t index) const {
    size_t first = 0;
    for (ptrdiff_t i = 0; i < index; ++i)
      first += numTensors(nodes[static_cast<size_t>(i)]);
    return first;
  }

  std::span<const NodeId> arguments(NodeId call) const {
    std::span<const NodeId> operands = module_.operands(call);
    return module_.node(call).kind == NodeKind::Call ? operands.subspan(1) : operands;
  }

  // Position of the constant among the tensors of a value; a tuple is looked into.
  std::optional<size_t> tensorOf(NodeId constant, NodeId value) const {
    if (value == constant)
      return 0;
    if (module_.node(value).kind != NodeKind::Tuple)
      return std::nullopt;
    std::span<const NodeId> fields = module_.operands(value);
    for (size_t i = 0; i < fields.size(); ++i)
      if (auto inner = tensorOf(constant, fields[i]))
        return firstTensor(fields, static_cast<ptrdiff_t>(i)) + *inner;
    return std::nullopt;
  }

  std::optional<std::string> constant(const MatchRole &role) const {
    for (size_t call = 0; call < calls_.size(); ++call) {
      std::span<const NodeId> args = arguments(calls_[call]);
      for (size_t i = 0; i < args.size(); ++i)
        if (auto tensor = tensorOf(role.node, args[i]))
          return "#" + role.name + "=" + std::to_string(call) + "." +
                 std::to_string(firstTensor(args, static_cast<ptrdiff_t>(i)) + *tensor);
    }
    return std::nullopt;
  }

  std::optional<std::string> field(const MatchRole &role) const {
    NodeId tuple = module_.operands(role.node)[0];
    auto call = std::ranges::find(calls_, tuple);
    if (call == calls_.end() || !module_.types.isTensor(module_.type(role.node)))
      return std::nullopt;
    size_t first =
        module_.types.leavesOf(module_.type(tuple), module_.node(role.node).payload).first;
    return "%" + role.name + "=" + std::to_string(call - calls_.begin()) + "." +
           std::to_string(first);
  }

  const Module &module_;
  const Match &match_;
  std::vector<NodeId> calls_;
};

} // namespace

std::vector<std::string> rolesOf(const Module &module, const Match &match) {
  RoleWriter writer(module, match);
  std::vector<std::string> texts;
  for (const MatchRole &role : match.roles)
    if (auto text = writer.text(role))
      texts.push_back(std::move(*text));
  return texts;
}

} // namespace bycc
