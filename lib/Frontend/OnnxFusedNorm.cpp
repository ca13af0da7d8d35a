// Normalisations that ONNX Runtime's optimiser joins with what stands in front of them (domain
// com.microsoft): sums, embeddings, another layout.
#include "OnnxActivation.h"
#include "OnnxAttention.h"
#include "OnnxConverters.h"

namespace bycc::onnx {
namespace {

// input + skip, and the bias at `index` to the product among the two.
Expected<NodeId> skipSum(OpContext &op, size_t index) {
  NodeId parts[2] = {op.input(0), op.input(1)};
  if (op.rank(parts[0]) < 1)
    return op.error() << "an input of rank 0";
  if (op.has(index)) {
    NodeId &product = parts[op.importer().rowsProductOf(parts[1]) ? 1 : 0];
    product = BYCC_TRY(sumOf(op, product, op.input(index)));
  }
  return op.call("add", {parts[0], parts[1]});
}

} // namespace

Expected<> convertSkipLayerNorm(OpContext &op) {
  double epsilon = BYCC_TRY(epsilonOf(op, 1e-12));
  NodeId sum = BYCC_TRY(skipSum(op, 4));
  int64_t axis = op.rank(sum) - 1;
  BYCC_TRY(setLayerStatistics(op, sum, axis, epsilon));
  NodeId beta = op.has(3) ? op.input(3) : NodeId();
  op.setOutput(0, BYCC_TRY(layerNormOf(op, sum, op.input(2), beta, axis, epsilon)));
  op.setOutput(3, sum);
  return {};
}

Expected<> convertSkipRmsNorm(OpContext &op) {
  double epsilon = BYCC_TRY(epsilonOf(op, 1e-12));
  NodeId sum = BYCC_TRY(skipSum(op, 3));
  op.setOutput(0, BYCC_TRY(rmsNormOf(op, sum, op.input(2), op.rank(sum) - 1, epsilon)));
  op.setOutput(3, sum);
  return {};
}

// Words, positions (0, 1, .. where they are not given) and, optionally, segments. The second output
// counts the words of each sentence, the third is the sum.
Expected<> convertEmbedLayerNorm(OpContext &op) {
  op.ignoreAttr("mask_index_type");
  double epsilon = BYCC_TRY(epsilonOf(op, 1e-12));
  for (size_t index : {0, 2, 3, 5, 6})
    if (!op.has(index))
      return op.error() << "input " << index << " is missing";
  NodeId ids = op.input(0);
  if (op.rank(ids) != 2)
    return op.error() << "input_ids of rank " << op.rank(ids) << ", wanted 2";
  Compose c(op);
  auto row = [&](size_t table, NodeId index) {
    return c.call("take", {op.input(table), index}, {{"axis", int64_t{0}}, {"mode", "error"}});
  };
  NodeId places = op.has(8) ? op.input(8) : BYCC_TRY(positions(op, ids, 1));
  NodeId sum = c.add(row(2, ids), row(3, places));
  if (op.has(1) && op.has(4))
    sum = c.add(sum, row(4, op.input(1)));
  sum = BYCC_TRY(c.done(sum));
  op.setOutput(0, BYCC_TRY(layerNormOf(op, sum, op.input(5), op.input(6), 2, epsilon)));
  if (op.wantsOutput(1)) {
    NodeId isWord = op.has(7) ? c.call("equal", op.input(7), 1) : c.call("zeros_like", {ids});
    op.setOutput(1, BYCC_TRY(c.done(c.reduce("sum", c.cast(isWord, DType::Int32), {1}, false))));
  }
  op.setOutput(2, sum);
  return {};
}

// GroupNorm and SkipGroupNorm: of x, or of x + skip + bias, channels last unless said otherwise, with
// x * sigmoid(x) behind it where `activation` is 1.
Expected<> convertGroupNormOfLayout(OpContext &op) {
  double epsilon = BYCC_TRY(epsilonOf(op));
  bool isLast = BYCC_TRY(op.intAttr("channels_last", 1)) != 0;
  int64_t groups = BYCC_TRY(op.requiredInt("groups"));
  int64_t activation = BYCC_TRY(op.requiredInt("activation"));
  NodeId x = op.input(0);
  if (op.rank(x) != 4 || groups < 1 || activation < 0 || activation > 1)
    return op.error() << "an input of rank " << op.rank(x) << ", " << groups
                      << " groups, activation " << activation;
  Compose c(op);
  auto perChannel = [&](NodeId value) { // [batch, channels] or [channels]
    return isLast ? c.expand(value, op.rank(value) - 1, op.rank(value) == 2 ? 2 : 0)
                  : c.expand(value, op.rank(value), 2);
  };
  if (op.has(3))
    x = c.add(x, op.rank(op.input(3)) == 4 ? op.input(3) : perChannel(op.input(3)));
  if (op.has(4))
    x = c.add(x, perChannel(op.input(4)));
  op.setOutput(1, BYCC_TRY(c.done(x)));
  NodeId data = isLast ? c.transpose(x, {0, 3, 1, 2}) : x;
  DType dtype = op.dtype(x);
  NodeId normal = BYCC_TRY(
      c.done(c.call("nn.group_norm", {data, c.cast(op.input(1), dtype), c.cast(op.input(2), dtype)},
                    {{"num_groups", groups}, {"epsilon", epsilon}})));
  if (activation == 1)
    normal = BYCC_TRY(swishOf(op, normal, 1));
  op.setOutput(0, BYCC_TRY(c.done(isLast ? c.transpose(normal, {0, 2, 3, 1}) : normal)));
  return {};
}

} // namespace bycc::onnx
