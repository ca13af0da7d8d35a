// Normalisations: Relay's operators, and those that it does not have.
#include "OnnxCompose.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <algorithm>
#include <cmath>

namespace bycc::onnx {

Expected<double> epsilonOf(OpContext &op, double fallback) {
  double epsilon = BYCC_TRY(op.floatAttr("epsilon", fallback));
  if (!(epsilon >= 0) || std::isinf(epsilon))
    return op.error() << "epsilon " << epsilon << " is not legal";
  return epsilon;
}

namespace {

// The dtype in which a normalisation computes.
Expected<DType> stashType(OpContext &op) {
  int64_t type = BYCC_TRY(op.intAttr("stash_type", 1));
  if (type != static_cast<int32_t>(type))
    return op.error() << "stash_type is " << type;
  return dtypeOf(static_cast<int32_t>(type), op.module().source(op.sourceId()));
}

std::vector<int64_t> axesFrom(int64_t axis, int64_t rank) {
  std::vector<int64_t> axes;
  for (; axis < rank; ++axis)
    axes.push_back(axis);
  return axes;
}

// A vector over channels (axis 1), as an operand that broadcasts to `rank`.
NodeId perChannel(Compose &c, NodeId vector, int64_t rank) { return c.expand(vector, 1, rank - 2); }

} // namespace

// Mean and 1 / sqrt(variance + epsilon) over the axes from `axis` on, the second
// and third output of LayerNormalization.
Expected<> setLayerStatistics(OpContext &op, NodeId data, int64_t axis, double epsilon) {
  if (!op.wantsOutput(1) && !op.wantsOutput(2))
    return {};
  Compose c(op);
  NodeId x = c.cast(data, BYCC_TRY(stashType(op)));
  std::vector<int64_t> axes = axesFrom(axis, op.rank(data));
  NodeId mean = c.reduce("mean", x, axes), centred = c.sub(x, mean);
  NodeId variance = c.reduce("mean", c.mul(centred, centred), axes);
  NodeId inverse = BYCC_TRY(c.done(c.call("rsqrt", {c.add(variance, epsilon)})));
  if (op.wantsOutput(1))
    op.setOutput(1, mean);
  if (op.wantsOutput(2))
    op.setOutput(2, inverse);
  return {};
}

// x / sqrt(mean(x^2) + epsilon) * scale, the mean over the axes from `axis` on.
Expected<NodeId> rmsNormOf(OpContext &op, NodeId x, NodeId gamma, int64_t axis, double epsilon,
                           DType wide, NodeId *inverse) {
  Compose c(op);
  NodeId data = c.cast(x, wide);
  NodeId square = c.reduce("mean", c.mul(data, data), axesFrom(axis, op.rank(x)));
  NodeId factor = BYCC_TRY(c.done(c.call("rsqrt", {c.add(square, epsilon)})));
  if (inverse)
    *inverse = factor;
  return c.done(c.mul(c.cast(c.mul(data, factor), op.dtype(gamma)), gamma));
}

Expected<> convertRmsNorm(OpContext &op) {
  NodeId x = op.input(0), inverse;
  double epsilon = BYCC_TRY(epsilonOf(op));
  DType wide = BYCC_TRY(stashType(op));
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", -1)), op.rank(x)));
  op.setOutput(0, BYCC_TRY(rmsNormOf(op, x, op.input(1), axis, epsilon, wide, &inverse)));
  if (op.wantsOutput(1))
    op.setOutput(1, inverse);
  return {};
}

// (x - mean) / (deviation + 1e-9)
Expected<> convertMeanVarianceNorm(OpContext &op) {
  NodeId x = op.input(0);
  std::vector<int64_t> axes = BYCC_TRY(op.intsAttr("axes")).value_or(std::vector<int64_t>{0, 2, 3});
  axes = BYCC_TRY(op.normalAxes(axes, op.rank(x)));
  Compose c(op);
  NodeId centred = c.sub(x, c.reduce("mean", x, axes));
  NodeId deviation = c.call("sqrt", {c.reduce("mean", c.mul(centred, centred), axes)});
  op.setOutput(0, BYCC_TRY(c.done(c.div(centred, c.add(deviation, 1e-9)))));
  return {};
}

namespace {

// Statistics of the batch itself; the running ones are
// given * momentum + the batch's * (1 - momentum).
Expected<> convertBatchNormTraining(OpContext &op, double epsilon) {
  NodeId x = op.input(0);
  int64_t rank = op.rank(x);
  double momentum = BYCC_TRY(op.floatAttr("momentum", 0.9));
  if (rank < 2)
    return op.error() << "input of rank " << rank << ", wanted at least 2";
  std::vector<int64_t> axes = axesFrom(2, rank);
  axes.insert(axes.begin(), 0);
  Compose c(op);
  DType dtype = op.dtype(op.input(3)); // of the statistics
  NodeId wide = c.cast(x, dtype);
  NodeId mean = c.reduce("mean", wide, axes), centred = c.sub(wide, mean);
  NodeId variance = c.reduce("mean", c.mul(centred, centred), axes);
  NodeId scale = perChannel(c, op.input(1), rank), bias = perChannel(c, op.input(2), rank);
  NodeId normal = c.mul(centred, c.call("rsqrt", {c.add(variance, epsilon)}));
  normal = c.add(c.mul(c.cast(normal, op.dtype(op.input(1))), scale), bias);
  op.setOutput(0, BYCC_TRY(c.done(c.cast(normal, op.dtype(x)))));
  auto running = [&](NodeId given, NodeId current) {
    return c.done(c.add(c.mul(given, momentum), c.mul(c.squeeze(current, axes), 1 - momentum)));
  };
  if (op.wantsOutput(1))
    op.setOutput(1, BYCC_TRY(running(op.input(3), mean)));
  if (op.wantsOutput(2))
    op.setOutput(2, BYCC_TRY(running(op.input(4), variance)));
  return {};
}

// spatial = 0 (opsets before 9): parameters per element of a sample, not per channel.
Expected<> convertBatchNormPerElement(OpContext &op, double epsilon) {
  Compose c(op);
  NodeId normal =
      c.mul(c.sub(op.input(0), op.input(3)), c.call("rsqrt", {c.add(op.input(4), epsilon)}));
  op.setOutput(0, BYCC_TRY(c.done(c.add(c.mul(normal, op.input(1)), op.input(2)))));
  return {};
}

// Before opset 21 scale and bias are per group: each serves its group's channels.
Expected<NodeId> channelsOfGroups(OpContext &op, NodeId perGroup, int64_t groups) {
  if (op.opset() >= 21)
    return perGroup;
  Dim channels = op.rank(op.input(0)) > 1 ? op.shape(op.input(0))[1] : Dim::unknown();
  if (!channels.isConst() || channels.value() % groups != 0 ||
      op.shape(perGroup) != std::vector<Dim>{Dim(groups)})
    return op.error() << "scale or bias of type " << op.types().str(op.module().type(perGroup))
                      << " for " << groups << " groups of "
                      << op.types().str(op.module().type(op.input(0)));
  return op.call("repeat", {perGroup},
                 {{"repeats", channels.value() / groups}, {"axis", int64_t{0}}});
}

} // namespace

Expected<> convertBatchNorm(OpContext &op) {
  double epsilon = BYCC_TRY(epsilonOf(op));
  bool isTraining = op.opset() < 7 ? BYCC_TRY(op.intAttr("is_test", 0)) == 0
                                   : BYCC_TRY(op.intAttr("training_mode", 0)) != 0;
  bool isOld = op.opset() < 14; // its outputs for training are not defined as numbers
  if (isOld && (isTraining || op.wantsOutput(1) || op.wantsOutput(2) || op.wantsOutput(3) ||
                op.wantsOutput(4)))
    return op.error(Status::Unsup) << "training mode before opset 14 is not supported";
  if (isTraining)
    return convertBatchNormTraining(op, epsilon);
  op.ignoreAttr("momentum");
  if (op.opset() < 9 && BYCC_TRY(op.intAttr("spatial", 1)) == 0)
    return convertBatchNormPerElement(op, epsilon);
  NodeId parts = BYCC_TRY(op.call("nn.batch_norm",
                                  {op.input(0), op.input(1), op.input(2), op.input(3), op.input(4)},
                                  {{"epsilon", epsilon}}));
  op.setOutput(0, BYCC_TRY(op.project(parts, 0)));
  return {};
}

Expected<> convertInstanceNorm(OpContext &op) {
  double epsilon = BYCC_TRY(epsilonOf(op));
  op.setOutput(0, BYCC_TRY(op.call("nn.instance_norm", {op.input(0), op.input(1), op.input(2)},
                                   {{"epsilon", epsilon}})));
  return {};
}

// More axes than one are taken as one.
Expected<NodeId> layerNormOf(OpContext &op, NodeId x, NodeId gamma, NodeId beta, int64_t axis,
                             double epsilon) {
  int64_t rank = op.rank(x);
  std::vector<Dim> shape = op.shape(x);
  Dim inner(1);
  for (int64_t i = axis; i < rank; ++i)
    inner = op.types().mul(inner, shape[i]);
  bool isOpen = !inner.isConst();
  if (isOpen && axis + 1 < rank)
    return op.error(Status::Unsup) << "normalises axes of unknown size, from " << axis << " on";
  auto flat = [&](NodeId node) -> Expected<NodeId> {
    if (isOpen && op.rank(node) == 1)
      return node;
    if (isOpen || op.types().numElements(op.module().type(node)) != inner.value())
      return op.error() << "scale or bias of type " << op.types().str(op.module().type(node))
                        << ", wanted " << op.types().str(inner) << " values";
    int64_t count = inner.value();
    return op.reshape(node, {&count, 1});
  };
  gamma = BYCC_TRY(flat(gamma));
  NodeId bias = beta ? BYCC_TRY(flat(beta)) : BYCC_TRY(op.call("zeros_like", {gamma}));
  NodeId data = x;
  if (axis + 1 < rank) {
    std::vector<int64_t> codes(static_cast<size_t>(axis), 0); // copied
    codes.push_back(inner.value());
    data = BYCC_TRY(op.call("reshape", {x}, {{"newshape", AttrValue::ints(codes)}}));
  }
  NodeId result = BYCC_TRY(op.call("nn.layer_norm", {data, gamma, bias}, {{"epsilon", epsilon}}));
  return data == x ? Expected<NodeId>(result) : reshapedLike(op, result, x);
}

Expected<> convertLayerNorm(OpContext &op) {
  NodeId x = op.input(0);
  double epsilon = BYCC_TRY(epsilonOf(op));
  op.ignoreAttr("stash_type");
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", -1)), op.rank(x)));
  BYCC_TRY(setLayerStatistics(op, x, axis, epsilon));
  NodeId beta = op.has(2) ? op.input(2) : NodeId();
  op.setOutput(0, BYCC_TRY(layerNormOf(op, x, op.input(1), beta, axis, epsilon)));
  return {};
}

Expected<> convertGroupNorm(OpContext &op) {
  double epsilon = BYCC_TRY(epsilonOf(op));
  op.ignoreAttr("stash_type");
  int64_t groups = BYCC_TRY(op.requiredInt("num_groups"));
  if (groups < 1)
    return op.error() << "num_groups is " << groups;
  NodeId scale = BYCC_TRY(channelsOfGroups(op, op.input(1), groups));
  NodeId bias = BYCC_TRY(channelsOfGroups(op, op.input(2), groups));
  op.setOutput(0, BYCC_TRY(op.call("nn.group_norm", {op.input(0), scale, bias},
                                   {{"num_groups", groups}, {"epsilon", epsilon}})));
  return {};
}

// LpNormalization: x / norm, with 0 where the norm is 0.
Expected<> convertLpNorm(OpContext &op) {
  NodeId x = op.input(0);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", -1)), op.rank(x)));
  int64_t p = BYCC_TRY(op.intAttr("p", 2));
  if (p != 1 && p != 2)
    return op.error() << "p must be 1 or 2";
  NodeId terms = p == 1 ? BYCC_TRY(op.call("abs", {x})) : BYCC_TRY(op.call("multiply", {x, x}));
  NodeId norm = BYCC_TRY(
      op.call("sum", {terms}, {{"axis", AttrValue::ints({&axis, 1})}, {"keepdims", true}}));
  if (p == 2)
    norm = BYCC_TRY(op.call("sqrt", {norm}));
  NodeId isZero = BYCC_TRY(op.call("equal", {norm, op.scalar(op.dtype(x), 0)}));
  NodeId safe = BYCC_TRY(op.call("where", {isZero, op.scalar(op.dtype(x), 1), norm}));
  op.setOutput(0, BYCC_TRY(op.call("divide", {x, safe})));
  return {};
}

Expected<> convertLrn(OpContext &op) {
  int64_t size = BYCC_TRY(op.requiredInt("size"));
  if (size < 1)
    return op.error() << "size is " << size;
  if (size % 2 == 0)
    return op.error(Status::Unsup) << "an even size is not supported";
  op.setOutput(0, BYCC_TRY(op.call("nn.lrn", {op.input(0)},
                                   {{"size", size},
                                    {"axis", 1},
                                    {"bias", BYCC_TRY(op.floatAttr("bias", 1))},
                                    {"alpha", BYCC_TRY(op.floatAttr("alpha", 1e-4))},
                                    {"beta", BYCC_TRY(op.floatAttr("beta", 0.75))}})));
  return {};
}

} // namespace bycc::onnx
