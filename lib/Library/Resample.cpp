#include "Resample.h"

#include <algorithm>
#include <cmath>

namespace bycc {
namespace {

double sourceCoordinate(ResizeCoordinates mode, const ResizeAxis &axis, int64_t x) {
  double at = static_cast<double>(x), n = static_cast<double>(axis.in), scaled = axis.scale * n;
  switch (mode) {
  case ResizeCoordinates::AlignCorners:
    return axis.out > 1 && scaled != 1 ? at * (n - 1) / (scaled - 1) : 0;
  case ResizeCoordinates::Asymmetric:
    return at / axis.scale;
  case ResizeCoordinates::PytorchHalfPixel:
    return axis.out > 1 ? (at + 0.5) / axis.scale - 0.5 : 0;
  case ResizeCoordinates::TfHalfPixelForNN:
    return (at + 0.5) / axis.scale;
  case ResizeCoordinates::TfCropAndResize:
    return axis.out > 1 ? axis.roiBegin * (n - 1) +
                              at * (axis.roiEnd - axis.roiBegin) * (n - 1) / (scaled - 1)
                        : 0.5 * (axis.roiBegin + axis.roiEnd) * (n - 1);
  case ResizeCoordinates::HalfPixelSymmetric: {
    double shift = n / 2 * (1 - static_cast<double>(axis.out) / scaled);
    return shift + (at + 0.5) / axis.scale - 0.5;
  }
  case ResizeCoordinates::HalfPixel:
    break;
  }
  return (at + 0.5) / axis.scale - 0.5;
}

double nearestOf(ResizeRounding rounding, double at) {
  constexpr double epsilon = 1e-5; // a whole coordinate must not fall to its neighbour
  switch (rounding) {
  case ResizeRounding::Floor:
    return std::floor(at + epsilon);
  case ResizeRounding::Ceil:
    return std::ceil(at - epsilon);
  case ResizeRounding::RoundPreferFloor:
    return std::ceil(at - 0.5);
  case ResizeRounding::RoundPreferCeil:
    return std::floor(at + 0.5);
  case ResizeRounding::Round:
    break;
  }
  return std::round(at + 1e-9); // a half however the product before is rounded
}

// The kernel of the method at a distance, in input elements.
double weightAt(const ResizeOptions &options, double distance) {
  double d = std::fabs(distance), a = options.cubicAlpha;
  if (options.method == ResizeMethod::Linear)
    return std::max(1 - d, 0.0);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

Taps tapsAt(const ResizeOptions &options, const ResizeAxis &axis, double at) {
  double last = static_cast<double>(axis.in - 1);
  auto inside = [&](double position) {
    return static_cast<int64_t>(std::clamp(position, 0.0, last));
  };
  Taps result;
  result.isOutside =
      options.coordinates == ResizeCoordinates::TfCropAndResize && !(at >= 0 && at <= last);
  if (std::isnan(at))
    at = 0;
  if (options.method == ResizeMethod::Nearest) {
    result.taps = {{inside(nearestOf(options.rounding, at)), 1.0}};
    return result;
  }
  // Shrinking with antialiasing widens the kernel by as much.
  double shrink = options.isAntialiased ? std::min(axis.scale, 1.0) : 1.0, base = std::floor(at);
  double reach = std::ceil((options.method == ResizeMethod::Linear ? 1 : 2) / shrink), sum = 0;
  reach = std::min(reach, 2 * static_cast<double>(axis.in) + 2); // scales may not fit the extents
  for (double position = base - reach + 1; position <= base + reach; ++position) {
    bool isKept = !options.excludesOutside || (position >= 0 && position <= last);
    double weight = isKept ? weightAt(options, (position - at) * shrink) : 0;
    sum += weight;
    result.taps.push_back({inside(position), weight});
  }
  if (options.excludesOutside || options.isAntialiased)
    for (Tap &tap : result.taps)
      tap.weight /= sum;
  std::erase_if(result.taps, [](const Tap &tap) { return tap.weight == 0; });
  return result;
}

} // namespace

std::array<double, 4> cubicWeights(double t, double alpha) {
  ResizeOptions options;
  options.method = ResizeMethod::Cubic;
  options.cubicAlpha = alpha;
  return {weightAt(options, t + 1), weightAt(options, t), weightAt(options, 1 - t),
          weightAt(options, 2 - t)};
}

std::vector<Taps> resizeTaps(const ResizeOptions &options, const ResizeAxis &axis) {
  std::vector<Taps> taps;
  for (int64_t x = 0; x < axis.out; ++x)
    taps.push_back(tapsAt(options, axis, sourceCoordinate(options.coordinates, axis, x)));
  return taps;
}

} // namespace bycc
