// Gathering, scattering and sorting. ONNX counts negative indices from the end; one
// out of range is an error: of known ones here, of others when the model runs, which
// mode="error" and library kernels see to: they get the indices as the model has them.
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <algorithm>
#include <cmath>

namespace bycc::onnx {
namespace {

// Negative ones plus `count`, which has the dtype of the indices.
Expected<NodeId> wrapped(OpContext &op, NodeId indices, NodeId count) {
  NodeId isNegative = BYCC_TRY(op.call("less", {indices, op.scalar(op.dtype(indices), 0)}));
  NodeId sum = BYCC_TRY(op.call("add", {indices, count}));
  return op.call("where", {isNegative, sum, indices});
}

Expected<> checkInteger(OpContext &op, NodeId indices) {
  if (isInt(op.dtype(indices)))
    return {};
  return op.error() << "indices of " << name(op.dtype(indices)) << ", wanted integers";
}

Expected<> checkRange(OpContext &op, std::span<const double> indices, int64_t size) {
  for (double index : indices)
    if (index < -static_cast<double>(size) || index >= static_cast<double>(size))
      return op.error() << "index " << index << " is out of range for an axis of " << size
                        << " elements";
  return {};
}

bool hasNegative(std::span<const double> indices) {
  return std::ranges::any_of(indices, [](double index) { return index < 0; });
}

// How a reader takes its indices: the known ones are checked here and need no check
// later. "clip" reads in range as it is, and gather counts negative ones from the end.
Expected<const char *> checkedMode(OpContext &op, NodeId indices, Dim size) {
  BYCC_TRY(checkInteger(op, indices));
  std::optional<std::vector<double>> known = op.numbersOf(indices);
  if (!known || !size.isConst())
    return "error";
  BYCC_TRY(checkRange(op, *known, size.value()));
  return hasNegative(*known) ? "error" : "clip";
}

} // namespace

Expected<NodeId> gatherAlong(OpContext &op, NodeId x, NodeId indices, int64_t axis) {
  const char *mode = BYCC_TRY(checkedMode(op, indices, op.shape(x)[axis]));
  return op.call("take", {x, indices}, {{"axis", axis}, {"mode", mode}});
}

Expected<> convertGather(OpContext &op) {
  NodeId x = op.input(0);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", 0)), op.rank(x)));
  op.setOutput(0, BYCC_TRY(gatherAlong(op, x, op.input(1), axis)));
  return {};
}

Expected<> convertGatherElements(OpContext &op) {
  NodeId x = op.input(0), indices = op.input(1);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", 0)), op.rank(x)));
  const char *mode = BYCC_TRY(checkedMode(op, indices, op.shape(x)[axis]));
  op.setOutput(0, BYCC_TRY(op.call("gather", {x, indices}, {{"axis", axis}, {"mode", mode}})));
  return {};
}

namespace {

// ONNX has the coordinates on the last axis, Relay on the first. Known ones are checked.
Expected<int64_t> countCoordinates(OpContext &op, NodeId x, NodeId indices, int64_t firstAxis) {
  BYCC_TRY(checkInteger(op, indices));
  std::vector<Dim> shape = op.shape(indices);
  if (!shape.empty() && !shape.back().isConst())
    return op.error(Status::Unsup)
           << "how many coordinates indices of type " << op.types().str(op.module().type(indices))
           << " have must be known when the model is read";
  if (shape.empty() || shape.back().value() < 1 || shape.back().value() > op.rank(x) - firstAxis)
    return op.error() << "indices of type " << op.types().str(op.module().type(indices))
                      << " into rank " << op.rank(x);
  size_t count = static_cast<size_t>(shape.back().value());
  std::optional<std::vector<double>> known = op.numbersOf(indices);
  for (size_t i = 0; known && i < known->size(); ++i)
    if (Dim size = op.shape(x)[firstAxis + static_cast<int64_t>(i % count)]; size.isConst())
      BYCC_TRY(checkRange(op, std::span(&(*known)[i], 1), size.value()));
  return static_cast<int64_t>(count);
}

Expected<NodeId> coordinatesFirst(OpContext &op, NodeId indices) {
  std::vector<int64_t> axes{op.rank(indices) - 1};
  for (int64_t i = 0; i + 1 < op.rank(indices); ++i)
    axes.push_back(i);
  return axes.size() == 1 ? Expected<NodeId>(indices) : op.transpose(indices, axes);
}

Expected<std::string> reduction(OpContext &op, int since) {
  std::string kind = op.opset() < since ? "none" : BYCC_TRY(op.textAttr("reduction", "none"));
  if (kind != "none" && kind != "add" && kind != "mul" && kind != "min" && kind != "max")
    return op.error() << "reduction must be none, add, mul, min or max";
  return kind == "none" ? "update" : kind;
}

} // namespace

Expected<> convertGatherND(OpContext &op) {
  NodeId x = op.input(0);
  int64_t batchDims = BYCC_TRY(op.intAttr("batch_dims", 0));
  if (batchDims < 0 || batchDims >= std::min(op.rank(x), op.rank(op.input(1))))
    return op.error() << "batch_dims is " << batchDims << " for ranks " << op.rank(x) << " and "
                      << op.rank(op.input(1));
  BYCC_TRY(countCoordinates(op, x, op.input(1), batchDims));
  NodeId indices = BYCC_TRY(coordinatesFirst(op, op.input(1)));
  AttrDict attrs{{"mode", "error"}};
  if (batchDims != 0)
    attrs.push_back({"batch_dims", batchDims});
  op.setOutput(0, BYCC_TRY(op.call("gather_nd", {x, indices}, std::move(attrs))));
  return {};
}

Expected<> convertScatterElements(OpContext &op) {
  NodeId x = op.input(0);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", 0)), op.rank(x)));
  std::string kind = BYCC_TRY(reduction(op, 16));
  BYCC_TRY(checkedMode(op, op.input(1), op.shape(x)[axis]));
  op.setOutput(0, BYCC_TRY(op.call("scatter_elements", {x, op.input(1), op.input(2)},
                                   {{"axis", axis}, {"reduction", kind}})));
  return {};
}

Expected<> convertScatterND(OpContext &op) {
  NodeId x = op.input(0);
  std::string kind = BYCC_TRY(reduction(op, 16));
  BYCC_TRY(countCoordinates(op, x, op.input(1), 0));
  NodeId indices = BYCC_TRY(coordinatesFirst(op, op.input(1)));
  op.setOutput(0, BYCC_TRY(op.call("scatter_nd", {x, indices, op.input(2)}, {{"mode", kind}})));
  return {};
}

Expected<> convertReverseSequence(OpContext &op) {
  int64_t batchAxis = BYCC_TRY(op.intAttr("batch_axis", 1));
  int64_t timeAxis = BYCC_TRY(op.intAttr("time_axis", 0));
  if (batchAxis < 0 || batchAxis > 1 || timeAxis != 1 - batchAxis)
    return op.error() << "batch_axis and time_axis must be 0 and 1";
  op.setOutput(0, BYCC_TRY(op.call("reverse_sequence", {op.input(0), op.input(1)},
                                   {{"seq_axis", timeAxis}, {"batch_axis", batchAxis}})));
  return {};
}

// values = [off, on]
Expected<> convertOneHot(OpContext &op) {
  NodeId indices = BYCC_TRY(op.cast(op.input(0), DType::Int64));
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", -1)), op.rank(indices) + 1));
  NodeId values = op.input(2);
  if (op.rank(values) != 1 || (op.shape(values)[0].isConst() && op.shape(values)[0].value() != 2))
    return op.error() << "values are " << op.types().str(op.module().type(values))
                      << ", two are needed: off and on";
  auto pickValue = [&](int64_t index) {
    return op.call("take", {values, op.scalar(DType::Int64, static_cast<double>(index))},
                   {{"axis", 0}});
  };
  NodeId off = BYCC_TRY(pickValue(0)), on = BYCC_TRY(pickValue(1));
  AttrDict attrs{{"axis", axis}, {"dtype", name(op.dtype(values))}};
  // An index outside [-depth, depth - 1] is off everywhere, which holds after
  // the wrap as well.
  std::optional<std::vector<double>> number = op.numbersOf(op.input(1));
  if (!number) {
    NodeId depth = BYCC_TRY(op.cast(op.input(1), DType::Int64));
    depth = op.rank(depth) == 0 ? depth : BYCC_TRY(op.reshape(depth, {}));
    indices = BYCC_TRY(wrapped(op, indices, depth));
    op.setOutput(0, BYCC_TRY(op.call("dyn.one_hot", {indices, on, off, depth}, std::move(attrs))));
    return {};
  }
  if (number->size() != 1 || !(number->front() >= 1 && number->front() < 1e15))
    return op.error() << "depth is " << (number->empty() ? 0 : number->front());
  indices = BYCC_TRY(wrapped(op, indices, op.scalar(DType::Int64, std::trunc(number->front()))));
  attrs.push_back({"depth", static_cast<int64_t>(number->front())});
  op.setOutput(0, BYCC_TRY(op.call("one_hot", {indices, on, off}, std::move(attrs))));
  return {};
}

Expected<> convertTopK(OpContext &op) {
  NodeId x = op.input(0), parts;
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", -1)), op.rank(x)));
  bool isLargest = BYCC_TRY(op.intAttr("largest", 1)) != 0;
  op.ignoreAttr("sorted"); // sorted output is legal either way
  if (op.opset() >= 10 && !op.has(1))
    return op.error() << "k is missing";
  AttrDict attrs{{"axis", axis}, {"is_ascend", !isLargest}, {"dtype", "int64"}};
  if (op.opset() >= 10 && !op.isKnown(1)) {
    NodeId k = BYCC_TRY(runTimeInt(op, 1, "k"));
    parts = BYCC_TRY(op.call("dyn.topk", {x, k}, std::move(attrs)));
  } else {
    int64_t k = op.opset() < 10 ? BYCC_TRY(op.requiredInt("k")) : BYCC_TRY(op.constInt(1, "k"));
    Dim size = op.shape(x)[axis];
    if (k < 0 || (size.isConst() && k > size.value()))
      return op.error() << "k is " << k << ", the axis has " << op.types().str(size) << " elements";
    attrs.push_back({"k", k});
    parts = BYCC_TRY(op.call("topk", {x}, std::move(attrs)));
  }
  op.setOutput(0, BYCC_TRY(op.project(parts, 0)));
  if (op.wantsOutput(1))
    op.setOutput(1, BYCC_TRY(op.project(parts, 1)));
  return {};
}

// The elements of an axis (of all elements in a row, without one) whose condition
// holds. A short condition says nothing of the rest.
Expected<> convertCompress(OpContext &op) {
  NodeId x = op.input(0), condition = op.input(1);
  if (op.rank(condition) != 1)
    return op.error() << "a condition of rank " << op.rank(condition) << ", wanted 1";
  int64_t axis = 0, all = -1;
  if (BYCC_TRY(op.attr("axis", AttrKind::Int)))
    axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", 0)), op.rank(x)));
  else
    x = BYCC_TRY(op.reshape(x, {&all, 1}));
  Dim size = op.shape(x)[axis], count = op.shape(condition)[0];
  if (size.isConst() && count.isConst() && count.value() > size.value())
    return op.error() << "a condition of " << count.value() << " values for " << size.value()
                      << " elements";
  NodeId places = BYCC_TRY(op.call("argwhere", {condition}));
  places = BYCC_TRY(op.call("squeeze", {places}, {{"axis", AttrValue::List{1}}}));
  op.setOutput(0, BYCC_TRY(op.call("take", {x, places}, {{"axis", axis}})));
  return {};
}

// Relay lists coordinates by row, ONNX by column.
Expected<> convertNonZero(OpContext &op) {
  NodeId places = BYCC_TRY(op.call("argwhere", {op.input(0)}));
  NodeId columns = BYCC_TRY(op.transpose(places, std::vector<int64_t>{1, 0}));
  op.setOutput(0, BYCC_TRY(op.cast(columns, DType::Int64)));
  return {};
}

// The unique elements of all, or the unique slices along an axis.
Expected<> convertUnique(OpContext &op) {
  NodeId x = op.input(0);
  AttrDict attrs{{"sorted", BYCC_TRY(op.intAttr("sorted", 1)) != 0}, {"return_counts", true}};
  int64_t all = -1;
  if (const Attribute *axis = BYCC_TRY(op.attr("axis", AttrKind::Int)))
    attrs.push_back({"axis", BYCC_TRY(op.normalAxis(axis->i, op.rank(x)))});
  else
    x = BYCC_TRY(op.reshape(x, {&all, 1}));
  NodeId parts = BYCC_TRY(op.call("unique", {x}, std::move(attrs)));
  op.setOutput(0, BYCC_TRY(op.project(parts, 0)));
  constexpr uint32_t fields[] = {1, 2, 4}; // indices, inverse, counts
  for (size_t i = 0; i < 3; ++i)
    if (op.wantsOutput(i + 1))
      op.setOutput(i + 1, BYCC_TRY(op.cast(BYCC_TRY(op.project(parts, fields[i])), DType::Int64)));
  return {};
}

} // namespace bycc::onnx
