// What resizing and sampling share: an output coordinate of an axis reads a short
// list of input positions with weights.
#pragma once

#include "Kernel.h"

#include <array>

namespace bycc {

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
  ResizeMethod method = ResizeMethod::Linear;
  ResizeCoordinates coordinates = ResizeCoordinates::HalfPixel;
  ResizeRounding rounding = ResizeRounding::Round;
  double cubicAlpha = -0.5;
  bool excludesOutside = false, isAntialiased = false;
};

// One axis: extents, output elements per input element, and the part of the input
// (as a share of it) that tf_crop_and_resize looks at.
struct ResizeAxis {
  int64_t in, out;
  double scale, roiBegin = 0, roiEnd = 1;
};

std::vector<Taps> resizeTaps(const ResizeOptions &options, const ResizeAxis &axis);

// Weights of the four neighbours of a point `t` past the second one.
std::array<double, 4> cubicWeights(double t, double alpha);

} // namespace bycc
