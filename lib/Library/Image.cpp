// Resizing, cropping and sampling of images, in double. A resize is separable: it
// goes over one axis after the other.
#include "Resample.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bycc {
namespace {

// The attributes of a resize, in the order of Kernels.def.
struct Resize {
  ResizeOptions options;
  ResizeSource source;
  double outside;
  std::vector<size_t> axes;
  Ints sizes;
  std::vector<double> scales, roi;

  explicit Resize(const LibraryCall &call) {
    source = static_cast<ResizeSource>(call.attribute(0));
    options.method = static_cast<ResizeMethod>(call.attribute(1));
    options.coordinates = static_cast<ResizeCoordinates>(call.attribute(2));
    options.rounding = static_cast<ResizeRounding>(call.attribute(3));
    options.isAntialiased = call.attribute(4);
    options.excludesOutside = call.attribute(5);
    size_t rank = static_cast<size_t>(call.attribute(6)), next = 11;
    options.cubicAlpha = call.realAttribute(9);
    outside = call.realAttribute(10);
    for (size_t i = 0; i < rank; ++i)
      axes.push_back(static_cast<size_t>(call.attribute(next++)));
    for (size_t i = 0; i < rank; ++i)
      sizes.push_back(call.attribute(next++));
    for (int64_t i = 0; i < call.attribute(7); ++i)
      scales.push_back(call.realAttribute(next++));
    for (int64_t i = 0; i < call.attribute(8); ++i)
      roi.push_back(call.realAttribute(next++));
  }
};

// Sizes, scales and roi from where the call has them.
Expected<std::vector<ResizeAxis>> resizeAxes(const LibraryCall &call, Resize &resize) {
  const Operand x = call.input(0);
  size_t rank = resize.axes.size();
  if (resize.source == ResizeSource::SizeOperand) {
    resize.sizes = allInts(call.input(1));
    resize.roi = call.numInputs() > 2 ? allReals(call.input(2)) : std::vector<double>();
    if (resize.sizes.size() != rank)
      return error(Status::Arg) << "size has " << resize.sizes.size() << " values, wanted " << rank;
  }
  if (resize.source == ResizeSource::ScaleOperands) {
    resize.scales.clear();
    for (size_t i = 0; i < rank; ++i)
      resize.scales.push_back(call.input(1 + i).real(0));
  }
  bool isByScale =
      resize.source == ResizeSource::Scales || resize.source == ResizeSource::ScaleOperands;
  std::vector<ResizeAxis> axes;
  for (size_t i = 0; i < rank; ++i) {
    int64_t in = x.shape[resize.axes[i]];
    double size = isByScale ? std::round(static_cast<double>(in) * resize.scales[i])
                            : static_cast<double>(resize.sizes[i]);
    if (!(size >= 1 && size < 1e12) || in < 1)
      return error(Status::Arg) << "an axis of " << in << " elements is resized to " << size;
    double scale =
        isByScale || resize.scales.empty() ? size / static_cast<double>(in) : resize.scales[i];
    axes.push_back({in, static_cast<int64_t>(size), scale});
    if (resize.roi.size() == 2 * rank) {
      axes.back().roiBegin = resize.roi[i];
      axes.back().roiEnd = resize.roi[rank + i];
    }
  }
  return axes;
}

// out[o, j, i] = sum over taps of j of weight * in[o, tap, i].
std::vector<double> resampleAxis(const LibraryCall &call, const std::vector<double> &in,
                                 Ints &shape, size_t axis, const std::vector<Taps> &taps) {
  size_t from = static_cast<size_t>(shape[axis]), to = taps.size(),
         inner = static_cast<size_t>(product(std::span(shape).subspan(axis + 1)));
  int64_t outer = product(std::span(shape).first(axis));
  shape[axis] = static_cast<int64_t>(to);
  std::vector<double> out(static_cast<size_t>(outer) * to * inner, 0);
  call.parallel(outer * static_cast<int64_t>(to),
                std::max<int64_t>(8192 / static_cast<int64_t>(inner + 1), 1),
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    size_t o = static_cast<size_t>(row) / to, j = static_cast<size_t>(row) % to;
                    double *target = out.data() + static_cast<size_t>(row) * inner;
                    for (const Tap &tap : taps[j].taps) {
                      const double *source =
                          in.data() + (o * from + static_cast<size_t>(tap.at)) * inner;
                      for (size_t i = 0; i < inner; ++i)
                        target[i] += tap.weight * source[i];
                    }
                  }
                });
  return out;
}

void storeRounded(const Operand &to, std::vector<double> &values) {
  if (!isFloat(to.dtype))
    std::transform(values.begin(), values.end(), values.begin(),
                   [](double v) { return std::round(v); });
  storeReals(to, 0, 1, values);
}

// Places that an axis says lie outside get the extrapolation value.
void fillOutside(std::vector<double> &values, const Ints &shape, size_t axis,
                 const std::vector<Taps> &taps, double outside) {
  Lines lines(shape, axis);
  for (int64_t j = 0; j < lines.extent; ++j)
    for (int64_t n = 0; taps[static_cast<size_t>(j)].isOutside && n < lines.count; ++n)
      values[static_cast<size_t>(lines.begin(n) + j * lines.stride)] = outside;
}

// --- grids

struct GridOptions {
  GridMethod method;
  GridPadding padding;
  bool aligns;
};

double reflected(double at, double low, double high) {
  double span = high - low;
  if (span <= 0)
    return 0;
  double distance = std::fmod(std::fabs(at - low), 2 * span);
  return low + (distance > span ? 2 * span - distance : distance);
}

// An input position for a coordinate, reflected or clamped into the image.
double padCoordinate(const GridOptions &options, double at, int64_t extent) {
  double last = static_cast<double>(extent - 1);
  if (std::isnan(at))
    return options.padding == GridPadding::Zeros ? at : 0;
  if (options.padding == GridPadding::Border)
    return std::clamp(at, 0.0, last);
  if (options.padding == GridPadding::Zeros)
    return at;
  at = options.aligns ? reflected(at, 0, last) : reflected(at, -0.5, last + 0.5);
  return std::clamp(at, 0.0, last);
}

// What one coordinate reads of its axis: cubic four places, the others fewer.
struct GridTaps {
  std::array<Tap, 4> taps;
  size_t count = 0;

  void add(double position, double weight, double last) {
    if (position >= 0 && position <= last)
      taps[count++] = {static_cast<int64_t>(position), weight};
  }
};

GridTaps gridTaps(const GridOptions &options, double value, int64_t extent) {
  double n = static_cast<double>(extent), last = n - 1,
         at = options.aligns ? (value + 1) * last / 2 : ((value + 1) * n - 1) / 2;
  GridTaps result;
  if (options.method == GridMethod::Cubic) {
    double base = std::floor(at);
    auto weights = cubicWeights(at - base, -0.75);
    for (size_t i = 0; i < 4; ++i)
      result.add(padCoordinate(options, base + static_cast<double>(i) - 1, extent), weights[i],
                 last);
    return result;
  }
  at = padCoordinate(options, at, extent);
  double base = std::floor(at);
  if (options.method == GridMethod::Nearest) {
    result.add(std::nearbyint(at), 1, last);
  } else {
    result.add(base, 1 - (at - base), last);
    result.add(base + 1, at - base, last);
  }
  return result;
}

// Samples images at grid points, one after the other; each thread has its own.
class GridSampler {
public:
  GridSampler(const GridOptions &options, const Operand &x, const Operand &grid,
              const Operand &result)
      : options_(options), grid_(grid), result_(result), extents_(x.shape.subspan(2)),
        strides_(rowStrides(extents_)), places_(product(grid.shape.subspan(2))),
        plane_(product(extents_)), channels_(x.shape[1]) {}

  // `values`: those of the images.
  template <typename T> void run(const T *values, int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      findTaps(n / places_, n % places_);
      sample(values, n / places_, n % places_);
    }
  }

private:
  // Offsets into an image, and weights; coordinate 0 is that of the last axis.
  void findTaps(int64_t batch, int64_t place) {
    points_.assign(1, {0, 1.0});
    int64_t spatial = static_cast<int64_t>(extents_.size());
    for (size_t a = 0; a < extents_.size(); ++a) {
      int64_t coordinate = spatial - 1 - static_cast<int64_t>(a);
      GridTaps taps = gridTaps(
          options_, grid_.real((batch * spatial + coordinate) * places_ + place), extents_[a]);
      next_.clear();
      for (size_t t = 0; t < taps.count; ++t)
        for (const Tap &point : points_)
          next_.push_back(
              {point.at + taps.taps[t].at * strides_[a], point.weight * taps.taps[t].weight});
      points_.swap(next_);
    }
  }

  template <typename T> void sample(const T *values, int64_t batch, int64_t place) {
    for (int64_t c = batch * channels_; c < (batch + 1) * channels_; ++c) {
      double sum = 0;
      for (const Tap &point : points_)
        sum += point.weight * static_cast<double>(values[c * plane_ + point.at]);
      result_.setReal(c * places_ + place, sum);
    }
  }

  GridOptions options_;
  Operand grid_, result_;
  std::span<const int64_t> extents_;
  Ints strides_;
  int64_t places_, plane_, channels_;
  std::vector<Tap> points_, next_;
};

} // namespace

namespace library {

Expected<> resize(LibraryCall &call) {
  Operand x = call.input(0);
  Resize resize(call);
  std::vector<ResizeAxis> axes = BYCC_TRY(resizeAxes(call, resize));
  std::vector<std::vector<Taps>> taps;
  Ints shape(x.shape.begin(), x.shape.end()), target = shape;
  for (size_t i = 0; i < axes.size(); ++i)
    target[resize.axes[i]] = axes[i].out;
  Operand result = BYCC_TRY(call.result(0, target));
  std::vector<double> values = allReals(x);
  for (size_t i = 0; i < axes.size(); ++i) {
    taps.push_back(resizeTaps(resize.options, axes[i]));
    values = resampleAxis(call, values, shape, resize.axes[i], taps.back());
  }
  for (size_t i = 0; i < axes.size(); ++i)
    fillOutside(values, shape, resize.axes[i], taps[i], resize.outside);
  storeRounded(result, values);
  return {};
}

Expected<> cropAndResize(LibraryCall &call) {
  Operand x = call.input(0), boxes = call.input(1), which = call.input(2);
  ResizeOptions options;
  options.method = call.attribute(0) ? ResizeMethod::Nearest : ResizeMethod::Linear;
  options.coordinates = ResizeCoordinates::TfCropAndResize;
  size_t axes[] = {static_cast<size_t>(call.attribute(1)), static_cast<size_t>(call.attribute(2))};
  double outside = call.realAttribute(6);
  Ints shape(x.shape.begin(), x.shape.end()), image = shape;
  image[0] = 1;
  shape[0] = boxes.shape[0];
  for (size_t i = 0; i < 2; ++i)
    shape[axes[i]] = call.attribute(4 + i);
  Operand result = BYCC_TRY(call.result(0, shape));
  std::vector<double> pixels(static_cast<size_t>(product(image)));
  shape[0] = 1;
  for (int64_t b = 0; b < boxes.shape[0]; ++b) {
    int64_t at = which.integer(b);
    if (at < 0 || at >= x.shape[0])
      return error(Status::Arg) << "box index " << at << " is out of range for " << x.shape[0]
                                << " images";
    loadReals(x, at * product(image), 1, pixels);
    std::vector<double> values = pixels;
    Ints now = image;
    std::vector<Taps> taps[2];
    for (size_t i = 0; i < 2; ++i) {
      // Boxes are y1, x1, y2, x2.
      int64_t in = x.shape[axes[i]], out = shape[axes[i]];
      ResizeAxis axis{in, out, static_cast<double>(out) / static_cast<double>(in),
                      boxes.real(4 * b + static_cast<int64_t>(i)),
                      boxes.real(4 * b + 2 + static_cast<int64_t>(i))};
      taps[i] = resizeTaps(options, axis);
      values = resampleAxis(call, values, now, axes[i], taps[i]);
    }
    for (size_t i = 0; i < 2; ++i)
      fillOutside(values, shape, axes[i], taps[i], outside);
    Operand part = result;
    part.data = result.at(b * product(shape));
    storeRounded(part, values);
  }
  return {};
}

Expected<> gridSample(LibraryCall &call) {
  Operand x = call.input(0), grid = call.input(1);
  GridOptions options{static_cast<GridMethod>(call.attribute(0)),
                      static_cast<GridPadding>(call.attribute(1)), call.attribute(2) != 0};
  Ints shape(grid.shape.begin(), grid.shape.end());
  shape[1] = x.shape[1];
  size_t spatial = shape.size() - 2;
  int64_t places = product(std::span(shape).subspan(2));
  if (grid.shape[0] != x.shape[0] || grid.shape[1] != static_cast<int64_t>(spatial) ||
      product(x.shape.subspan(2)) == 0)
    return error(Status::Arg) << "the grid has batch " << grid.shape[0] << " and " << grid.shape[1]
                              << " coordinates, the data batch " << x.shape[0];
  Operand result = BYCC_TRY(call.result(0, shape));
  bool isFloat32 = x.dtype == DType::Float32;
  std::vector<double> reals = isFloat32 ? std::vector<double>() : allReals(x);
  call.parallel(shape[0] * places, 64, [&](int64_t begin, int64_t end) {
    GridSampler sampler(options, x, grid, result);
    if (isFloat32)
      sampler.run(reinterpret_cast<const float *>(x.data), begin, end);
    else
      sampler.run(reals.data(), begin, end);
  });
  return {};
}

} // namespace library
} // namespace bycc
