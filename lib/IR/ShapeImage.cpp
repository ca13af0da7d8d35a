// Type rules of images: resizing, sampling, cropping.

#include "Shape.h"

#include "bycc/IR/Module.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cmath>

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
  return layoutLetters("NC", x.rank() - 2);
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
  if (const AttrValue *scales = context.module().attr(context.call(), "scales");
      !scales->isNone()) {
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
    Window window{extent.value(),     strides[i],        dilations[i],
                  padding->before[i], padding->after[i], false};
    Dim &dim = shape[*data.find(letter[0])];
    dim = BYCC_TRY(windowExtent(context, dim, window, letter));
  }
  return tensorType(context, dtypeAttr(context, "out_dtype", x.dtype), shape);
}

} // namespace bycc::shape
