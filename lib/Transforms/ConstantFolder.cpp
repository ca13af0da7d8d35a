// See ConstantFolder.h.
#include "ConstantFolder.h"

#include "ConstantView.h"
#include "SimplifyRules.h"
#include "bycc/Eval/Eval.h"

#include <algorithm>
#include <set>

namespace bycc {
namespace {

constexpr double maxFlops = 2e8;
constexpr int64_t maxCopies = 4; // of what the module came with

} // namespace

ConstantFolder::ConstantFolder(Module &module, int64_t maxBytes)
    : module_(module), maxBytes_(maxBytes), users_(module) {
  // Views of the same bytes count once.
  int64_t bytes = 0;
  std::set<const uint8_t *> seen;
  for (const Constant &constant : module.constants)
    if (!constant.storage || seen.insert(constant.data()).second)
      bytes += static_cast<int64_t>(constant.bytes);
  maxFolded_ = 2 * maxBytes + maxCopies * std::max(bytes - module.foldedBytes, int64_t{0});
}

Expected<NodeId> ConstantFolder::visit(NodeId node, Builder &builder) {
  switch (module_.node(node).kind) {
  case NodeKind::CallOp:
    return foldCall(node, builder);
  case NodeKind::Project:
    return foldProject(node);
  default:
    return node;
  }
}

NodeId ConstantFolder::foldProject(NodeId node) {
  NodeId tuple = module_.operands(node)[0];
  if (module_.node(tuple).kind != NodeKind::Tuple)
    return node;
  NodeId field = module_.operands(tuple)[module_.node(node).payload];
  if (!module_.isConstant(field))
    return node;
  readers_.erase(field); // it has those of the projection, too
  return field;
}

Expected<NodeId> ConstantFolder::foldCall(NodeId call, Builder &builder) {
  if (NodeId known = shapeQuestion(call); known != call)
    return known;
  if (isView(module_, call) && module_.isConstant(module_.operands(call)[0]))
    return view(call);
  if (!isWorthFolding(call))
    return call;
  std::vector<Constant> inputs;
  for (NodeId operand : module_.operands(call))
    appendConstants(operand, inputs);
  NodeId result = replace(call, BYCC_TRY(evaluateCall(module_, call, inputs)), builder);
  inputs.clear();
  for (NodeId operand : module_.operands(call))
    dropReader(operand);
  return result;
}

NodeId ConstantFolder::view(NodeId call) {
  NodeId source = module_.operands(call)[0];
  NodeId result = reshapeConstant(module_, source, module_.types.shape(module_.type(call)));
  if (result == source) {
    readers_.erase(source); // it has those of the call, too
    return result;
  }
  readers_[result] = {users_.count(call), true};
  dropReader(source);
  return result;
}

// A call that reads a constant made here has become one itself.

void ConstantFolder::dropReader(NodeId constant) {
  auto at = readers_.find(constant);
  if (at == readers_.end() || --at->second.left > 0)
    return;
  Constant &unused = module_.constants[module_.node(constant).payload];
  unused.storage = nullptr;
  if (at->second.isView)
    unused.bytes = 0; // they count once
  readers_.erase(at);
}

// shape_of and ndarray_size ask about the type only.

NodeId ConstantFolder::shapeQuestion(NodeId call) {
  bool isShape = module_.isOp(call, ops::shape_of);
  if (!isShape && !module_.isOp(call, ops::ndarray_size))
    return call;
  TypeId input = module_.type(module_.operands(call)[0]);
  DType dtype = module_.types.dtype(module_.type(call));
  auto count = module_.types.isStatic(input) ? module_.types.numElements(input) : std::nullopt;
  if (!count || (dtype != DType::Int32 && dtype != DType::Int64))
    return call;
  if (!isShape)
    return module_.addScalar(dtype, static_cast<double>(*count));
  std::vector<int64_t> dims;
  for (Dim dim : module_.types.shape(input))
    dims.push_back(dim.value());
  std::vector<int32_t> narrow(dims.begin(), dims.end());
  Dim rank(static_cast<int64_t>(dims.size()));
  return dtype == DType::Int64
             ? module_.addConstant(dtype, {&rank, 1}, dims.data(), dims.size() * 8)
             : module_.addConstant(dtype, {&rank, 1}, narrow.data(), narrow.size() * 4);
}

// A constant, or a tuple of constants (not of tuples).

bool ConstantFolder::isConstantValue(NodeId node) const {
  if (module_.node(node).kind != NodeKind::Tuple)
    return module_.isConstant(node);
  return std::ranges::all_of(module_.operands(node),
                             [&](NodeId field) { return module_.isConstant(field); });
}

void ConstantFolder::appendConstants(NodeId node, std::vector<Constant> &result) const {
  if (module_.isConstant(node))
    return result.push_back(module_.constant(node));
  for (NodeId field : module_.operands(node))
    result.push_back(module_.constant(field));
}

int64_t ConstantFolder::totalBytes(NodeId node) const {
  int64_t total = 0;
  for (TypeId tensor : module_.types.flatten(module_.type(node)))
    if (__builtin_add_overflow(total, module_.types.sizeBytes(tensor).value_or(INT64_MAX), &total))
      return INT64_MAX;
  return total;
}

bool ConstantFolder::isWorthFolding(NodeId call) const {
  const OpInfo &info = opInfo(module_.node(call).op);
  if (info.has(OpTrait::Annotation) || !hasDefinition(module_.node(call).op) ||
      !module_.types.isStatic(module_.type(call)))
    return false;
  std::vector<Constant> inputs;
  for (NodeId operand : module_.operands(call)) {
    if (!isConstantValue(operand) || !module_.types.placeText(module_.type(operand)).empty())
      return false;
    appendConstants(operand, inputs);
  }
  int64_t inputBytes = 0;
  std::set<const uint8_t *> seen; // an input that is used twice is there once
  for (const Constant &input : inputs)
    if (seen.insert(input.data()).second)
      inputBytes += static_cast<int64_t>(input.bytes);
  int64_t outputBytes = totalBytes(call);
  return outputBytes <= maxBytes_ + inputBytes && outputBytes <= maxFolded_ - module_.foldedBytes &&
         info.flops(module_, call) <= maxFlops;
}

NodeId ConstantFolder::replace(NodeId call, std::vector<Constant> results, Builder &builder) {
  SourceId source = module_.node(call).source;
  std::vector<NodeId> nodes;
  for (Constant &result : results) {
    module_.foldedBytes += static_cast<int64_t>(result.bytes);
    nodes.push_back(module_.addConstant(std::move(result), source));
  }
  if (module_.types.isTuple(module_.type(call)))
    return builder.tuple(nodes);
  readers_[nodes.at(0)] = {users_.count(call), false};
  return nodes[0];
}

} // namespace bycc
