// Convolution, pooling, normalisation and resampling. Spatial attributes are
// checked here, where their ONNX names are known to the user.
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <algorithm>
#include <cmath>

namespace bycc::onnx {
namespace {

constexpr const char *dataLayouts[] = {"NCW", "NCHW", "NCDHW"};

std::string ranked(std::string_view name, size_t spatial) {
  return std::string(name) + std::to_string(spatial) + "d";
}

// One number per spatial axis, all at least `least`.
Expected<std::vector<int64_t>> spatialInts(OpContext &op, std::string_view name, size_t count,
                                           int64_t fallback, int64_t least) {
  std::optional<std::vector<int64_t>> given = BYCC_TRY(op.intsAttr(name));
  if (!given)
    return std::vector<int64_t>(count, fallback);
  if (given->size() != count)
    return op.error() << name << " has " << given->size() << " values, wanted " << count;
  for (int64_t value : *given)
    if (value < least)
      return op.error() << name << " has the value " << value;
  return *given;
}

// Symmetric padding in the short form of one value per axis.
AttrValue paddingAttr(const std::vector<int64_t> &pads) {
  size_t half = pads.size() / 2;
  if (std::equal(pads.begin(), pads.begin() + half, pads.begin() + half))
    return AttrValue::ints({pads.data(), half});
  return AttrValue::ints(pads);
}

struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads; // pads: all begins, then all ends
};

// Padding of auto_pad SAME_*: the output is ceil(input / stride).
Expected<> samePads(OpContext &op, NodeId x, bool isUpper, Window &window) {
  std::vector<Dim> shape = op.shape(x);
  size_t count = window.kernel.size();
  for (size_t i = 0; i < count; ++i) {
    if (!shape[i + 2].isConst())
      return op.error(Status::Unsup) << "auto_pad needs a static input";
    int64_t size = shape[i + 2].value(), stride = window.strides[i];
    int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t outputs = size / stride + (size % stride != 0);
    int64_t total = std::max<int64_t>(0, (outputs - 1) * stride + extent - size);
    int64_t small = total / 2, large = total - small;
    window.pads[i] = isUpper ? small : large;
    window.pads[i + count] = isUpper ? large : small;
  }
  return {};
}

// Extents that keep every later product in 64 bits.
Expected<> checkExtents(OpContext &op, const Window &window) {
  constexpr int64_t most = int64_t{1} << 31;
  for (const std::vector<int64_t> *values :
       {&window.kernel, &window.strides, &window.dilations, &window.pads})
    for (int64_t value : *values)
      if (value > most)
        return op.error(Status::Limit) << "a window attribute of " << value;
  return {};
}

Expected<Window> readWindow(OpContext &op, NodeId x, std::vector<int64_t> kernel) {
  Window window;
  size_t count = kernel.size();
  window.kernel = std::move(kernel);
  window.strides = BYCC_TRY(spatialInts(op, "strides", count, 1, 1));
  window.dilations = BYCC_TRY(spatialInts(op, "dilations", count, 1, 1));
  window.pads = BYCC_TRY(spatialInts(op, "pads", 2 * count, 0, 0));
  BYCC_TRY(checkExtents(op, window));
  std::string autoPad = BYCC_TRY(op.textAttr("auto_pad", "NOTSET"));
  if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER")
    BYCC_TRY(samePads(op, x, autoPad == "SAME_UPPER", window));
  else if (autoPad == "VALID")
    window.pads.assign(2 * count, 0);
  else if (autoPad != "NOTSET" && !autoPad.empty())
    return op.error() << "auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID";
  return window;
}

// Input with a batch, channels and one to three spatial axes.
Expected<size_t> spatialRank(OpContext &op, NodeId x) {
  int64_t rank = op.rank(x);
  if (rank < 3)
    return op.error() << "input of rank " << rank << ", wanted at least 3";
  if (rank > 5)
    return op.error(Status::Unsup) << "input of rank " << rank << " is not supported";
  return static_cast<size_t>(rank - 2);
}

// kernel_shape as given (then it must be the weight's) or as the weight has it.
Expected<std::vector<int64_t>> kernelOf(OpContext &op, NodeId weight, size_t spatial) {
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(weight));
  if (shape.size() != spatial + 2)
    return op.error() << "weight of rank " << shape.size() << ", the input has rank " << spatial + 2;
  std::vector<int64_t> kernel(shape.begin() + 2, shape.end());
  std::optional<std::vector<int64_t>> given = BYCC_TRY(op.intsAttr("kernel_shape"));
  if (given && *given != kernel)
    return op.error() << "kernel_shape " << AttrValue::ints(*given).str() << " is not the weight's "
                      << AttrValue::ints(kernel).str();
  for (int64_t size : kernel)
    if (size < 1)
      return op.error() << "the kernel is empty";
  return kernel;
}

Expected<NodeId> addBias(OpContext &op, NodeId result) {
  if (!op.has(2))
    return result;
  if (op.rank(op.input(2)) != 1)
    return op.error() << "bias of rank " << op.rank(op.input(2)) << ", wanted 1";
  return op.call("nn.bias_add", {result, op.input(2)});
}

} // namespace

Expected<AttrDict> convAttrs(OpContext &op, NodeId x, NodeId weight) {
  size_t spatial = BYCC_TRY(spatialRank(op, x));
  Window window = BYCC_TRY(readWindow(op, x, BYCC_TRY(kernelOf(op, weight, spatial))));
  int64_t groups = BYCC_TRY(op.intAttr("group", 1));
  int64_t channels = op.shape(weight)[0].value();
  if (groups < 1 || channels % groups != 0)
    return op.error() << "group " << groups << " does not divide " << channels << " channels";
  return AttrDict{{"strides", AttrValue::ints(window.strides)},
                  {"padding", paddingAttr(window.pads)},
                  {"dilation", AttrValue::ints(window.dilations)},
                  {"groups", groups},
                  {"channels", channels},
                  {"kernel_size", AttrValue::ints(window.kernel)}};
}

Expected<> convertConv(OpContext &op) {
  NodeId x = op.input(0), weight = op.input(1);
  AttrDict attrs = BYCC_TRY(convAttrs(op, x, weight));
  size_t spatial = static_cast<size_t>(op.rank(x) - 2);
  NodeId result = BYCC_TRY(op.call(ranked("nn.conv", spatial), {x, weight}, std::move(attrs)));
  op.setOutput(0, BYCC_TRY(addBias(op, result)));
  return {};
}

namespace {

// output_shape asks for paddings that give it: total = natural size - wanted.
Expected<> padsForShape(OpContext &op, NodeId x, const std::vector<int64_t> &outputPadding,
                        const std::vector<int64_t> &wanted, bool isUpper, Window &window) {
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
  size_t count = window.kernel.size();
  for (size_t i = 0; i < count; ++i) {
    int64_t natural = (shape[i + 2] - 1) * window.strides[i] + outputPadding[i] +
                      (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t total = std::max<int64_t>(0, natural - wanted[i]);
    if (natural < wanted[i])
      return op.error(Status::Unsup) << "output_shape " << wanted[i] << " is more than " << natural;
    int64_t small = total / 2, large = total - small;
    window.pads[i] = isUpper ? small : large;
    window.pads[i + count] = isUpper ? large : small;
  }
  return {};
}

} // namespace

Expected<> convertConvTranspose(OpContext &op) {
  NodeId x = op.input(0), weight = op.input(1);
  size_t spatial = BYCC_TRY(spatialRank(op, x));
  Window window;
  window.kernel = BYCC_TRY(kernelOf(op, weight, spatial));
  window.strides = BYCC_TRY(spatialInts(op, "strides", spatial, 1, 1));
  window.dilations = BYCC_TRY(spatialInts(op, "dilations", spatial, 1, 1));
  window.pads = BYCC_TRY(spatialInts(op, "pads", 2 * spatial, 0, 0));
  BYCC_TRY(checkExtents(op, window));
  std::vector<int64_t> outputPadding = BYCC_TRY(spatialInts(op, "output_padding", spatial, 0, 0));
  std::string autoPad = BYCC_TRY(op.textAttr("auto_pad", "NOTSET"));
  std::optional<std::vector<int64_t>> wanted = BYCC_TRY(op.intsAttr("output_shape"));
  bool isSame = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  if (!isSame && autoPad != "NOTSET" && autoPad != "VALID")
    return op.error() << "auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID";
  if (wanted && wanted->size() == spatial + 2)
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (wanted && wanted->size() != spatial)
    return op.error() << "output_shape has " << wanted->size() << " values, wanted " << spatial;
  if (!wanted && isSame) {
    std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
    wanted.emplace();
    for (size_t i = 0; i < spatial; ++i)
      wanted->push_back(shape[i + 2] * window.strides[i]);
  }
  if (wanted)
    BYCC_TRY(padsForShape(op, x, outputPadding, *wanted, autoPad == "SAME_UPPER", window));
  else if (autoPad == "VALID")
    window.pads.assign(2 * spatial, 0);
  int64_t groups = BYCC_TRY(op.intAttr("group", 1));
  std::vector<Dim> weightShape = op.shape(weight);
  if (groups < 1 || weightShape[0].value() % groups != 0)
    return op.error() << "group " << groups << " does not divide " << weightShape[0].value()
                      << " channels";
  NodeId result = BYCC_TRY(op.call(ranked("nn.conv", spatial) + "_transpose", {x, weight},
                                   {{"channels", weightShape[1].value() * groups},
                                    {"kernel_size", AttrValue::ints(window.kernel)},
                                    {"strides", AttrValue::ints(window.strides)},
                                    {"padding", paddingAttr(window.pads)},
                                    {"output_padding", AttrValue::ints(outputPadding)},
                                    {"dilation", AttrValue::ints(window.dilations)},
                                    {"groups", groups}}));
  op.setOutput(0, BYCC_TRY(addBias(op, result)));
  return {};
}

namespace {

// Whether ceil_mode changes the result. A last window that would start in the
// end padding is not taken, in which case rounding down is what is meant.
Expected<bool> roundsUp(OpContext &op, NodeId x, const Window &window) {
  std::vector<Dim> shape = op.shape(x);
  size_t count = window.kernel.size();
  bool anyUp = false, anyDropped = false;
  for (size_t i = 0; i < count; ++i) {
    if (!shape[i + 2].isConst())
      return op.error(Status::Unsup) << "ceil_mode needs a static input";
    int64_t size = shape[i + 2].value(), stride = window.strides[i];
    int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t span = size + window.pads[i] + window.pads[i + count] - extent;
    if (span < 0 || span % stride == 0)
      continue;
    bool isDropped = (span / stride + 1) * stride >= size + window.pads[i];
    (isDropped ? anyDropped : anyUp) = true;
  }
  if (anyUp && anyDropped)
    return op.error(Status::Unsup) << "ceil_mode that keeps the last window on some axes only";
  return anyUp;
}

} // namespace

// MaxPool and AveragePool.
Expected<> convertPool(OpContext &op) {
  NodeId x = op.input(0);
  size_t spatial = BYCC_TRY(spatialRank(op, x));
  std::optional<std::vector<int64_t>> kernel = BYCC_TRY(op.intsAttr("kernel_shape"));
  if (!kernel || kernel->size() != spatial)
    return op.error() << "kernel_shape must have " << spatial << " values";
  for (int64_t size : *kernel)
    if (size < 1)
      return op.error() << "kernel_shape has the value " << size;
  Window window = BYCC_TRY(readWindow(op, x, *kernel));
  for (size_t i = 0; i < 2 * spatial; ++i)
    if (window.pads[i] >= (window.kernel[i % spatial] - 1) * window.dilations[i % spatial] + 1)
      return op.error() << "padding " << window.pads[i] << " is not smaller than the window";
  op.ignoreAttr("storage_order"); // of the indices output, which is not supported
  bool ceil = BYCC_TRY(op.intAttr("ceil_mode", 0)) != 0;
  ceil = ceil && BYCC_TRY(roundsUp(op, x, window));
  AttrDict attrs{{"pool_size", AttrValue::ints(window.kernel)},
                 {"strides", AttrValue::ints(window.strides)},
                 {"dilation", AttrValue::ints(window.dilations)},
                 {"padding", paddingAttr(window.pads)},
                 {"ceil_mode", ceil}};
  if (op.relayName() == "nn.avg_pool") {
    bool includePad = BYCC_TRY(op.intAttr("count_include_pad", 0)) != 0;
    if (includePad && ceil)
      return op.error(Status::Unsup) << "count_include_pad with ceil_mode is not supported";
    attrs.push_back({"count_include_pad", includePad});
  }
  op.setOutput(0, BYCC_TRY(op.call(ranked(op.relayName(), spatial), {x}, std::move(attrs))));
  return {};
}

Expected<> convertGlobalPool(OpContext &op) {
  NodeId x = op.input(0);
  int64_t rank = op.rank(x);
  bool isMax = op.proto().opType == "GlobalMaxPool";
  if (rank < 3)
    return op.error() << "input of rank " << rank << ", wanted at least 3";
  if (rank == 4) {
    op.setOutput(0, BYCC_TRY(op.call(isMax ? "nn.global_max_pool2d" : "nn.global_avg_pool2d", {x})));
    return {};
  }
  std::vector<int64_t> axes;
  for (int64_t i = 2; i < rank; ++i)
    axes.push_back(i);
  op.setOutput(0, BYCC_TRY(op.call(isMax ? "max" : "mean", {x},
                                   {{"axis", AttrValue::ints(axes)}, {"keepdims", true}})));
  return {};
}

Expected<> convertBatchNorm(OpContext &op) {
  double epsilon = BYCC_TRY(epsilonOf(op));
  bool isTraining = op.opset() < 7 ? BYCC_TRY(op.intAttr("is_test", 0)) == 0
                                   : BYCC_TRY(op.intAttr("training_mode", 0)) != 0;
  bool isOld = op.opset() < 14; // its outputs for training are not defined as numbers
  if (isOld && (isTraining || op.wantsOutput(1) || op.wantsOutput(2) || op.wantsOutput(3) || op.wantsOutput(4)))
    return op.error(Status::Unsup) << "training mode before opset 14 is not supported";
  if (isTraining)
    return convertBatchNormTraining(op, epsilon);
  op.ignoreAttr("momentum");
  if (op.opset() < 9 && BYCC_TRY(op.intAttr("spatial", 1)) == 0)
    return convertBatchNormPerElement(op, epsilon);
  NodeId parts = BYCC_TRY(op.call(
      "nn.batch_norm", {op.input(0), op.input(1), op.input(2), op.input(3), op.input(4)},
      {{"epsilon", epsilon}}));
  op.setOutput(0, BYCC_TRY(op.project(parts, 0)));
  return {};
}

Expected<> convertInstanceNorm(OpContext &op) {
  double epsilon = BYCC_TRY(epsilonOf(op));
  op.setOutput(0, BYCC_TRY(op.call("nn.instance_norm", {op.input(0), op.input(1), op.input(2)},
                                   {{"epsilon", epsilon}})));
  return {};
}

// Normalises all axes from `axis` on; more than one are taken as one.
Expected<> convertLayerNorm(OpContext &op) {
  NodeId x = op.input(0), gamma = op.input(1);
  double epsilon = BYCC_TRY(epsilonOf(op));
  op.ignoreAttr("stash_type");
  int64_t rank = op.rank(x);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", -1)), rank));
  BYCC_TRY(setLayerStatistics(op, axis, epsilon));
  std::vector<Dim> shape = op.shape(x);
  Dim inner(1);
  for (int64_t i = axis; i < rank; ++i)
    inner = op.types().mul(inner, shape[i]);
  bool isOpen = !inner.isConst();
  if (isOpen && axis + 1 < rank)
    return op.error(Status::Unsup) << "normalises axes of unknown size, from " << axis << " on";
  auto flat = [&](NodeId node) -> Expected<NodeId> {
    if (isOpen && op.rank(node) == 1)
      return node;
    if (isOpen || op.types().numElements(op.module().type(node)) != inner.value())
      return op.error() << "scale or bias of type " << op.types().str(op.module().type(node))
                        << ", wanted " << op.types().str(inner) << " values";
    int64_t count = inner.value();
    return op.reshape(node, {&count, 1});
  };
  gamma = BYCC_TRY(flat(gamma));
  NodeId beta = op.has(2) ? BYCC_TRY(flat(op.input(2)))
                          : BYCC_TRY(op.call("zeros_like", {gamma}));
  NodeId data = x;
  if (axis + 1 < rank) {
    std::vector<int64_t> codes(static_cast<size_t>(axis), 0); // copied
    codes.push_back(inner.value());
    data = BYCC_TRY(op.call("reshape", {x}, {{"newshape", AttrValue::ints(codes)}}));
  }
  NodeId result = BYCC_TRY(op.call("nn.layer_norm", {data, gamma, beta}, {{"epsilon", epsilon}}));
  op.setOutput(0, data == x ? result : BYCC_TRY(reshapedLike(op, result, x)));
  return {};
}

Expected<> convertGroupNorm(OpContext &op) {
  double epsilon = BYCC_TRY(epsilonOf(op));
  op.ignoreAttr("stash_type");
  int64_t groups = BYCC_TRY(op.requiredInt("num_groups"));
  if (groups < 1)
    return op.error() << "num_groups is " << groups;
  NodeId scale = BYCC_TRY(channelsOfGroups(op, op.input(1), groups));
  NodeId bias = BYCC_TRY(channelsOfGroups(op, op.input(2), groups));
  op.setOutput(0, BYCC_TRY(op.call("nn.group_norm", {op.input(0), scale, bias},
                                   {{"num_groups", groups}, {"epsilon", epsilon}})));
  return {};
}

// LpNormalization: x / norm, with 0 where the norm is 0.
Expected<> convertLpNorm(OpContext &op) {
  NodeId x = op.input(0);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", -1)), op.rank(x)));
  int64_t p = BYCC_TRY(op.intAttr("p", 2));
  if (p != 1 && p != 2)
    return op.error() << "p must be 1 or 2";
  NodeId terms = p == 1 ? BYCC_TRY(op.call("abs", {x})) : BYCC_TRY(op.call("multiply", {x, x}));
  NodeId norm = BYCC_TRY(op.call("sum", {terms}, {{"axis", AttrValue::ints({&axis, 1})}, {"keepdims", true}}));
  if (p == 2)
    norm = BYCC_TRY(op.call("sqrt", {norm}));
  NodeId isZero = BYCC_TRY(op.call("equal", {norm, op.scalar(op.dtype(x), 0)}));
  NodeId safe = BYCC_TRY(op.call("where", {isZero, op.scalar(op.dtype(x), 1), norm}));
  op.setOutput(0, BYCC_TRY(op.call("divide", {x, safe})));
  return {};
}

Expected<> convertLrn(OpContext &op) {
  int64_t size = BYCC_TRY(op.requiredInt("size"));
  if (size < 1)
    return op.error() << "size is " << size;
  if (size % 2 == 0)
    return op.error(Status::Unsup) << "an even size is not supported";
  op.setOutput(0, BYCC_TRY(op.call("nn.lrn", {op.input(0)},
                                   {{"size", size},
                                    {"axis", 1},
                                    {"bias", BYCC_TRY(op.floatAttr("bias", 1))},
                                    {"alpha", BYCC_TRY(op.floatAttr("alpha", 1e-4))},
                                    {"beta", BYCC_TRY(op.floatAttr("beta", 0.75))}})));
  return {};
}

namespace {

struct ResizeForm {
  std::string method, coordinates, rounding;
  double cubicAlpha = -0.75;
  int64_t excludeOutside = 0;
};

// `sizes` of all axes; batch and channels keep theirs.
Expected<> resizeTo(OpContext &op, NodeId x, const std::vector<int64_t> &sizes,
                    const ResizeForm &form) {
  size_t spatial = BYCC_TRY(spatialRank(op, x));
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
  if (sizes.size() != shape.size())
    return op.error() << sizes.size() << " sizes for rank " << shape.size();
  if (sizes[0] != shape[0] || sizes[1] != shape[1])
    return op.error(Status::Unsup) << "resizes batch or channels";
  for (int64_t size : sizes)
    if (size < 1)
      return op.error() << "a size of " << size;
  std::vector<int64_t> outer(sizes.begin() + 2, sizes.end());
  AttrDict attrs{{"size", AttrValue::ints(outer)},
                 {"layout", dataLayouts[spatial - 1]},
                 {"method", form.method},
                 {"coordinate_transformation_mode", form.coordinates}};
  if (form.method == "nearest_neighbor")
    attrs.push_back({"rounding_method", form.rounding});
  if (form.method == "cubic") {
    attrs.push_back({"cubic_alpha", form.cubicAlpha});
    attrs.push_back({"cubic_exclude", form.excludeOutside});
  }
  op.setOutput(0, BYCC_TRY(op.call(ranked("image.resize", spatial), {x}, std::move(attrs))));
  return {};
}

// Sizes from scales. Relay computes the scale back from the sizes, so only
// scales that agree with them exactly keep the result.
Expected<std::vector<int64_t>> sizesOfScales(OpContext &op, NodeId x,
                                             const std::vector<double> &scales) {
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
  if (scales.size() != shape.size())
    return op.error() << scales.size() << " scales for rank " << shape.size();
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < shape.size(); ++i) {
    double size = std::floor(static_cast<double>(shape[i]) * scales[i] + 1e-6);
    if (!(scales[i] > 0) || !(size >= 1) || size > 1e9)
      return op.error() << "scale " << scales[i] << " of " << shape[i] << " is not legal";
    if (std::abs(size / static_cast<double>(shape[i]) - scales[i]) > 1e-6 * scales[i])
      return op.error(Status::Unsup) << "scale " << scales[i] << " of " << shape[i]
                                     << " does not give a whole size";
    sizes.push_back(static_cast<int64_t>(size));
  }
  return sizes;
}

Expected<std::string> resizeMethod(OpContext &op) {
  std::string mode = BYCC_TRY(op.textAttr("mode", "nearest"));
  if (mode == "nearest")
    return std::string("nearest_neighbor");
  if (mode == "bilinear" && op.opset() < 7)
    return std::string("linear");
  if (mode == "linear" || mode == "cubic")
    return mode;
  return op.error() << "mode must be nearest, linear or cubic";
}

} // namespace

Expected<> convertResize(OpContext &op) {
  NodeId x = op.input(0);
  ResizeForm form;
  form.method = BYCC_TRY(resizeMethod(op));
  bool isOld = op.opset() < 11;
  form.coordinates = isOld ? "asymmetric"
                           : BYCC_TRY(op.textAttr("coordinate_transformation_mode", "half_pixel"));
  form.rounding = isOld ? "floor" : BYCC_TRY(op.textAttr("nearest_mode", "round_prefer_floor"));
  form.cubicAlpha = BYCC_TRY(op.floatAttr("cubic_coeff_a", -0.75));
  form.excludeOutside = BYCC_TRY(op.intAttr("exclude_outside", 0));
  op.ignoreAttr("extrapolation_value"); // of tf_crop_and_resize
  static constexpr std::string_view modes[] = {"half_pixel", "align_corners", "asymmetric",
                                               "pytorch_half_pixel", "tf_half_pixel_for_nn"};
  if (std::find(std::begin(modes), std::end(modes), form.coordinates) == std::end(modes))
    return op.error(Status::Unsup) << "coordinate_transformation_mode is not supported";
  if (BYCC_TRY(op.intAttr("antialias", 0)) != 0 || BYCC_TRY(op.intsAttr("axes")) ||
      BYCC_TRY(op.textAttr("keep_aspect_ratio_policy", "stretch")) != "stretch")
    return op.error(Status::Unsup) << "antialias, axes and keep_aspect_ratio_policy are not supported";
  size_t scalesAt = isOld ? 1 : 2;
  if (op.has(3) && !isOld)
    return resizeTo(op, x, BYCC_TRY(op.constInts(3, "sizes")), form);
  if (!op.has(scalesAt))
    return op.error() << "neither scales nor sizes are given";
  std::vector<double> scales = BYCC_TRY(op.constNumbers(scalesAt, "scales"));
  return resizeTo(op, x, BYCC_TRY(sizesOfScales(op, x, scales)), form);
}

Expected<> convertGridSample(OpContext &op) {
  NodeId x = op.input(0);
  if (op.rank(x) != 4)
    return op.error(Status::Unsup) << "input of rank " << op.rank(x) << " is not supported";
  std::string mode = BYCC_TRY(op.textAttr("mode", op.opset() < 20 ? "bilinear" : "linear"));
  mode = mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode;
  std::string padding = BYCC_TRY(op.textAttr("padding_mode", "zeros"));
  bool alignCorners = BYCC_TRY(op.intAttr("align_corners", 0)) != 0;
  if (mode != "bilinear" && mode != "nearest" && mode != "bicubic")
    return op.error() << "mode must be linear, nearest or cubic";
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return op.error() << "padding_mode must be zeros, border or reflection";
  // ONNX has the coordinates last, Relay after the batch.
  NodeId grid = BYCC_TRY(op.transpose(op.input(1), std::vector<int64_t>{0, 3, 1, 2}));
  op.setOutput(0, BYCC_TRY(op.call("image.grid_sample", {x, grid},
                                   {{"method", mode},
                                    {"padding_mode", padding},
                                    {"align_corners", alignCorners}})));
  return {};
}

// Upsample: scales as attributes (opset 1 and 7) or input (9).
Expected<> convertUpsample(OpContext &op) {
  NodeId x = op.input(0);
  ResizeForm form{BYCC_TRY(resizeMethod(op)), "asymmetric", "floor"};
  std::vector<double> scales;
  if (op.opset() >= 9) {
    if (!op.has(1))
      return op.error() << "scales are missing";
    scales = BYCC_TRY(op.constNumbers(1, "scales"));
  } else if (op.opset() < 7) {
    scales = {1, 1, BYCC_TRY(op.floatAttr("height_scale", 0)), BYCC_TRY(op.floatAttr("width_scale", 0))};
  } else if (const Attribute *given = BYCC_TRY(op.attr("scales", AttrKind::Floats))) {
    scales.assign(given->floats.begin(), given->floats.end());
  }
  return resizeTo(op, x, BYCC_TRY(sizesOfScales(op, x, scales)), form);
}

} // namespace bycc::onnx
