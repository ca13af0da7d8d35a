// If. A condition that is known leaves one branch, in place; else both are converted, and have to
// give values of the same ranks. Exporters break that where a rank depends on an extent: torch
// writes x.squeeze(axis), which does nothing when there are more elements, as
//
//   If(Shape(x)[axis] == 1, then: Squeeze(x, axis), else: x)
//
// What follows is written for one of the two ranks. It is the squeezed one, that of the sample the
// model was exported with, and `squeeze` says so when the extent is another one at run time.
#include "OnnxConverters.h"

#include "bycc/IR/SymbolicValue.h"

#include <algorithm>
#include <array>
#include <set>

namespace bycc::onnx {
namespace {

Expected<const Graph *> branchOf(OpContext &op, std::string_view name) {
  const Attribute *branch = BYCC_TRY(op.attr(name, AttrKind::Graph));
  if (!branch)
    return op.error() << "attribute '" << name << "' is missing";
  if (branch->graph->outputs.size() != op.numOutputs())
    return op.error() << name << " has " << branch->graph->outputs.size()
                      << " outputs, the node has " << op.numOutputs();
  return branch->graph.get();
}

bool isCall(Module &module, NodeId node, std::initializer_list<OpId> ops) {
  return module.node(node).kind == NodeKind::CallOp &&
         std::ranges::find(ops, module.node(node).op) != ops.end();
}

// What a value is that only changed its dtype or got or lost axes of one element.
NodeId behindCasts(Module &module, NodeId node) {
  while (isCall(module, node, {ops::cast, ops::reshape, ops::squeeze, ops::expand_dims}))
    node = module.operands(node)[0];
  return node;
}

std::optional<int64_t> numberOf(OpContext &op, NodeId node) {
  auto value = symbolicValue(op.module(), node);
  return value && value->size() == 1 ? value->front().number : std::nullopt;
}

// Is it the extent of x on this axis?
bool isExtentOf(OpContext &op, NodeId node, NodeId x, int64_t axis) {
  Module &module = op.module();
  int64_t rank = op.rank(x);
  node = behindCasts(module, node);
  if (!isCall(module, node, {ops::take, ops::strided_slice}))
    return false;
  NodeId shape = behindCasts(module, module.operands(node)[0]);
  if (!module.isOp(shape, ops::shape_of) || module.operands(shape)[0] != x)
    return false;
  if (module.isOp(node, ops::take)) {
    std::optional<int64_t> index = numberOf(op, module.operands(node)[1]);
    return index && (*index < 0 ? *index + rank : *index) == axis;
  }
  const AttrValue *begin = module.attr(node, "begin");
  if (module.types.shape(module.type(node))[0] != Dim(1) || !begin->isList())
    return false;
  int64_t first = begin->asList()[0].asInt();
  return (first < 0 ? first + rank : first) == axis;
}

// Does the condition, or its contrary, say that x has one element on this axis?
bool saysOne(OpContext &op, NodeId condition, bool isContrary, NodeId x, int64_t axis) {
  Module &module = op.module();
  for (;;) {
    condition = behindCasts(module, condition);
    if (!module.isOp(condition, ops::logical_not))
      break;
    condition = module.operands(condition)[0];
    isContrary = !isContrary;
  }
  if (!module.isOp(condition, isContrary ? ops::not_equal : ops::equal))
    return false;
  std::array<NodeId, 2> sides{module.operands(condition)[0], module.operands(condition)[1]};
  for (size_t i : {0, 1})
    if (numberOf(op, sides[i]) == 1 && isExtentOf(op, sides[1 - i], x, axis))
      return true;
  return false;
}

// squeeze(x, axis) where one branch is that, the other one x, and the condition that there is one
// element to be taken away.
std::optional<NodeId> squeezedIfOne(OpContext &op, NodeId condition, NodeId thenResult,
                                    NodeId elseResult) {
  Module &module = op.module();
  for (bool isContrary : {false, true}) {
    NodeId squeezed = isContrary ? elseResult : thenResult,
           x = isContrary ? thenResult : elseResult;
    if (!module.isOp(squeezed, ops::squeeze) || module.operands(squeezed)[0] != x)
      continue;
    const AttrValue *axes = module.attr(squeezed, "axis");
    if (!axes->isList() || axes->asList().size() != 1)
      continue;
    int64_t axis = axes->asList()[0].asInt();
    if (saysOne(op, condition, isContrary, x, axis < 0 ? axis + op.rank(x) : axis))
      return squeezed;
  }
  return std::nullopt;
}

// Extents that a value is worked out from.
std::vector<Dim> extentsBehind(Module &module, NodeId value) {
  std::vector<Dim> dims;
  std::vector<NodeId> left{value};
  std::set<NodeId> seen;
  constexpr size_t most = 256; // is a long way for an advice
  while (!left.empty() && seen.size() < most) {
    NodeId node = left.back();
    left.pop_back();
    if (!seen.insert(node).second)
      continue;
    if (isCall(module, node, {ops::shape_of, ops::ndarray_size})) {
      std::span<const Dim> shape = module.types.shape(module.type(module.operands(node)[0]));
      dims.insert(dims.end(), shape.begin(), shape.end());
    } else {
      left.insert(left.end(), module.operands(node).begin(), module.operands(node).end());
    }
  }
  return dims;
}

bool haveOneRank(TypeTable &types, TypeId a, TypeId b) {
  std::vector<TypeId> left = types.flatten(a), right = types.flatten(b);
  return std::ranges::equal(left, right, [&](TypeId one, TypeId other) {
    return types.shape(one).size() == types.shape(other).size();
  });
}

Error ranksDiffer(OpContext &op, NodeId condition, TypeId a, TypeId b) {
  ErrorBuilder problem = op.error(Status::Unsup)
                         << "which branch is taken must be known when the model is read, as they "
                            "differ in rank: "
                         << op.types().str(a) << " and " << op.types().str(b);
  std::string advice = op.importer().adviceToBind(extentsBehind(op.module(), condition));
  return advice.empty() ? std::move(problem) : std::move(problem).note(advice);
}

} // namespace

Expected<> convertIf(OpContext &op) {
  const Graph *thenGraph = BYCC_TRY(branchOf(op, "then_branch"));
  const Graph *elseGraph = BYCC_TRY(branchOf(op, "else_branch"));
  Module &module = op.module();
  SourceLocation location = module.source(op.sourceId());
  const IntTensor *ints = op.knownInts(0);
  std::optional<int64_t> known =
      ints && ints->values.size() == 1 ? ints->values[0] : numberOf(op, op.input(0));
  if (known) {
    const Graph &taken = *known ? *thenGraph : *elseGraph;
    op.outputs() = BYCC_TRY(op.importer().convertInline(taken, location));
    return {};
  }
  NodeId condition = op.input(0);
  if (op.rank(condition) != 0)
    condition = BYCC_TRY(op.reshape(condition, {}));
  BlockId thenBlock = module.addIfBlocks(op.importer().builder().block()),
          elseBlock(thenBlock.index + 1);
  BYCC_TRY(op.importer().convertBranch(*thenGraph, thenBlock, location));
  BYCC_TRY(op.importer().convertBranch(*elseGraph, elseBlock, location));
  op.importer().builder().setSource(op.sourceId());
  NodeId thenResult = module.block(thenBlock).result, elseResult = module.block(elseBlock).result;
  TypeId thenType = module.type(thenResult), elseType = module.type(elseResult);
  if (!haveOneRank(module.types, thenType, elseType)) {
    std::optional<NodeId> squeezed = squeezedIfOne(op, condition, thenResult, elseResult);
    if (!squeezed)
      return ranksDiffer(op, condition, thenType, elseType);
    op.setOutput(0, BYCC_TRY(op.call("squeeze", {module.operands(*squeezed)[0]},
                                     {{"axis", *module.attr(*squeezed, "axis")}})));
    return {};
  }
  NodeId node = BYCC_TRY(op.importer().builder().ifNode(condition, thenBlock));
  if (op.numOutputs() == 1) {
    op.setOutput(0, node);
    return {};
  }
  for (size_t i = 0; i < op.numOutputs(); ++i)
    op.setOutput(i, BYCC_TRY(op.project(node, static_cast<uint32_t>(i))));
  return {};
}

} // namespace bycc::onnx
