#include "Requantize.h"

#include <algorithm>
#include <cmath>

namespace bycc::eval {
namespace {

struct Bounds {
  Wide low, high;
};

Bounds boundsOf(DType dtype) {
  int bits = static_cast<int>(sizeInBytes(dtype)) * 8;
  if (isSignedInt(dtype))
    return {-(Wide(1) << (bits - 1)), (Wide(1) << (bits - 1)) - 1};
  return {0, (Wide(1) << bits) - 1};
}

template <typename Real> Real roundedReal(Real value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Upward:
    return std::floor(value + Real(0.5));
  case Rounding::ToNearest:
    return std::round(value);
  case Rounding::ToNearestEven:
    return std::nearbyint(value);
  }
  return value;
}

} // namespace

Rounding roundingOf(const KernelContext &context, Rounding otherwise) {
  std::string_view text = context.text("rounding");
  if (text == "None")
    return otherwise;
  if (text == "UPWARD")
    return Rounding::Upward;
  return text == "TONEAREST" ? Rounding::ToNearest : Rounding::ToNearestEven;
}

float rounded(float value, Rounding rounding) { return roundedReal(value, rounding); }
double rounded(double value, Rounding rounding) { return roundedReal(value, rounding); }

FixedPoint fixedPoint(double value) {
  FixedPoint result;
  double fraction = std::frexp(value, &result.exponent);
  constexpr int64_t one = int64_t{1} << 31;
  result.multiplier = std::llround(std::ldexp(fraction, 31));
  if (result.multiplier == one || result.multiplier == -one) {
    result.multiplier /= 2;
    ++result.exponent;
  }
  return result;
}

Wide scaled(Wide value, FixedPoint factor, Rounding rounding) {
  constexpr Wide limit = Wide(1) << 100;
  Wide product = value * factor.multiplier; // 64 and 31 bits
  int shift = 31 - factor.exponent;
  if (shift <= 0) {
    if (product != 0 && shift < -60)
      return product < 0 ? -limit : limit;
    for (; shift < 0 && product < limit && product > -limit; ++shift)
      product *= 2;
    return std::clamp(product, -limit, limit);
  }
  if (shift > 120) // less than a half
    return 0;
  Wide half = Wide(1) << (shift - 1);
  if (rounding == Rounding::ToNearest && product < 0)
    half -= 1;
  return (product + half) >> shift;
}

Wide saturated(Wide value, DType dtype) {
  Bounds bounds = boundsOf(dtype);
  return std::clamp(value, bounds.low, bounds.high);
}

Wide saturated(double value, DType dtype) {
  if (std::isnan(value))
    return 0;
  constexpr double limit = 1e18;
  return saturated(static_cast<Wide>(std::clamp(value, -limit, limit)), dtype);
}

Wide quantized(float x, float scale, Wide zero, DType to, Rounding rounding) {
  float q = rounded(x / scale, rounding);
  return saturated(static_cast<double>(q + static_cast<float>(zero)), to);
}

float dequantized(Wide q, float scale, Wide zero) {
  int32_t shifted = static_cast<int32_t>(static_cast<uint32_t>(q) - static_cast<uint32_t>(zero));
  return scale * static_cast<float>(shifted);
}

QuantParams::QuantParams(const Tensor &scale, const Tensor &zero, std::span<const int64_t> shape,
                         int64_t axis)
    : zeros_(load<Wide>(zero)) {
  for (double each : load<double>(scale))
    scales_.push_back(static_cast<float>(each));
  if (axis < 0)
    axis += static_cast<int64_t>(shape.size());
  for (size_t i = static_cast<size_t>(std::max<int64_t>(axis, 0)) + 1; i < shape.size(); ++i)
    inner_ *= shape[i];
}

Expected<FixedPoint> scaleChange(const KernelContext &context, float from, float to) {
  for (float scale : {from, to})
    if (!(scale > 0) || std::isinf(scale))
      return context.error() << "a scale is positive and finite, got " << scale;
  return fixedPoint(static_cast<double>(from) / static_cast<double>(to));
}

Expected<std::vector<Wide>> requantized(const KernelContext &context, std::span<const Wide> values,
                                        const QuantParams &in, const QuantParams &out,
                                        Rounding rounding, DType to) {
  std::vector<Wide> result(values.begin(), values.end());
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t at = static_cast<int64_t>(i);
    FixedPoint factor = BYCC_TRY(scaleChange(context, in.scale(at), out.scale(0)));
    Wide value = scaled(result[i] - in.zero(at), factor, rounding);
    result[i] = saturated(out.zero(0) + value, to);
  }
  return result;
}

} // namespace bycc::eval
