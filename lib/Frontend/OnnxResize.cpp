// Resampling of spatial axes.
#include "OnnxConverters.h"
#include "OnnxWindow.h"

#include <algorithm>
#include <cmath>

namespace bycc::onnx {
namespace {

constexpr const char *dataLayouts[] = {"NCW", "NCHW", "NCDHW"};

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
