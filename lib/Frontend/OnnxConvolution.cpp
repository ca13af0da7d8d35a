// Convolutions. Spatial attributes are checked here, where their ONNX names are
// known to the user.
#include "OnnxCompose.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"
#include "OnnxWindow.h"

#include <algorithm>
#include <array>
#include <optional>

namespace bycc::onnx {
namespace {

// kernel_shape as given (then it must be the weight's) or as the weight has it.
Expected<std::vector<int64_t>> kernelOf(OpContext &op, NodeId weight, size_t spatial) {
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(weight));
  if (shape.size() != spatial + 2)
    return op.error() << "weight of rank " << shape.size() << ", the input has rank "
                      << spatial + 2;
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

Expected<AttrDict> convAttrs(OpContext &op, NodeId &x, NodeId weight, std::optional<NodeId> zero) {
  size_t spatial = BYCC_TRY(spatialRank(op, x));
  Window window = BYCC_TRY(readWindow(op, x, BYCC_TRY(kernelOf(op, weight, spatial))));
  x = BYCC_TRY(withOpenPads(op, x, window, zero ? *zero : op.scalar(op.dtype(x), 0)));
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

Expected<NodeId> convOf(OpContext &op, NodeId x, NodeId weight) {
  AttrDict attrs = BYCC_TRY(convAttrs(op, x, weight));
  size_t spatial = static_cast<size_t>(op.rank(x) - 2);
  NodeId result = BYCC_TRY(op.call(ranked("nn.conv", spatial), {x, weight}, std::move(attrs)));
  return addBias(op, result);
}

Expected<> convertConv(OpContext &op) {
  op.setOutput(0, BYCC_TRY(convOf(op, op.input(0), op.input(1))));
  return {};
}

namespace {

// Paddings that take `surplus` away from the natural size. What is wanted beyond it goes to
// `behind`.
void padsForSurplus(const std::vector<int64_t> &surplus, bool isUpper, Window &window,
                    std::vector<int64_t> &behind) {
  size_t count = window.kernel.size();
  for (size_t i = 0; i < count; ++i) {
    int64_t total = std::max<int64_t>(0, surplus[i]);
    behind[i] = std::max<int64_t>(0, -surplus[i]);
    int64_t small = total / 2, large = total - small;
    window.pads[i] = isUpper ? small : large;
    window.pads[i + count] = isUpper ? large : small;
  }
}

// Natural size less that of output_shape, or less stride times the input's (auto_pad SAME_*),
// which does not depend on the input.
Expected<std::vector<int64_t>> surplusOver(OpContext &op, NodeId x, const Window &window,
                                           const std::vector<int64_t> &outputPadding,
                                           const std::optional<std::vector<int64_t>> &wanted) {
  std::vector<int64_t> surplus, shape;
  if (wanted)
    shape = BYCC_TRY(op.staticShape(x));
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    int64_t beyond = outputPadding[i] + (window.kernel[i] - 1) * window.dilations[i] + 1 -
                     window.strides[i]; // of the natural size, beyond stride times the input's
    if (wanted && ((*wanted)[i] < 1 || (*wanted)[i] > (int64_t{1} << 31)))
      return op.error() << "output_shape has the value " << (*wanted)[i];
    surplus.push_back(wanted ? shape[i + 2] * window.strides[i] + beyond - (*wanted)[i] : beyond);
  }
  return surplus;
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
  std::vector<int64_t> behind(spatial, 0);
  if (wanted || isSame)
    padsForSurplus(BYCC_TRY(surplusOver(op, x, window, outputPadding, wanted)),
                   autoPad == "SAME_UPPER", window, behind);
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
  std::vector<std::array<int64_t, 2>> widths(2, {0, 0});
  for (int64_t width : behind)
    widths.push_back({0, width});
  Compose c(op);
  result = BYCC_TRY(c.done(c.pad(result, widths, 0)));
  op.setOutput(0, BYCC_TRY(addBias(op, result)));
  return {};
}

namespace {

// Where block element k of column l lies in the flat image, [block, columns]; beside
// the image it is `total`, the number of the image's elements.
struct Places {
  NodeId flat, total, block;
};

Expected<Places> placesInImage(OpContext &op, NodeId image, NodeId kernel, const Window &window) {
  Compose c(op);
  int64_t spatial = lengthOf(op, image);
  NodeId zero = c.scalar(DType::Int64, 0), one = c.scalar(DType::Int64, 1);
  auto at = [&](NodeId vector, int64_t i) {
    return c.call("take", {vector, c.scalar(DType::Int64, static_cast<double>(i))}, {{"axis", 0}});
  };
  std::vector<NodeId> grid;
  NodeId block = one, columns = one, total = one, flat = zero;
  std::optional<NodeId> isOutside;
  for (int64_t i = 0; i < spatial; ++i) {
    double pads = static_cast<double>(window.pads[i] + window.pads[i + spatial]);
    NodeId span = c.mul(c.sub(at(kernel, i), 1), static_cast<double>(window.dilations[i]));
    NodeId room =
        c.add(c.sub(at(image, i), span), pads + static_cast<double>(window.strides[i]) - 1);
    grid.push_back(c.call("trunc_divide", c.call("maximum", {room, zero}),
                          static_cast<double>(window.strides[i])));
    block = c.mul(block, at(kernel, i));
    columns = c.mul(columns, grid.back());
  }
  NodeId k = c.expand(BYCC_TRY(c.done(c.iota(block))), 1),
         l = c.expand(BYCC_TRY(c.done(c.iota(columns))), 0);
  for (int64_t i = spatial; i-- > 0;) {
    NodeId column =
        c.mul(c.call("trunc_mod", {l, grid[i]}), static_cast<double>(window.strides[i]));
    NodeId tap =
        c.mul(c.call("trunc_mod", {k, at(kernel, i)}), static_cast<double>(window.dilations[i]));
    NodeId place = c.sub(c.add(column, tap), static_cast<double>(window.pads[i]));
    NodeId isOff = c.call("logical_or", {c.call("less", {place, zero}),
                                         c.call("greater_equal", {place, at(image, i)})});
    isOutside = isOutside ? c.call("logical_or", {*isOutside, isOff}) : isOff;
    flat = c.add(flat, c.mul(place, total));
    total = c.mul(total, at(image, i));
    l = c.call("trunc_divide", {l, grid[i]});
    k = c.call("trunc_divide", {k, at(kernel, i)});
  }
  return Places{BYCC_TRY(c.done(c.where(*isOutside, total, flat))), total, block};
}

// The shapes are known when the model runs: elements are added where they belong, and
// those beside the image to one place more, which is cut off.
Expected<NodeId> col2ImAtRunTime(OpContext &op, NodeId x) {
  NodeId image = BYCC_TRY(runTimeInts(op, 1, "image_shape")),
         kernel = BYCC_TRY(runTimeInts(op, 2, "block_shape"));
  size_t spatial = static_cast<size_t>(lengthOf(op, image));
  if (op.rank(x) != 3 || lengthOf(op, kernel) != lengthOf(op, image) || spatial < 1)
    return op.error() << "input of rank " << op.rank(x) << ", image_shape of " << spatial
                      << " and block_shape of " << lengthOf(op, kernel) << " values";
  Window window;
  window.strides = BYCC_TRY(spatialInts(op, "strides", spatial, 1, 1));
  window.dilations = BYCC_TRY(spatialInts(op, "dilations", spatial, 1, 1));
  window.pads = BYCC_TRY(spatialInts(op, "pads", 2 * spatial, 0, 0));
  Places places = BYCC_TRY(placesInImage(op, image, kernel, window));
  Compose c(op);
  NodeId batch = c.expand(BYCC_TRY(extentOf(op, x, 0)), 0),
         rest = op.ints(std::vector<int64_t>{-1});
  NodeId length = BYCC_TRY(c.done(c.expand(c.mul(places.block, BYCC_TRY(extentOf(op, x, 2))), 0)));
  NodeId columns = BYCC_TRY(
      reshapeTo(op, x, BYCC_TRY(join(op, std::array{BYCC_TRY(c.done(batch)), rest, length}))));
  NodeId channels = c.expand(BYCC_TRY(extentOf(op, columns, 1)), 0);
  NodeId size = BYCC_TRY(c.done(c.expand(c.add(places.total, 1), 0)));
  NodeId empty = c.call("dyn.full", {c.scalar(op.dtype(x), 0),
                                     BYCC_TRY(join(op, std::array{batch, channels, size}))});
  NodeId index =
      c.call("dyn.broadcast_to", {c.reshape(places.flat, {-1}), BYCC_TRY(extentsOf(op, columns))});
  NodeId sums =
      c.call("scatter_elements", {empty, index, columns}, {{"axis", 2}, {"reduction", "add"}});
  NodeId inside = c.iota(places.total);
  NodeId kept = BYCC_TRY(c.done(c.call("take", {sums, inside}, {{"axis", 2}})));
  return reshapeTo(op, kept, BYCC_TRY(join(op, std::array{batch, channels, image})));
}

} // namespace

// Adds up the columns of an image: a transposed convolution whose kernel puts element
// k of a column at place k of its block.
Expected<> convertCol2Im(OpContext &op) {
  NodeId x = op.input(0);
  std::vector<Dim> shape = op.shape(x);
  bool isOpen = shape.size() == 3 && !(shape[1].isConst() && shape[2].isConst());
  if (!op.isKnown(1) || !op.isKnown(2) || isOpen) {
    op.setOutput(0, BYCC_TRY(col2ImAtRunTime(op, x)));
    return {};
  }
  std::vector<int64_t> image = BYCC_TRY(op.constInts(1, "image_shape"));
  Window window;
  window.kernel = BYCC_TRY(op.constInts(2, "block_shape"));
  size_t spatial = window.kernel.size();
  if (shape.size() != 3 || image.size() != spatial || spatial < 1)
    return op.error() << "input of rank " << shape.size() << ", image_shape of " << image.size()
                      << " and block_shape of " << spatial << " values";
  if (spatial > 3)
    return op.error(Status::Unsup) << "images of more than 3 axes are not supported";
  window.strides = BYCC_TRY(spatialInts(op, "strides", spatial, 1, 1));
  window.dilations = BYCC_TRY(spatialInts(op, "dilations", spatial, 1, 1));
  window.pads = BYCC_TRY(spatialInts(op, "pads", 2 * spatial, 0, 0));
  BYCC_TRY(checkExtents(op, window));
  int64_t elements = shape[1].value();
  std::vector<int64_t> grid{0, elements}, rest; // 0: the batch as it is
  int64_t block = 1, columns = 1;
  for (size_t i = 0; i < spatial; ++i) {
    if (window.kernel[i] < 1 || image[i] < 1 || image[i] > (int64_t{1} << 31))
      return op.error() << "a block of " << window.kernel[i] << " in an image of " << image[i];
    int64_t room = image[i] + window.pads[i] + window.pads[i + spatial] -
                   (window.kernel[i] - 1) * window.dilations[i] - 1;
    if (room < 0)
      return op.error() << "a block of " << window.kernel[i] << " does not fit into an image of "
                        << image[i];
    grid.push_back(room / window.strides[i] + 1);
    rest.push_back(room % window.strides[i]);
    if (__builtin_mul_overflow(block, window.kernel[i], &block) ||
        __builtin_mul_overflow(columns, grid.back(), &columns) || block > 4096)
      return op.error(Status::Limit) << "blocks or images that are too large";
  }
  if (elements % block != 0 || shape[2].value() != columns)
    return op.error() << "input of type " << op.types().str(op.module().type(x))
                      << " for blocks of " << block << " elements, of which the image has "
                      << columns;
  int64_t channels = elements / block;
  std::vector<double> eye(static_cast<size_t>(block * block), 0);
  for (int64_t k = 0; k < block; ++k)
    eye[k * block + k] = 1;
  std::vector<int64_t> kernelShape{block, 1}, copies(spatial + 2, 1);
  kernelShape.insert(kernelShape.end(), window.kernel.begin(), window.kernel.end());
  copies[0] = channels;
  Compose c(op);
  NodeId weight = c.call("tile", {c.numbers(eye, kernelShape, op.dtype(x))},
                         {{"reps", AttrValue::ints(copies)}});
  op.setOutput(0, BYCC_TRY(c.done(c.call(ranked("nn.conv", spatial) + "_transpose",
                                         {c.reshape(x, grid), weight},
                                         {{"channels", channels},
                                          {"kernel_size", AttrValue::ints(window.kernel)},
                                          {"strides", AttrValue::ints(window.strides)},
                                          {"padding", paddingAttr(window.pads)},
                                          {"output_padding", AttrValue::ints(rest)},
                                          {"dilation", AttrValue::ints(window.dilations)},
                                          {"groups", channels}}))));
  return {};
}

} // namespace bycc::onnx
