// Gives every computation one spelling, so that patterns, vendors and code
// generation meet fewer forms.
//
//   add(conv or dense, constant that varies along the channel axis only)
//                          => nn.bias_add with the constant as (C)
//   nn.bias_add's axis     => counted from the front
//   maximum(x, 0)          => nn.relu(x)      (which zero a maximum of zeros gives is open)
//   nn.matmul(x, w, transpose_b=True) => nn.dense(x, w)
//   batch_flatten, squeeze, expand_dims, codes of newshape => reshape to numbers
//   transpose without axes => with axes
//   split at places that make equal parts => split into so many
//   qnn.dense(x, w, zero known at run time) => qnn.dense(x, w, 0) - zero * sums of w's rows
//
// The bias form is nn.bias_add because it names the operand that a vendor wants
// as bias; turning it into add, as others do, makes each vendor find that out
// again from shapes. Bias constants are views of the bytes they were.

#include "ConstantView.h"
#include "Scopes.h"
#include "SimplifyRules.h"
#include "bycc/Support/Element.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace bycc {
namespace {

// The default of nn.bias_add's axis is 1 and not stored.
AttrDict axisAttr(size_t axis) { return {{"axis", AttrValue(static_cast<int64_t>(axis))}}; }

Expected<NodeId> biasFromAdd(Module &module, NodeId call, Builder &builder) {
  for (size_t i = 0; i < 2; ++i) {
    NodeId value = module.operands(call)[i], bias = module.operands(call)[1 - i];
    auto axis = channelAxis(module, value);
    if (!axis || !module.isConstant(bias) || module.type(value) != module.type(call))
      continue;
    std::span<const Dim> full = module.types.shape(module.type(value));
    if (!isAlongAxis(module.types.shape(module.type(bias)), full, *axis))
      continue;
    NodeId vector = reshapeConstant(module, bias, {&full[*axis], 1});
    return builder.call(ops::nn_bias_add, {value, vector}, axisAttr(*axis));
  }
  return call;
}

Expected<NodeId> biasAxis(Module &module, NodeId call, Builder &builder) {
  int64_t axis = intAttr(module, call, "axis", 1);
  auto normal = normalizedAxis(axis, module.types.shape(module.type(call)).size());
  if (axis >= 0 || !normal)
    return call;
  return builder.call(ops::nn_bias_add, module.operands(call), axisAttr(*normal));
}

Expected<NodeId> equalParts(Module &module, NodeId call, Builder &builder) {
  const AttrValue *cuts = module.attr(call, "indices_or_sections");
  std::span<const Dim> shape = module.types.shape(module.type(module.operands(call)[0]));
  auto axis = normalizedAxis(intAttr(module, call, "axis", 0), shape.size());
  if (!cuts || !cuts->isList() || !axis || !shape[*axis].isConst())
    return call;
  std::vector<int64_t> places = intsAttr(module, call, "indices_or_sections");
  auto parts = static_cast<int64_t>(places.size()) + 1;
  int64_t extent = shape[*axis].value() / parts;
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] != static_cast<int64_t>(i + 1) * extent)
      return call;
  if (extent * parts != shape[*axis].value())
    return call;
  const AttrValue *along = module.attr(call, "axis");
  return builder.call(ops::split, {module.operands(call)[0]},
                      {{"indices_or_sections", AttrValue(parts)}, {"axis", *along}});
}

Expected<NodeId> reluFromMaximum(Module &module, NodeId call, Builder &builder) {
  for (size_t i = 0; i < 2; ++i) {
    NodeId value = module.operands(call)[i];
    auto other = uniformValue(module, module.operands(call)[1 - i]);
    if (other && *other == 0 && !std::signbit(*other) && module.type(value) == module.type(call))
      return builder.call(ops::nn_relu, {value});
  }
  return call;
}

Expected<NodeId> denseOfConstant(Module &module, NodeId call, Builder &builder) {
  NodeId weight = module.operands(call)[1];
  if (attrs::boolean(module, call, "transpose_a") || !attrs::boolean(module, call, "transpose_b") ||
      !module.isConstant(weight))
    return call;
  std::span<const Dim> shape = module.types.shape(module.type(weight));
  if (shape.size() != 2)
    return call;
  AttrDict attrs{{"units", AttrValue(shape[0].value())}};
  if (std::string_view dtype = textAttr(module, call, "out_dtype"); !dtype.empty())
    attrs.push_back({"out_dtype", AttrValue(dtype)});
  return builder.call(ops::nn_dense, module.operands(call), std::move(attrs));
}

Expected<NodeId> explicitAxes(Module &module, NodeId call, Builder &builder) {
  const AttrValue *axes = module.attr(call, "axes");
  std::vector<int64_t> values = intsAttr(module, call, "axes");
  int64_t rank = static_cast<int64_t>(module.types.shape(module.type(call)).size());
  bool isDefault = !axes || axes->isNone();
  if (isDefault)
    for (int64_t axis = rank; axis-- > 0;)
      values.push_back(axis);
  else if (std::ranges::none_of(values, [](int64_t axis) { return axis < 0; }))
    return call;
  for (int64_t &axis : values)
    axis += axis < 0 ? rank : 0;
  return builder.call(ops::transpose, module.operands(call), {{"axes", AttrValue::ints(values)}});
}

// A reshape whose newshape already is the result's shape stays.
Expected<NodeId> plainReshape(Module &module, NodeId call, Builder &builder) {
  std::span<const Dim> shape = module.types.shape(module.type(call));
  if (module.isOp(call, ops::reshape)) {
    std::vector<int64_t> codes = intsAttr(module, call, "newshape");
    bool hasZero = std::ranges::find(shape, Dim(0)) != shape.end();
    if (hasZero ||
        std::ranges::equal(codes, shape, [](int64_t code, Dim dim) { return code == dim.value(); }))
      return call;
  }
  return makeReshape(builder, module.operands(call)[0], shape);
}

// Of each row, less the row's zero point in every element.
NodeId sumsOfRows(Module &module, NodeId weight, NodeId zeros) {
  const Constant matrix = module.constant(weight), zero = module.constant(zeros);
  DType dtype = module.types.dtype(matrix.type), zeroDType = module.types.dtype(zero.type);
  std::span<const Dim> shape = module.types.shape(matrix.type);
  int64_t rows = shape[0].value(), length = shape[1].value();
  bool isOne = module.types.numElements(zero.type) == int64_t{1};
  std::vector<uint8_t> bytes(static_cast<size_t>(rows) * sizeof(int32_t));
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0; // exact: 2^53 is far
    for (int64_t i = 0; i < length; ++i)
      sum += elementAsDouble(dtype, matrix.data(), row * length + i);
    sum -= static_cast<double>(length) * elementAsDouble(zeroDType, zero.data(), isOne ? 0 : row);
    auto wrapped = static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(sum)));
    std::memcpy(bytes.data() + static_cast<size_t>(row) * sizeof wrapped, &wrapped, sizeof wrapped);
  }
  Constant sums;
  sums.type = module.types.tensor(DType::Int32, shape.first(1));
  sums.bytes = bytes.size();
  sums.storage = Storage::own(std::move(bytes));
  return module.addConstant(std::move(sums), module.node(weight).source);
}

// Libraries want to know zero points when they compile. Sums wrap around, so the terms may be apart.
Expected<NodeId> denseWithoutZero(Module &module, NodeId call, Builder &builder) {
  std::vector<NodeId> operands(module.operands(call).begin(), module.operands(call).end());
  NodeId weight = operands[1], zero = operands[2], weightZero = operands[3];
  bool isKnown = module.isConstant(zero) || !module.isConstant(weight);
  if (isKnown || !module.isConstant(weightZero) ||
      module.types.numElements(module.type(zero)) != int64_t{1})
    return call;
  operands[2] = module.addScalar(DType::Int32, 0);
  NodeId product =
      BYCC_TRY(builder.callWithAttrs(ops::qnn_dense, operands, module.node(call).attrs));
  NodeId share =
      BYCC_TRY(builder.call(ops::multiply, {sumsOfRows(module, weight, weightZero), zero}));
  return builder.call(ops::subtract, {product, share});
}

Expected<NodeId> canonicalize(Module &module, NodeId call, Builder &builder) {
  if (module.node(call).kind != NodeKind::CallOp)
    return call;
  OpId op = module.node(call).op;
  if (op == ops::add)
    return biasFromAdd(module, call, builder);
  if (op == ops::nn_bias_add)
    return biasAxis(module, call, builder);
  if (op == ops::maximum)
    return reluFromMaximum(module, call, builder);
  if (op == ops::nn_matmul)
    return denseOfConstant(module, call, builder);
  if (op == ops::transpose)
    return explicitAxes(module, call, builder);
  if (op == ops::split)
    return equalParts(module, call, builder);
  if (op == ops::qnn_dense)
    return denseWithoutZero(module, call, builder);
  if (isView(module, call))
    return plainReshape(module, call, builder);
  return call;
}

} // namespace

Expected<bool> canonicalizeOps(Module &module, PassContext &) {
  return rewriteOpenBlocks(
      module, [&](NodeId node, Builder &builder) { return canonicalize(module, node, builder); });
}

} // namespace bycc
