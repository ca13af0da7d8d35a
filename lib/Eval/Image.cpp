// Resizing and sampling of images. A resize is separable: each output
// coordinate of an axis is a short list of (input position, weight).

#include "Kernel.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace bycc::eval {
namespace {

struct Tap {
  int64_t at;
  double weight;
};
// What one output coordinate reads; isOutside: the extrapolation value instead.
struct Taps {
  std::vector<Tap> taps;
  bool isOutside = false;
};

struct ResizeOptions {
  std::string method = "linear", coordinates = "half_pixel", rounding = "round";
  double cubicAlpha = -0.5, extrapolation = 0;
  bool cubicExclude = false;
};

double sourceCoordinate(const ResizeOptions &options, int64_t x, int64_t in, int64_t out,
                        double roiBegin, double roiEnd) {
  double at = static_cast<double>(x), n = static_cast<double>(in), m = static_cast<double>(out);
  double scale = n / m;
  if (options.coordinates == "align_corners")
    return out > 1 ? at * (n - 1) / (m - 1) : 0;
  if (options.coordinates == "asymmetric")
    return at * scale;
  if (options.coordinates == "pytorch_half_pixel")
    return out > 1 ? (at + 0.5) * scale - 0.5 : 0;
  if (options.coordinates == "tf_half_pixel_for_nn")
    return (at + 0.5) * scale;
  if (options.coordinates == "tf_crop_and_resize")
    return out > 1 ? roiBegin * (n - 1) + at * (roiEnd - roiBegin) * (n - 1) / (m - 1)
                   : 0.5 * (roiBegin + roiEnd) * (n - 1);
  return (at + 0.5) * scale - 0.5; // half_pixel
}

double nearestOf(const ResizeOptions &options, double at) {
  constexpr double epsilon = 1e-5; // a whole coordinate must not fall to its neighbour
  if (options.rounding == "floor")
    return std::floor(at + epsilon);
  if (options.rounding == "ceil")
    return std::ceil(at - epsilon);
  if (options.rounding == "round_prefer_floor")
    return std::ceil(at - 0.5);
  if (options.rounding == "round_prefer_ceil")
    return std::floor(at + 0.5);
  return std::round(at);
}

// Weights of the four neighbours of a point `t` past the second one.
std::array<double, 4> cubicWeights(double t, double a) {
  auto inner = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto outer = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {outer(t + 1), inner(t), inner(1 - t), outer(2 - t)};
}

Taps tapsAt(const ResizeOptions &options, double at, int64_t extent) {
  auto inside = [&](double position) {
    return static_cast<int64_t>(std::clamp(position, 0.0, static_cast<double>(extent - 1)));
  };
  Taps result;
  result.isOutside = options.coordinates == "tf_crop_and_resize" &&
                     !(at >= 0 && at <= static_cast<double>(extent - 1));
  if (options.method == "nearest_neighbor") {
    result.taps = {{inside(nearestOf(options, at)), 1.0}};
    return result;
  }
  double base = std::floor(at), t = at - base;
  if (options.method == "linear") {
    result.taps = {{inside(base), 1 - t}, {inside(base + 1), t}};
    return result;
  }
  std::array<double, 4> weights = cubicWeights(t, options.cubicAlpha);
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    double position = base + i - 1;
    bool isInside = position >= 0 && position < static_cast<double>(extent);
    double weight = options.cubicExclude && !isInside ? 0 : weights[static_cast<size_t>(i)];
    sum += weight;
    result.taps.push_back({inside(position), weight});
  }
  if (options.cubicExclude)
    for (Tap &tap : result.taps)
      tap.weight /= sum;
  return result;
}

// x is plain (N, C, spatial); taps by spatial axis and output coordinate.
std::vector<double> resample(const Tensor &x, const Ints &outShape,
                             const std::vector<std::vector<Taps>> &taps, double outside) {
  std::vector<double> values = load<double>(x), out;
  Ints spatial(x.shape.begin() + 2, x.shape.end()), strides = rowStrides(spatial);
  int64_t planeSize = count(spatial);
  IndexWalk walk(outShape, {});
  for (int64_t i = 0, n = count(outShape); i < n; ++i, walk.next()) {
    const Ints &at = walk.index();
    const double *plane = values.data() + (at[0] * outShape[1] + at[1]) * planeSize;
    std::vector<Tap> points{{0, 1.0}};
    bool isOutside = false;
    for (size_t a = 0; a < spatial.size(); ++a) {
      const Taps &axis = taps[a][static_cast<size_t>(at[2 + a])];
      isOutside |= axis.isOutside;
      std::vector<Tap> next;
      for (const Tap &point : points)
        for (const Tap &tap : axis.taps)
          next.push_back({point.at + tap.at * strides[a], point.weight * tap.weight});
      points = std::move(next);
    }
    double sum = 0;
    for (const Tap &point : points)
      if (point.weight != 0)
        sum += point.weight * plane[point.at];
    out.push_back(isOutside ? outside : sum);
  }
  return out;
}

Expected<Value> resizeWith(const KernelContext &context, const ResizeOptions &options,
                           const ResultType &type, std::span<const double> roi) {
  auto layout = Layout::parse(context.text("layout"));
  std::string letters = dataLetters(layout->rank() - 2);
  Tensor x = BYCC_TRY(toPlain(context.input(0), *layout, letters));
  Ints shape = logicalShape(*layout, letters, type.shape);
  std::vector<std::vector<Taps>> taps(letters.size() - 2);
  for (size_t a = 0; a < taps.size(); ++a) {
    double begin = roi.empty() ? 0 : roi[a], end = roi.empty() ? 1 : roi[taps.size() + a];
    for (int64_t o = 0; o < shape[2 + a]; ++o)
      taps[a].push_back(tapsAt(options,
                               sourceCoordinate(options, o, x.shape[2 + a], shape[2 + a], begin,
                                                end),
                               x.shape[2 + a]));
  }
  std::vector<double> out = resample(x, shape, taps, options.extrapolation);
  if (!isFloat(type.dtype)) // rounded, not truncated
    std::ranges::transform(out, out.begin(), [](double v) { return std::round(v); });
  Value plain = BYCC_TRY(store(ResultType{type.dtype, shape, true}, out));
  return Value(BYCC_TRY(fromPlain(plain.tensor(), *layout, letters, type.shape)));
}

ResizeOptions resizeOptions(const KernelContext &context) {
  ResizeOptions options;
  options.method = context.text("method");
  options.coordinates = context.text("coordinate_transformation_mode");
  options.rounding = context.text("rounding_method");
  options.cubicAlpha = context.number("cubic_alpha");
  options.cubicExclude = context.integer("cubic_exclude") != 0;
  options.extrapolation = context.number("extrapolation_value");
  return options;
}

Expected<Value> resize(const KernelContext &context) {
  std::vector<double> roi;
  if (context.numInputs() > 2) // dyn.image.resize2d
    roi = load<double>(context.input(2));
  else if (!context.isNone("roi"))
    for (const AttrValue &value : context.attr("roi").asList())
      roi.push_back(value.asFloat());
  size_t spatial = context.input(0).shape.size() - 2;
  if (roi.size() != 2 * spatial)
    roi.clear();
  return resizeWith(context, resizeOptions(context), context.result(), roi);
}

ResizeOptions upsamplingOptions(const KernelContext &context) {
  ResizeOptions options;
  std::string_view method = context.text("method");
  options.method = method == "bicubic"            ? "cubic"
                   : method == "nearest_neighbor" ? "nearest_neighbor"
                                                  : "linear";
  options.rounding = "floor";
  return options;
}

Expected<Value> upsampling(const KernelContext &context) {
  ResizeOptions options = upsamplingOptions(context);
  bool aligns = context.boolean("align_corners");
  options.coordinates = aligns ? "align_corners" : "asymmetric";
  if (aligns)
    options.rounding = "round";
  ResultType type = context.result();
  if (context.numInputs() > 1) { // scales as operands
    auto layout = Layout::parse(context.text("layout"));
    type.shape = context.input(0).shape;
    for (size_t i = 0; i < 2; ++i) {
      double scale = context.input(1 + i).real(0);
      int64_t &extent = type.shape[*layout->find(i ? 'W' : 'H')];
      double scaled = std::round(static_cast<double>(extent) * scale);
      if (!(scaled >= 1 && scaled < 1e9))
        return context.error() << "the scale " << scale << " makes no image";
      extent = static_cast<int64_t>(scaled);
    }
  }
  return resizeWith(context, options, type, {});
}

Expected<Value> upsampling3d(const KernelContext &context) {
  ResizeOptions options = upsamplingOptions(context);
  options.coordinates = context.text("coordinate_transformation_mode");
  if (options.coordinates != "asymmetric")
    options.rounding = "round";
  return resizeWith(context, options, context.result(), {});
}

Expected<Value> cropAndResize(const KernelContext &context) {
  auto layout = Layout::parse(context.text("layout"));
  Tensor x = BYCC_TRY(toPlain(context.input(0), *layout, "NCHW"));
  std::vector<double> values = load<double>(x), boxes = load<double>(context.input(1)), out;
  Ints which = loadIndices(context.input(2));
  Ints shape = logicalShape(*layout, "NCHW", context.result().shape);
  ResizeOptions options;
  options.method = context.text("method") == "nearest_neighbor" ? "nearest_neighbor" : "linear";
  options.coordinates = "tf_crop_and_resize";
  double outside = context.number("extrapolation_value");
  for (int64_t b = 0; b < shape[0]; ++b) {
    int64_t image = which[static_cast<size_t>(b)];
    if (image < 0 || image >= x.shape[0])
      return context.error() << "box index " << image << " is out of range";
    const double *box = boxes.data() + 4 * b; // y1, x1, y2, x2
    std::vector<std::vector<Taps>> taps(2);
    for (size_t a = 0; a < 2; ++a)
      for (int64_t o = 0; o < shape[2 + a]; ++o)
        taps[a].push_back(tapsAt(options,
                                 sourceCoordinate(options, o, x.shape[2 + a], shape[2 + a], box[a],
                                                  box[2 + a]),
                                 x.shape[2 + a]));
    int64_t size = x.shape[1] * x.shape[2] * x.shape[3];
    std::vector<double> one(values.begin() + image * size, values.begin() + (image + 1) * size);
    Tensor single = BYCC_TRY(
        Tensor::fromDoubles(DType::Float64, {1, x.shape[1], x.shape[2], x.shape[3]}, one));
    auto part = resample(single, {1, shape[1], shape[2], shape[3]}, taps, outside);
    out.insert(out.end(), part.begin(), part.end());
  }
  Value plain = BYCC_TRY(store(ResultType{context.result().dtype, shape, true}, out));
  return Value(BYCC_TRY(fromPlain(plain.tensor(), *layout, "NCHW", context.result().shape)));
}

// --- grids

Expected<Value> affineGrid(const KernelContext &context) {
  std::vector<double> theta = load<double>(context.input(0)), out;
  const Ints &shape = context.result().shape;
  auto at = [](int64_t i, int64_t extent) {
    return extent > 1 ? -1 + 2.0 * static_cast<double>(i) / static_cast<double>(extent - 1) : -1.0;
  };
  IndexWalk walk(shape, {});
  for (int64_t i = 0, n = count(shape); i < n; ++i, walk.next()) {
    const Ints &index = walk.index();
    const double *row = theta.data() + (index[0] * 2 + index[1]) * 3;
    out.push_back(row[0] * at(index[3], shape[3]) + row[1] * at(index[2], shape[2]) + row[2]);
  }
  return store(context.result(), out);
}

// How coordinates outside of the image are treated.
struct GridOptions {
  std::string_view padding;
  bool aligns;
};

double reflected(double at, double low, double high) {
  double span = high - low;
  if (span <= 0)
    return 0;
  double distance = std::fmod(std::fabs(at - low), 2 * span);
  return low + (distance > span ? 2 * span - distance : distance);
}

double gridCoordinate(const GridOptions &options, double value, int64_t extent) {
  double n = static_cast<double>(extent);
  return options.aligns ? (value + 1) * (n - 1) / 2 : ((value + 1) * n - 1) / 2;
}

// An input position for a coordinate, reflected or clamped into the image.
double padCoordinate(const GridOptions &options, double at, int64_t extent) {
  double last = static_cast<double>(extent - 1);
  if (std::isnan(at))
    return options.padding == "zeros" ? at : 0;
  if (options.padding == "border")
    return std::clamp(at, 0.0, last);
  if (options.padding == "reflection") {
    at = options.aligns ? reflected(at, 0, last) : reflected(at, -0.5, last + 0.5);
    return std::clamp(at, 0.0, last);
  }
  return at;
}

std::vector<Tap> gridTaps(const GridOptions &options, std::string_view method, double value,
                          int64_t extent) {
  double at = gridCoordinate(options, value, extent);
  std::vector<std::pair<double, double>> points; // position, weight
  if (method == "bicubic") {
    double base = std::floor(at);
    auto weights = cubicWeights(at - base, -0.75);
    for (int i = 0; i < 4; ++i)
      points.emplace_back(padCoordinate(options, base + i - 1, extent),
                          weights[static_cast<size_t>(i)]);
  } else {
    at = padCoordinate(options, at, extent);
    if (method == "nearest") {
      points.emplace_back(std::nearbyint(at), 1.0);
    } else {
      double base = std::floor(at);
      points = {{base, 1 - (at - base)}, {base + 1, at - base}};
    }
  }
  std::vector<Tap> taps;
  for (auto [position, weight] : points)
    if (position >= 0 && position <= static_cast<double>(extent - 1))
      taps.push_back({static_cast<int64_t>(position), weight});
  return taps;
}

Expected<Value> gridSample(const KernelContext &context) {
  const Tensor &x = context.input(0), &grid = context.input(1);
  GridOptions options{context.text("padding_mode"), context.boolean("align_corners")};
  std::vector<double> values = load<double>(x), where = load<double>(grid);
  const Ints &shape = context.result().shape;
  size_t spatial = shape.size() - 2;
  Ints strides = rowStrides(x.shape);
  int64_t places = count(std::span(shape).subspan(2));
  std::vector<double> out(static_cast<size_t>(count(shape)), 0);
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t p = 0; p < places; ++p) {
      std::vector<Tap> points{{0, 1.0}};
      for (size_t a = 0; a < spatial; ++a) {
        // Channel 0 of the grid is the last axis (x).
        size_t channel = spatial - 1 - a;
        double value = where[static_cast<size_t>(
            (n * static_cast<int64_t>(spatial) + static_cast<int64_t>(channel)) * places + p)];
        std::vector<Tap> next;
        for (const Tap &tap : gridTaps(options, context.text("method"), value, x.shape[2 + a]))
          for (const Tap &point : points)
            next.push_back({point.at + tap.at * strides[2 + a], point.weight * tap.weight});
        points = std::move(next);
      }
      for (int64_t c = 0; c < shape[1]; ++c) {
        double sum = 0;
        for (const Tap &point : points)
          sum += point.weight *
                 values[static_cast<size_t>(n * strides[0] + c * strides[1] + point.at)];
        out[static_cast<size_t>((n * shape[1] + c) * places + p)] = sum;
      }
    }
  return store(context.result(), out);
}

const KernelEntry kernels[] = {
    {ops::dyn_image_resize2d, resize},
    {ops::dyn_nn_upsampling, upsampling},
    {ops::image_affine_grid, affineGrid},
    {ops::image_crop_and_resize, cropAndResize},
    {ops::image_grid_sample, gridSample},
    {ops::image_resize1d, resize},
    {ops::image_resize2d, resize},
    {ops::image_resize3d, resize},
    {ops::nn_upsampling, upsampling},
    {ops::nn_upsampling3d, upsampling3d},
};

} // namespace

std::span<const KernelEntry> imageKernels() { return kernels; }

} // namespace bycc::eval
