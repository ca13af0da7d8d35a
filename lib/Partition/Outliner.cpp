#include "Outliner.h"

#include "TupleWiring.h"

#include "bycc/IR/Functions.h"

#include <string>

namespace bycc {

std::vector<TensorRef> Outliner::run() {
  const Region &region = regions_[region_];
  for (NodeId node : region.nodes)
    addCall(node);
  std::vector<NodeId> results;
  for (const TensorRef &tensor : region.outputs)
    results.push_back(innerTensor(tensor));
  NodeId result = results.size() == 1
                      ? results[0]
                      : makeTuple(module_, results, module_.node(region.nodes[0]).source, list_);
  module_.function(function_).params = params_;
  module_.block(body_).nodes = std::move(list_);
  module_.block(body_).result = result;
  return std::move(arguments_);
}

void Outliner::addCall(NodeId node) {
  std::vector<NodeId> operands(module_.operands(node).begin(), module_.operands(node).end());
  for (NodeId &operand : operands)
    operand =
        module_.node(operand).kind == NodeKind::Function ? adopt(operand) : innerValue(operand);
  module_.setOperands(node, operands);
  module_.node(node).isLet = false;
  list_.push_back(node);
}

// A composite's function moves along; one that others call too is copied.
NodeId Outliner::adopt(NodeId functionNode) {
  if (const NodeId *found = values_.find(functionNode))
    return *found;
  NodeId mine = functionNode;
  if (usesOfFunction_[functionNode.index] > 1)
    mine = copyFunction(functionNode);
  FunctionId function = module_.functionOf(mine);
  module_.block(module_.function(function).body).parent = body_;
  module_.node(mine).isLet = false;
  list_.push_back(mine);
  return values_[functionNode] = mine;
}

NodeId Outliner::copyFunction(NodeId functionNode) {
  FunctionId to = module_.addFunction({}, body_);
  copyFunctionInto(module_, module_.functionOf(functionNode), to);
  Node node = module_.node(functionNode);
  node.payload = to.index;
  return module_.addNode(node);
}

NodeId Outliner::innerValue(NodeId node) {
  if (isInside(node))
    return node;
  if (const NodeId *found = values_.find(node))
    return *found;
  NodeId value = makeInnerValue(node);
  return values_[node] = value;
}

NodeId Outliner::makeInnerValue(NodeId node) {
  std::vector<TensorRef> tensors;
  resolveTensors(module_, node, tensors);
  size_t at = 0;
  return assemble(module_, module_.type(node), module_.node(node).source, list_,
                  [&] { return innerTensor(tensors[at++]); });
}

NodeId Outliner::innerTensor(TensorRef tensor) {
  if (module_.isConstant(tensor.base))
    tensor.base = constants_.unique(tensor.base);
  if (const NodeId *found = tensors_.find(tensor))
    return *found;
  NodeId value;
  if (isInside(tensor.base))
    value = projectTo(module_, tensor.base, tensor.index, list_);
  else if (module_.isConstant(tensor.base) && bindConstants_)
    value = tensor.base;
  else
    value = addParam(tensor);
  return tensors_[tensor] = value;
}

NodeId Outliner::addParam(const TensorRef &tensor) {
  TypeId type = module_.types.leaf(module_.type(tensor.base), tensor.index);
  NodeId param = module_.addParam("i" + std::to_string(params_.size()), type,
                                  module_.node(tensor.base).source);
  params_.push_back(param);
  arguments_.push_back(tensor);
  return param;
}

} // namespace bycc
