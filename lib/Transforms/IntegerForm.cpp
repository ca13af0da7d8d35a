// Walking back from a float value to the integers it stands for:
//
//   dequantize(q, s, z)               q itself
//   reshape, slice, max_pool, ..      the same of the integers
//   relu(v)                           maximum(q, z)
//   v * c, v / c  (c > 0)             q at another scale
//   concatenate of one scale          concatenate of the integers
//   conv(v, w), dense(v, w)           qnn.conv2d(..), int32 at the scale sv * sw
//   sums + constant                   sums + round(constant / scale)
//
// The last one is exact for biases that a quantiser wrote, which lie on the grid of
// the sums; any other is moved by at most half a step of it, some 2^-15 of a step
// of the result.

#include "IntegerForm.h"

#include "ConstantView.h"
#include "SimplifyRules.h"
#include "bycc/Eval/Eval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace bycc {
namespace {

// A path of more operators than this is no island.
constexpr int maxDepth = 200;

bool isNearest(const Module &module, NodeId node) {
  return textAttr(module, node, "method") == "nearest_neighbor";
}

AttrDict withoutAttr(AttrDict attrs, std::string_view key) {
  std::erase_if(attrs, [&](const Attr &attr) { return attr.key == key; });
  return attrs;
}

double elementOrOnly(const Module &module, const Constant &constant, int64_t count, int64_t index) {
  return elementAt(module, constant, count == 1 ? 0 : index);
}

} // namespace

bool IntegerForm::isProduct(const Module &module, NodeId node) {
  constexpr std::array products = {ops::nn_conv2d, ops::nn_conv2d_transpose, ops::nn_dense,
                                   ops::nn_matmul, ops::nn_batch_matmul};
  return module.node(node).kind == NodeKind::CallOp &&
         std::ranges::find(products, module.node(node).op) != products.end();
}

bool IntegerForm::isMovement(const Module &module, NodeId node) {
  if (module.node(node).kind == NodeKind::Project)
    return module.isOp(module.operands(node)[0], ops::split);
  if (module.node(node).kind != NodeKind::CallOp)
    return false;
  OpId op = module.node(node).op;
  if (op == ops::nn_pad) // around the values: real 0, or what is there
    return textAttr(module, node, "pad_mode") != "constant" ||
           uniformValue(module, module.operands(node)[1]) == 0.0;
  if (op == ops::nn_upsampling)
    return isNearest(module, node);
  if (op == ops::image_resize2d)
    return isNearest(module, node) && textAttr(module, node, "out_dtype").empty() &&
           textAttr(module, node, "coordinate_transformation_mode") != "tf_crop_and_resize";
  return opInfo(op).has(OpTrait::Movement);
}

void IntegerForm::refuse(NodeId node, std::string_view why) {
  const Node &n = module_.node(node);
  std::string what = n.kind == NodeKind::CallOp ? std::string(opInfo(n.op).name) + ": " : "";
  whyNot_ = what + std::string(why);
}

// --- calls

Expected<NodeId> IntegerForm::make(OpId op, std::initializer_list<NodeId> operands,
                                   AttrDict attrs) {
  return folded(BYCC_TRY(builder_->call(op, operands, std::move(attrs))));
}

Expected<NodeId> IntegerForm::cast(NodeId node, DType to) {
  if (dtype(node) == to)
    return node;
  return make(ops::cast, {node}, {{"dtype", AttrValue(name(to))}});
}

Expected<NodeId> IntegerForm::folded(NodeId node) {
  constexpr int64_t maxBytes = int64_t{256} << 20;
  TypeId type = module_.type(node);
  if (module_.node(node).kind != NodeKind::CallOp || !module_.types.isTensor(type) ||
      module_.types.sizeBytes(type).value_or(INT64_MAX) > maxBytes || isProduct(module_, node))
    return node;
  std::vector<Constant> constants;
  for (NodeId operand :
       std::vector<NodeId>(module_.operands(node).begin(), module_.operands(node).end())) {
    if (!module_.isConstant(operand))
      return node;
    constants.push_back(module_.constant(operand));
  }
  if (constants.empty() && module_.node(node).op != ops::zeros)
    return node;
  auto results = BYCC_TRY(evaluateCall(module_, node, constants));
  return module_.addConstant(std::move(results.at(0)), module_.node(node).source);
}

bool IntegerForm::isAll(NodeId node, double value) const {
  return uniformValue(module_, node) == value;
}

bool IntegerForm::isSame(NodeId a, NodeId b) const {
  if (a == b)
    return true;
  if (!module_.isConstant(a) || !module_.isConstant(b))
    return false;
  const Constant &x = module_.constant(a), &y = module_.constant(b);
  return x.bytes == y.bytes && dtype(a) == dtype(b) &&
         std::memcmp(x.data(), y.data(), x.bytes) == 0;
}

// --- the walk

Expected<std::optional<Quantized>> IntegerForm::of(NodeId value) {
  auto key = std::pair(builder_->block(), value);
  if (auto found = known_.find(key); found != known_.end()) {
    if (!found->second)
      refuse(value, "its value is no integer at one scale");
    return found->second;
  }
  if (depth_ >= maxDepth)
    return Form();
  ++depth_;
  Expected<Form> form = find(value);
  --depth_;
  if (form)
    known_[key] = *form;
  return form;
}

Expected<IntegerForm::Form> IntegerForm::find(NodeId value) {
  if (isMovement(module_, value))
    return ofMovement(value);
  if (module_.node(value).kind != NodeKind::CallOp) {
    refuse(value, "a value that is not quantised");
    return Form();
  }
  OpId op = module_.node(value).op;
  if (op == ops::qnn_dequantize)
    return ofDequantize(value);
  if (op == ops::nn_relu)
    return ofRelu(value);
  if (op == ops::multiply || op == ops::divide)
    return ofScaled(value);
  if (op == ops::concatenate)
    return ofConcatenate(value);
  if (op == ops::nn_bias_add || op == ops::add)
    return ofBias(value);
  refuse(value, "no integers stand for its result");
  return Form();
}

Expected<IntegerForm::Form> IntegerForm::ofDequantize(NodeId call) {
  if (dtype(call) != DType::Float32) {
    refuse(call, "a result of float16");
    return Form();
  }
  NodeId q = module_.operands(call)[0], scale = module_.operands(call)[1],
         zero = module_.operands(call)[2];
  Quantized form{BYCC_TRY(folded(q)), BYCC_TRY(folded(scale)), BYCC_TRY(folded(zero))};
  for (NodeId *each : {&form.scale, &form.zero}) {
    if (auto value = uniformValue(module_, *each); value && !shape(*each).empty())
      *each = module_.addScalar(dtype(*each), *value);
    else if (shape(*each).size() == 1 && shape(*each)[0] == Dim(1))
      *each = BYCC_TRY(make(ops::reshape, {*each}, {{"newshape", AttrValue(AttrValue::List())}}));
  }
  if (!shape(form.scale).empty() || !shape(form.zero).empty())
    form.axis = static_cast<int64_t>(
        normalizedAxis(attrs::integer(module_, call, "axis"), shape(call).size()).value_or(0));
  return Form(form);
}

Expected<IntegerForm::Form> IntegerForm::ofMovement(NodeId node) {
  NodeId source = module_.operands(node)[0];
  if (module_.node(node).kind == NodeKind::Project)
    source = module_.operands(source)[0];
  Form form = BYCC_TRY(of(source));
  if (!form)
    return Form();
  if (form->axis >= 0) {
    auto axis = movedAxis(node, form->axis);
    if (!axis) {
      refuse(node, "scales per axis that it does not keep");
      return Form();
    }
    form->axis = *axis;
  }
  auto ints = BYCC_TRY(moved(node, form->ints, form->zero));
  if (!ints)
    return Form();
  form->ints = *ints;
  return form;
}

Expected<std::optional<NodeId>> IntegerForm::moved(NodeId node, NodeId ints, NodeId zero) {
  if (module_.node(node).kind == NodeKind::Project) {
    NodeId split = module_.operands(node)[0];
    NodeId parts =
        BYCC_TRY(builder_->callWithAttrs(ops::split, {&ints, 1}, module_.node(split).attrs));
    return std::optional(BYCC_TRY(builder_->project(parts, module_.node(node).payload)));
  }
  std::vector<NodeId> operands(module_.operands(node).begin(), module_.operands(node).end());
  operands[0] = ints;
  if (module_.isOp(node, ops::nn_pad)) {
    if (!shape(zero).empty()) {
      refuse(node, "zero points per axis");
      return std::optional<NodeId>();
    }
    operands[1] = BYCC_TRY(cast(zero, dtype(ints)));
  }
  NodeId made =
      BYCC_TRY(builder_->callWithAttrs(module_.node(node).op, operands, module_.node(node).attrs));
  return std::optional(BYCC_TRY(folded(made)));
}

// Where an axis is behind a transpose or a view.
std::optional<int64_t> IntegerForm::movedAxis(NodeId node, int64_t axis) const {
  if (module_.isOp(node, ops::transpose)) {
    std::vector<int64_t> axes = intsAttr(module_, node, "axes");
    int64_t rank = static_cast<int64_t>(shape(node).size());
    if (axes.empty())
      return rank - 1 - axis;
    for (int64_t i = 0; i < rank; ++i)
      if (axes[i] == axis || axes[i] + rank == axis)
        return i;
    return std::nullopt;
  }
  if (!isView(module_, node))
    return std::nullopt;
  std::span<const Dim> from = shape(module_.operands(node)[0]), to = shape(node);
  int64_t before = 1, sum = 1;
  for (int64_t i = 0; i < axis; ++i)
    before *= from[i].value();
  for (size_t i = 0; i < to.size(); sum *= to[i].value(), ++i)
    if (sum == before && to[i] == from[axis])
      return static_cast<int64_t>(i);
  return std::nullopt;
}

Expected<IntegerForm::Form> IntegerForm::ofRelu(NodeId call) {
  Form form = BYCC_TRY(of(module_.operands(call)[0]));
  if (!form)
    return Form();
  if (isAll(form->zero, 0)) {
    form->ints = BYCC_TRY(make(ops::nn_relu, {form->ints}));
    return form;
  }
  if (!shape(form->zero).empty()) {
    refuse(call, "zero points per axis");
    return Form();
  }
  NodeId zero = BYCC_TRY(cast(form->zero, dtype(form->ints)));
  form->ints = BYCC_TRY(make(ops::maximum, {form->ints, zero}));
  return form;
}

Expected<IntegerForm::Form> IntegerForm::ofScaled(NodeId call) {
  NodeId value = module_.operands(call)[0], factor = BYCC_TRY(folded(module_.operands(call)[1]));
  OpId op = module_.node(call).op;
  if (op == ops::multiply && !uniformValue(module_, factor)) {
    factor = BYCC_TRY(folded(value));
    value = module_.operands(call)[1];
  }
  auto number = uniformValue(module_, factor);
  if (!number || !(*number > 0) || std::isinf(*number) ||
      module_.type(value) != module_.type(call)) {
    refuse(call, "no integers stand for its result");
    return Form();
  }
  Form form = BYCC_TRY(of(value));
  if (form)
    form->scale = BYCC_TRY(make(op, {form->scale, module_.addScalar(DType::Float32, *number)}));
  return form;
}

Expected<IntegerForm::Form> IntegerForm::ofConcatenate(NodeId call) {
  NodeId tuple = module_.operands(call)[0];
  if (module_.node(tuple).kind != NodeKind::Tuple)
    return Form();
  Form first;
  std::vector<NodeId> fields,
      values(module_.operands(tuple).begin(), module_.operands(tuple).end());
  for (NodeId value : values) {
    Form form = BYCC_TRY(of(value));
    if (!form)
      return Form();
    if (!first)
      first = form;
    if (form->axis >= 0 || dtype(form->ints) != dtype(first->ints) ||
        !isSame(form->scale, first->scale) || !isSame(form->zero, first->zero)) {
      refuse(call, "its inputs have different scales");
      return Form();
    }
    fields.push_back(form->ints);
  }
  NodeId ints = builder_->tuple(fields);
  first->ints =
      BYCC_TRY(builder_->callWithAttrs(ops::concatenate, {&ints, 1}, module_.node(call).attrs));
  return first;
}

// --- products

// |sum| < 2^31 whatever the operands are.
bool IntegerForm::fitsInt32(NodeId call, const Quantized &x, const Quantized &weight) const {
  auto bound = [&](const Quantized &q) {
    return isAll(q.zero, 0) && dtype(q.ints) == DType::Int8 ? 128.0 : 255.0;
  };
  auto count = module_.types.numElements(module_.type(weight.ints));
  if (!count)
    return false;
  double length = static_cast<double>(*count);
  OpId op = module_.node(call).op;
  if (op == ops::nn_batch_matmul) {
    length = static_cast<double>(
        shape(x.ints)[attrs::boolean(module_, call, "transpose_a") ? 1 : 2].value());
  } else if (auto channels = channelAxis(module_, call);
             channels && shape(call)[*channels].isConst()) {
    length /= std::max<double>(1, static_cast<double>(shape(call)[*channels].value()));
    if (op == ops::nn_conv2d_transpose)
      length *= static_cast<double>(attrs::integer(module_, call, "groups"));
  }
  return length * bound(x) * bound(weight) < 2147483648.0;
}

Expected<std::optional<Quantized>> IntegerForm::ofProduct(NodeId call) {
  if (dtype(call) != DType::Float32)
    return Form();
  // Both are asked for, so that the weight is the reason only when x is quantised.
  Form x = BYCC_TRY(of(module_.operands(call)[0]));
  if (!x)
    return Form();
  Form weight = BYCC_TRY(of(module_.operands(call)[1]));
  if (!weight)
    return Form();
  if (!isByte(x->ints) || !isByte(weight->ints)) {
    refuse(call, "operands of more than 8 bits");
    return Form();
  }
  if (x->axis >= 0) {
    refuse(call, "scales per axis of its first operand");
    return Form();
  }
  return productOf(call, *x, *weight);
}

Expected<IntegerForm::Form> IntegerForm::productOf(NodeId call, const Quantized &x,
                                                   const Quantized &weight) {
  OpId op = module_.node(call).op;
  AttrDict attrs = withoutAttr(module_.attributes.dict(module_.node(call).attrs), "out_dtype");
  NodeId left = x.ints, right = weight.ints;
  OpId twin = ops::qnn_dense;
  int64_t weightAxis = 0; // the one its scales may run along
  if (op == ops::nn_conv2d || op == ops::nn_conv2d_transpose) {
    twin = op == ops::nn_conv2d ? ops::qnn_conv2d : ops::qnn_conv2d_transpose;
    weightAxis = static_cast<int64_t>(attrs::text(module_, call, "kernel_layout").find('O'));
    if (op == ops::nn_conv2d_transpose && weight.axis >= 0 &&
        attrs::integer(module_, call, "groups") != 1)
      weightAxis = -2;
  } else if (op == ops::nn_batch_matmul) {
    twin = ops::qnn_batch_matmul;
    weightAxis = -2;
  } else if (op == ops::nn_matmul) {
    attrs = withoutAttr(withoutAttr(std::move(attrs), "transpose_a"), "transpose_b");
    AttrDict swap{{"axes", AttrValue::ints(std::array<int64_t, 2>{1, 0})}};
    if (attrs::boolean(module_, call, "transpose_a"))
      left = BYCC_TRY(make(ops::transpose, {left}, swap));
    if (!attrs::boolean(module_, call, "transpose_b")) {
      right = BYCC_TRY(make(ops::transpose, {right}, swap));
      weightAxis = 1;
    }
  }
  if (weight.axis >= 0 && weight.axis != weightAxis) {
    refuse(call, "scales of its weight run along axis " + std::to_string(weight.axis));
    return Form();
  }
  auto channels = channelAxis(module_, call);
  if (weight.axis >= 0 && !channels) {
    refuse(call, "a blocked layout");
    return Form();
  }
  if (!fitsInt32(call, x, weight)) {
    refuse(call, "sums that int32 may not hold");
    return Form();
  }
  Quantized sums;
  sums.ints = BYCC_TRY(builder_->call(
      twin, {left, right, x.zero, weight.zero, x.scale, weight.scale}, std::move(attrs)));
  sums.scale = BYCC_TRY(make(ops::multiply, {x.scale, weight.scale}));
  sums.zero = module_.addScalar(DType::Int32, 0);
  sums.axis = weight.axis >= 0 && !shape(sums.scale).empty() ? static_cast<int64_t>(*channels) : -1;
  return Form(sums);
}

// A constant along the channel axis, or one value, on the grid of the sums.
Expected<std::optional<NodeId>> IntegerForm::biasOf(NodeId bias, const Quantized &sums) {
  if (!module_.isConstant(bias) || !module_.isConstant(sums.scale) ||
      module_.types.dtype(module_.type(bias)) != DType::Float32)
    return std::optional<NodeId>();
  const Constant &values = module_.constant(bias), &scale = module_.constant(sums.scale);
  int64_t count = module_.types.numElements(values.type).value_or(0);
  int64_t scales = module_.types.numElements(scale.type).value_or(0);
  if (scales != 1 && scales != count)
    return std::optional<NodeId>();
  std::vector<int32_t> ints;
  for (int64_t i = 0; i < count; ++i) {
    double value =
        std::round(elementAt(module_, values, i) / elementOrOnly(module_, scale, scales, i));
    if (!(std::fabs(value) < 1073741824.0)) // 2^30, NaN too
      return std::optional<NodeId>();
    ints.push_back(static_cast<int32_t>(value));
  }
  std::vector<Dim> dims(shape(bias).begin(), shape(bias).end());
  return std::optional(
      module_.addConstant(DType::Int32, dims, ints.data(), ints.size() * sizeof(int32_t)));
}

Expected<IntegerForm::Form> IntegerForm::ofBias(NodeId call) {
  NodeId value = module_.operands(call)[0], bias = BYCC_TRY(folded(module_.operands(call)[1]));
  if (module_.isOp(call, ops::add) && !module_.isConstant(bias)) {
    bias = BYCC_TRY(folded(value));
    value = module_.operands(call)[1];
  }
  if (!module_.isConstant(bias) || module_.type(value) != module_.type(call)) {
    refuse(call, "no integers stand for its result");
    return Form();
  }
  Form sums = BYCC_TRY(of(value));
  if (!sums)
    return Form();
  if (dtype(sums->ints) != DType::Int32 || !isAll(sums->zero, 0)) {
    refuse(call, "no integers stand for its result");
    return Form();
  }
  size_t rank = shape(call).size();
  auto axis = sums->axis >= 0 ? std::optional(static_cast<size_t>(sums->axis)) : std::nullopt;
  if (module_.isOp(call, ops::nn_bias_add)) {
    auto written = normalizedAxis(attrs::integer(module_, call, "axis"), rank);
    if (!written || (axis && axis != written)) {
      refuse(call, "it runs along another axis than the scales");
      return Form();
    }
    axis = written;
  } else if (!axis) {
    for (size_t i = rank; i-- > 0 && !axis;)
      if (isAlongAxis(shape(bias), shape(call), i))
        axis = i;
  }
  if (!axis || (module_.isOp(call, ops::add) && !isAlongAxis(shape(bias), shape(call), *axis))) {
    refuse(call, "its constant does not run along the channel axis");
    return Form();
  }
  Dim extent = shape(call)[*axis];
  if (module_.isOp(call, ops::add))
    bias = reshapeConstant(module_, bias, {&extent, 1});
  auto ints = BYCC_TRY(biasOf(bias, *sums));
  if (!ints) {
    refuse(call, "a bias that int32 does not hold at the scale of the sums");
    return Form();
  }
  sums->ints = BYCC_TRY(builder_->call(ops::nn_bias_add, {sums->ints, *ints},
                                       {{"axis", AttrValue(static_cast<int64_t>(*axis))}}));
  return sums;
}

} // namespace bycc
