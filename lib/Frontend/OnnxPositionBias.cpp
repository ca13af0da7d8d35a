// Summands of attention by the distance of tokens, as ONNX Runtime's optimiser writes them (domain
// com.microsoft).
#include "OnnxAttention.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <cmath>

namespace bycc::onnx {
namespace {

// The bucket of the distances -most .. most (key - query): near ones have one each, far ones share, the
// farther the more.
std::vector<int64_t> bucketsOf(int64_t most, int64_t buckets, bool isBidirectional) {
  int64_t half = isBidirectional ? buckets / 2 : buckets, exact = half / 2;
  std::vector<int64_t> result;
  for (int64_t distance = -most; distance <= most; ++distance) {
    bool isBehind = isBidirectional && distance > 0;
    int64_t far = isBidirectional ? std::abs(distance) : std::max<int64_t>(0, -distance);
    if (far >= exact) {
      float share = std::log(static_cast<float>(far) / static_cast<float>(exact)) /
                    std::log(static_cast<float>(most) / static_cast<float>(exact));
      far = std::min(half - 1,
                     exact + static_cast<int64_t>(share * static_cast<float>(half - exact)));
    }
    result.push_back(far + (isBehind ? half : 0));
  }
  return result;
}

} // namespace

// The table has a row for each head, though its shape is [buckets, heads].
Expected<> convertRelativePositionBias(OpContext &op) {
  NodeId table = op.input(0);
  int64_t most = BYCC_TRY(op.requiredInt("max_distance"));
  bool isBidirectional = BYCC_TRY(op.intAttr("is_bidirectional", 0)) != 0;
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(table));
  if (shape.size() != 2 || most < 1 || most > 1 << 20 || shape[0] < (isBidirectional ? 4 : 2) ||
      most <= shape[0] / (isBidirectional ? 4 : 2))
    return op.error() << "a table of type " << op.types().str(op.module().type(table))
                      << " for distances up to " << most;
  Compose c(op);
  auto range = [&](size_t index, const char *what) -> Expected<NodeId> {
    NodeId count = BYCC_TRY(runTimeInt(op, index, what));
    return c.done(c.call("arange", {c.scalar(DType::Int64, 0), count, c.scalar(DType::Int64, 1)},
                         {{"dtype", "int64"}}));
  };
  NodeId rows = BYCC_TRY(range(1, "query_length")), columns = BYCC_TRY(range(2, "key_length"));
  double end = static_cast<double>(most);
  NodeId distance =
      c.call("clip", {c.sub(columns, c.expand(rows, 1))}, {{"a_min", -end}, {"a_max", end}});
  std::vector<int64_t> buckets = bucketsOf(most, shape[0], isBidirectional);
  NodeId perHead = c.reshape(table, {shape[1], shape[0]});
  AttrDict along{{"axis", int64_t{1}}};
  NodeId perDistance = c.call("take", {perHead, op.ints(buckets)}, along);
  NodeId bias = c.call("take", {perDistance, c.add(distance, end)}, along);
  op.setOutput(0, BYCC_TRY(c.done(c.expand(bias, 0))));
  return {};
}

// (u * (r * eco_a - 1) + 2) * rel_pos, u and r the sigmoids of the sums of each half of
// (query + bias) weight + bias.
Expected<> convertGatedPositionBias(OpContext &op) {
  if (op.has(6))
    return op.error(Status::Unsup) << "token_offset (queries without padding) is not supported";
  int64_t heads = BYCC_TRY(op.requiredInt("num_heads"));
  Dim columns = op.rank(op.input(3)) == 2 ? op.shape(op.input(3))[1] : Dim::unknown();
  if (op.rank(op.input(0)) != 3 || !columns.isConst() || columns.value() % 2 != 0)
    return op.error() << "query of rank " << op.rank(op.input(0)) << ", weight of type "
                      << op.types().str(op.module().type(op.input(3)));
  NodeId query = BYCC_TRY(sumOf(op, op.input(0), op.input(1)));
  query = BYCC_TRY(splitHeads(op, query, heads, "num_heads"));
  NodeId gates = BYCC_TRY(sumOf(op, BYCC_TRY(matmulOf(op, query, op.input(3))), op.input(4)));
  Compose c(op);
  auto gate = [&](int64_t side) {
    int64_t half = columns.value() / 2;
    return c.call("sigmoid",
                  {c.reduce("sum", c.slice(gates, 3, side * half, (side + 1) * half), {3})});
  };
  NodeId inner = c.sub(c.mul(gate(1), op.input(5)), 1);
  NodeId factor = c.add(c.mul(gate(0), inner), 2);
  op.setOutput(0, BYCC_TRY(c.done(c.mul(factor, op.input(2)))));
  return {};
}

} // namespace bycc::onnx
