// Type rules of images, layouts, index arithmetic and operators of no family.

#include "Shape.h"

#include "bycc/IR/Einsum.h"
#include "bycc/IR/Module.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace bycc::shape {
namespace {

Expected<> checkFloatInput(InferContext &context, const TensorInput &x, std::string_view what) {
  if (!isFloat(x.dtype))
    return context.error() << what << " holds floats, got " << name(x.dtype);
  return {};
}

// Letters of the layout attribute: NC and as many spatial axes as x has.
Expected<std::string> imageLetters(InferContext &context, const TensorInput &x) {
  if (x.rank() < 3 || x.rank() > 5)
    return context.error() << "data has rank 3 to 5, got " << context.module().types.str(x.type);
  constexpr std::string_view letters[] = {"NCW", "NCHW", "NCDHW"};
  return std::string(letters[x.rank() - 3]);
}

Expected<TypeId> scaled(InferContext &context, const TensorInput &x, std::string_view letters,
                        std::span<const double> scales) {
  TypeTable &types = context.module().types;
  BYCC_TRY(checkRank(context, x, letters.size(), "data"));
  Layout layout = BYCC_TRY(layoutAttr(context, "layout", letters));
  if (layout.isBlocked())
    return context.error(Status::Unsup) << "a blocked layout is not supported";
  Shape shape(x.shape.begin(), x.shape.end());
  for (size_t i = 0; i < scales.size(); ++i) {
    double scale = scales[i];
    if (!(scale > 0) || !(scale < 1e9))
      return context.error() << "a scale is positive, got " << formatDouble(scale);
    Dim &dim = shape[*layout.find(letters[2 + i])];
    if (!dim.isConst()) {
      bool isWhole = scale == std::floor(scale);
      dim = isWhole ? types.mul(dim, Dim(static_cast<int64_t>(scale))) : Dim::unknown();
      continue;
    }
    double extent = std::round(static_cast<double>(dim.value()) * scale);
    if (extent > 1e15)
      return context.error(Status::Limit) << "the result is too large";
    if (extent < 1 && dim.value() > 0)
      return context.error() << "the result is empty along " << letters[2 + i];
    dim = Dim(static_cast<int64_t>(extent));
  }
  return tensorType(context, x.dtype, shape);
}

Expected<> checkResizeAttrs(InferContext &context) {
  BYCC_TRY(checkOneOf(context, "method", {"linear", "nearest_neighbor", "cubic"}));
  BYCC_TRY(checkOneOf(context, "coordinate_transformation_mode",
                      {"half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric",
                       "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
  return checkOneOf(context, "rounding_method",
                    {"", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"});
}

} // namespace

// --- images

Expected<TypeId> resizeTo(InferContext &context, const TensorInput &x, std::span<const Dim> size) {
  BYCC_TRY(checkResizeAttrs(context));
  std::string letters = BYCC_TRY(imageLetters(context, x));
  Layout layout = BYCC_TRY(layoutAttr(context, "layout", letters));
  if (layout.isBlocked())
    return context.error(Status::Unsup) << "a blocked layout is not supported";
  if (size.size() != letters.size() - 2)
    return context.error() << "size has " << letters.size() - 2 << " values, got " << size.size();
  Shape shape(x.shape.begin(), x.shape.end());
  for (size_t i = 0; i < size.size(); ++i) {
    Dim &dim = shape[*layout.find(letters[2 + i])];
    if (dim == Dim(0) || size[i] == Dim(0))
      return context.error() << "an image to resize is empty along " << letters[2 + i];
    dim = size[i];
  }
  return tensorType(context, dtypeAttr(context, "out_dtype", x.dtype), shape);
}

Expected<TypeId> resize(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  std::string_view op = opInfo(context.module().node(context.call()).op).name;
  size_t rank = static_cast<size_t>(op[op.size() - 2] - '0');
  BYCC_TRY(checkRank(context, x, rank + 2, "data"));
  if (context.isNone("size"))
    return context.error() << "size must be given";
  Shape size = BYCC_TRY(sizes(context, context.integers("size"), "size"));
  bool isCrop = context.text("coordinate_transformation_mode") == "tf_crop_and_resize";
  const AttrValue *roi = context.module().attr(context.call(), "roi");
  if (isCrop && (roi->isNone() || roi->asList().size() != 2 * rank))
    return context.error() << "tf_crop_and_resize needs a roi of " << 2 * rank << " values";
  if (const AttrValue *scales = context.module().attr(context.call(), "scales"); !scales->isNone()) {
    if (scales->asList().size() != rank)
      return context.error() << "scales has " << rank << " values, got " << scales->asList().size();
    for (const AttrValue &scale : scales->asList())
      if (!(scale.asFloat() > 0) || scale.asFloat() > 1e9)
        return context.error() << "a scale is positive, got " << formatDouble(scale.asFloat());
  }
  return resizeTo(context, x, size);
}

Expected<TypeId> dynResize2d(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkRank(context, x, 4, "data"));
  auto size = BYCC_TRY(symbolicInts(context, 1));
  if (!size)
    return resizeTo(context, x, Shape{Dim::unknown(), Dim::unknown()});
  return resizeTo(context, x, BYCC_TRY(sizes(context, *size, "size")));
}

Expected<TypeId> upsampling(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkOneOf(context, "method", {"nearest_neighbor", "bilinear", "bicubic"}));
  return scaled(context, x, "NCHW",
                std::vector<double>{context.number("scale_h"), context.number("scale_w")});
}

Expected<TypeId> upsampling3d(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkOneOf(context, "method", {"nearest_neighbor", "trilinear"}));
  BYCC_TRY(checkOneOf(context, "coordinate_transformation_mode",
                      {"half_pixel", "align_corners", "asymmetric"}));
  return scaled(context, x, "NCDHW",
                std::vector<double>{context.number("scale_d"), context.number("scale_h"),
                                    context.number("scale_w")});
}

Expected<TypeId> dynUpsampling(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkRank(context, x, 4, "data"));
  BYCC_TRY(checkOneOf(context, "method", {"nearest_neighbor", "bilinear", "bicubic"}));
  Layout layout = BYCC_TRY(layoutAttr(context, "layout", "NCHW"));
  if (layout.isBlocked())
    return context.error(Status::Unsup) << "a blocked layout is not supported";
  for (size_t i = 1; i < 3; ++i)
    BYCC_TRY(checkFloatInput(context, BYCC_TRY(tensorInput(context, i)), "a scale"));
  Shape shape(x.shape.begin(), x.shape.end());
  shape[*layout.find('H')] = Dim::unknown();
  shape[*layout.find('W')] = Dim::unknown();
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> gridSample(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput grid = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkFloatInput(context, x, "data"));
  BYCC_TRY(checkDType(context, grid.dtype, x.dtype, "grid"));
  BYCC_TRY(checkOneOf(context, "method", {"bilinear", "nearest", "bicubic"}));
  BYCC_TRY(checkOneOf(context, "padding_mode", {"zeros", "border", "reflection"}));
  BYCC_TRY(checkOneOf(context, "layout", {"NCHW", "NCDHW"}));
  size_t spatial = context.text("layout").size() - 2;
  BYCC_TRY(checkRank(context, x, spatial + 2, "data"));
  BYCC_TRY(checkRank(context, grid, spatial + 2, "grid"));
  BYCC_TRY(unifyDim(context, grid.shape[0], x.shape[0], "batch of grid"));
  BYCC_TRY(unifyDim(context, grid.shape[1], Dim(static_cast<int64_t>(spatial)),
                    "the number of coordinates"));
  for (size_t i = 2; i < x.rank(); ++i)
    if (x.shape[i] == Dim(0))
      return context.error() << "data is empty";
  Shape shape(grid.shape.begin(), grid.shape.end());
  shape[1] = x.shape[1];
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> affineGrid(InferContext &context) {
  TensorInput theta = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkFloatInput(context, theta, "theta"));
  BYCC_TRY(checkRank(context, theta, 3, "theta"));
  Ints target = context.integers("target_shape");
  if (target.size() != 2 && target.size() != 3)
    return context.error() << "target_shape has 2 or 3 values, got " << target.size();
  BYCC_TRY(checkPositive(context, target, "target_shape"));
  int64_t spatial = static_cast<int64_t>(target.size());
  BYCC_TRY(unifyDim(context, theta.shape[1], Dim(spatial), "rows of theta"));
  BYCC_TRY(unifyDim(context, theta.shape[2], Dim(spatial + 1), "columns of theta"));
  Shape shape{theta.shape[0], Dim(spatial)};
  shape.insert(shape.end(), target.begin(), target.end());
  return tensorType(context, theta.dtype, shape);
}

Expected<TypeId> cropAndResize(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput boxes = BYCC_TRY(tensorInput(context, 1));
  TensorInput which = BYCC_TRY(tensorInput(context, 2));
  BYCC_TRY(checkOneOf(context, "method", {"bilinear", "nearest_neighbor"}));
  BYCC_TRY(checkOneOf(context, "layout", {"NCHW", "NHWC"}));
  BYCC_TRY(checkRank(context, x, 4, "data"));
  BYCC_TRY(checkRank(context, boxes, 2, "boxes"));
  BYCC_TRY(checkRank(context, which, 1, "box_indices"));
  BYCC_TRY(checkFloatInput(context, boxes, "boxes"));
  BYCC_TRY(checkInt(context, which.dtype, "box_indices"));
  BYCC_TRY(unifyDim(context, boxes.shape[1], Dim(4), "the length of a box"));
  Dim count = BYCC_TRY(unifyDim(context, which.shape[0], boxes.shape[0], "the number of boxes"));
  if (context.isNone("crop_size"))
    return context.error() << "crop_size must be given";
  Ints size = context.integers("crop_size");
  BYCC_TRY(checkCount(context, size, 2, "crop_size"));
  BYCC_TRY(checkPositive(context, size, "crop_size"));
  Layout layout = BYCC_TRY(layoutAttr(context, "layout", "NCHW"));
  Shape shape(x.shape.begin(), x.shape.end());
  for (Dim dim : shape)
    if (dim == Dim(0))
      return context.error() << "data is empty";
  shape[0] = count;
  shape[*layout.find('H')] = Dim(size[0]);
  shape[*layout.find('W')] = Dim(size[1]);
  return tensorType(context, dtypeAttr(context, "out_dtype", x.dtype), shape);
}

Expected<TypeId> dilation2d(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput weight = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkRank(context, x, 4, "data"));
  BYCC_TRY(checkRank(context, weight, 3, "weight"));
  BYCC_TRY(checkDType(context, weight.dtype, x.dtype, "weight"));
  BYCC_TRY(checkOneOf(context, "data_layout", {"NCHW", "NHWC"}));
  BYCC_TRY(checkOneOf(context, "kernel_layout", {"IHW", "HWI"}));
  Layout data = BYCC_TRY(layoutAttr(context, "data_layout", "NCHW"));
  Layout kernel = BYCC_TRY(layoutAttr(context, "kernel_layout", "IHW"));
  BYCC_TRY(unifyDim(context, weight.shape[*kernel.find('I')], x.shape[*data.find('C')],
                    "the number of weight channels"));
  auto padding = expandPadding(context.integers("padding"), 2);
  if (!padding)
    return context.error() << "padding has 1, 2 or 4 values";
  Ints strides = context.integers("strides"), dilations = context.integers("dilations");
  BYCC_TRY(checkCount(context, strides, 2, "strides"));
  BYCC_TRY(checkCount(context, dilations, 2, "dilations"));
  BYCC_TRY(checkPositive(context, strides, "strides"));
  BYCC_TRY(checkPositive(context, dilations, "dilations"));
  Shape shape(x.shape.begin(), x.shape.end());
  for (size_t i = 0; i < 2; ++i) {
    std::string_view letter = i ? "W" : "H";
    Dim extent = weight.shape[*kernel.find(letter[0])];
    if (!extent.isConst() || extent.value() < 1)
      return context.error() << "the kernel size is not known or 0";
    Window window{extent.value(), strides[i], dilations[i], (*padding)[i], (*padding)[i + 2],
                  false};
    Dim &dim = shape[*data.find(letter[0])];
    dim = BYCC_TRY(windowExtent(context, dim, window, letter));
  }
  return tensorType(context, dtypeAttr(context, "out_dtype", x.dtype), shape);
}

// --- layouts

Expected<TypeId> layoutTransform(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  auto from = Layout::parse(context.text("src_layout"));
  if (!from)
    return context.error() << "src_layout \"" << escaped(context.text("src_layout"))
                           << "\" is not a layout";
  std::string letters = from->primal();
  Layout to = BYCC_TRY(layoutAttr(context, "dst_layout", letters));
  BYCC_TRY(checkRank(context, x, from->rank(), "data"));
  Shape logical;
  for (char letter : letters)
    logical.push_back(BYCC_TRY(logicalExtent(context, x, *from, letter)));
  Shape shape = BYCC_TRY(physicalShape(context, to, letters, logical));
  return tensorType(context, x.dtype, shape);
}

// --- einsum

Expected<TypeId> einsumOf(InferContext &context) {
  auto inputs = BYCC_TRY(tupleInput(context, 0));
  std::vector<size_t> ranks;
  for (const TensorInput &input : inputs) {
    BYCC_TRY(checkDType(context, input.dtype, inputs[0].dtype, "every input"));
    ranks.push_back(input.rank());
  }
  auto einsum = parseEinsum(context.text("equation"), ranks);
  if (!einsum)
    return context.error() << einsum.error().message();
  std::vector<std::optional<Dim>> extents(einsum->numLabels);
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t d = 0; d < inputs[i].rank(); ++d) {
      uint32_t label = einsum->inputs[i][d];
      Dim dim = inputs[i].shape[d];
      std::optional<Dim> &extent = extents[label];
      if (extent && einsum->isEllipsis[label]) {
        auto both = broadcastDim(*extent, dim);
        if (!both)
          return context.error() << "the ellipses of the inputs do not broadcast";
        extent = *both;
      } else {
        extent = extent ? BYCC_TRY(unifyDim(context, dim, *extent, std::string("extent of ") + einsum->letters[label])) : dim;
      }
    }
  Shape shape;
  for (uint32_t label : einsum->output)
    shape.push_back(*extents[label]);
  return tensorType(context, inputs[0].dtype, shape);
}

// --- index arithmetic

namespace {

// A number of arange: the attribute, else the constant operand, else nullopt.
Expected<std::optional<double>> rangeNumber(InferContext &context, std::string_view key,
                                            size_t index) {
  Module &module = context.module();
  if (context.numInputs() == 3) {
    NodeId node = context.inputNode(index);
    TensorInput input = BYCC_TRY(tensorInput(context, index));
    BYCC_TRY(checkRank(context, input, 0, key));
    if (!module.isConstant(node))
      return std::optional<double>();
    const uint8_t *data = module.constant(node).data();
    if (input.dtype == DType::Float32) {
      float value;
      std::memcpy(&value, data, sizeof value);
      return std::optional<double>(value);
    }
    if (input.dtype == DType::Float64) {
      double value;
      std::memcpy(&value, data, sizeof value);
      return std::optional(value);
    }
    if (!isInt(input.dtype))
      return context.error() << key << " is an integer, float32 or float64";
    auto values = BYCC_TRY(constantInts(context, index));
    return std::optional(static_cast<double>(values->front()));
  }
  const AttrValue *value = module.attr(context.call(), key);
  if (value->isInt())
    return std::optional(static_cast<double>(value->asInt()));
  if (value->isFloat())
    return std::optional(value->asFloat());
  return context.error() << key << " is a number";
}

} // namespace

namespace {

// Number of elements where start, stop and step are shape arithmetic.
Dim symbolicCount(InferContext &context) {
  Module &module = context.module();
  SymbolicInt bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    auto value = context.numInputs() == 3 ? symbolicValue(module, context.inputNode(i)) : std::nullopt;
    if (!value || !value->front().isKnown())
      return Dim::unknown();
    bounds[i] = value->front();
  }
  auto &[start, stop, step] = bounds;
  // Bounds below 0 move both up.
  Dim from = start.extent(), to = stop.extent();
  if (start.number && *start.number < 0 && *start.number > -INT32_MAX) {
    from = Dim(0);
    to = module.types.add(to, Dim(-*start.number));
  }
  if (!step.number || *step.number < 1 || !module.types.isSurelyAtLeast(to, from))
    return Dim::unknown();
  return module.types.dim(DimOp::CeilDiv, module.types.sub(to, from), Dim(*step.number));
}

} // namespace

Expected<TypeId> arangeOf(InferContext &context) {
  if (context.numInputs() != 0 && context.numInputs() != 3)
    return context.error() << "takes start, stop and step, all as inputs or all as attributes";
  DType dtype = dtypeAttr(context, "dtype", DType::Float32);
  if (dtype == DType::Bool)
    return context.error() << "dtype is a number type, got bool";
  auto start = BYCC_TRY(rangeNumber(context, "start", 0));
  auto stop = BYCC_TRY(rangeNumber(context, "stop", 1));
  auto step = BYCC_TRY(rangeNumber(context, "step", 2));
  if (step && *step == 0)
    return context.error() << "step is 0";
  if (!start || !stop || !step)
    return tensorType(context, dtype, Shape{symbolicCount(context)});
  double count = std::ceil((*stop - *start) / *step);
  if (std::isnan(count))
    return context.error() << "start, stop and step are finite";
  if (count > 1e15)
    return context.error(Status::Limit) << "the range has too many elements";
  return tensorType(context, dtype, Shape{Dim(static_cast<int64_t>(std::max(count, 0.0)))});
}

Expected<TypeId> meshgridOf(InferContext &context) {
  auto inputs = BYCC_TRY(tupleInput(context, 0));
  BYCC_TRY(checkOneOf(context, "indexing", {"ij", "xy"}));
  Shape shape;
  for (const TensorInput &input : inputs) {
    if (input.rank() > 1)
      return context.error() << "inputs have rank 0 or 1";
    BYCC_TRY(checkDType(context, input.dtype, inputs[0].dtype, "every input"));
    shape.push_back(input.rank() ? input.shape[0] : Dim(1));
  }
  if (context.text("indexing") == "xy" && shape.size() > 1)
    std::swap(shape[0], shape[1]);
  TypeId grid = BYCC_TRY(tensorType(context, inputs[0].dtype, shape));
  return context.module().types.tuple(std::vector<TypeId>(inputs.size(), grid));
}

namespace {

Expected<TypeId> oneHotOf(InferContext &context, Dim depth) {
  TensorInput indices = BYCC_TRY(tensorInput(context, 0));
  TensorInput on = BYCC_TRY(tensorInput(context, 1));
  TensorInput off = BYCC_TRY(tensorInput(context, 2));
  BYCC_TRY(checkInt(context, indices.dtype, "indices"));
  BYCC_TRY(checkRank(context, on, 0, "on_value"));
  BYCC_TRY(checkRank(context, off, 0, "off_value"));
  BYCC_TRY(checkDType(context, off.dtype, on.dtype, "off_value"));
  DType dtype = dtypeAttr(context, "dtype", on.dtype);
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), indices.rank() + 1));
  Shape shape(indices.shape.begin(), indices.shape.end());
  shape.insert(shape.begin() + static_cast<long>(axis), depth);
  return tensorType(context, dtype, shape);
}

} // namespace

Expected<TypeId> oneHot(InferContext &context) {
  int64_t depth = context.integer("depth");
  BYCC_TRY(checkPositive(context, Ints{depth}, "depth"));
  return oneHotOf(context, Dim(depth));
}

Expected<TypeId> dynOneHot(InferContext &context) {
  auto depth = BYCC_TRY(symbolicInts(context, 3));
  if (depth && (depth->size() != 1 || (depth->front().number && *depth->front().number < 1)))
    return context.error() << "depth is one number, at least 1";
  return oneHotOf(context, depth ? depth->front().extent() : Dim::unknown());
}

Expected<TypeId> shapeOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  return tensorType(context, dtypeAttr(context, "dtype", DType::Int32),
                    Shape{Dim(static_cast<int64_t>(x.rank()))});
}

Expected<TypeId> sizeOf(InferContext &context) {
  BYCC_TRY(tensorInput(context, 0));
  return tensorType(context, dtypeAttr(context, "dtype", DType::Int32), Shape{});
}

Expected<TypeId> sequenceMask(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput lengths = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkInt(context, lengths.dtype, "lengths"));
  BYCC_TRY(checkRank(context, lengths, 1, "lengths"));
  if (x.rank() < 2)
    return context.error() << "data has rank 2 or more, got "
                           << context.module().types.str(x.type);
  int64_t axis = context.integer("axis");
  if (axis != 0 && axis != 1)
    return context.error() << "axis is 0 or 1, got " << axis;
  BYCC_TRY(unifyDim(context, lengths.shape[0], x.shape[static_cast<size_t>(1 - axis)],
                    "extent of lengths"));
  return x.type;
}

Expected<TypeId> matrixSetDiag(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput diagonal = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkDType(context, diagonal.dtype, x.dtype, "diagonal"));
  if (x.rank() < 2)
    return context.error() << "data has rank 2 or more, got "
                           << context.module().types.str(x.type);
  int64_t k1 = context.integer("k1"), k2 = context.integer("k2");
  if (k1 > k2 || k1 < INT32_MIN || k2 > INT32_MAX)
    return context.error() << "k1 is at most k2, got " << k1 << " and " << k2;
  size_t batch = x.rank() - 2;
  BYCC_TRY(checkRank(context, diagonal, batch + (k1 == k2 ? 1 : 2), "diagonal"));
  for (size_t i = 0; i < batch; ++i)
    BYCC_TRY(unifyDim(context, diagonal.shape[i], x.shape[i], "an extent of diagonal"));
  if (k1 != k2)
    BYCC_TRY(unifyDim(context, diagonal.shape[batch], Dim(k2 - k1 + 1), "the number of diagonals"));
  if (!x.shape[batch].isConst() || !x.shape[batch + 1].isConst())
    return x.type;
  int64_t rows = x.shape[batch].value(), columns = x.shape[batch + 1].value();
  if (k1 <= -rows || k2 >= columns)
    return context.error() << "k1 " << k1 << " and k2 " << k2 << " lie outside the matrix";
  int64_t longest = std::min(rows + std::min<int64_t>(k2, 0), columns - std::max<int64_t>(k1, 0));
  BYCC_TRY(unifyDim(context, diagonal.shape.back(), Dim(longest), "the length of a diagonal"));
  return x.type;
}

Expected<TypeId> unravelIndex(InferContext &context) {
  TensorInput indices = BYCC_TRY(tensorInput(context, 0));
  TensorInput shape = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkInt(context, indices.dtype, "indices"));
  BYCC_TRY(checkInt(context, shape.dtype, "extents"));
  BYCC_TRY(checkRank(context, shape, 1, "shape"));
  if (indices.rank() > 1)
    return context.error() << "indices have rank 0 or 1";
  Shape result{shape.shape[0]};
  result.insert(result.end(), indices.shape.begin(), indices.shape.end());
  return tensorType(context, indices.dtype, result);
}

Expected<TypeId> slidingWindow(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  Ints window = context.integers("window_shape"), strides = context.integers("strides");
  BYCC_TRY(checkCount(context, window, x.rank() - axis, "window_shape"));
  BYCC_TRY(checkCount(context, strides, x.rank() - axis, "strides"));
  BYCC_TRY(checkPositive(context, window, "window_shape"));
  BYCC_TRY(checkPositive(context, strides, "strides"));
  Shape shape(x.shape.begin(), x.shape.end());
  for (size_t i = 0; i < window.size(); ++i) {
    Window w{window[i], strides[i], 1, 0, 0, false};
    shape[axis + i] =
        BYCC_TRY(windowExtent(context, shape[axis + i], w, std::to_string(axis + i)));
  }
  for (int64_t extent : window)
    shape.push_back(Dim(extent));
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> sparseToDense(InferContext &context) {
  TensorInput indices = BYCC_TRY(tensorInput(context, 0));
  TensorInput values = BYCC_TRY(tensorInput(context, 1));
  TensorInput fallback = BYCC_TRY(tensorInput(context, 2));
  BYCC_TRY(checkInt(context, indices.dtype, "indices"));
  BYCC_TRY(checkDType(context, fallback.dtype, values.dtype, "default_value"));
  BYCC_TRY(checkRank(context, fallback, 0, "default_value"));
  Shape shape = BYCC_TRY(sizes(context, context.integers("output_shape"), "output_shape"));
  if (indices.rank() > 2 || values.rank() > 1 || (values.rank() == 1 && indices.rank() == 0))
    return context.error() << "indices have rank 0 to 2, values 0 or 1";
  Dim coordinates = indices.rank() == 2 ? indices.shape[1] : Dim(1);
  BYCC_TRY(unifyDim(context, coordinates, Dim(static_cast<int64_t>(shape.size())),
                    "the number of coordinates"));
  if (values.rank() == 1)
    BYCC_TRY(unifyDim(context, values.shape[0], indices.shape[0], "the number of values"));
  return tensorType(context, values.dtype, shape);
}

Expected<TypeId> invertPermutation(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkInt(context, x.dtype, "elements of a permutation"));
  BYCC_TRY(checkRank(context, x, 1, "x"));
  return x.type;
}

} // namespace bycc::shape
