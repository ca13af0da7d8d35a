// Normalisations that Relay has no operator for.
#include "OnnxCompose.h"
#include "OnnxConverters.h"

#include <algorithm>
#include <cmath>

namespace bycc::onnx {

Expected<double> epsilonOf(OpContext &op) {
  double epsilon = BYCC_TRY(op.floatAttr("epsilon", 1e-5));
  if (!(epsilon >= 0) || std::isinf(epsilon))
    return op.error() << "epsilon " << epsilon << " is not legal";
  return epsilon;
}

Expected<DType> stashType(OpContext &op) {
  int64_t type = BYCC_TRY(op.intAttr("stash_type", 1));
  if (type != static_cast<int32_t>(type))
    return op.error() << "stash_type is " << type;
  return dtypeOf(static_cast<int32_t>(type), op.module().source(op.sourceId()));
}

namespace {

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
Expected<> setLayerStatistics(OpContext &op, int64_t axis, double epsilon) {
  if (!op.wantsOutput(1) && !op.wantsOutput(2))
    return {};
  Compose c(op);
  NodeId x = c.cast(op.input(0), BYCC_TRY(stashType(op)));
  std::vector<int64_t> axes = axesFrom(axis, op.rank(op.input(0)));
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
Expected<> convertRmsNorm(OpContext &op) {
  NodeId x = op.input(0);
  double epsilon = BYCC_TRY(epsilonOf(op));
  DType stash = BYCC_TRY(stashType(op)), dtype = op.dtype(op.input(1));
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", -1)), op.rank(x)));
  Compose c(op);
  NodeId wide = c.cast(x, stash);
  NodeId square = c.reduce("mean", c.mul(wide, wide), axesFrom(axis, op.rank(x)));
  NodeId normal = c.mul(wide, c.call("rsqrt", {c.add(square, epsilon)}));
  op.setOutput(0, BYCC_TRY(c.done(c.mul(c.cast(normal, dtype), op.input(1)))));
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
  NodeId normal = c.mul(c.sub(op.input(0), op.input(3)), c.call("rsqrt", {c.add(op.input(4), epsilon)}));
  op.setOutput(0, BYCC_TRY(c.done(c.add(c.mul(normal, op.input(1)), op.input(2)))));
  return {};
}

// Before opset 21 scale and bias are per group: each serves its group's channels.
Expected<NodeId> channelsOfGroups(OpContext &op, NodeId perGroup, int64_t groups) {
  if (op.opset() >= 21)
    return perGroup;
  Dim channels = op.rank(op.input(0)) > 1 ? op.shape(op.input(0))[1] : Dim::unknown();
  if (!channels.isConst() || channels.value() % groups != 0 || op.shape(perGroup) != std::vector<Dim>{Dim(groups)})
    return op.error() << "scale or bias of type " << op.types().str(op.module().type(perGroup)) << " for "
                      << groups << " groups of " << op.types().str(op.module().type(op.input(0)));
  return op.call("repeat", {perGroup}, {{"repeats", channels.value() / groups}, {"axis", int64_t{0}}});
}

} // namespace bycc::onnx
