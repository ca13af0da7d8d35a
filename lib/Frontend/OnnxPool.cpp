// Pooling over windows and over all spatial axes.
#include "OnnxCompose.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"
#include "OnnxWindow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace bycc::onnx {
namespace {

std::array<int64_t, 2> padsOf(const Window &window, size_t axis) {
  return {window.pads[axis], window.pads[axis + window.kernel.size()]};
}

int64_t extentOf(const Window &window, size_t axis) {
  return (window.kernel[axis] - 1) * window.dilations[axis] + 1;
}

// How many windows each axis has. With ceil_mode the last one may pass the end, but
// not start in the end's padding. Empty where the input is not static.
Expected<std::vector<int64_t>> windowCounts(OpContext &op, NodeId x, const Window &window,
                                            bool ceil) {
  std::vector<int64_t> counts;
  std::vector<Dim> shape = op.shape(x);
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    if (!shape[i + 2].isConst())
      return std::vector<int64_t>();
    auto [begin, end] = padsOf(window, i);
    int64_t size = shape[i + 2].value(), stride = window.strides[i];
    int64_t span = size + begin + end - extentOf(window, i);
    if (span < 0)
      return op.error() << "a window of " << extentOf(window, i) << " over " << size
                        << " elements with padding " << begin << " and " << end;
    bool isMore = ceil && span % stride != 0 && (span / stride + 1) * stride < size + begin;
    counts.push_back(span / stride + 1 + isMore);
  }
  return counts;
}

// With ceil_mode the last window begins less than a stride behind where the last whole one may:
// never in the end's padding, whatever the extents, where stride and padding fit into the window.
bool startsInData(const Window &window) {
  for (size_t i = 0; i < window.kernel.size(); ++i)
    if (window.strides[i] + padsOf(window, i)[1] > extentOf(window, i))
      return false;
  return true;
}

// Padding behind each axis that `counts` windows need.
std::vector<int64_t> endsFor(const std::vector<int64_t> &shape, const Window &window,
                             const std::vector<int64_t> &counts) {
  std::vector<int64_t> ends;
  for (size_t i = 0; i < counts.size(); ++i) {
    int64_t needed = (counts[i] - 1) * window.strides[i] + extentOf(window, i);
    ends.push_back(std::max<int64_t>(0, needed - shape[i + 2] - window.pads[i]));
  }
  return ends;
}

// Extents of x, whose places are known; 0 for a batch or channels that are not.
std::vector<int64_t> knownShape(OpContext &op, NodeId x) {
  std::vector<int64_t> shape;
  for (Dim dim : op.shape(x))
    shape.push_back(dim.isConst() ? dim.value() : 0);
  return shape;
}

// x with room for `counts` windows, filled with `value`.
Expected<NodeId> padded(OpContext &op, NodeId x, const Window &window,
                        const std::vector<int64_t> &counts, double value) {
  std::vector<int64_t> ends = endsFor(knownShape(op, x), window, counts);
  std::vector<std::array<int64_t, 2>> widths(2, {0, 0});
  for (size_t i = 0; i < ends.size(); ++i)
    widths.push_back({window.pads[i], ends[i]});
  Compose c(op);
  return c.done(c.pad(x, widths, value));
}

// Sums over windows of data with all padding: averages times the window's size.
Expected<NodeId> windowSums(OpContext &op, NodeId data, const Window &window,
                            const std::vector<int64_t> &pads) {
  double size = 1;
  for (int64_t extent : window.kernel)
    size *= static_cast<double>(extent);
  Compose c(op);
  NodeId means = c.call(ranked("nn.avg_pool", window.kernel.size()), {data},
                        {{"pool_size", AttrValue::ints(window.kernel)},
                         {"strides", AttrValue::ints(window.strides)},
                         {"dilation", AttrValue::ints(window.dilations)},
                         {"padding", paddingAttr(pads)},
                         {"count_include_pad", true}});
  return c.done(c.mul(means, size));
}

// count_include_pad with ceil_mode: a window counts what it has of data and padding,
// not what lies behind both.
Expected<NodeId> averagesWithPadding(OpContext &op, NodeId x, const Window &window,
                                     const std::vector<int64_t> &counts) {
  NodeId data = BYCC_TRY(padded(op, x, window, counts, 0));
  NodeId sums = BYCC_TRY(windowSums(op, data, window, std::vector<int64_t>(window.pads.size(), 0)));
  std::vector<int64_t> shape = knownShape(op, x);
  Compose c(op);
  for (size_t i = 0; i < counts.size(); ++i) {
    auto [begin, end] = padsOf(window, i);
    std::vector<double> sizes;
    for (int64_t o = 0; o < counts[i]; ++o) {
      int64_t room = shape[i + 2] + begin + end - o * window.strides[i], d = window.dilations[i];
      sizes.push_back(static_cast<double>(std::min(window.kernel[i], (room + d - 1) / d)));
    }
    std::vector<int64_t> along(shape.size(), 1);
    along[i + 2] = counts[i];
    sums = c.div(sums, c.numbers(sizes, along, op.dtype(x)));
  }
  return c.done(sums);
}

double lowestOf(DType dtype) {
  if (isFloat(dtype))
    return -std::numeric_limits<double>::infinity();
  return isUnsignedInt(dtype) ? 0 : -std::ldexp(1.0, static_cast<int>(sizeInBytes(dtype) * 8 - 1));
}

// Where in x each maximum stands: its index in the flattened x, or for
// storage_order 1 with the spatial axes in reverse order. `tap`, the number of the
// first largest element of a window, gives a place per axis; a tap in the padding is
// the largest only when all others are as low, then the first one in the data counts.
Expected<NodeId> maximumPlaces(OpContext &op, NodeId x, const Window &window,
                               const std::vector<int64_t> &counts, bool isColumnMajor) {
  std::vector<int64_t> shape = knownShape(op, x);
  size_t spatial = counts.size();
  std::vector<int64_t> extents, flat(shape.begin(), shape.begin() + 2); // 0: as it is
  int64_t taps = 1;
  for (size_t i = 0; i < spatial; ++i) {
    extents.push_back(extentOf(window, i));
    taps *= window.kernel[i];
  }
  Compose c(op);
  NodeId windows =
      c.call("sliding_window", {BYCC_TRY(padded(op, x, window, counts, lowestOf(op.dtype(x))))},
             {{"axis", int64_t{2}},
              {"window_shape", AttrValue::ints(extents)},
              {"strides", AttrValue::ints(window.strides)}});
  for (size_t i = 0; i < spatial; ++i)
    if (window.dilations[i] != 1)
      windows = c.slice(windows, static_cast<int64_t>(2 + spatial + i), 0, extents[i],
                        window.dilations[i]);
  flat.insert(flat.end(), counts.begin(), counts.end());
  flat.push_back(taps);
  int64_t last = static_cast<int64_t>(spatial) + 2;
  NodeId tap = c.cast(c.reduce("argmax", c.reshape(windows, flat), {last}, false), DType::Int64);

  std::vector<NodeId> places(spatial), firsts(spatial);
  NodeId isInside = c.call("greater_equal", tap, 0);
  int64_t inner = 1;
  for (size_t i = spatial; i-- > 0; inner *= window.kernel[i]) {
    std::vector<int64_t> starts, first, along(spatial + 2, 1);
    along[i + 2] = counts[i];
    for (int64_t o = 0; o < counts[i]; ++o) {
      int64_t start = o * window.strides[i] - window.pads[i], d = window.dilations[i];
      starts.push_back(start);
      first.push_back(start < 0 ? start + (-start + d - 1) / d * d : start);
    }
    NodeId step = c.call("trunc_mod", c.call("trunc_divide", tap, static_cast<double>(inner)),
                         static_cast<double>(window.kernel[i]));
    places[i] =
        c.add(c.mul(step, static_cast<double>(window.dilations[i])), c.table(starts, along));
    firsts[i] = c.table(first, along);
    NodeId isIn =
        c.call("logical_and", {c.call("greater_equal", places[i], 0),
                               c.call("less", places[i], static_cast<double>(shape[i + 2]))});
    isInside = c.call("logical_and", {isInside, isIn});
  }
  int64_t volume = 1;
  for (size_t i = 0; i < spatial; ++i)
    volume *= shape[i + 2];
  NodeId index;
  for (int64_t axis : {1, 0}) { // of the first place of a channel of an image
    std::vector<int64_t> along(spatial + 2, 1);
    along[axis] = -1;
    NodeId step = c.scalar(DType::Int64, static_cast<double>(volume));
    if (axis == 0)
      step = c.mul(step, BYCC_TRY(extentOf(op, x, 1)));
    NodeId first = c.reshape(c.mul(c.iota(BYCC_TRY(extentOf(op, x, axis))), step), along);
    index = index ? c.add(index, first) : first;
  }
  int64_t weight = 1;
  for (size_t k = 0; k < spatial; ++k) {
    size_t i = isColumnMajor ? k : spatial - 1 - k;
    NodeId place = c.where(isInside, places[i], firsts[i]);
    index = c.add(index, c.mul(place, static_cast<double>(weight)));
    weight *= shape[i + 2];
  }
  return c.done(index);
}

Expected<Window> poolWindow(OpContext &op, NodeId x) {
  size_t spatial = BYCC_TRY(spatialRank(op, x));
  std::optional<std::vector<int64_t>> kernel = BYCC_TRY(op.intsAttr("kernel_shape"));
  if (!kernel || kernel->size() != spatial)
    return op.error() << "kernel_shape must have " << spatial << " values";
  for (int64_t size : *kernel)
    if (size < 1)
      return op.error() << "kernel_shape has the value " << size;
  Window window = BYCC_TRY(readWindow(op, x, *kernel));
  for (size_t i = 0; i < 2 * spatial; ++i)
    if (window.pads[i] >= extentOf(window, i % spatial))
      return op.error() << "padding " << window.pads[i] << " is not smaller than the window";
  return window;
}

// x with the padding that depends on extents: what no maximum is, or 0.
Expected<NodeId> openlyPadded(OpContext &op, NodeId x, const Window &window, bool isAverage) {
  if (!window.openPads)
    return x;
  double value = isAverage ? 0 : lowestOf(op.dtype(x));
  return withOpenPads(op, x, window, op.scalar(op.dtype(x), value));
}

// The part of each window that is in the data: the average of as many ones, padded alike.
Expected<NodeId> partInData(OpContext &op, NodeId x, const Window &window, const AttrDict &attrs) {
  NodeId one = op.scalar(op.dtype(x), 1);
  int64_t single[] = {1, 1};
  std::vector<int64_t> axes;
  for (int64_t i = 2; i < op.rank(x); ++i)
    axes.push_back(i);
  NodeId parts[] = {op.ints(single), BYCC_TRY(pick(op, BYCC_TRY(extentsOf(op, x)), axes))};
  NodeId ones = BYCC_TRY(
      op.call("dyn.full", {one, BYCC_TRY(join(op, parts))}, {{"dtype", name(op.dtype(x))}}));
  ones = BYCC_TRY(openlyPadded(op, ones, window, true));
  return op.call(ranked("nn.avg_pool", window.kernel.size()), {ones}, attrs);
}

// Pools whose padding depends on extents that are not known; averages of what is in the data alone
// where `countsData`.
Expected<NodeId> openPool(OpContext &op, NodeId x, std::string_view name, const Window &window,
                          const AttrDict &attrs, bool countsData) {
  NodeId data = BYCC_TRY(openlyPadded(op, x, window, name == "nn.avg_pool"));
  NodeId result = BYCC_TRY(op.call(ranked(name, window.kernel.size()), {data}, attrs));
  if (!countsData)
    return result;
  return op.call("divide", {result, BYCC_TRY(partInData(op, x, window, attrs))});
}

} // namespace

Expected<NodeId> poolOf(OpContext &op, NodeId x, std::string_view name) {
  Window window = BYCC_TRY(poolWindow(op, x));
  bool isAverage = name == "nn.avg_pool";
  bool isColumnMajor = BYCC_TRY(op.intAttr("storage_order", 0)) != 0;
  bool ceil = BYCC_TRY(op.intAttr("ceil_mode", 0)) != 0 && !window.isSame;
  bool includePad = isAverage && BYCC_TRY(op.intAttr("count_include_pad", 0)) != 0;
  std::vector<int64_t> counts = BYCC_TRY(windowCounts(op, x, window, ceil));
  if (counts.empty() && op.wantsOutput(1))
    return op.error(Status::Unsup) << "indices need an image of known extents";
  if (counts.empty() && ceil && (includePad || !startsInData(window)))
    return op.error(Status::Unsup) << "this ceil_mode needs a static input";
  bool addsWindows =
      ceil && (counts.empty() || counts != BYCC_TRY(windowCounts(op, x, window, false)));
  if (addsWindows && includePad)
    return averagesWithPadding(op, x, window, counts);
  AttrDict attrs{{"pool_size", AttrValue::ints(window.kernel)},
                 {"strides", AttrValue::ints(window.strides)},
                 {"dilation", AttrValue::ints(window.dilations)},
                 {"padding", paddingAttr(window.pads)},
                 {"ceil_mode", addsWindows}};
  if (isAverage)
    attrs.push_back({"count_include_pad", includePad || window.openPads});
  if (window.openPads)
    return openPool(op, x, name, window, attrs, isAverage && !includePad);
  NodeId result = BYCC_TRY(op.call(ranked(name, window.kernel.size()), {x}, attrs));
  std::vector<Dim> got = op.shape(result);
  if (addsWindows && !counts.empty() &&
      !std::equal(counts.begin(), counts.end(), got.begin() + 2)) {
    // On some axes the last window starts in the padding: pads that give the counts.
    std::vector<int64_t> ends = endsFor(knownShape(op, x), window, counts);
    std::copy(ends.begin(), ends.end(),
              window.pads.begin() + static_cast<ptrdiff_t>(counts.size()));
    attrs[3].value = paddingAttr(window.pads);
    attrs[4].value = false;
    result = BYCC_TRY(op.call(ranked(name, window.kernel.size()), {x}, attrs));
  }
  if (op.wantsOutput(1) && !isAverage)
    op.setOutput(1, BYCC_TRY(maximumPlaces(op, x, window, counts, isColumnMajor)));
  return result;
}

// MaxPool and AveragePool.
Expected<> convertPool(OpContext &op) {
  op.setOutput(0, BYCC_TRY(poolOf(op, op.input(0), op.relayName())));
  return {};
}

namespace {

// The exponent, a float before opset 2.
Expected<double> normExponent(OpContext &op) {
  double p = op.opset() < 2 ? BYCC_TRY(op.floatAttr("p", 2))
                            : static_cast<double>(BYCC_TRY(op.intAttr("p", 2)));
  if (!(p >= 1))
    return op.error() << "p is " << p;
  return p;
}

NodeId powers(Compose &c, NodeId x, double p) {
  return p == 2 ? c.mul(x, x) : p == 1 ? c.call("abs", {x}) : c.pow(c.call("abs", {x}), p);
}

NodeId root(Compose &c, NodeId x, double p) {
  return p == 2 ? c.call("sqrt", {x}) : p == 1 ? x : c.pow(x, 1 / p);
}

} // namespace

// (sum |x|^p)^(1/p) over windows.
Expected<> convertLpPool(OpContext &op) {
  NodeId x = op.input(0);
  double p = BYCC_TRY(normExponent(op));
  Window window = BYCC_TRY(poolWindow(op, x));
  bool ceil = BYCC_TRY(op.intAttr("ceil_mode", 0)) != 0 && !window.isSame;
  std::vector<int64_t> counts = BYCC_TRY(windowCounts(op, x, window, ceil)), pads = window.pads;
  if (counts.empty() && ceil)
    return op.error(Status::Unsup) << "ceil_mode needs a static input";
  Compose c(op);
  NodeId terms = BYCC_TRY(c.done(powers(c, x, p)));
  if (counts.empty()) {
    terms = BYCC_TRY(openlyPadded(op, terms, window, true));
  } else {
    terms = BYCC_TRY(padded(op, terms, window, counts, 0));
    pads.assign(pads.size(), 0);
  }
  op.setOutput(0, BYCC_TRY(c.done(root(c, BYCC_TRY(windowSums(op, terms, window, pads)), p))));
  return {};
}

// The same over all spatial axes.
Expected<> convertGlobalLpPool(OpContext &op) {
  NodeId x = op.input(0);
  double p = BYCC_TRY(normExponent(op));
  std::vector<int64_t> axes;
  for (int64_t i = 2; i < op.rank(x); ++i)
    axes.push_back(i);
  if (axes.empty())
    return op.error() << "input of rank " << op.rank(x) << ", wanted at least 3";
  Compose c(op);
  op.setOutput(0, BYCC_TRY(c.done(root(c, c.reduce("sum", powers(c, x, p), axes), p))));
  return {};
}

// The inverse of MaxPool: each value goes to its place, 0 elsewhere. Places count in
// the natural size; a larger output_shape adds zeros behind.
Expected<> convertMaxUnpool(OpContext &op) {
  NodeId x = op.input(0), places = op.input(1);
  Window window = BYCC_TRY(poolWindow(op, x));
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
  if (op.shape(places) != op.shape(x))
    return op.error() << "indices of type " << op.types().str(op.module().type(places)) << " for "
                      << op.types().str(op.module().type(x));
  int64_t total = shape[0] * shape[1];
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    auto [begin, end] = padsOf(window, i);
    shape[i + 2] = (shape[i + 2] - 1) * window.strides[i] - begin - end + window.kernel[i];
    if (shape[i + 2] < 1)
      return op.error() << "padding " << begin << " and " << end << " leaves nothing of axis "
                        << i + 2;
    if (__builtin_mul_overflow(total, shape[i + 2], &total))
      return op.error(Status::Limit) << "the result is too large";
  }
  Compose c(op);
  NodeId flat = c.call("scatter_elements",
                       {c.zeros({total}, op.dtype(x)), c.reshape(places, {-1}), c.reshape(x, {-1})},
                       {{"axis", int64_t{0}}});
  NodeId result = BYCC_TRY(c.done(c.reshape(flat, shape)));
  if (op.has(2)) {
    NodeId wanted =
        BYCC_TRY(runTimeInts(op, 2, "output_shape", static_cast<int64_t>(shape.size())));
    NodeId behind = c.sub(wanted, op.ints(shape));
    NodeId both[2] = {c.call("zeros_like", {behind}), behind};
    NodeId widths = BYCC_TRY(c.done(c.stack(both, 1)));
    result = BYCC_TRY(c.done(c.call("dyn.nn.pad", {result, widths, c.scalar(op.dtype(x), 0)})));
  }
  op.setOutput(0, result);
  return {};
}

Expected<> convertGlobalPool(OpContext &op) {
  NodeId x = op.input(0);
  int64_t rank = op.rank(x);
  bool isMax = op.proto().opType == "GlobalMaxPool";
  if (rank < 3)
    return op.error() << "input of rank " << rank << ", wanted at least 3";
  if (rank == 4) {
    op.setOutput(0,
                 BYCC_TRY(op.call(isMax ? "nn.global_max_pool2d" : "nn.global_avg_pool2d", {x})));
    return {};
  }
  std::vector<int64_t> axes;
  for (int64_t i = 2; i < rank; ++i)
    axes.push_back(i);
  op.setOutput(0, BYCC_TRY(op.call(isMax ? "max" : "mean", {x},
                                   {{"axis", AttrValue::ints(axes)}, {"keepdims", true}})));
  return {};
}

} // namespace bycc::onnx
