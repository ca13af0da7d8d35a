// Parts of tensors and their opposite: Split, Slice, Pad. Bounds and widths that
// are known while importing become attributes, the others operands.
#include "OnnxCompose.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <algorithm>
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
    op.setOutput(i, BYCC_TRY(op.call("dyn.strided_slice", {x, begin, sizes[i], strides},
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
    return op.error() << "split of " << lengthOf(op, lengths) << " parts into " << count << " outputs";
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

// Bounds as operands. Relay's clamping is ONNX's, but for a step backwards that
// begins in front of the axis: ONNX begins at the first element.
Expected<> sliceAtRunTime(OpContext &op, NodeId x) {
  int64_t rank = op.rank(x);
  std::optional<int64_t> count;
  for (size_t index : {1, 2, 3, 4})
    if (op.has(index) && op.rank(op.input(index)) == 1 && op.shape(op.input(index))[0].isConst())
      count = op.shape(op.input(index))[0].value();
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
  bool isForward = !op.has(4) || (steps && std::all_of(steps->values.begin(), steps->values.end(),
                                                       [](auto step) { return step && *step > 0; }));
  if (!isForward) {
    NodeId first = BYCC_TRY(op.call("negative", {extents}));
    begin = BYCC_TRY(op.call("maximum", {begin, first}));
  }
  op.setOutput(0, BYCC_TRY(op.call("dyn.strided_slice", {x, begin, end, strides}, std::move(attrs))));
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

namespace {

// Widths of every axis as (before, after) pairs.
Expected<std::vector<int64_t>> padWidths(OpContext &op, int64_t rank) {
  std::vector<int64_t> pads;
  if (op.opset() < 11) {
    std::optional<std::vector<int64_t>> given =
        BYCC_TRY(op.intsAttr(op.opset() < 2 ? "paddings" : "pads"));
    if (!given)
      return op.error() << "pads are missing";
    pads = *given;
  } else {
    pads = BYCC_TRY(op.constInts(1, "pads"));
  }
  std::vector<int64_t> axes;
  if (op.has(3))
    axes = BYCC_TRY(op.normalAxes(BYCC_TRY(op.constInts(3, "axes")), rank));
  else
    for (int64_t i = 0; i < rank; ++i)
      axes.push_back(i);
  if (pads.size() != 2 * axes.size())
    return op.error() << pads.size() << " pads for " << axes.size() << " axes";
  std::vector<int64_t> widths(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    widths[2 * axes[i]] = pads[i];
    widths[2 * axes[i] + 1] = pads[i + axes.size()];
  }
  for (int64_t width : widths)
    if (width > maxExtent || width < -maxExtent)
      return op.error(Status::Limit) << "a pad of " << width;
  return widths;
}

// The same when the model runs, [rank, 2].
Expected<NodeId> padWidthsAtRunTime(OpContext &op, int64_t rank) {
  std::optional<int64_t> count; // of axes
  if (!op.has(3))
    count = rank;
  else if (op.rank(op.input(3)) == 1 && op.shape(op.input(3))[0].isConst())
    count = op.shape(op.input(3))[0].value();
  NodeId pads = BYCC_TRY(runTimeInts(op, 1, "pads", count ? std::optional(2 * *count) : count));
  int64_t length = lengthOf(op, pads), axisCount = length / 2, zero = 0;
  if (length % 2 != 0 || axisCount > rank || axisCount != count.value_or(axisCount))
    return op.error() << length << " pads for " << count.value_or(rank) << " axes";
  NodeId widths;
  if (op.isKnown(3)) {
    std::vector<int64_t> axes, from(2 * rank, length); // the 0 behind the pads
    for (int64_t i = 0; i < rank; ++i)
      axes.push_back(i);
    if (op.has(3))
      axes = BYCC_TRY(op.normalAxes(BYCC_TRY(op.constInts(3, "axes")), rank));
    for (int64_t i = 0; i < axisCount; ++i) {
      from[2 * axes[i]] = i;
      from[2 * axes[i] + 1] = i + axisCount;
    }
    NodeId parts[2] = {pads, op.ints({&zero, 1})};
    widths = BYCC_TRY(pick(op, BYCC_TRY(join(op, parts)), from));
    return op.reshape(widths, std::vector<int64_t>{rank, 2});
  }
  AxisMask mask = BYCC_TRY(axisMask(op, BYCC_TRY(runTimeInts(op, 3, "axes", axisCount)), rank));
  NodeId sides[2];
  for (int side = 0; side < 2; ++side) {
    std::vector<int64_t> from;
    for (int64_t i = 0; i < axisCount; ++i)
      from.push_back(i + side * axisCount);
    sides[side] = BYCC_TRY(spread(op, mask, BYCC_TRY(pick(op, pads, from)), 0));
  }
  return op.call("stack", {op.tuple(sides)}, {{"axis", 1}});
}

// ONNX's wrap: a padded axis is read again from its other end.
Expected<NodeId> wrapAxis(OpContext &op, NodeId x, int64_t axis, NodeId before, NodeId after) {
  NodeId begin = BYCC_TRY(op.call("negative", {before}));
  NodeId end = BYCC_TRY(op.call("add", {BYCC_TRY(extentOf(op, x, axis)), after}));
  NodeId indices = BYCC_TRY(op.call("arange", {begin, end, op.scalar(DType::Int64, 1)}, {{"dtype", "int64"}}));
  return op.call("take", {x, indices}, {{"axis", axis}, {"mode", "wrap"}});
}

Expected<NodeId> wrapKnown(OpContext &op, NodeId x, int64_t axis, int64_t before, int64_t after) {
  Dim extent = op.shape(x)[axis];
  if (!extent.isConst())
    return wrapAxis(op, x, axis, op.scalar(DType::Int64, static_cast<double>(before)),
                    op.scalar(DType::Int64, static_cast<double>(after)));
  NodeId indices = BYCC_TRY(op.call("arange", {}, {{"start", -before},
                                                   {"stop", extent.value() + after},
                                                   {"step", 1},
                                                   {"dtype", "int64"}}));
  return op.call("take", {x, indices}, {{"axis", axis}, {"mode", "wrap"}});
}

Expected<> wrapPad(OpContext &op, NodeId x) {
  int64_t rank = op.rank(x);
  if (op.opset() < 11 || op.isKnown(1)) {
    std::vector<int64_t> widths = BYCC_TRY(padWidths(op, rank));
    for (int64_t i = 0; i < rank; ++i)
      if (widths[2 * i] != 0 || widths[2 * i + 1] != 0)
        x = BYCC_TRY(wrapKnown(op, x, i, widths[2 * i], widths[2 * i + 1]));
    op.setOutput(0, x);
    return {};
  }
  NodeId widths = BYCC_TRY(op.reshape(BYCC_TRY(padWidthsAtRunTime(op, rank)), std::vector<int64_t>{2 * rank}));
  for (int64_t i = 0; i < rank; ++i) {
    NodeId sides[2];
    for (int side = 0; side < 2; ++side)
      sides[side] = BYCC_TRY(op.call("take", {widths, op.scalar(DType::Int64, static_cast<double>(2 * i + side))},
                                     {{"axis", 0}}));
    x = BYCC_TRY(wrapAxis(op, x, i, sides[0], sides[1]));
  }
  op.setOutput(0, x);
  return {};
}

// A negative width takes elements away.
Expected<NodeId> cropped(OpContext &op, NodeId x, std::vector<int64_t> &widths) {
  std::vector<int64_t> axes, begin, end;
  for (int64_t i = 0; i < op.rank(x); ++i) {
    int64_t &before = widths[2 * i], &after = widths[2 * i + 1];
    if (before >= 0 && after >= 0)
      continue;
    axes.push_back(i);
    begin.push_back(std::max<int64_t>(-before, 0));
    end.push_back(after < 0 ? after : std::numeric_limits<int64_t>::max());
    before = std::max<int64_t>(before, 0);
    after = std::max<int64_t>(after, 0);
  }
  if (axes.empty())
    return x;
  return op.call("strided_slice", {x}, {{"begin", AttrValue::ints(begin)},
                                        {"end", AttrValue::ints(end)},
                                        {"strides", AttrValue::List{1}},
                                        {"axes", AttrValue::ints(axes)}});
}

} // namespace

Expected<> convertPad(OpContext &op) {
  NodeId x = op.input(0);
  std::string mode = BYCC_TRY(op.textAttr("mode", "constant"));
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    return op.error(Status::Unsup) << "this mode is not supported";
  if (op.opset() >= 11 && !op.has(1))
    return op.error() << "pads are missing";
  if (mode == "wrap")
    return wrapPad(op, x);
  int64_t rank = op.rank(x);
  NodeId value;
  if (op.opset() < 11)
    value = op.scalar(op.dtype(x), BYCC_TRY(op.floatAttr("value", 0)));
  else
    value = op.has(2) ? op.input(2) : op.scalar(op.dtype(x), 0);
  if (op.rank(value) == 1)
    value = BYCC_TRY(op.reshape(value, {}));
  if (op.opset() >= 11 && !(op.isKnown(1) && op.isKnown(3))) {
    NodeId widths = BYCC_TRY(padWidthsAtRunTime(op, rank));
    op.setOutput(0, BYCC_TRY(op.call("dyn.nn.pad", {x, widths, value}, {{"pad_mode", mode}})));
    return {};
  }
  std::vector<int64_t> widths = BYCC_TRY(padWidths(op, rank));
  x = BYCC_TRY(cropped(op, x, widths));
  std::vector<Dim> shape = op.shape(x);
  AttrValue::List pairs;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t most = std::max(widths[2 * i], widths[2 * i + 1]);
    if (mode == "reflect" && shape[i].isConst() && most >= std::max<int64_t>(shape[i].value(), 1))
      return op.error() << "reflects " << most << " of " << shape[i].value() << " elements";
    pairs.push_back(AttrValue::ints({&widths[2 * i], 2}));
  }
  op.setOutput(0, BYCC_TRY(op.call("nn.pad", {x, value},
                                   {{"pad_width", std::move(pairs)}, {"pad_mode", mode}})));
  return {};
}

// Cuts or pads the end of each axis and its begin alike; what is odd goes to the end.
Expected<> convertCenterCropPad(OpContext &op) {
  NodeId x = op.input(0);
  int64_t rank = op.rank(x);
  std::vector<int64_t> axes;
  if (std::optional<std::vector<int64_t>> given = BYCC_TRY(op.intsAttr("axes")))
    axes = BYCC_TRY(op.normalAxes(*given, rank));
  else
    for (int64_t i = 0; i < rank; ++i)
      axes.push_back(i);
  NodeId wanted = BYCC_TRY(runTimeInts(op, 1, "shape", static_cast<int64_t>(axes.size())));
  if (lengthOf(op, wanted) != static_cast<int64_t>(axes.size()))
    return op.error() << "shape has " << lengthOf(op, wanted) << " values for " << axes.size() << " axes";
  Compose c(op);
  if (op.isKnown(1) && op.isStatic(x)) {
    std::vector<int64_t> sizes = BYCC_TRY(op.constInts(1, "shape")), shape = BYCC_TRY(op.staticShape(x));
    std::vector<std::array<int64_t, 2>> widths(static_cast<size_t>(rank), {0, 0});
    for (size_t i = 0; i < axes.size(); ++i) {
      int64_t less = shape[axes[i]] - sizes[i];
      if (sizes[i] < 0 || sizes[i] > (int64_t{1} << 40))
        return op.error() << "shape has the value " << sizes[i];
      if (less > 0)
        x = c.slice(x, axes[i], less / 2, less / 2 + sizes[i]);
      else
        widths[axes[i]] = {-less / 2, -less - -less / 2};
    }
    op.setOutput(0, BYCC_TRY(c.done(c.pad(x, widths, 0))));
    return {};
  }
  // One value of every axis: that of `shape`, or the extent.
  NodeId extents = BYCC_TRY(extentsOf(op, x)), both[2] = {wanted, extents};
  std::vector<int64_t> from;
  for (int64_t i = 0; i < rank; ++i)
    from.push_back(static_cast<int64_t>(axes.size()) + i);
  for (size_t i = 0; i < axes.size(); ++i)
    from[axes[i]] = static_cast<int64_t>(i);
  NodeId sizes = BYCC_TRY(pick(op, BYCC_TRY(join(op, both)), from)), zero = c.scalar(DType::Int64, 0);
  NodeId begin = c.call("trunc_divide", c.call("maximum", {c.sub(extents, sizes), zero}), 2);
  NodeId end = c.add(begin, c.call("minimum", {extents, sizes}));
  NodeId ones = c.call("ones_like", {begin});
  NodeId cut = c.call("dyn.strided_slice", {x, begin, end, ones});
  NodeId more = c.call("maximum", {c.sub(sizes, extents), zero});
  NodeId before = BYCC_TRY(c.done(c.call("trunc_divide", more, 2)));
  NodeId sides[2] = {before, c.sub(more, before)};
  NodeId widths = BYCC_TRY(c.done(c.stack(sides, 1)));
  op.setOutput(0, BYCC_TRY(c.done(c.call("dyn.nn.pad", {cut, widths, c.scalar(op.dtype(x), 0)}))));
  return {};
}

} // namespace bycc::onnx
