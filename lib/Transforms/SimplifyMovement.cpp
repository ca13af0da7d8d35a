// Rules about calls that move or rename elements.
//
//   reshape(reshape(x, s), t)           => reshape(x, t)
//   reshape(x, shape of x)              => x
//   transpose(transpose(x, p), q)       => transpose(x, p[q])
//   transpose that moves only unit dims => reshape
//   concatenate of one, slices and broadcasts that take everything => x

#include "ConstantView.h"
#include "SimplifyRules.h"

#include <algorithm>
#include <numeric>

namespace bycc {
namespace {

bool isStaticTensor(const Module &module, NodeId node) {
  TypeId type = module.type(node);
  return module.types.isTensor(type) && module.types.isStatic(type) &&
         module.types.numElements(type).has_value();
}

// The permutation of a transpose, axes normalised; empty when it has none.
std::vector<size_t> permutation(const Module &module, NodeId call) {
  size_t rank = module.types.shape(module.type(call)).size();
  std::vector<size_t> result;
  const AttrValue *axes = module.attr(call, "axes");
  if (!axes || axes->isNone()) {
    result.resize(rank);
    std::iota(result.rbegin(), result.rend(), size_t{0});
    return result;
  }
  for (int64_t axis : intsAttr(module, call, "axes"))
    result.push_back(normalizedAxis(axis, rank).value_or(0));
  return result;
}

// Unit axes aside, does the permutation keep the order?
bool movesOnlyUnits(const std::vector<size_t> &axes, std::span<const Dim> shape) {
  std::vector<size_t> kept;
  for (size_t axis : axes)
    if (shape[axis] != Dim(1))
      kept.push_back(axis);
  return std::ranges::is_sorted(kept);
}

Expected<NodeId> simplifyTranspose(Module &module, NodeId call, Builder &builder) {
  NodeId input = module.operands(call)[0];
  std::vector<size_t> axes = permutation(module, call);
  if (axes.size() != module.types.shape(module.type(call)).size())
    return call;
  bool merged = module.isOp(input, ops::transpose);
  if (merged) {
    std::vector<size_t> inner = permutation(module, input);
    for (size_t &axis : axes)
      axis = inner[axis];
    input = module.operands(input)[0];
  }
  if (std::ranges::is_sorted(axes))
    return input;
  if (isStaticTensor(module, input) && movesOnlyUnits(axes, module.types.shape(module.type(input))))
    return makeReshape(builder, input, module.types.shape(module.type(call)));
  if (!merged)
    return call;
  std::vector<int64_t> values(axes.begin(), axes.end());
  return builder.call(ops::transpose, {input}, {{"axes", AttrValue::ints(values)}});
}

Expected<NodeId> simplifyView(Module &module, NodeId call, Builder &builder) {
  NodeId source = module.operands(call)[0];
  bool merged = false;
  while (isView(module, source)) {
    source = module.operands(source)[0];
    merged = true;
  }
  if (module.type(source) == module.type(call))
    return source;
  return merged ? makeReshape(builder, source, module.types.shape(module.type(call))) : call;
}

bool takesEverything(const Module &module, NodeId call) {
  if (module.node(call).op != ops::strided_slice)
    return true;
  return std::ranges::all_of(intsAttr(module, call, "strides"), [](int64_t s) { return s == 1; });
}

// One operand of the result's type through an operator that then does nothing.
bool isWholeCopy(const Module &module, NodeId call) {
  OpId op = module.node(call).op;
  bool mayBe = op == ops::strided_slice || op == ops::broadcast_to ||
               op == ops::broadcast_to_like || op == ops::slice_like || op == ops::copy;
  return mayBe && module.type(call) == module.type(module.operands(call)[0]) &&
         module.types.isTensor(module.type(call)) &&
         (op == ops::copy || module.types.isStatic(module.type(call))) &&
         takesEverything(module, call);
}

} // namespace

bool isView(const Module &module, NodeId node) {
  return isCallWith(module, node, OpTrait::View) && !isCallWith(module, node, OpTrait::Dynamic) &&
         isStaticTensor(module, node) && isStaticTensor(module, module.operands(node)[0]);
}

Expected<NodeId> makeReshape(Builder &builder, NodeId x, std::span<const Dim> shape) {
  Module &module = builder.module();
  while (isView(module, x))
    x = module.operands(x)[0];
  if (std::ranges::equal(module.types.shape(module.type(x)), shape))
    return x;
  if (module.isConstant(x))
    return reshapeConstant(module, x, shape);
  AttrValue::List dims;
  bool hasZero = false;
  for (Dim dim : shape) {
    dims.emplace_back(dim.value());
    hasZero |= dim.value() == 0;
  }
  AttrDict attrs{{"newshape", AttrValue(std::move(dims))}};
  if (hasZero)
    attrs.push_back({"allowzero", AttrValue(1)});
  return builder.call(ops::reshape, {x}, std::move(attrs));
}

Expected<NodeId> simplifyMovement(Module &module, NodeId call, Builder &builder) {
  OpId op = module.node(call).op;
  if (op == ops::transpose)
    return simplifyTranspose(module, call, builder);
  if (isView(module, call))
    return simplifyView(module, call, builder);
  if (isWholeCopy(module, call))
    return module.operands(call)[0];
  if (op == ops::concatenate) {
    NodeId fields = module.operands(call)[0];
    if (module.node(fields).kind == NodeKind::Tuple && module.node(fields).operandCount == 1)
      return module.operands(fields)[0];
  }
  return call;
}

} // namespace bycc
