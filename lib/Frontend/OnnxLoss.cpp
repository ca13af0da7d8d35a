// Losses: the score of the target class, looked up along the class axis.
#include "OnnxCompose.h"
#include "OnnxConverters.h"

namespace bycc::onnx {
namespace {

// Loss of log-probabilities x: [N, C, d..] for classes target: [N, d..].
//   loss = -w[target] * x[n, target, d..]; an ignored target counts as weight 0
//   mean = sum(loss) / sum(weights)
Expected<NodeId> likelihoodLoss(OpContext &op, NodeId x) {
  NodeId target = op.input(1);
  if (op.rank(x) < 2 || op.rank(target) != op.rank(x) - 1)
    return op.error() << "scores of rank " << op.rank(x) << ", targets of rank " << op.rank(target);
  std::string reduction = BYCC_TRY(op.textAttr("reduction", "mean"));
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return op.error() << "reduction must be none, sum or mean";
  const Attribute *ignored = BYCC_TRY(op.attr("ignore_index", AttrKind::Int));
  Compose c(op);
  DType dtype = op.dtype(x);
  NodeId isIgnored;
  if (ignored) { // it may be no class at all
    isIgnored = c.call("equal", target, static_cast<double>(ignored->i));
    target = c.where(isIgnored, c.scalar(op.dtype(target), 0), target);
  }
  NodeId score = c.squeeze(c.call("gather", {x, c.expand(target, 1)}, {{"axis", int64_t{1}}}), {1});
  if (ignored)
    score = c.where(isIgnored, c.scalar(dtype, 0), score);
  NodeId loss = c.call("negative", {score}), weight;
  if (op.has(2)) {
    weight = c.call("take", {op.input(2), target}, {{"axis", int64_t{0}}});
    loss = c.mul(loss, weight);
    if (ignored)
      weight = c.where(isIgnored, c.scalar(dtype, 0), weight);
  } else if (ignored) {
    weight = c.where(isIgnored, c.scalar(dtype, 0), c.scalar(dtype, 1));
  }
  std::vector<int64_t> all;
  for (int64_t i = 0; i < op.rank(op.input(1)); ++i)
    all.push_back(i);
  if (reduction == "sum")
    loss = c.reduce("sum", loss, all, false);
  else if (reduction == "mean" && !op.has(2) && !ignored)
    loss = c.reduce("mean", loss, all, false);
  else if (reduction == "mean")
    loss = c.div(c.reduce("sum", loss, all, false), c.reduce("sum", weight, all, false));
  return c.done(loss);
}

} // namespace

Expected<> convertLikelihoodLoss(OpContext &op) {
  op.setOutput(0, BYCC_TRY(likelihoodLoss(op, op.input(0))));
  return {};
}

// The same of log-softmax over the classes, which is the second output.
Expected<> convertCrossEntropyLoss(OpContext &op) {
  NodeId logs = BYCC_TRY(op.call("nn.log_softmax", {op.input(0)}, {{"axis", int64_t{1}}}));
  op.setOutput(0, BYCC_TRY(likelihoodLoss(op, logs)));
  if (op.wantsOutput(1))
    op.setOutput(1, logs);
  return {};
}

} // namespace bycc::onnx
