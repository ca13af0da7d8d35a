// Shapes and data movement. Targets that may be inputs are resolved to numbers
// while importing, so that the program carries literal shapes.
#include "OnnxConverters.h"

#include <algorithm>
#include <limits>

namespace bycc::onnx {

Expected<std::optional<std::vector<int64_t>>> axesOf(OpContext &op, size_t index, int inputSince) {
  if (op.opset() < inputSince)
    return op.intsAttr("axes");
  if (!op.has(index))
    return std::optional<std::vector<int64_t>>();
  return std::optional(BYCC_TRY(op.constInts(index, "axes")));
}

namespace {

// The literal shape that `wanted` (with 0 and -1) means for a static input.
Expected<std::vector<int64_t>> resolveShape(OpContext &op, NodeId x, std::vector<int64_t> wanted,
                                            bool allowZero) {
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
  int64_t known = 1, inferred = -1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0 && !allowZero) {
      if (i >= shape.size())
        return op.error() << "shape has 0 at " << i << ", the input has rank " << shape.size();
      wanted[i] = shape[i];
    }
    if (wanted[i] == -1)
      inferred = static_cast<int64_t>(i);
    else if (__builtin_mul_overflow(known, wanted[i], &known))
      return op.error(Status::Limit) << "the shape's product passes 2^63";
  }
  int64_t count = *op.types().numElements(op.module().type(x));
  if (inferred >= 0) {
    if (known == 0 ? count != 0 : count % known != 0)
      return op.error() << count << " elements do not divide by " << known;
    wanted[inferred] = known == 0 ? 0 : count / known;
  } else if (known != count) {
    return op.error() << "shape " << AttrValue::ints(wanted).str() << " of " << known
                      << " elements for " << op.types().str(op.module().type(x));
  }
  return wanted;
}

} // namespace

Expected<> convertReshape(OpContext &op) {
  NodeId x = op.input(0);
  bool allowZero = BYCC_TRY(op.intAttr("allowzero", 0)) != 0;
  std::vector<int64_t> wanted;
  IntTensor given;
  const IntTensor *known = op.knownInts(1);
  if (op.opset() < 5) {
    std::optional<std::vector<int64_t>> shape = BYCC_TRY(op.intsAttr("shape"));
    if (!shape)
      return op.error() << "attribute 'shape' is missing";
    given.values.assign(shape->begin(), shape->end());
    known = &given;
  }
  if (!known)
    return op.error(Status::Unsup) << "the shape must be known when the model is read";
  // One unknown entry can only be what is left.
  for (const std::optional<int64_t> &value : known->values)
    wanted.push_back(value.value_or(-1));
  if (wanted.size() > 32)
    return op.error(Status::Limit) << "rank " << wanted.size() << ", the limit is 32";
  for (int64_t value : wanted)
    if (value < -1)
      return op.error() << "shape has the value " << value;
  if (std::count(wanted.begin(), wanted.end(), -1) > 1) {
    if (known->isComplete())
      return op.error() << "shape has -1 twice";
    return op.error(Status::Unsup) << "the shape must be known when the model is read";
  }
  if (allowZero && std::count(wanted.begin(), wanted.end(), 0) > 0 &&
      std::count(wanted.begin(), wanted.end(), -1) > 0)
    return op.error() << "shape has both 0 and -1, with allowzero";
  if (op.isStatic(x)) {
    wanted = BYCC_TRY(resolveShape(op, x, wanted, allowZero));
    bool hasZero = std::count(wanted.begin(), wanted.end(), 0) > 0;
    op.setOutput(0, BYCC_TRY(op.call("reshape", {x}, {{"newshape", AttrValue::ints(wanted)},
                                                      {"allowzero", static_cast<int64_t>(hasZero)}})));
    return {};
  }
  op.setOutput(0, BYCC_TRY(op.call("reshape", {x}, {{"newshape", AttrValue::ints(wanted)},
                                                    {"allowzero", static_cast<int64_t>(allowZero)}})));
  return {};
}

Expected<> convertFlatten(OpContext &op) {
  NodeId x = op.input(0);
  int64_t rank = op.rank(x);
  int64_t axis = BYCC_TRY(op.intAttr("axis", 1));
  if (axis < -rank || axis > rank)
    return op.error() << "axis " << axis << " is out of range for rank " << rank;
  axis = axis < 0 ? axis + rank : axis;
  if (axis == 1) {
    op.setOutput(0, BYCC_TRY(op.call("nn.batch_flatten", {x})));
    return {};
  }
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
  int64_t flat[2] = {1, 1};
  for (int64_t i = 0; i < rank; ++i)
    flat[i >= axis] *= shape[i];
  bool hasZero = flat[0] == 0 || flat[1] == 0;
  op.setOutput(0, BYCC_TRY(op.call("reshape", {x}, {{"newshape", AttrValue::ints(flat)},
                                                    {"allowzero", static_cast<int64_t>(hasZero)}})));
  return {};
}

Expected<> convertTranspose(OpContext &op) {
  NodeId x = op.input(0);
  int64_t rank = op.rank(x);
  std::vector<int64_t> perm;
  if (std::optional<std::vector<int64_t>> given = BYCC_TRY(op.intsAttr("perm")))
    perm = *given;
  else
    for (int64_t i = rank; i-- > 0;)
      perm.push_back(i);
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < rank || i < static_cast<int64_t>(perm.size()); ++i)
    if (static_cast<int64_t>(perm.size()) != rank || sorted[i] != i)
      return op.error() << "perm " << AttrValue::ints(perm).str() << " is no permutation of "
                        << rank << " axes";
  op.setOutput(0, BYCC_TRY(op.transpose(x, perm)));
  return {};
}

Expected<> convertSqueeze(OpContext &op) {
  NodeId x = op.input(0);
  std::optional<std::vector<int64_t>> axes = BYCC_TRY(axesOf(op, 1, 13));
  std::vector<Dim> shape = op.shape(x);
  AttrDict attrs;
  if (axes) {
    *axes = BYCC_TRY(op.normalAxes(*axes, op.rank(x)));
    for (int64_t axis : *axes)
      if (shape[axis].isConst() && shape[axis].value() != 1)
        return op.error() << "axis " << axis << " has " << shape[axis].value() << " elements, not 1";
    if (axes->empty())
      return op.setOutput(0, x), Expected<>();
    attrs = {{"axis", AttrValue::ints(*axes)}};
  } else {
    attrs = {{"axis", AttrValue()}};
  }
  op.setOutput(0, BYCC_TRY(op.call("squeeze", {x}, std::move(attrs))));
  return {};
}

// Axes count on the result; a run of neighbours is one expand_dims.
Expected<> convertUnsqueeze(OpContext &op) {
  NodeId x = op.input(0);
  std::optional<std::vector<int64_t>> axes = BYCC_TRY(axesOf(op, 1, 13));
  if (!axes)
    return op.error() << "axes are missing";
  int64_t rank = op.rank(x) + static_cast<int64_t>(axes->size());
  if (rank > 32)
    return op.error(Status::Limit) << "rank " << rank << ", the limit is 32";
  *axes = BYCC_TRY(op.normalAxes(*axes, rank));
  std::sort(axes->begin(), axes->end());
  for (size_t i = 0; i < axes->size();) {
    size_t run = 1;
    while (i + run < axes->size() && (*axes)[i + run] == (*axes)[i] + static_cast<int64_t>(run))
      ++run;
    x = BYCC_TRY(op.call("expand_dims", {x}, {{"axis", (*axes)[i]},
                                              {"num_newaxis", static_cast<int64_t>(run)}}));
    i += run;
  }
  op.setOutput(0, x);
  return {};
}

Expected<> convertConcat(OpContext &op) {
  std::vector<NodeId> parts;
  for (size_t i = 0; i < op.numInputs(); ++i) {
    if (!op.has(i))
      return op.error() << "input " << i << " is missing";
    parts.push_back(op.input(i));
  }
  int64_t axis = op.opset() < 4 ? BYCC_TRY(op.intAttr("axis", 1)) : BYCC_TRY(op.requiredInt("axis"));
  axis = BYCC_TRY(op.normalAxis(axis, op.rank(parts[0])));
  if (parts.size() == 1) {
    op.setOutput(0, parts[0]);
    return {};
  }
  op.setOutput(0, BYCC_TRY(op.call("concatenate", {op.tuple(parts)}, {{"axis", axis}})));
  return {};
}

namespace {

// Lengths of the parts, or nothing for equal ones.
Expected<std::optional<std::vector<int64_t>>> splitLengths(OpContext &op, int64_t size) {
  int64_t count = static_cast<int64_t>(op.numOutputs());
  std::optional<std::vector<int64_t>> lengths;
  if (op.opset() < 13)
    lengths = BYCC_TRY(op.intsAttr("split"));
  if ((op.opset() >= 13 || op.opset() < 2) && op.has(1))
    lengths = BYCC_TRY(op.constInts(1, "split"));
  int64_t parts = BYCC_TRY(op.intAttr("num_outputs", count));
  if (parts != count)
    return op.error() << "num_outputs is " << parts << ", the node has " << count;
  if (lengths || size % count == 0)
    return lengths;
  if (op.opset() < 18)
    return op.error() << size << " elements do not split into " << count << " equal parts";
  int64_t length = size / count + 1; // the last part is shorter
  lengths.emplace(count, length);
  lengths->back() = size - length * (count - 1);
  return lengths;
}

} // namespace

Expected<> convertSplit(OpContext &op) {
  NodeId x = op.input(0);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", 0)), op.rank(x)));
  Dim dim = op.shape(x)[axis];
  if (!dim.isConst())
    return op.error(Status::Unsup) << "splits an axis of unknown size";
  std::optional<std::vector<int64_t>> lengths = BYCC_TRY(splitLengths(op, dim.value()));
  AttrValue cuts(static_cast<int64_t>(op.numOutputs()));
  if (lengths) {
    std::vector<int64_t> points;
    int64_t at = 0;
    for (int64_t length : *lengths) {
      if (length < 0 || length > dim.value() - at)
        return op.error() << "split " << AttrValue::ints(*lengths).str() << " does not sum to "
                          << dim.value();
      points.push_back(at += length);
    }
    if (at != dim.value() || lengths->size() != op.numOutputs())
      return op.error() << "split " << AttrValue::ints(*lengths).str() << " of " << dim.value()
                        << " into " << op.numOutputs() << " outputs";
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
    if (!op.has(1) || !op.has(2))
      return op.error() << "starts or ends are missing";
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

} // namespace

// Bounds are clamped here, as ONNX says; what is left is literal. A negative
// step that runs to the front ends at -size - 1, which stays in front after
// Relay has added the size.
Expected<> convertSlice(OpContext &op) {
  NodeId x = op.input(0);
  SliceRange range = BYCC_TRY(sliceRange(op, op.rank(x)));
  std::vector<Dim> shape = op.shape(x);
  for (size_t i = 0; i < range.axes.size(); ++i) {
    int64_t step = range.strides[i];
    if (step == 0 || step == std::numeric_limits<int64_t>::min())
      return op.error() << "step is " << step;
    if (!shape[range.axes[i]].isConst())
      return op.error(Status::Unsup) << "slices an axis of unknown size";
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

// Pads of every axis as (begin, end) pairs.
Expected<std::vector<int64_t>> padWidths(OpContext &op, int64_t rank) {
  std::vector<int64_t> pads;
  if (op.opset() < 11) {
    std::optional<std::vector<int64_t>> given =
        BYCC_TRY(op.intsAttr(op.opset() < 2 ? "paddings" : "pads"));
    if (!given)
      return op.error() << "pads are missing";
    pads = *given;
  } else {
    if (!op.has(1))
      return op.error() << "pads are missing";
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
  for (int64_t width : widths) {
    if (width < 0)
      return op.error(Status::Unsup) << "a negative pad (" << width << ") is not supported";
    if (width > (int64_t{1} << 40))
      return op.error(Status::Limit) << "a pad of " << width;
  }
  return widths;
}

} // namespace

Expected<> convertPad(OpContext &op) {
  NodeId x = op.input(0);
  std::string mode = BYCC_TRY(op.textAttr("mode", "constant"));
  if (mode != "constant" && mode != "reflect" && mode != "edge")
    return op.error(Status::Unsup) << "this mode is not supported";
  int64_t rank = op.rank(x);
  std::vector<int64_t> widths = BYCC_TRY(padWidths(op, rank));
  NodeId value;
  if (op.opset() < 11)
    value = op.scalar(op.dtype(x), BYCC_TRY(op.floatAttr("value", 0)));
  else
    value = op.has(2) ? op.input(2) : op.scalar(op.dtype(x), 0);
  if (op.rank(value) == 1)
    value = BYCC_TRY(op.reshape(value, {}));
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

Expected<> convertExpand(OpContext &op) {
  NodeId x = op.input(0);
  std::vector<int64_t> wanted = BYCC_TRY(op.constInts(1, "shape"));
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
  size_t rank = std::max(wanted.size(), shape.size());
  if (rank > 32)
    return op.error(Status::Limit) << "rank " << rank << ", the limit is 32";
  wanted.insert(wanted.begin(), rank - wanted.size(), 1);
  std::vector<int64_t> padded = shape;
  padded.insert(padded.begin(), rank - shape.size(), 1);
  for (size_t i = 0; i < rank; ++i) {
    if (wanted[i] < 0 || (wanted[i] != padded[i] && wanted[i] != 1 && padded[i] != 1))
      return op.error() << "dim " << padded[i] << " does not broadcast to " << wanted[i];
    wanted[i] = wanted[i] == 1 ? padded[i] : wanted[i];
  }
  op.setOutput(0, wanted == shape
                      ? x
                      : BYCC_TRY(op.call("broadcast_to", {x}, {{"shape", AttrValue::ints(wanted)}})));
  return {};
}

namespace {

// Before opset 6 a count for one axis.
Expected<std::vector<int64_t>> tileCounts(OpContext &op) {
  if (op.opset() >= 6)
    return op.constInts(1, "repeats");
  if (!op.has(2))
    return op.error() << "input 2 is missing";
  int64_t count = BYCC_TRY(op.constInt(1, "tiles"));
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.constInt(2, "axis")), op.rank(op.input(0))));
  std::vector<int64_t> repeats(static_cast<size_t>(op.rank(op.input(0))), 1);
  repeats[static_cast<size_t>(axis)] = count;
  return repeats;
}

} // namespace

Expected<> convertTile(OpContext &op) {
  NodeId x = op.input(0);
  std::vector<int64_t> repeats = BYCC_TRY(tileCounts(op));
  if (static_cast<int64_t>(repeats.size()) != op.rank(x))
    return op.error() << repeats.size() << " repeats for rank " << op.rank(x);
  for (int64_t count : repeats)
    if (count < 0)
      return op.error() << "repeats has the value " << count;
  op.setOutput(0, BYCC_TRY(op.call("tile", {x}, {{"reps", AttrValue::ints(repeats)}})));
  return {};
}

namespace {

Expected<int64_t> blockSize(OpContext &op) {
  int64_t size = BYCC_TRY(op.requiredInt("blocksize"));
  if (size < 1 || size > 65536)
    return op.error() << "blocksize is " << size;
  return size;
}

} // namespace

// DepthToSpace (a mode since opset 11) and SpaceToDepth (since 28).
Expected<> convertDepthToSpace(OpContext &op) {
  int64_t size = BYCC_TRY(blockSize(op));
  std::string mode = BYCC_TRY(op.textAttr("mode", "DCR"));
  if (mode != "DCR" && mode != "CRD")
    return op.error() << "mode must be DCR or CRD";
  op.setOutput(0, BYCC_TRY(op.call(op.relayName(), {op.input(0)},
                                   {{"block_size", size}, {"mode", mode}})));
  return {};
}

Expected<> convertTrilu(OpContext &op) {
  bool upper = BYCC_TRY(op.intAttr("upper", 1)) != 0;
  NodeId k = op.has(1) ? op.input(1) : op.scalar(DType::Int64, 0);
  if (op.rank(k) == 1)
    k = BYCC_TRY(op.reshape(k, {}));
  op.setOutput(0, BYCC_TRY(op.call("trilu", {op.input(0), k}, {{"upper", upper}})));
  return {};
}

} // namespace bycc::onnx
