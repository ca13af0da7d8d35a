// Names at the two ends of a value, against the rules.

#include "EdgeRuleCheck.h"

#include "bycc/IR/Op.h"
#include "bycc/Partition/AnnotatedRegions.h"

#include <algorithm>

namespace bycc {

namespace {

bool isAmong(std::string_view name, const std::vector<std::string_view> &names) {
  return name == "*" || std::ranges::find(names, name) != names.end();
}

bool hasPair(const std::vector<std::pair<std::string, std::string>> &pairs,
             const std::vector<std::string_view> &from, const std::vector<std::string_view> &to) {
  return std::ranges::any_of(pairs, [&](const auto &pair) {
    return isAmong(pair.first, from) && isAmong(pair.second, to);
  });
}

std::string_view compositeName(const Module &module, FunctionId function) {
  return module.functionAttr(function, "Composite")->asString();
}

} // namespace

bool EdgeRuleCheck::mayPass(NodeId maker, NodeId user, uint32_t operand) const {
  Names from;
  collectMakerNames(maker, from);
  std::vector<Names> to;
  collectUserNames(user, operand, {}, to);
  return std::ranges::all_of(to, [&](const Names &names) { return isAllowed(from, names); });
}

bool EdgeRuleCheck::isAllowed(const Names &from, const Names &to) const {
  return !hasPair(rules_.denied, from, to) &&
         (rules_.allowed.empty() || hasPair(rules_.allowed, from, to));
}

void EdgeRuleCheck::collectMakerNames(NodeId maker, Names &names) const {
  while (std::optional<FunctionId> composite = compositeOf(module_, maker)) {
    names.push_back(compositeName(module_, *composite));
    maker = module_.block(module_.function(*composite).body).result;
  }
  if (module_.node(maker).kind == NodeKind::CallOp)
    names.push_back(opInfo(module_.node(maker).op).name);
}

void EdgeRuleCheck::collectUserNames(NodeId user, uint32_t operand, Names outer,
                                     std::vector<Names> &lists) const {
  std::optional<FunctionId> composite = compositeOf(module_, user);
  if (!composite) {
    outer.push_back(opInfo(module_.node(user).op).name);
    lists.push_back(std::move(outer));
    return;
  }
  outer.push_back(compositeName(module_, *composite));
  const Function &function = module_.function(*composite);
  NodeId param = function.params[operand - 1];
  std::vector<TensorRef> tensors;
  for (NodeId node : module_.block(function.body).nodes) {
    if (module_.node(node).kind != NodeKind::CallOp && !compositeOf(module_, node))
      continue;
    std::span<const NodeId> operands = module_.operands(node);
    for (uint32_t i = 0; i < operands.size(); ++i) {
      tensors.clear();
      if (module_.node(operands[i]).kind != NodeKind::Function)
        resolveTensors(module_, operands[i], tensors);
      if (std::ranges::find(tensors, param, &TensorRef::base) != tensors.end())
        collectUserNames(node, i, outer, lists);
    }
  }
}

} // namespace bycc
