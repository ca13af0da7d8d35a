// Gathering, scattering and sorting. ONNX counts negative indices from the end;
// known indices are checked and made positive here, others wrap at run time.
#include "OnnxConverters.h"

#include <algorithm>

namespace bycc::onnx {
namespace {

// Indices into an axis of `size`, none negative.
Expected<NodeId> positiveIndices(OpContext &op, NodeId indices, Dim size) {
  DType dtype = op.dtype(indices);
  if (!isInt(dtype))
    return op.error() << "indices of " << name(dtype) << ", wanted integers";
  if (isUnsignedInt(dtype))
    return indices;
  if (!size.isConst())
    return op.error(Status::Unsup) << "indexes an axis of unknown size";
  if (std::optional<std::vector<double>> known = op.numbersOf(indices)) {
    bool hasNegative = false;
    for (double index : *known) {
      if (index < -static_cast<double>(size.value()) || index >= static_cast<double>(size.value()))
        return op.error() << "index " << index << " is out of range for " << size.value()
                          << " elements";
      hasNegative = hasNegative || index < 0;
    }
    if (!hasNegative)
      return indices;
  }
  NodeId isNegative = BYCC_TRY(op.call("less", {indices, op.scalar(dtype, 0)}));
  NodeId count = op.scalar(dtype, static_cast<double>(size.value()));
  NodeId wrapped = BYCC_TRY(op.call("add", {indices, count}));
  return op.call("where", {isNegative, wrapped, indices});
}

} // namespace

// mode="wrap" is exact for every legal index, negative ones included.
Expected<> convertGather(OpContext &op) {
  NodeId x = op.input(0), indices = op.input(1);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", 0)), op.rank(x)));
  if (!isInt(op.dtype(indices)))
    return op.error() << "indices of " << name(op.dtype(indices)) << ", wanted integers";
  const char *mode = "wrap";
  if (std::optional<std::vector<double>> known = op.numbersOf(indices)) {
    Dim size = op.shape(x)[axis];
    bool isPlain = true;
    for (double index : *known) {
      double count = size.isConst() ? static_cast<double>(size.value()) : 1e18;
      if (index < -count || index >= count)
        return op.error() << "index " << index << " is out of range for " << size.value()
                          << " elements";
      isPlain = isPlain && index >= 0;
    }
    mode = isPlain ? "clip" : "wrap";
  }
  op.setOutput(0, BYCC_TRY(op.call("take", {x, indices}, {{"axis", axis}, {"mode", mode}})));
  return {};
}

Expected<> convertGatherElements(OpContext &op) {
  NodeId x = op.input(0);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", 0)), op.rank(x)));
  NodeId indices = BYCC_TRY(positiveIndices(op, op.input(1), op.shape(x)[axis]));
  op.setOutput(0, BYCC_TRY(op.call("gather", {x, indices}, {{"axis", axis}})));
  return {};
}

namespace {

// ONNX has the coordinates on the last axis, Relay on the first. Negative ones
// get the size of their axis added.
Expected<NodeId> coordinates(OpContext &op, NodeId x, NodeId indices, int64_t firstAxis) {
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(indices));
  int64_t rank = static_cast<int64_t>(shape.size());
  if (rank < 1 || shape.back() < 1 || shape.back() > op.rank(x) - firstAxis)
    return op.error() << "indices of type " << op.types().str(op.module().type(indices))
                      << " into rank " << op.rank(x);
  std::vector<int64_t> sizes = BYCC_TRY(op.staticShape(x));
  std::vector<int64_t> axisSizes(sizes.begin() + firstAxis, sizes.begin() + firstAxis + shape.back());
  DType dtype = op.dtype(indices);
  NodeId isNegative = BYCC_TRY(op.call("less", {indices, op.scalar(dtype, 0)}));
  NodeId counts = BYCC_TRY(op.cast(op.ints(axisSizes), dtype));
  NodeId wrapped = BYCC_TRY(op.call("add", {indices, counts}));
  indices = BYCC_TRY(op.call("where", {isNegative, wrapped, indices}));
  std::vector<int64_t> axes{rank - 1};
  for (int64_t i = 0; i + 1 < rank; ++i)
    axes.push_back(i);
  return rank == 1 ? Expected<NodeId>(indices) : op.transpose(indices, axes);
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
  if (batchDims != 0)
    return op.error(Status::Unsup) << "batch_dims is not supported";
  NodeId indices = BYCC_TRY(coordinates(op, x, op.input(1), 0));
  op.setOutput(0, BYCC_TRY(op.call("gather_nd", {x, indices})));
  return {};
}

Expected<> convertScatterElements(OpContext &op) {
  NodeId x = op.input(0);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", 0)), op.rank(x)));
  std::string kind = BYCC_TRY(reduction(op, 16));
  NodeId indices = BYCC_TRY(positiveIndices(op, op.input(1), op.shape(x)[axis]));
  op.setOutput(0, BYCC_TRY(op.call("scatter_elements", {x, indices, op.input(2)},
                                   {{"axis", axis}, {"reduction", kind}})));
  return {};
}

Expected<> convertScatterND(OpContext &op) {
  NodeId x = op.input(0);
  std::string kind = BYCC_TRY(reduction(op, 16));
  NodeId indices = BYCC_TRY(coordinates(op, x, op.input(1), 0));
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
  int64_t depth = BYCC_TRY(op.constInt(1, "depth"));
  if (depth < 1)
    return op.error() << "depth is " << depth;
  NodeId indices = BYCC_TRY(op.cast(op.input(0), DType::Int64));
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", -1)), op.rank(indices) + 1));
  NodeId values = op.input(2);
  auto pick = [&](int64_t index) {
    return op.call("take", {values, op.scalar(DType::Int64, static_cast<double>(index))},
                   {{"axis", 0}});
  };
  NodeId off = BYCC_TRY(pick(0)), on = BYCC_TRY(pick(1));
  // An index outside [-depth, depth - 1] is off everywhere, which holds after
  // the wrap as well.
  NodeId isNegative = BYCC_TRY(op.call("less", {indices, op.scalar(DType::Int64, 0)}));
  NodeId count = op.scalar(DType::Int64, static_cast<double>(depth));
  NodeId wrapped = BYCC_TRY(op.call("add", {indices, count}));
  indices = BYCC_TRY(op.call("where", {isNegative, wrapped, indices}));
  op.setOutput(0, BYCC_TRY(op.call("one_hot", {indices, on, off},
                                   {{"depth", depth},
                                    {"axis", axis},
                                    {"dtype", name(op.dtype(values))}})));
  return {};
}

Expected<> convertTopK(OpContext &op) {
  NodeId x = op.input(0);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", -1)), op.rank(x)));
  bool isLargest = BYCC_TRY(op.intAttr("largest", 1)) != 0;
  op.ignoreAttr("sorted"); // sorted output is legal either way
  int64_t k = op.opset() < 10 ? BYCC_TRY(op.requiredInt("k")) : 0;
  if (op.opset() >= 10) {
    if (!op.has(1))
      return op.error() << "k is missing";
    k = BYCC_TRY(op.constInt(1, "k"));
  }
  Dim size = op.shape(x)[axis];
  if (k < 0 || (size.isConst() && k > size.value()))
    return op.error() << "k is " << k << ", the axis has "
                      << (size.isConst() ? size.value() : 0) << " elements";
  NodeId parts = BYCC_TRY(op.call("topk", {x}, {{"k", k},
                                                {"axis", axis},
                                                {"is_ascend", !isLargest},
                                                {"dtype", "int64"}}));
  op.setOutput(0, BYCC_TRY(op.project(parts, 0)));
  if (op.wantsOutput(1))
    op.setOutput(1, BYCC_TRY(op.project(parts, 1)));
  return {};
}

// Relay lists coordinates by row, ONNX by column.
Expected<> convertNonZero(OpContext &op) {
  NodeId places = BYCC_TRY(op.call("argwhere", {op.input(0)}));
  NodeId columns = BYCC_TRY(op.transpose(places, std::vector<int64_t>{1, 0}));
  op.setOutput(0, BYCC_TRY(op.cast(columns, DType::Int64)));
  return {};
}

} // namespace bycc::onnx
