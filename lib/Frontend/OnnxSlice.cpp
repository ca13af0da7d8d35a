// Parts of tensors: Split, Slice. Bounds that are known while importing become
// attributes, the others operands.
#include "OnnxCompose.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bycc::onnx {

namespace {

constexpr int64_t maxExtent = int64_t{1} << 40;

// Lengths of the parts, or nothing for equal ones.
Expected<std::optional<std::vector<int64_t>>> splitLengths(OpContext &op, Dim dim) {
  int64_t count = static_cast<int64_t>(op.numOutputs());
  std::optional<std::vector<int64_t>> lengths;
  if (op.opset() < 13)
    lengths = BYCC_TRY(op.intsAttr("split"));
  if ((op.opset() >= 13 || op.opset() < 2) && op.has(1))
    lengths = BYCC_TRY(op.constInts(1, "split"));
  int64_t parts = BYCC_TRY(op.intAttr("num_outputs", count));
  if (op.opset() >= 18 && op.has(1) && BYCC_TRY(op.attr("num_outputs", AttrKind::Int)))
    return op.error() << "has both num_outputs and lengths of its parts";
  if (parts != count)
    return op.error() << "num_outputs is " << parts << ", the node has " << count;
  if (lengths || !dim.isConst() || dim.value() % count == 0)
    return lengths;
  int64_t size = dim.value();
  if (op.opset() < 18)
    return op.error() << size << " elements do not split into " << count << " equal parts";
  int64_t length = size / count + 1; // the last part is shorter
  lengths.emplace(count, length);
  lengths->back() = size - length * (count - 1);
  return lengths;
}

// Slices of `sizes` (scalars in vectors of one) one behind the other.
Expected<> splitAtRunTime(OpContext &op, NodeId x, int64_t axis, std::span<const NodeId> sizes) {
  int64_t one = 1, zero = 0;
  NodeId begin = op.ints({&zero, 1}), strides = op.ints({&one, 1});
  for (size_t i = 0; i < sizes.size(); ++i) {
    op.setOutput(
        i, BYCC_TRY(op.call("dyn.strided_slice", {x, begin, sizes[i], strides},
                            {{"slice_mode", "size"}, {"axes", AttrValue::ints({&axis, 1})}})));
    if (i + 1 < sizes.size())
      begin = BYCC_TRY(op.call("add", {begin, sizes[i]}));
  }
  return {};
}

// Lengths that are an input.
Expected<> splitByInput(OpContext &op, NodeId x, int64_t axis) {
  int64_t count = static_cast<int64_t>(op.numOutputs());
  NodeId lengths = BYCC_TRY(runTimeInts(op, 1, "split", count));
  if (lengthOf(op, lengths) != count)
    return op.error() << "split of " << lengthOf(op, lengths) << " parts into " << count
                      << " outputs";
  std::vector<NodeId> sizes;
  for (int64_t i = 0; i < count; ++i)
    sizes.push_back(BYCC_TRY(pick(op, lengths, {&i, 1})));
  return splitAtRunTime(op, x, axis, sizes);
}

// Equal parts of an axis of unknown size: the last one may be shorter.
Expected<> splitUnknownAxis(OpContext &op, NodeId x, int64_t axis) {
  int64_t count = static_cast<int64_t>(op.numOutputs());
  NodeId extent = BYCC_TRY(pick(op, BYCC_TRY(extentsOf(op, x)), {&axis, 1}));
  auto number = [&](int64_t value) { return op.scalar(DType::Int64, static_cast<double>(value)); };
  NodeId raised = BYCC_TRY(op.call("add", {extent, number(count - 1)}));
  NodeId part = BYCC_TRY(op.call("floor_divide", {raised, number(count)}));
  std::vector<NodeId> sizes(static_cast<size_t>(count), part);
  NodeId others = BYCC_TRY(op.call("multiply", {part, number(count - 1)}));
  sizes.back() = BYCC_TRY(op.call("subtract", {extent, others}));
  return splitAtRunTime(op, x, axis, sizes);
}

} // namespace

Expected<> convertSplit(OpContext &op) {
  NodeId x = op.input(0);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", 0)), op.rank(x)));
  Dim dim = op.shape(x)[axis];
  bool hasInput = op.opset() >= 13 || op.opset() < 2;
  if (hasInput && !op.isKnown(1))
    return splitByInput(op, x, axis);
  bool hasLengths = hasInput && op.has(1);
  if (!dim.isConst() && !hasLengths && op.opset() >= 18) {
    op.ignoreAttr("num_outputs");
    return splitUnknownAxis(op, x, axis);
  }
  std::optional<std::vector<int64_t>> lengths = BYCC_TRY(splitLengths(op, dim));
  AttrValue cuts(static_cast<int64_t>(op.numOutputs()));
  if (lengths) {
    std::vector<int64_t> points;
    int64_t at = 0;
    for (int64_t length : *lengths) {
      if (length < 0 || length > (dim.isConst() ? dim.value() : maxExtent) - at)
        return op.error() << "split " << AttrValue::ints(*lengths).str() << " does not sum to "
                          << op.types().str(dim);
      points.push_back(at += length);
    }
    if ((dim.isConst() && at != dim.value()) || lengths->size() != op.numOutputs())
      return op.error() << "split " << AttrValue::ints(*lengths).str() << " of "
                        << op.types().str(dim) << " into " << op.numOutputs() << " outputs";
    points.pop_back();
    cuts = AttrValue::ints(points);
  }
  NodeId parts = BYCC_TRY(op.call("split", {x}, {{"indices_or_sections", cuts}, {"axis", axis}}));
  for (size_t i = 0; i < op.numOutputs(); ++i)
    op.setOutput(i, BYCC_TRY(op.project(parts, static_cast<uint32_t>(i))));
  return {};
}

namespace {

struct SliceRange {
  std::vector<int64_t> begin, end, axes, strides;
};

Expected<SliceRange> sliceRange(OpContext &op, int64_t rank) {
  SliceRange range;
  std::optional<std::vector<int64_t>> axes;
  if (op.opset() < 10) {
    std::optional<std::vector<int64_t>> begin = BYCC_TRY(op.intsAttr("starts"));
    std::optional<std::vector<int64_t>> end = BYCC_TRY(op.intsAttr("ends"));
    if (!begin || !end)
      return op.error() << "starts or ends are missing";
    range.begin = *begin;
    range.end = *end;
    axes = BYCC_TRY(op.intsAttr("axes"));
  } else {
    range.begin = BYCC_TRY(op.constInts(1, "starts"));
    range.end = BYCC_TRY(op.constInts(2, "ends"));
    if (op.has(3))
      axes = BYCC_TRY(op.constInts(3, "axes"));
    if (op.has(4))
      range.strides = BYCC_TRY(op.constInts(4, "steps"));
  }
  size_t count = range.begin.size();
  if (!axes) {
    axes.emplace();
    for (size_t i = 0; i < count; ++i)
      axes->push_back(static_cast<int64_t>(i));
  }
  if (range.strides.empty())
    range.strides.assign(count, 1);
  if (range.end.size() != count || axes->size() != count || range.strides.size() != count)
    return op.error() << "starts, ends, axes and steps differ in length";
  range.axes = BYCC_TRY(op.normalAxes(*axes, rank));
  return range;
}

// base + a known number
std::pair<NodeId, int64_t> sumOf(OpContext &op, NodeId node) {
  int64_t sum = 0;
  while (op.module().isOp(node, ops::add)) {
    std::optional<std::vector<double>> number = op.numbersOf(op.module().operands(node)[1]);
    if (!number || number->size() != 1 || std::abs((*number)[0]) > maxExtent)
      break;
    sum += static_cast<int64_t>((*number)[0]);
    node = op.module().operands(node)[0];
  }
  return {node, sum};
}

// v[i : i + 1], which a loop reads: one element, or none past the end. Where as many values
// are needed as there are axes it has to be one, and the run fails where it is not.
bool isOneElement(OpContext &op, size_t input) {
  NodeId node = op.input(input);
  if (!op.module().isOp(node, ops::dyn_strided_slice))
    return false;
  auto [begin, first] = sumOf(op, op.module().operands(node)[1]);
  auto [end, last] = sumOf(op, op.module().operands(node)[2]);
  return begin == end && last == first + 1;
}

// Bounds as operands. Relay's clamping is ONNX's, but for a step backwards that
// begins in front of the axis: ONNX begins at the first element.
Expected<> sliceAtRunTime(OpContext &op, NodeId x) {
  int64_t rank = op.rank(x);
  std::optional<int64_t> count;
  for (size_t index : {1, 2, 3, 4})
    if (op.has(index) && op.rank(op.input(index)) == 1 && op.shape(op.input(index))[0].isConst())
      count = op.shape(op.input(index))[0].value();
  if (!count && (isOneElement(op, 1) || isOneElement(op, 2)))
    count = 1;
  NodeId begin = BYCC_TRY(runTimeInts(op, 1, "starts", count));
  NodeId end = BYCC_TRY(runTimeInts(op, 2, "ends", count));
  count = lengthOf(op, begin);
  if (lengthOf(op, end) != *count || *count > rank)
    return op.error() << *count << " starts and " << lengthOf(op, end) << " ends for rank " << rank;
  std::vector<int64_t> ones(static_cast<size_t>(*count), 1);
  NodeId strides = op.has(4) ? BYCC_TRY(runTimeInts(op, 4, "steps", count)) : op.ints(ones);
  NodeId extents = BYCC_TRY(extentsOf(op, x));
  AttrDict attrs;
  if (op.isKnown(3)) {
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < *count; ++i)
      axes.push_back(i);
    if (op.has(3))
      axes = BYCC_TRY(op.normalAxes(BYCC_TRY(op.constInts(3, "axes")), rank));
    if (axes.size() != ones.size())
      return op.error() << "starts, ends, axes and steps differ in length";
    attrs.push_back({"axes", AttrValue::ints(axes)});
    extents = BYCC_TRY(pick(op, extents, axes));
  } else {
    AxisMask mask = BYCC_TRY(axisMask(op, BYCC_TRY(runTimeInts(op, 3, "axes", count)), rank));
    begin = BYCC_TRY(spread(op, mask, begin, 0));
    end = BYCC_TRY(spread(op, mask, end, std::numeric_limits<int64_t>::max()));
    strides = BYCC_TRY(spread(op, mask, strides, 1));
  }
  const IntTensor *steps = op.knownInts(4);
  bool isForward =
      !op.has(4) || (steps && std::all_of(steps->values.begin(), steps->values.end(),
                                          [](auto step) { return step && *step > 0; }));
  if (!isForward) {
    NodeId first = BYCC_TRY(op.call("negative", {extents}));
    begin = BYCC_TRY(op.call("maximum", {begin, first}));
  }
  op.setOutput(0,
               BYCC_TRY(op.call("dyn.strided_slice", {x, begin, end, strides}, std::move(attrs))));
  return {};
}

} // namespace

// Bounds are clamped here, as ONNX says; what is left is literal. A negative
// step that runs to the front ends at -size - 1, which stays in front after
// Relay has added the size.
Expected<> convertSlice(OpContext &op) {
  NodeId x = op.input(0);
  if (op.opset() >= 10 && (!op.has(1) || !op.has(2)))
    return op.error() << "starts or ends are missing";
  if (op.opset() >= 10 && !(op.isKnown(1) && op.isKnown(2) && op.isKnown(3) && op.isKnown(4)))
    return sliceAtRunTime(op, x);
  SliceRange range = BYCC_TRY(sliceRange(op, op.rank(x)));
  std::vector<Dim> shape = op.shape(x);
  for (size_t i = 0; i < range.axes.size(); ++i) {
    int64_t step = range.strides[i];
    if (step == 0 || step == std::numeric_limits<int64_t>::min())
      return op.error() << "step is " << step;
    if (!shape[range.axes[i]].isConst()) {
      if (step < 0 && range.begin[i] < -1)
        return sliceAtRunTime(op, x);
      continue; // Relay clamps as ONNX does
    }
    int64_t size = shape[range.axes[i]].value();
    auto clamp = [&](int64_t at, int64_t low, int64_t high) {
      return std::clamp(at < 0 ? (at < -size ? -1 : at + size) : at, low, high);
    };
    if (step > 0) {
      range.begin[i] = clamp(range.begin[i], 0, size);
      range.end[i] = std::max(clamp(range.end[i], 0, size), range.begin[i]);
      range.strides[i] = std::min(step, std::max<int64_t>(size, 1));
    } else {
      if (size == 0)
        return op.error(Status::Unsup) << "walks an empty axis backwards";
      range.begin[i] = clamp(range.begin[i], 0, size - 1);
      range.end[i] = clamp(range.end[i], -1, size - 1);
      if (range.end[i] > range.begin[i])
        range.end[i] = range.begin[i];
      if (range.end[i] < 0)
        range.end[i] = -size - 1;
    }
  }
  if (range.axes.empty()) {
    op.setOutput(0, x);
    return {};
  }
  op.setOutput(0, BYCC_TRY(op.call("strided_slice", {x},
                                   {{"begin", AttrValue::ints(range.begin)},
                                    {"end", AttrValue::ints(range.end)},
                                    {"strides", AttrValue::ints(range.strides)},
                                    {"axes", AttrValue::ints(range.axes)}})));
  return {};
}

} // namespace bycc::onnx
