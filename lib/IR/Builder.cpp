// Node creation with immediate type inference.

#include "bycc/IR/Builder.h"

namespace bycc {

Expected<NodeId> Builder::finish(NodeId node) {
  BYCC_TRY(inferNode(module_, node));
  (list_ ? *list_ : module_.block(block_).nodes).push_back(node);
  return node;
}

Expected<NodeId> Builder::call(OpId op, std::span<const NodeId> operands, AttrDict attrs) {
  AttrDict checked = BYCC_TRY(checkAttrs(op, std::move(attrs), module_.source(source_)));
  return callWithAttrs(op, operands, module_.attributes.intern(std::move(checked)));
}

Expected<NodeId> Builder::callWithAttrs(OpId op, std::span<const NodeId> operands, AttrsId attrs) {
  Node node;
  node.kind = NodeKind::CallOp;
  node.op = op;
  node.attrs = attrs;
  node.source = source_;
  return finish(module_.addNode(node, operands));
}

Expected<NodeId> Builder::callFunction(NodeId callee, std::span<const NodeId> arguments) {
  Node node;
  node.kind = NodeKind::Call;
  node.source = source_;
  std::vector<NodeId> operands{callee};
  operands.insert(operands.end(), arguments.begin(), arguments.end());
  return finish(module_.addNode(node, operands));
}

NodeId Builder::tuple(std::span<const NodeId> fields) {
  Node node;
  node.kind = NodeKind::Tuple;
  node.source = source_;
  auto result = finish(module_.addNode(node, fields));
  BYCC_ASSERT(result, "a tuple of typed values has a type");
  return *result;
}

Expected<NodeId> Builder::limitedTuple(std::span<const NodeId> fields) {
  constexpr size_t maxTensors = 1 << 17; // beside what the fields are themselves
  size_t count = 0;
  for (NodeId field : fields)
    count += module_.types.numLeaves(module_.type(field));
  if (count > maxTensors && count > 2 * fields.size())
    return error(Status::Limit, module_.source(source_))
           << "a tuple of tuples with " << count << " tensors, the limit is " << maxTensors;
  return tuple(fields);
}

Expected<NodeId> Builder::project(NodeId tuple, uint32_t index) {
  Node node;
  node.kind = NodeKind::Project;
  node.payload = index;
  node.source = source_;
  return finish(module_.addNode(node, {&tuple, 1}));
}

Expected<NodeId> Builder::ifNode(NodeId condition, BlockId thenBlock) {
  Node node;
  node.kind = NodeKind::If;
  node.payload = thenBlock.index;
  node.source = source_;
  return finish(module_.addNode(node, {&condition, 1}));
}

NodeId Builder::localFunction(FunctionId function) {
  Node node;
  node.kind = NodeKind::Function;
  node.payload = function.index;
  node.source = source_;
  auto result = finish(module_.addNode(node));
  BYCC_ASSERT(result, "a function with an inferred body has a type");
  return *result;
}

} // namespace bycc
