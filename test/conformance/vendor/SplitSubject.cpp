// See SplitSubject.h. Calls are made again in one module or the other; what a half does not have
// becomes its parameter when it is first read.
#include "SplitSubject.h"

#include "bycc/IR/Builder.h"

#include <algorithm>

namespace bycc::conformance {

namespace {

std::vector<NodeId> callsOf(const Subject &subject) {
  const Module &module = subject.module;
  std::vector<NodeId> calls;
  for (NodeId node : module.block(module.function(subject.function).body).nodes)
    if (module.node(node).kind == NodeKind::CallOp)
      calls.push_back(node);
  return calls;
}

std::vector<NodeId> resultsOf(const Subject &subject) {
  const Module &module = subject.module;
  NodeId result = module.block(module.function(subject.function).body).result;
  if (module.node(result).kind != NodeKind::Tuple)
    return {result};
  std::span<const NodeId> fields = module.operands(result);
  return {fields.begin(), fields.end()};
}

// One half in the making.
class Half {
public:
  Half(const Subject &whole, Subject &made) : whole_(whole), made_(made) {}

  bool add(NodeId call) {
    const Module &from = whole_.module;
    std::vector<NodeId> operands;
    for (NodeId operand : from.operands(call))
      operands.push_back(copyOf(operand));
    Expected<NodeId> copy =
        Builder(made_.module, made_.module.function(made_.function).body)
            .call(from.node(call).op, operands, from.attributes.dict(from.node(call).attrs));
    if (copy)
      copies_[call] = *copy;
    return bool(copy);
  }
  bool has(NodeId node) const { return copies_.contains(node); }
  NodeId at(NodeId node) const { return copies_.at(node); }
  std::vector<NodeId> params; // of the whole, in the order of the half's

private:
  TypeId typeOf(NodeId node) {
    const Module &from = whole_.module;
    std::span<const Dim> shape = from.types.shape(from.type(node));
    return made_.module.types.tensor(from.types.dtype(from.type(node)),
                                     std::vector<Dim>(shape.begin(), shape.end()));
  }

  NodeId copyOf(NodeId node) {
    if (auto known = copies_.find(node); known != copies_.end())
      return known->second;
    if (whole_.module.isConstant(node)) {
      const Constant &constant = whole_.module.constant(node);
      std::span<const Dim> shape = whole_.module.types.shape(constant.type);
      return copies_[node] = made_.module.addConstant(whole_.module.types.dtype(constant.type),
                                                      shape, constant.data(), constant.bytes);
    }
    params.push_back(node);
    return copies_[node] = made_.param(typeOf(node));
  }

  const Subject &whole_;
  Subject &made_;
  std::map<NodeId, NodeId> copies_;
};

} // namespace

size_t numCalls(const Subject &subject) { return callsOf(subject).size(); }

std::optional<SplitSubject> splitSubject(const Subject &whole, size_t numFirst) {
  std::vector<NodeId> calls = callsOf(whole), results = resultsOf(whole);
  const std::vector<NodeId> &params = whole.module.function(whole.function).params;
  if (numFirst == 0 || numFirst >= calls.size())
    return std::nullopt;
  SplitSubject split;
  Half first(whole, split.first), second(whole, split.second);
  for (size_t i = 0; i < calls.size(); ++i)
    if (!(i < numFirst ? first : second).add(calls[i]))
      return std::nullopt;
  auto isIn = [](const std::vector<NodeId> &list, NodeId node) {
    return std::ranges::find(list, node) != list.end();
  };
  std::vector<NodeId> outputs, firstResults, secondOutputs, secondResults;
  for (size_t i = 0; i < numFirst; ++i)
    if (isIn(second.params, calls[i]) || isIn(results, calls[i])) {
      outputs.push_back(calls[i]);
      firstResults.push_back(first.at(calls[i]));
      split.onlyPasses.push_back(!isIn(results, calls[i]));
    }
  for (size_t i = numFirst; i < calls.size(); ++i)
    if (isIn(results, calls[i])) {
      secondOutputs.push_back(calls[i]);
      secondResults.push_back(second.at(calls[i]));
    }
  auto indexIn = [](const std::vector<NodeId> &list, NodeId node) {
    return static_cast<size_t>(std::ranges::find(list, node) - list.begin());
  };
  auto sourceOf = [&](NodeId node) -> TensorSource {
    if (isIn(params, node))
      return {TensorSource::Input, indexIn(params, node)};
    if (isIn(outputs, node))
      return {TensorSource::First, indexIn(outputs, node)};
    return {TensorSource::Second, indexIn(secondOutputs, node)};
  };
  bool passes =
      std::ranges::any_of(second.params, [&](NodeId node) { return isIn(outputs, node); });
  if (!passes || secondOutputs.empty())
    return std::nullopt;
  for (NodeId node : first.params)
    split.firstInputs.push_back(sourceOf(node));
  for (NodeId node : second.params)
    split.secondInputs.push_back(sourceOf(node));
  for (NodeId node : results)
    split.results.push_back(sourceOf(node));
  split.first.setResults(firstResults);
  split.second.setResults(secondResults);
  return split;
}

} // namespace bycc::conformance
