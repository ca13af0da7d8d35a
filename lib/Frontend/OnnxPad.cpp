// Pad and CenterCropPad. Widths that are known while importing become attributes,
// the others operands.
#include "OnnxCompose.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include "bycc/IR/SymbolicValue.h"

#include <algorithm>
#include <array>
#include <limits>

namespace bycc::onnx {

namespace {

constexpr int64_t maxWidth = int64_t{1} << 40;

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
    if (width > maxWidth || width < -maxWidth)
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

// Those of arithmetic on numbers alone, as torch's older exporter writes it for constants; else
// none.
std::vector<int64_t> fixedWidths(OpContext &op, NodeId atRunTime) {
  std::vector<int64_t> widths;
  for (const SymbolicInt &width :
       symbolicValue(op.module(), atRunTime).value_or(std::vector<SymbolicInt>{})) {
    if (!width.number || *width.number > maxWidth || *width.number < -maxWidth)
      return {};
    widths.push_back(*width.number);
  }
  return widths;
}

// Negative widths take no more than an axis has.
Expected<> checkWidths(OpContext &op, NodeId x, const std::vector<int64_t> &widths) {
  std::vector<Dim> shape = op.shape(x);
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t before = widths[2 * i], after = widths[2 * i + 1];
    if (shape[i].isConst() &&
        shape[i].value() + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0) < 0)
      return op.error() << "pads of " << before << " and " << after << " take more than the "
                        << shape[i].value() << " elements of axis " << i;
  }
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
  return op.call("strided_slice", {x},
                 {{"begin", AttrValue::ints(begin)},
                  {"end", AttrValue::ints(end)},
                  {"strides", AttrValue::List{1}},
                  {"axes", AttrValue::ints(axes)}});
}

// ONNX's wrap: a padded axis is read again from its other end, which a negative width
// has moved.
Expected<NodeId> wrapAxis(OpContext &op, NodeId x, int64_t axis, NodeId before, NodeId after) {
  Compose c(op);
  NodeId zero = c.scalar(DType::Int64, 0);
  NodeId cut = c.call("minimum", {before, zero}), cutAfter = c.call("minimum", {after, zero});
  NodeId length = c.add(c.add(BYCC_TRY(extentOf(op, x, axis)), cut), cutAfter);
  NodeId begin = c.call("negative", {c.call("maximum", {before, zero})});
  NodeId end = c.add(length, c.call("maximum", {after, zero}));
  NodeId places = c.call("arange", {begin, end, c.scalar(DType::Int64, 1)}, {{"dtype", "int64"}});
  NodeId indices = c.sub(c.call("floor_mod", {places, length}), cut);
  return c.done(c.call("take", {x, indices}, {{"axis", axis}, {"mode", "wrap"}}));
}

Expected<NodeId> wrapKnown(OpContext &op, NodeId x, int64_t axis, int64_t before, int64_t after) {
  Dim extent = op.shape(x)[axis];
  if (!extent.isConst())
    return wrapAxis(op, x, axis, op.scalar(DType::Int64, static_cast<double>(before)),
                    op.scalar(DType::Int64, static_cast<double>(after)));
  NodeId indices = BYCC_TRY(op.call(
      "arange", {},
      {{"start", -before}, {"stop", extent.value() + after}, {"step", 1}, {"dtype", "int64"}}));
  return op.call("take", {x, indices}, {{"axis", axis}, {"mode", "wrap"}});
}

Expected<> wrapPad(OpContext &op, NodeId x) {
  int64_t rank = op.rank(x);
  if (op.opset() < 11 || op.isKnown(1)) {
    std::vector<int64_t> widths = BYCC_TRY(padWidths(op, rank));
    BYCC_TRY(checkWidths(op, x, widths));
    x = BYCC_TRY(cropped(op, x, widths));
    for (int64_t i = 0; i < rank; ++i)
      if (widths[2 * i] != 0 || widths[2 * i + 1] != 0)
        x = BYCC_TRY(wrapKnown(op, x, i, widths[2 * i], widths[2 * i + 1]));
    op.setOutput(0, x);
    return {};
  }
  NodeId widths =
      BYCC_TRY(op.reshape(BYCC_TRY(padWidthsAtRunTime(op, rank)), std::vector<int64_t>{2 * rank}));
  for (int64_t i = 0; i < rank; ++i) {
    NodeId sides[2];
    for (int side = 0; side < 2; ++side)
      sides[side] = BYCC_TRY(
          op.call("take", {widths, op.scalar(DType::Int64, static_cast<double>(2 * i + side))},
                  {{"axis", 0}}));
    x = BYCC_TRY(wrapAxis(op, x, i, sides[0], sides[1]));
  }
  op.setOutput(0, x);
  return {};
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
  std::vector<int64_t> widths;
  if (op.opset() >= 11 && !(op.isKnown(1) && op.isKnown(3))) {
    NodeId atRunTime = BYCC_TRY(padWidthsAtRunTime(op, rank));
    widths = fixedWidths(op, atRunTime);
    if (widths.empty()) {
      op.setOutput(0, BYCC_TRY(op.call("dyn.nn.pad", {x, atRunTime, value}, {{"pad_mode", mode}})));
      return {};
    }
  } else {
    widths = BYCC_TRY(padWidths(op, rank));
  }
  BYCC_TRY(checkWidths(op, x, widths));
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
    return op.error() << "shape has " << lengthOf(op, wanted) << " values for " << axes.size()
                      << " axes";
  Compose c(op);
  if (op.isKnown(1) && op.isStatic(x)) {
    std::vector<int64_t> sizes = BYCC_TRY(op.constInts(1, "shape")),
                         shape = BYCC_TRY(op.staticShape(x));
    std::vector<std::array<int64_t, 2>> widths(static_cast<size_t>(rank), {0, 0});
    for (size_t i = 0; i < axes.size(); ++i) {
      int64_t less = shape[axes[i]] - sizes[i];
      if (sizes[i] < 0 || sizes[i] > maxWidth)
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
  NodeId sizes = BYCC_TRY(pick(op, BYCC_TRY(join(op, both)), from)),
         zero = c.scalar(DType::Int64, 0);
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
