// Does a call meet a condition? Arguments that are not there, not tensors, or
// functions are a reason, never a fault.

#include "bycc/Pattern/Condition.h"

#include "bycc/IR/Op.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {

namespace {

WhyNot prefixed(const std::string &what, const WhyNot &why) {
  return why ? WhyNot(what + " " + *why) : std::nullopt;
}

WhyNot whyNotMadeBy(const std::vector<OpId> &wanted, const Module &module, NodeId node) {
  // A field of a result is made by the operator.
  while (module.node(node).kind == NodeKind::Project)
    node = module.operands(node)[0];
  const Node &n = module.node(node);
  if (n.kind == NodeKind::CallOp && std::ranges::find(wanted, n.op) != wanted.end())
    return std::nullopt;
  std::vector<std::string> names;
  for (OpId op : wanted)
    names.emplace_back(opInfo(op).name);
  std::string found = n.kind == NodeKind::CallOp ? "by " + std::string(opInfo(n.op).name)
                                                 : std::string("by no operator");
  return "is made " + found + ", it takes one by " + join(names, " or ");
}

WhyNot whyNotElements(const ValueCondition &condition, const Module &module, TypeId type) {
  if (!condition.minElements && !condition.maxElements)
    return std::nullopt;
  std::optional<int64_t> count =
      module.types.isTensor(type) ? module.types.numElements(type) : std::nullopt;
  if (!count)
    return "has no known number of elements";
  if (condition.maxElements && *count > *condition.maxElements)
    return "has " + std::to_string(*count) + " elements, it takes up to " +
           std::to_string(*condition.maxElements);
  if (condition.minElements && *count < *condition.minElements)
    return "has " + std::to_string(*count) + " elements, it takes " +
           std::to_string(*condition.minElements) + " or more";
  return std::nullopt;
}

WhyNot whyNotArgument(const ValueCondition &condition, const Module &module, NodeId node) {
  if (WhyNot why = whyNot(condition.type, module, module.type(node)))
    return why;
  if (condition.isConstant && *condition.isConstant != module.isConstant(node))
    return *condition.isConstant ? "is not a constant" : "is a constant";
  if (!condition.madeBy.empty())
    if (WhyNot why = whyNotMadeBy(condition.madeBy, module, node))
      return why;
  if (condition.value && !holds(*condition.value, module, node))
    return module.isConstant(node) ? "has other values" : "is not a constant";
  return whyNotElements(condition, module, module.type(node));
}

WhyNot whyNotArguments(const Condition &condition, const Module &module, NodeId call) {
  std::span<const NodeId> operands = module.operands(call);
  TypeTest dtypes;
  dtypes.dtypes = condition.dtypes;
  for (size_t i = 0; i < operands.size() && !condition.dtypes.empty(); ++i)
    if (WhyNot why = whyNot(dtypes, module, module.type(operands[i])))
      return prefixed("argument " + std::to_string(i), why);
  for (uint32_t index : condition.constArgs)
    if (index >= operands.size() || !module.isConstant(operands[index]))
      return "argument " + std::to_string(index) + " is not a constant";
  for (const auto &[index, wanted] : condition.args) {
    std::string what = "argument " + std::to_string(index);
    if (index >= operands.size())
      return what + " is not there, the call has " + std::to_string(operands.size());
    if (WhyNot why = prefixed(what, whyNotArgument(wanted, module, operands[index])))
      return why;
  }
  return std::nullopt;
}

WhyNot whyNotResults(const Condition &condition, const Module &module, NodeId call) {
  if (condition.results.empty())
    return std::nullopt;
  std::vector<TypeId> types = module.types.flatten(module.type(call));
  for (const auto &[index, wanted] : condition.results) {
    std::string what = "result " + std::to_string(index);
    if (index >= types.size())
      return what + " is not there, the call has " + std::to_string(types.size());
    if (WhyNot why = prefixed(what, whyNot(wanted.type, module, types[index])))
      return why;
    if (WhyNot why = prefixed(what, whyNotElements(wanted, module, types[index])))
      return why;
  }
  return std::nullopt;
}

WhyNot whyNotShapes(const Condition &condition, const Module &module, NodeId call) {
  std::span<const NodeId> operands = module.operands(call);
  if (condition.needsStaticShape) {
    for (size_t i = 0; i < operands.size(); ++i)
      if (!module.types.isStatic(module.type(operands[i])))
        return "argument " + std::to_string(i) + " is " +
               module.types.str(module.type(operands[i])) + ", it takes static shapes";
    if (!module.types.isStatic(module.type(call)))
      return "the result is " + module.types.str(module.type(call)) + ", it takes static shapes";
  }
  std::optional<uint32_t> first;
  for (uint32_t index : condition.equalShapes) {
    std::string what = "argument " + std::to_string(index);
    if (index >= operands.size())
      return what + " is not there, the call has " + std::to_string(operands.size());
    TypeId type = module.type(operands[index]);
    if (!module.types.isTensor(type))
      return what + " is no tensor";
    if (!first)
      first = index;
    TypeId other = module.type(operands[*first]);
    if (!std::ranges::equal(module.types.shape(other), module.types.shape(type)))
      return what + " is " + module.types.str(type) + ", argument " + std::to_string(*first) +
             " is " + module.types.str(other) + ", it takes equal shapes";
  }
  return std::nullopt;
}

WhyNot whyNotAny(const Condition &condition, const Module &module, NodeId call) {
  std::vector<std::string> reasons;
  for (const Condition &choice : condition.anyOf) {
    WhyNot why = whyNot(choice, module, call);
    if (!why)
      return std::nullopt;
    reasons.push_back(*why);
  }
  if (reasons.empty())
    return std::nullopt;
  return join(reasons, "; or ");
}

} // namespace

bool Condition::looksAtMakers() const {
  auto looks = [](const auto &arg) { return !arg.second.madeBy.empty(); };
  return std::ranges::any_of(args, looks) ||
         std::ranges::any_of(anyOf, [](const Condition &c) { return c.looksAtMakers(); });
}

bool Condition::namesLayout(uint32_t argument) const {
  auto names = [&](const auto &arg) {
    return arg.first == argument && !arg.second.type.layouts.empty();
  };
  return std::ranges::any_of(args, names) ||
         (!anyOf.empty() &&
          std::ranges::all_of(anyOf, [&](const Condition &c) { return c.namesLayout(argument); }));
}

WhyNot whyNot(const Condition &condition, const Module &module, NodeId call) {
  if (WhyNot why = whyNotArguments(condition, module, call))
    return why;
  for (const AttrTest &test : condition.attrs)
    if (WhyNot why = whyNot(test, module, call))
      return why;
  if (WhyNot why = whyNotResults(condition, module, call))
    return why;
  if (WhyNot why = whyNotShapes(condition, module, call))
    return why;
  return whyNotAny(condition, module, call);
}

} // namespace bycc
