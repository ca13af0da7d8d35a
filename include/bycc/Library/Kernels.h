// Numbers of the library kernels, for compiled code and the runtime, and of the
// choices among their attributes.
#pragma once

#include <cstdint>

namespace bycc {

enum class LibraryKernel : uint32_t {
#define BYCC_LIBRARY(id) id,
#include "bycc/Library/Kernels.def"
#undef BYCC_LIBRARY
};

inline constexpr uint32_t numLibraryKernels = 0
#define BYCC_LIBRARY(id) +1
#include "bycc/Library/Kernels.def"
#undef BYCC_LIBRARY
    ;

enum class GridMethod : int64_t { Linear, Nearest, Cubic };
enum class GridPadding : int64_t { Zeros, Border, Reflection };
enum class LossReduction : int64_t { Mean, Sum, None };
enum class ResizeMethod : int64_t { Nearest, Linear, Cubic };
enum class ResizeCoordinates : int64_t {
  HalfPixel,
  HalfPixelSymmetric,
  AlignCorners,
  Asymmetric,
  PytorchHalfPixel,
  TfHalfPixelForNN,
  TfCropAndResize
};
enum class ResizeRounding : int64_t { Round, Floor, Ceil, RoundPreferFloor, RoundPreferCeil };
// Where the result's extents come from: the attribute, operand 1 (and the roi
// from operand 2), or extents times the scales: the attribute's or one operand each.
enum class ResizeSource : int64_t { Sizes, SizeOperand, Scales, ScaleOperands };
enum class ScatterMode : int64_t { Update, Add, Mul, Min, Max, Mean };

} // namespace bycc
