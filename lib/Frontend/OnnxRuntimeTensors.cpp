// Plain operators on tensors that ONNX Runtime has beside ONNX's (domain com.microsoft).
#include "OnnxCompose.h"
#include "OnnxConverters.h"

namespace bycc::onnx {

Expected<> convertExpandDims(OpContext &op) {
  int64_t axis = BYCC_TRY(op.constInt(1, "axis"));
  axis = BYCC_TRY(op.normalAxis(axis, op.rank(op.input(0)) + 1));
  op.setOutput(0, BYCC_TRY(op.call("expand_dims", {op.input(0)}, {{"axis", axis}})));
  return {};
}

// Each value once, in the order of their first places; where each element went; how many there are.
Expected<> convertUniqueInOrder(OpContext &op) {
  NodeId parts =
      BYCC_TRY(op.call("unique", {op.input(0)}, {{"sorted", false}, {"return_counts", true}}));
  constexpr uint32_t fields[] = {0, 2, 4};
  for (size_t i = 0; i < 3; ++i) {
    NodeId part = BYCC_TRY(op.project(parts, fields[i]));
    op.setOutput(i, i == 0 ? part : BYCC_TRY(op.cast(part, DType::Int64)));
  }
  return {};
}

// Distances of the rows of two matrices, by |a|^2 - 2 a b + |b|^2.
Expected<> convertDistances(OpContext &op) {
  std::string metric = BYCC_TRY(op.textAttr("metric", "sqeuclidean"));
  if (metric != "sqeuclidean" && metric != "euclidean")
    return op.error(Status::Unsup) << "a metric other than euclidean and sqeuclidean";
  NodeId a = op.input(0), b = op.input(1);
  if (op.rank(a) != 2 || op.rank(b) != 2)
    return op.error() << "operands of rank " << op.rank(a) << " and " << op.rank(b) << ", wanted 2";
  Compose c(op);
  Dim rows = op.shape(b)[0];
  NodeId product = c.call("nn.dense", {a, b},
                          {{"units", rows.isConst() ? AttrValue(rows.value()) : AttrValue()}});
  NodeId left = c.reduce("sum", c.mul(a, a), {1}), right = c.reduce("sum", c.mul(b, b), {1}, false);
  NodeId square = c.call("maximum", c.add(c.sub(left, c.mul(product, 2)), right), 0);
  op.setOutput(0, BYCC_TRY(c.done(metric == "euclidean" ? c.call("sqrt", {square}) : square)));
  return {};
}

// Real and imaginary parts lie along the last axis; ComplexMulConj takes b's conjugate.
Expected<> convertComplexMul(OpContext &op) {
  bool isConjugate = op.proto().opType == "ComplexMulConj";
  Compose c(op);
  NodeId parts[2][2];
  for (size_t i = 0; i < 2; ++i) {
    int64_t last = op.rank(op.input(i)) - 1;
    if (last < 0 || op.shape(op.input(i))[last] != Dim(2))
      return op.error() << "an operand of type " << op.types().str(op.module().type(op.input(i)))
                        << ", the last axis has 2 elements";
    for (int64_t k = 0; k < 2; ++k)
      parts[i][k] = c.squeeze(c.slice(op.input(i), last, k, k + 1), {last});
  }
  auto [a, b] = parts;
  NodeId real = c.mul(a[0], b[0]), cross = c.mul(a[1], b[1]);
  NodeId turned = c.mul(a[0], b[1]), other = c.mul(a[1], b[0]);
  NodeId both[2] = {isConjugate ? c.add(real, cross) : c.sub(real, cross),
                    isConjugate ? c.sub(other, turned) : c.add(turned, other)};
  op.setOutput(0, BYCC_TRY(c.done(c.stack(both, -1))));
  return {};
}

Expected<> convertIsAllFinite(OpContext &op) {
  bool isNanOnly = BYCC_TRY(op.intAttr("isnan_only", 0)) != 0;
  bool isInfOnly = BYCC_TRY(op.intAttr("isinf_only", 0)) != 0;
  Compose c(op);
  NodeId result;
  for (size_t i = 0; i < op.numInputs(); ++i) {
    NodeId x = op.input(i);
    NodeId good = isNanOnly   ? c.call("logical_not", {c.call("isnan", {x})})
                  : isInfOnly ? c.call("logical_not", {c.call("isinf", {x})})
                              : c.call("isfinite", {x});
    NodeId all = c.call("all", {good});
    result = result ? c.call("logical_and", {result, all}) : all;
  }
  op.setOutput(0, BYCC_TRY(c.done(result)));
  return {};
}

// All windows of `size` elements along an axis, each along a new last axis.
Expected<> convertUnfold(OpContext &op) {
  NodeId x = op.input(0);
  int64_t rank = op.rank(x), size = BYCC_TRY(op.requiredInt("size")),
          step = BYCC_TRY(op.intAttr("step", 1));
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("dim", -1)), rank));
  Dim extent = op.shape(x)[axis];
  if (!extent.isConst())
    return op.error(Status::Unsup) << "over an axis of unknown size";
  if (size < 1 || step < 1 || size > extent.value())
    return op.error() << "windows of " << size << " by " << step << " of " << extent.value()
                      << " elements";
  int64_t count = (extent.value() - size) / step + 1;
  constexpr int64_t most = 1 << 24;
  if (count > most / size)
    return op.error(Status::Limit)
           << count << " windows of " << size << " elements, the limit is " << most << " elements";
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < size; ++j)
      places.push_back(i * step + j);
  Compose c(op);
  NodeId windows =
      BYCC_TRY(c.done(c.call("take", {x, c.table(places, {count, size})}, {{"axis", axis}})));
  op.setOutput(0, BYCC_TRY(op.moveAxis(windows, axis + 1, rank)));
  return {};
}

} // namespace bycc::onnx
