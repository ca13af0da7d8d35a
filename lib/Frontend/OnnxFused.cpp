// Products, convolutions and activations that ONNX Runtime's optimiser joins (domain com.microsoft):
// taken apart again, into what the importer makes of the operators that they were.
#include "OnnxActivation.h"
#include "OnnxConverters.h"

#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc::onnx {
namespace {

std::vector<int64_t> order(int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    axes.push_back(axis);
  return axes;
}

// Operand `index` of a product, its batch axes moved to the front and its matrices transposed.
Expected<NodeId> factorAt(OpContext &op, size_t index) {
  bool isTransposed = BYCC_TRY(op.intAttr(index == 0 ? "transA" : "transB", 0)) != 0;
  bool isBatchBehind = BYCC_TRY(op.intAttr(index == 0 ? "transBatchA" : "transBatchB", 0)) != 0;
  NodeId x = op.input(index);
  int64_t rank = op.rank(x);
  std::vector<int64_t> axes = order(rank);
  if (isBatchBehind && rank > 2)
    std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
  if (isTransposed && rank > 1)
    std::swap(axes[rank - 2], axes[rank - 1]);
  Compose c(op);
  return c.done(c.transpose(x, axes));
}

// Attribute `activation` with the parameters that the operator gives.
struct Fused {
  std::string name;
  std::vector<double> parameters;
};

Expected<NodeId> activated(OpContext &op, NodeId x, const Fused &fused) {
  auto parameter = [&](size_t index, double fallback) {
    return index < fused.parameters.size() ? fused.parameters[index] : fallback;
  };
  Compose c(op);
  if (fused.name.empty() || fused.name == "Identity")
    return x;
  if (fused.name == "Clip" && fused.parameters.size() == 2)
    return op.call("clip", {x}, {{"a_min", fused.parameters[0]}, {"a_max", fused.parameters[1]}});
  if (fused.name == "HardSwish")
    return c.done(hardSwishOf(c, x));
  if (fused.name == "Gelu" || fused.name == "FastGelu")
    return geluOf(op, x, fused.name == "FastGelu");
  if (fused.name == "Silu" || fused.name == "QuickGelu")
    return swishOf(op, x, parameter(0, 1));
  bool isSelu = fused.name == "Selu";
  const Activation *known = findActivation(isSelu ? "Elu" : fused.name);
  if (!known)
    return op.error(Status::Unsup) << "activation '" << escaped(fused.name) << "' is not supported";
  Activation f = *known;
  f.alpha = parameter(0, f.alpha);
  f.beta = parameter(1, f.beta);
  NodeId result = activate(c, f, x);
  return c.done(isSelu ? c.mul(result, parameter(1, 1)) : result);
}

Expected<Fused> activationOf(OpContext &op) {
  Fused fused{BYCC_TRY(op.textAttr("activation", "")), {}};
  if (const Attribute *given = BYCC_TRY(op.attr("activation_params", AttrKind::Floats)))
    for (float value : given->floats)
      fused.parameters.push_back(decimalOf(value));
  return fused;
}

} // namespace

// y = activation(conv(x, w) + b + z)
Expected<> convertFusedConv(OpContext &op) {
  NodeId sum = BYCC_TRY(convOf(op, op.input(0), op.input(1)));
  if (op.has(3))
    sum = BYCC_TRY(op.call("add", {sum, op.input(3)}));
  op.setOutput(0, BYCC_TRY(activated(op, sum, BYCC_TRY(activationOf(op)))));
  return {};
}

Expected<> convertFusedGemm(OpContext &op) {
  Fused fused{BYCC_TRY(op.textAttr("activation", "")), {}};
  // alpha, and beta or gamma; which ones there are depends on the activation
  for (const char *name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (BYCC_TRY(op.attr(name, AttrKind::Float)))
      fused.parameters.push_back(BYCC_TRY(op.floatAttr(name, 0)));
  BYCC_TRY(convertGemm(op));
  op.setOutput(0, BYCC_TRY(activated(op, op.outputs()[0].node, fused)));
  return {};
}

Expected<> convertFusedMatMul(OpContext &op) {
  NodeId a = BYCC_TRY(factorAt(op, 0)), b = BYCC_TRY(factorAt(op, 1));
  double alpha = BYCC_TRY(op.floatAttr("alpha", 1));
  NodeId product = BYCC_TRY(matmulOf(op, a, b));
  if (alpha != 1)
    product = BYCC_TRY(op.call("multiply", {product, op.scalar(op.dtype(product), alpha)}));
  op.setOutput(0, product);
  return {};
}

// Channels are last, in the weight as in the data.
Expected<> convertNhwcConv(OpContext &op) {
  if (op.rank(op.input(0)) != 4 || op.rank(op.input(1)) != 4)
    return op.error() << "operands of rank " << op.rank(op.input(0)) << " and "
                      << op.rank(op.input(1)) << ", wanted 4";
  Compose c(op);
  NodeId x = BYCC_TRY(c.done(c.transpose(op.input(0), {0, 3, 1, 2})));
  NodeId weight = BYCC_TRY(c.done(c.transpose(op.input(1), {0, 3, 1, 2})));
  NodeId result = BYCC_TRY(convOf(op, x, weight));
  op.setOutput(0, BYCC_TRY(c.done(c.transpose(result, {0, 2, 3, 1}))));
  return {};
}

Expected<> convertNhwcMaxPool(OpContext &op) {
  int64_t last = op.rank(op.input(0)) - 1;
  NodeId x = BYCC_TRY(op.moveAxis(op.input(0), last, 1));
  NodeId largest = BYCC_TRY(poolOf(op, x, "nn.max_pool"));
  op.setOutput(0, BYCC_TRY(op.moveAxis(largest, 1, last)));
  return {};
}

Expected<> convertBiasGelu(OpContext &op) {
  NodeId sum = BYCC_TRY(sumOf(op, op.input(0), op.input(1)));
  op.setOutput(0, BYCC_TRY(geluOf(op, sum, false)));
  return {};
}

Expected<> convertFastGelu(OpContext &op) {
  NodeId x = op.input(0);
  if (op.has(1))
    x = BYCC_TRY(sumOf(op, x, op.input(1)));
  op.setOutput(0, BYCC_TRY(geluOf(op, x, true)));
  return {};
}

Expected<> convertQuickGelu(OpContext &op) {
  op.setOutput(0, BYCC_TRY(swishOf(op, op.input(0), BYCC_TRY(op.floatAttr("alpha", 1.702)))));
  return {};
}

// x + bias + skip
Expected<> convertBiasAdd(OpContext &op) {
  NodeId sum = BYCC_TRY(sumOf(op, op.input(0), op.input(1)));
  op.setOutput(0, BYCC_TRY(op.call("add", {sum, op.input(2)})));
  return {};
}

// The first half of x + bias times the gelu of the second.
Expected<> convertBiasSplitGelu(OpContext &op) {
  NodeId sum = BYCC_TRY(sumOf(op, op.input(0), op.input(1)));
  int64_t last = op.rank(sum) - 1;
  Dim size = last < 0 ? Dim(1) : op.shape(sum)[last];
  if (!size.isConst() || size.value() % 2 != 0)
    return op.error() << "the last axis has " << op.types().str(size) << " elements, wanted an even"
                      << " number";
  Compose c(op);
  NodeId left = c.slice(sum, last, 0, size.value() / 2),
         right = BYCC_TRY(c.done(c.slice(sum, last, size.value() / 2, size.value())));
  op.setOutput(0, BYCC_TRY(c.done(c.mul(left, BYCC_TRY(geluOf(op, right, false))))));
  return {};
}

// Softmax of x + bias, over the axes from `axis` on as one.
Expected<> convertBiasSoftmax(OpContext &op) {
  op.ignoreAttr("is_inner_broadcast"); // the shape of the bias says so
  int64_t rank = op.rank(op.input(0));
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", 1)), rank));
  NodeId sum = BYCC_TRY(op.call("add", {op.input(0), op.input(1)}));
  if (op.rank(sum) != rank)
    return op.error() << "a bias of rank " << op.rank(op.input(1)) << " for an input of " << rank;
  op.setOutput(0, BYCC_TRY(softmaxOf(op, "nn.softmax", sum, axis, true)));
  return {};
}

} // namespace bycc::onnx
