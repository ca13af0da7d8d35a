// Resize and Upsample. What Relay's image.resize says too becomes that, its dyn form where
// sizes are known at run time only; the rest is composed axis by axis: element o of an axis
// is a weighted sum of the elements around place(o) of the input,
//
//   index[t, o]  = floor(place(o)) + tap(t)
//   weight[t, o] = kernel(index[t, o] - place(o))
//   y[.., o, ..] = sum over t of weight[t, o] * x[.., index[t, o], ..]
//
// with tables that are constants when scales or sizes are known while importing, and
// are computed when the model runs otherwise. References: the operator's text; R. Keys,
// "Cubic convolution interpolation for digital image processing", 1981.
#include "OnnxCompose.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"
#include "OnnxWindow.h"
#include "bycc/IR/SymbolicValue.h"
#include "bycc/Support/Layout.h"

#include <algorithm>
#include <cmath>

namespace bycc::onnx {
namespace {

constexpr DType placeType = DType::Float64; // of places and weights

struct ResizeForm {
  std::string mode;        // nearest, linear or cubic
  std::string coordinates; // coordinate_transformation_mode
  std::string rounding;    // nearest_mode
  double cubicAlpha = -0.75;
  bool excludesOutside = false, isAntialias = false;
  double extrapolation = 0;
  std::string policy = "stretch"; // keep_aspect_ratio_policy
};

// One axis that is resized. `size` and `scale` are scalars (int64 and real), their
// values known or not; so are the ends of the region of interest.
struct ResizeAxis {
  int64_t axis = 0;
  NodeId input, size, scale, begin, end;
  std::optional<int64_t> knownSize;
  std::optional<double> knownScale; // a size may have it though its extent is open: 1
  bool hasScale = false;            // places go by it, not by extents
};

// Whether image.resize can do it: nothing but images, and known ways.
bool isPlain(OpContext &op, NodeId x, const std::vector<ResizeAxis> &axes, const ResizeForm &form) {
  static constexpr std::string_view modes[] = {"half_pixel", "align_corners", "asymmetric",
                                               "pytorch_half_pixel", "tf_half_pixel_for_nn"};
  int64_t rank = op.rank(x);
  return rank >= 3 && rank <= 5 && !form.isAntialias &&
         (!form.excludesOutside || form.mode == "cubic") &&
         std::find(std::begin(modes), std::end(modes), form.coordinates) != std::end(modes) &&
         std::ranges::all_of(axes, [&](const ResizeAxis &axis) {
           bool moves = form.coordinates == "tf_half_pixel_for_nn"; // also with a scale of 1
           return axis.axis >= 2 ? !moves || axis.knownScale.value_or(1.0) != 1.0
                                 : axis.knownScale == 1.0;
         });
}

std::vector<Dim> imageExtents(OpContext &op, NodeId x) {
  std::vector<Dim> shape = op.shape(x);
  return {shape.begin() + 2, shape.end()};
}

// Are the sizes known, and the same places with or without scales?
bool isWhole(OpContext &op, NodeId x, const std::vector<ResizeAxis> &axes) {
  size_t spatial = 0;
  for (const ResizeAxis &axis : axes) {
    Dim dim = op.shape(x)[axis.axis];
    if (axis.axis < 2)
      continue;
    ++spatial;
    if (!dim.isConst() || dim.value() < 1 || !axis.knownSize || !axis.knownScale)
      return false;
    double ratio = static_cast<double>(*axis.knownSize) / static_cast<double>(dim.value());
    if (std::abs(ratio - *axis.knownScale) > 1e-6 * *axis.knownScale)
      return false;
  }
  return spatial + 2 == op.shape(x).size() ||
         std::ranges::all_of(imageExtents(op, x), &Dim::isConst);
}

AttrDict plainAttrs(const ResizeForm &form, size_t spatial) {
  AttrDict attrs{{"layout", layoutLetters("NC", spatial)},
                 {"method", form.mode == "nearest" ? "nearest_neighbor" : form.mode},
                 {"coordinate_transformation_mode", form.coordinates}};
  if (form.mode == "nearest")
    attrs.push_back({"rounding_method", form.rounding});
  if (form.mode == "cubic") {
    attrs.push_back({"cubic_alpha", form.cubicAlpha});
    attrs.push_back({"cubic_exclude", static_cast<int64_t>(form.excludesOutside)});
  }
  return attrs;
}

Expected<NodeId> plainResize(OpContext &op, NodeId x, const std::vector<ResizeAxis> &axes,
                             const ResizeForm &form) {
  std::vector<int64_t> sizes;
  for (Dim dim : imageExtents(op, x))
    sizes.push_back(dim.isConst() ? dim.value() : 0);
  for (const ResizeAxis &axis : axes)
    if (axis.axis >= 2)
      sizes[axis.axis - 2] = *axis.knownSize;
  AttrDict attrs = plainAttrs(form, sizes.size());
  attrs.push_back({"size", AttrValue::ints(sizes)});
  return op.call(ranked("image.resize", sizes.size()), {x}, std::move(attrs));
}

// Both axes of images of floats by sizes, or both by scales that are known.
bool isOpenPlane(OpContext &op, NodeId x, const std::vector<ResizeAxis> &axes) {
  size_t spatial = 0, byScale = 0;
  for (const ResizeAxis &axis : axes)
    if (axis.axis >= 2) {
      ++spatial;
      if (axis.hasScale && !axis.knownScale)
        return false;
      byScale += axis.hasScale;
    }
  DType type = op.dtype(x);
  bool isSingle = type == DType::Float32 || type == DType::Float16 || type == DType::BFloat16;
  return isSingle && op.rank(x) == 4 && spatial == 2 && (byScale == 0 || byScale == 2);
}

Expected<NodeId> openResize(OpContext &op, NodeId x, const std::vector<ResizeAxis> &axes,
                            const ResizeForm &form) {
  NodeId sizes[2];
  AttrValue::List scales(2);
  bool hasScales = false;
  for (const ResizeAxis &axis : axes)
    if (axis.axis >= 2) {
      sizes[axis.axis - 2] =
          BYCC_TRY(op.call("reshape", {axis.size}, {{"newshape", AttrValue::List{1}}}));
      hasScales = axis.hasScale;
      if (hasScales)
        scales[axis.axis - 2] = AttrValue(*axis.knownScale);
    }
  AttrDict attrs = plainAttrs(form, 2);
  if (hasScales)
    attrs.push_back({"scales", AttrValue(std::move(scales))});
  Dim none(0);
  NodeId noRegion = op.module().addConstant(DType::Float32, {&none, 1}, nullptr, 0);
  return op.call("dyn.image.resize2d", {x, BYCC_TRY(join(op, sizes)), noRegion}, std::move(attrs));
}

// Where the elements of an axis lie in the input.
Expected<NodeId> placesOf(OpContext &op, const ResizeAxis &axis, const ResizeForm &form) {
  Compose c(op);
  NodeId one = c.scalar(placeType, 1), last = c.sub(axis.input, one);
  NodeId o =
      axis.knownSize ? c.iota(*axis.knownSize, placeType) : c.cast(c.iota(axis.size), placeType);
  NodeId half = c.sub(c.div(c.add(o, 0.5), axis.scale), 0.5);
  NodeId width = c.mul(axis.input, axis.scale); // not rounded
  NodeId isSingle = c.call("equal", width, 1);
  NodeId span = c.where(isSingle, one, c.sub(width, one));
  if (form.coordinates == "half_pixel")
    return c.done(half);
  if (form.coordinates == "asymmetric")
    return c.done(c.div(o, axis.scale));
  if (form.coordinates == "pytorch_half_pixel")
    return c.done(c.where(c.call("greater", width, 1), half, c.scalar(placeType, 0)));
  if (form.coordinates == "tf_half_pixel_for_nn")
    return c.done(c.div(c.add(o, 0.5), axis.scale));
  if (form.coordinates == "align_corners")
    return c.done(c.where(isSingle, c.scalar(placeType, 0), c.div(c.mul(o, last), span)));
  if (form.coordinates == "half_pixel_symmetric") {
    NodeId adjustment = c.div(c.cast(axis.size, placeType), width);
    return c.done(c.add(half, c.mul(c.sub(one, adjustment), c.div(axis.input, 2))));
  }
  if (form.coordinates != "tf_crop_and_resize")
    return op.error(Status::Unsup) << "coordinate_transformation_mode is not supported";
  if (!axis.begin)
    return op.error() << "roi is missing";
  NodeId extent = c.mul(c.sub(axis.end, axis.begin), last);
  NodeId spread = c.add(c.mul(axis.begin, last), c.div(c.mul(o, extent), span));
  NodeId centre = c.mul(c.mul(c.add(axis.begin, axis.end), last), 0.5);
  return c.done(c.where(isSingle, centre, spread));
}

NodeId nearestIndex(Compose &c, NodeId place, std::string_view rounding) {
  if (rounding == "round_prefer_floor")
    return c.call("ceil", {c.sub(place, 0.5)});
  if (rounding == "round_prefer_ceil")
    return c.call("floor", {c.add(place, 0.5)});
  return c.call(rounding, {place}); // floor or ceil
}

// Weight of an element at distance t.
NodeId kernel(Compose &c, NodeId t, const ResizeForm &form) {
  t = c.call("abs", {t});
  if (form.mode == "linear")
    return c.call("maximum", c.add(c.call("negative", {t}), 1), 0);
  double a = form.cubicAlpha;
  NodeId t2 = c.mul(t, t), t3 = c.mul(t2, t), zero = c.scalar(placeType, 0);
  NodeId near = c.add(c.sub(c.mul(t3, a + 2), c.mul(t2, a + 3)), 1);
  NodeId far = c.sub(c.add(c.sub(c.mul(t3, a), c.mul(t2, 5 * a)), c.mul(t, 8 * a)), 4 * a);
  return c.where(c.call("less_equal", t, 1), near, c.where(c.call("less", t, 2), far, zero));
}

// Steps from floor(place) to the elements that count: [taps, 1]. Downscaling with
// antialias stretches the kernel by 1 / scale.
Expected<NodeId> tapsOf(OpContext &op, const ResizeAxis &axis, const ResizeForm &form) {
  Compose c(op);
  double reach = form.mode == "linear" ? 1 : 2;
  if (!form.isAntialias || axis.knownScale) {
    double scale = form.isAntialias ? std::min(1.0, *axis.knownScale) : 1;
    double first = std::floor(-reach / scale) + 1;
    if (first < -1e6)
      return op.error(Status::Limit) << "scale " << scale << " with antialias";
    NodeId taps = c.add(c.iota(2 - 2 * static_cast<int64_t>(first), placeType), first);
    return c.done(c.expand(taps, 1));
  }
  NodeId scale = c.call("minimum", axis.scale, 1);
  NodeId first = c.add(c.call("floor", {c.div(c.scalar(placeType, -reach), scale)}), 1);
  NodeId end = c.add(c.call("negative", {first}), 2);
  NodeId taps =
      c.call("arange", {first, end, c.scalar(placeType, 1)}, {{"dtype", name(placeType)}});
  return c.done(c.expand(taps, 1));
}

// x resized along one axis; `inside` gets what lies in the input, for extrapolation.
Expected<NodeId> resizeAxis(OpContext &op, NodeId x, const ResizeAxis &axis, const ResizeForm &form,
                            NodeId &inside) {
  NodeId place = BYCC_TRY(placesOf(op, axis, form));
  Compose c(op);
  NodeId zero = c.scalar(placeType, 0), last = c.sub(axis.input, 1);
  auto within = [&](NodeId at) {
    return c.call("logical_and",
                  {c.call("greater_equal", {at, zero}), c.call("less_equal", {at, last})});
  };
  auto clamped = [&](NodeId at) {
    return c.cast(c.call("minimum", {c.call("maximum", {at, zero}), last}), DType::Int64);
  };
  int64_t behind = op.rank(x) - 1 - axis.axis;
  inside = c.expand(within(place), 1, behind);
  if (form.mode == "nearest") {
    NodeId index = clamped(nearestIndex(c, place, form.rounding));
    return c.done(c.call("take", {x, index}, {{"axis", axis.axis}}));
  }
  NodeId index = c.add(c.call("floor", {place}), BYCC_TRY(tapsOf(op, axis, form)));
  NodeId distance = c.sub(index, place);
  if (form.isAntialias)
    distance = c.mul(distance, c.call("minimum", axis.scale, 1));
  NodeId weight = kernel(c, distance, form);
  if (form.excludesOutside)
    weight = c.where(within(index), weight, zero);
  if (form.excludesOutside || form.isAntialias)
    weight = c.div(weight, c.reduce("sum", weight, {0}));
  weight = c.expand(c.cast(weight, op.dtype(x)), 2, behind);
  NodeId around = c.call("take", {x, clamped(index)}, {{"axis", axis.axis}});
  return c.done(c.reduce("sum", c.mul(around, weight), {axis.axis}, false));
}

Expected<NodeId> composedResize(OpContext &op, NodeId x, const std::vector<ResizeAxis> &axes,
                                const ResizeForm &form) {
  DType dtype = op.dtype(x);
  bool isWhole = !isFloat(dtype) && form.mode != "nearest";
  NodeId result = BYCC_TRY(op.cast(x, isWhole ? DType::Float32 : dtype));
  std::vector<NodeId> inside;
  bool isCropped = form.coordinates == "tf_crop_and_resize";
  for (const ResizeAxis &axis : axes) {
    if (axis.knownScale != 1.0 || isCropped)
      result = BYCC_TRY(resizeAxis(op, result, axis, form, inside.emplace_back()));
  }
  Compose c(op);
  for (NodeId mask : inside)
    if (isCropped)
      result = c.where(mask, result, c.scalar(op.dtype(result), form.extrapolation));
  if (isWhole)
    result = c.call("round", {result});
  if (isWhole && sizeInBytes(dtype) < 4) { // a cubic kernel reaches beyond its data
    double bits = static_cast<double>(sizeInBytes(dtype) * 8),
           all = std::ldexp(1.0, static_cast<int>(bits));
    double least = isUnsignedInt(dtype) ? 0 : -all / 2;
    result = c.call("clip", {result}, {{"a_min", least}, {"a_max", least + all - 1}});
  }
  return c.done(c.cast(result, dtype));
}

Expected<NodeId> element(OpContext &op, NodeId vector, int64_t index) {
  return op.call("take", {vector, op.scalar(DType::Int64, static_cast<double>(index))},
                 {{"axis", 0}});
}

// floor(extent * scale), as ONNX Runtime has it: in float, where 50 * 0.9 is 45.
double scaledSize(double extent, double scale) {
  return std::floor(static_cast<float>(extent) * static_cast<float>(scale));
}
NodeId openSize(Compose &c, NodeId extent, NodeId scale) {
  NodeId product = c.mul(c.cast(extent, DType::Float32), c.cast(scale, DType::Float32));
  return c.cast(c.call("floor", {product}), DType::Int64);
}

// The axes of `axes` with the sizes or scales of input `index`, one value each.
Expected<std::vector<ResizeAxis>>
axesWith(OpContext &op, NodeId x, const std::vector<int64_t> &axes, NodeId values, bool areSizes) {
  std::optional<std::vector<double>> known = op.numbersOf(values);
  std::optional<std::vector<SymbolicInt>> open;
  if (areSizes && !known)
    open = symbolicValue(op.module(), values);
  Dim count = op.rank(values) == 1 ? op.shape(values)[0] : Dim::unknown();
  if (op.rank(values) != 1 ||
      (count.isConst() && count.value() != static_cast<int64_t>(axes.size())))
    return op.error() << (areSizes ? "sizes" : "scales") << " of type "
                      << op.types().str(op.module().type(values)) << " for " << axes.size()
                      << " axes";
  std::vector<ResizeAxis> result;
  Compose c(op);
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis axis{.axis = axes[i], .hasScale = !areSizes};
    Dim dim = op.shape(x)[axis.axis];
    axis.input = c.cast(BYCC_TRY(extentOf(op, x, axis.axis)), placeType);
    if (known && dim.isConst()) {
      double value = (*known)[i], input = static_cast<double>(dim.value());
      double size = areSizes ? value : scaledSize(input, value);
      if (!(value > 0) || !(size >= 1) || size > 1e9 || input < 1)
        return op.error() << (areSizes ? "size " : "scale ") << value << " of " << dim.value()
                          << " is not legal";
      axis.knownSize = static_cast<int64_t>(size);
      axis.knownScale = areSizes ? size / input : value;
      axis.size = c.scalar(DType::Int64, size);
      axis.scale = c.scalar(placeType, *axis.knownScale);
    } else if (known && !areSizes) {
      double scale = (*known)[i];
      if (!(scale > 0) || scale > 1e9)
        return op.error() << "scale " << scale << " is not legal";
      NodeId extent = BYCC_TRY(extentOf(op, x, axis.axis));
      axis.knownScale = scale;
      axis.scale = c.scalar(placeType, scale);
      axis.size =
          scale == std::floor(scale) ? c.mul(extent, scale) : openSize(c, axis.input, axis.scale);
    } else {
      NodeId value = c.cast(BYCC_TRY(element(op, values, static_cast<int64_t>(i))),
                            areSizes ? DType::Int64 : placeType);
      axis.size = areSizes ? value : openSize(c, axis.input, value);
      axis.scale = areSizes ? c.div(c.cast(value, placeType), axis.input) : value;
      if (open && !dim.isUnknown() && (*open)[i].extent() == dim)
        axis.knownScale = 1;
    }
    BYCC_TRY(c.done(axis.scale));
    result.push_back(axis);
  }
  return result;
}

// One scale for all axes: the smallest or the largest, sizes rounded.
Expected<> keepAspectRatio(OpContext &op, NodeId x, std::vector<ResizeAxis> &axes,
                           const ResizeForm &form) {
  if (form.policy == "stretch")
    return {};
  if (form.policy != "not_larger" && form.policy != "not_smaller")
    return op.error() << "keep_aspect_ratio_policy must be stretch, not_larger or not_smaller";
  bool isLeast = form.policy == "not_larger";
  Compose c(op);
  std::optional<double> known = axes[0].knownSize ? axes[0].knownScale : std::nullopt;
  NodeId scale = axes[0].scale;
  for (const ResizeAxis &axis : axes) {
    scale = c.call(isLeast ? "minimum" : "maximum", {scale, axis.scale});
    if (!axis.knownScale || !axis.knownSize)
      known.reset();
    else if (known)
      known = isLeast ? std::min(*known, *axis.knownScale) : std::max(*known, *axis.knownScale);
  }
  for (ResizeAxis &axis : axes) {
    axis.hasScale = true;
    axis.scale = known ? c.scalar(placeType, *known) : scale;
    axis.knownScale = known;
    axis.size = c.cast(c.call("floor", {c.add(c.mul(axis.input, axis.scale), 0.5)}), DType::Int64);
    axis.knownSize.reset();
    if (known) {
      double input = static_cast<double>(op.shape(x)[axis.axis].value());
      axis.knownSize = static_cast<int64_t>(std::floor(input * *known + 0.5));
      if (*axis.knownSize < 1)
        return op.error() << "a size of " << *axis.knownSize;
      axis.size = c.scalar(DType::Int64, static_cast<double>(*axis.knownSize));
    }
  }
  BYCC_TRY(c.done(scale));
  return {};
}

// roi: the begins of all axes, then their ends, as fractions of the input.
Expected<> addRoi(OpContext &op, std::vector<ResizeAxis> &axes) {
  NodeId roi = op.input(1);
  Compose c(op);
  if (op.rank(roi) != 1 || op.shape(roi)[0] != Dim(static_cast<int64_t>(2 * axes.size())))
    return op.error() << "roi of type " << op.types().str(op.module().type(roi)) << " for "
                      << axes.size() << " axes";
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].begin =
        BYCC_TRY(op.cast(BYCC_TRY(element(op, roi, static_cast<int64_t>(i))), placeType));
    axes[i].end = BYCC_TRY(
        op.cast(BYCC_TRY(element(op, roi, static_cast<int64_t>(i + axes.size()))), placeType));
  }
  return {};
}

Expected<> checkForm(OpContext &op, const ResizeForm &form) {
  if (form.mode != "nearest" && form.mode != "linear" && form.mode != "cubic")
    return op.error() << "mode must be nearest, linear or cubic";
  static constexpr std::string_view roundings[] = {"round_prefer_floor", "round_prefer_ceil",
                                                   "floor", "ceil"};
  if (std::find(std::begin(roundings), std::end(roundings), form.rounding) == std::end(roundings))
    return op.error()
           << "nearest_mode must be round_prefer_floor, round_prefer_ceil, floor or ceil";
  return {};
}

Expected<> resize(OpContext &op, std::vector<ResizeAxis> axes, const ResizeForm &form) {
  NodeId x = op.input(0);
  BYCC_TRY(checkForm(op, form));
  BYCC_TRY(keepAspectRatio(op, x, axes, form));
  if (isPlain(op, x, axes, form) && isWhole(op, x, axes))
    op.setOutput(0, BYCC_TRY(plainResize(op, x, axes, form)));
  else if (isPlain(op, x, axes, form) && isOpenPlane(op, x, axes))
    op.setOutput(0, BYCC_TRY(openResize(op, x, axes, form)));
  else
    op.setOutput(0, BYCC_TRY(composedResize(op, x, axes, form)));
  return {};
}

// An input that is given and not the empty tensor by which opset 11 leaves it out.
bool hasValues(OpContext &op, size_t index) {
  return op.has(index) &&
         !(op.rank(op.input(index)) == 1 && op.shape(op.input(index))[0] == Dim(0));
}

Expected<std::vector<int64_t>> resizedAxes(OpContext &op) {
  int64_t rank = op.rank(op.input(0));
  if (rank == 0)
    return op.error() << "input of rank 0";
  if (std::optional<std::vector<int64_t>> given = BYCC_TRY(op.intsAttr("axes"));
      given && !given->empty())
    return op.normalAxes(*given, rank);
  std::vector<int64_t> all;
  for (int64_t i = 0; i < rank; ++i)
    all.push_back(i);
  return all;
}

} // namespace

Expected<> convertResize(OpContext &op) {
  bool isOld = op.opset() < 11;
  ResizeForm form;
  form.mode = BYCC_TRY(op.textAttr("mode", "nearest"));
  form.coordinates =
      isOld ? "asymmetric" : BYCC_TRY(op.textAttr("coordinate_transformation_mode", "half_pixel"));
  form.rounding = isOld ? "floor" : BYCC_TRY(op.textAttr("nearest_mode", "round_prefer_floor"));
  form.cubicAlpha = BYCC_TRY(op.floatAttr("cubic_coeff_a", -0.75));
  form.excludesOutside = BYCC_TRY(op.intAttr("exclude_outside", 0)) != 0;
  form.isAntialias = BYCC_TRY(op.intAttr("antialias", 0)) != 0 && form.mode != "nearest";
  form.extrapolation = BYCC_TRY(op.floatAttr("extrapolation_value", 0));
  form.policy = BYCC_TRY(op.textAttr("keep_aspect_ratio_policy", "stretch"));
  std::vector<int64_t> axes = BYCC_TRY(resizedAxes(op));
  size_t scalesAt = isOld ? 1 : 2;
  bool hasSizes = !isOld && hasValues(op, 3);
  if (!hasSizes && !hasValues(op, scalesAt))
    return op.error() << "neither scales nor sizes are given";
  if (!hasSizes)
    form.policy = "stretch"; // it is about sizes
  std::vector<ResizeAxis> resized =
      BYCC_TRY(axesWith(op, op.input(0), axes, op.input(hasSizes ? 3 : scalesAt), hasSizes));
  if (form.coordinates == "tf_crop_and_resize" && hasValues(op, 1))
    BYCC_TRY(addRoi(op, resized));
  return resize(op, std::move(resized), form);
}

// Upsample: scales as attributes (opset 1 and 7) or input (9).
Expected<> convertUpsample(OpContext &op) {
  ResizeForm form{BYCC_TRY(op.textAttr("mode", "nearest")), "asymmetric", "floor"};
  if (form.mode == "bilinear" && op.opset() < 7)
    form.mode = "linear";
  NodeId values;
  if (op.opset() >= 9) {
    if (!op.has(1))
      return op.error() << "scales are missing";
    values = op.input(1);
  } else {
    std::vector<double> scales;
    if (op.opset() < 7)
      scales = {1, 1, BYCC_TRY(op.floatAttr("height_scale", 0)),
                BYCC_TRY(op.floatAttr("width_scale", 0))};
    else if (const Attribute *given = BYCC_TRY(op.attr("scales", AttrKind::Floats)))
      scales.assign(given->floats.begin(), given->floats.end());
    Dim count(static_cast<int64_t>(scales.size()));
    values = op.module().addConstant(placeType, {&count, 1}, scales.data(),
                                     scales.size() * sizeof(double));
  }
  return resize(op, BYCC_TRY(axesWith(op, op.input(0), BYCC_TRY(resizedAxes(op)), values, false)),
                form);
}

} // namespace bycc::onnx
