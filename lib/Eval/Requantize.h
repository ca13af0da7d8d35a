// The arithmetic of quantised values, exact where the reference's 64-bit
// integers would overflow.
#pragma once

#include "Kernel.h"

namespace bycc::eval {

enum class Rounding : uint8_t {
  Upward,        // ties toward +infinity: -1.5 -> -1
  ToNearest,     // ties away from zero: -1.5 -> -2
  ToNearestEven, // ties to even: -1.5 -> -2, 2.5 -> 2; of reals only
};
// What the attribute "rounding" says.
Rounding roundingOf(const KernelContext &context, Rounding otherwise);
float rounded(float value, Rounding rounding);
double rounded(double value, Rounding rounding);

// multiplier * 2^(exponent - 31), |multiplier| in [2^30, 2^31) or 0.
struct FixedPoint {
  int64_t multiplier = 0;
  int exponent = 0;
};
FixedPoint fixedPoint(double value);
// value * factor, rounded to an integer; beyond +-2^100 it is cut off.
Wide scaled(Wide value, FixedPoint factor, Rounding rounding);

Wide saturated(Wide value, DType dtype);
// Saturating: NaN gives 0.
Wide saturated(double value, DType dtype);

// round(x / scale) + zero, saturated.
Wide quantized(float x, float scale, Wide zero, DType to, Rounding rounding);
// scale * (q - zero), the difference in int32, as the plain form has it.
float dequantized(Wide q, float scale, Wide zero);

// Scales and zero points of a tensor: one value, or one per element of an axis.
class QuantParams {
public:
  QuantParams(const Tensor &scale, const Tensor &zero, std::span<const int64_t> shape,
              int64_t axis);
  float scale(int64_t element) const { return scales_[position(element, scales_.size())]; }
  Wide zero(int64_t element) const { return zeros_[position(element, zeros_.size())]; }

private:
  size_t position(int64_t element, size_t count) const {
    return count == 1 ? 0 : static_cast<size_t>(element / inner_) % count;
  }
  std::vector<float> scales_;
  std::vector<Wide> zeros_;
  int64_t inner_ = 1; // elements from one position of the axis to the next
};

// Factor of a change of scale; an error unless both scales are positive and finite.
Expected<FixedPoint> scaleChange(const KernelContext &context, float from, float to);

// Every element changed to the one output scale and zero point, saturated to `to`.
Expected<std::vector<Wide>> requantized(const KernelContext &context, std::span<const Wide> values,
                                        const QuantParams &in, const QuantParams &out,
                                        Rounding rounding, DType to);

} // namespace bycc::eval
