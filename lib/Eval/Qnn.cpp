// Quantised operators: changes between scales, products, and functions of one
// input. real = scale * (q - zero point). Formulas of the fixed-point path:
//
//   m = s_in / s_out = M * 2^(e - 31)      M an integer of 31 bits
//   requantize(q) = sat(z_out + round((q - z_in) * m))
//
// Products subtract the zero points first, so padding counts as real 0.

#include "Requantize.h"

#include <algorithm>
#include <cmath>

namespace bycc::eval {
namespace {

ResultType int32Like(const Tensor &tensor) { return {DType::Int32, tensor.shape, true}; }

// --- between scales

// Every step is rounded to Real. Ties to even are those of the product alone.
template <typename Real>
Wide requantizedReal(Wide q, Wide zeroIn, Real factor, Wide zeroOut, Rounding rounding) {
  Real y = static_cast<Real>(q) - static_cast<Real>(zeroIn);
  y = factor * y;
  if (rounding == Rounding::ToNearestEven)
    y = rounded(y, rounding) + static_cast<Real>(zeroOut);
  else
    y = rounded(y + static_cast<Real>(zeroOut), rounding);
  return saturated(static_cast<double>(y), DType::Int32);
}

Expected<Value> requantize(const KernelContext &context) {
  const Tensor &x = context.input(0);
  DType to = context.result().dtype;
  QuantParams in(context.input(1), context.input(2), x.shape, context.integer("axis"));
  QuantParams out(context.input(3), context.input(4), x.shape, 0);
  std::vector<Wide> values = load<Wide>(x);
  Rounding rounding = roundingOf(context, Rounding::Upward);
  std::string_view compute = context.text("compute_dtype");
  if (compute == "None" || compute == "int64")
    return store(context.result(), BYCC_TRY(requantized(context, values, in, out, rounding, to)));
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t at = static_cast<int64_t>(i);
    BYCC_TRY(scaleChange(context, in.scale(at), out.scale(0)));
    Wide value = 0;
    if (compute == "float32")
      value = requantizedReal<float>(values[i], in.zero(at), in.scale(at) / out.scale(0),
                                     out.zero(0), rounding);
    else
      value = requantizedReal<double>(values[i], in.zero(at),
                                      static_cast<double>(in.scale(at)) /
                                          static_cast<double>(out.scale(0)),
                                      out.zero(0), rounding);
    values[i] = saturated(value, to);
  }
  return store(context.result(), values);
}

Expected<Value> quantize(const KernelContext &context) {
  const Tensor &x = context.input(0);
  QuantParams params(context.input(1), context.input(2), x.shape, context.integer("axis"));
  Rounding rounding = roundingOf(context, Rounding::ToNearest);
  std::vector<double> reals = load<double>(x);
  std::vector<Wide> values(reals.size());
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t at = static_cast<int64_t>(i);
    values[i] = quantized(static_cast<float>(reals[i]), params.scale(at), params.zero(at),
                          context.result().dtype, rounding);
  }
  return store(context.result(), values);
}

Expected<Value> dequantize(const KernelContext &context) {
  const Tensor &x = context.input(0);
  QuantParams params(context.input(1), context.input(2), x.shape, context.integer("axis"));
  std::vector<Wide> values = load<Wide>(x);
  std::vector<double> reals(values.size());
  constexpr double half = 65504; // the largest float16
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t at = static_cast<int64_t>(i);
    reals[i] = static_cast<double>(dequantized(values[i], params.scale(at), params.zero(at)));
    if (context.result().dtype == DType::Float16)
      reals[i] = std::clamp(reals[i], -half, half);
  }
  return store(context.result(), reals);
}

// The dtype that a code stands for; the others let values through.
std::optional<DType> dtypeOfCode(const Tensor &code) {
  switch (code.integer(0)) {
  case 1:
    return DType::Int8;
  case 2:
    return DType::UInt8;
  case 3:
    return DType::Int32;
  default:
    return std::nullopt;
  }
}

Expected<Value> simulated(const KernelContext &context) {
  const Tensor &x = context.input(0);
  std::optional<DType> dtype = dtypeOfCode(context.input(1));
  if (!dtype)
    return Value(x);
  bool isQuantize = context.op() == ops::qnn_simulated_quantize;
  QuantParams params(context.input(2), context.input(3), x.shape, context.integer("axis"));
  std::vector<double> values = load<double>(x);
  float low = static_cast<float>(saturated(-INFINITY, *dtype));
  float high = static_cast<float>(saturated(INFINITY, *dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t at = static_cast<int64_t>(i);
    float v = static_cast<float>(values[i]), zero = static_cast<float>(params.zero(at));
    if (isQuantize) {
      v = std::round(v / params.scale(at)) + zero;
      v = v < low ? low : v;
      v = v > high ? high : v;
    } else {
      v = (v - zero) * params.scale(at);
    }
    values[i] = static_cast<double>(v);
  }
  return store(context.result(), values);
}

// --- products

// values - zero point as int32; the zero point is one, or one per element of `axis`.
Expected<Value> shifted(const Tensor &x, const Tensor &zero, size_t axis) {
  std::vector<Wide> values = load<Wide>(x), zeros = load<Wide>(zero);
  int64_t inner = count(std::span(x.shape).subspan(axis + 1));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] -= zeros[zeros.size() == 1 ? 0 : i / static_cast<size_t>(inner) % zeros.size()];
  return store(int32Like(x), values);
}

Expected<Value> product(const KernelContext &context, OpId plain, size_t weightAxis) {
  std::vector<Value> operands{BYCC_TRY(shifted(context.input(0), context.input(2), 0)),
                              BYCC_TRY(shifted(context.input(1), context.input(3), weightAxis))};
  return kernelOf(plain)(context.with(operands, context.results()));
}

Expected<Value> qnnConv(const KernelContext &context) {
  size_t axis = *Layout::parse(context.text("kernel_layout"))->find('O');
  bool isTransposed = context.op() == ops::qnn_conv2d_transpose;
  return product(context, isTransposed ? ops::nn_conv2d_transpose : ops::nn_conv2d, axis);
}

Expected<Value> qnnDense(const KernelContext &context) {
  return product(context, ops::nn_dense, 0);
}
Expected<Value> qnnBatchMatmul(const KernelContext &context) {
  return product(context, ops::nn_batch_matmul, 0);
}

// --- functions of one input: dequantize, apply, quantize, all in float32

float hardswish(float x) { return x * (std::clamp(x + 3.0f, 0.0f, 6.0f) / 6.0f); }
double plainSigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double plainRsqrt(double x) { return 1 / std::sqrt(x); }

template <double (*fn)(double)> float inDouble(float x) {
  return static_cast<float>(fn(static_cast<double>(x)));
}

template <float (*fn)(float)> Expected<Value> unary(const KernelContext &context) {
  const Tensor &x = context.input(0);
  QuantParams in(context.input(1), context.input(2), x.shape, 0);
  QuantParams out(context.input(3), context.input(4), x.shape, 0);
  Rounding rounding = roundingOf(context, Rounding::ToNearest);
  std::vector<Wide> values = load<Wide>(x);
  for (Wide &v : values)
    v = quantized(fn(dequantized(v, in.scale(0), in.zero(0))), out.scale(0), out.zero(0),
                  context.result().dtype, rounding);
  return store(context.result(), values);
}

const KernelEntry qnnRows[] = {
    {ops::qnn_abs, unary<inDouble<std::fabs>>},
    {ops::qnn_batch_matmul, qnnBatchMatmul},
    {ops::qnn_conv2d, qnnConv},
    {ops::qnn_conv2d_transpose, qnnConv},
    {ops::qnn_dense, qnnDense},
    {ops::qnn_dequantize, dequantize},
    {ops::qnn_erf, unary<inDouble<std::erf>>},
    {ops::qnn_exp, unary<inDouble<std::exp>>},
    {ops::qnn_hardswish, unary<hardswish>},
    {ops::qnn_log, unary<inDouble<std::log>>},
    {ops::qnn_quantize, quantize},
    {ops::qnn_requantize, requantize},
    {ops::qnn_rsqrt, unary<inDouble<plainRsqrt>>},
    {ops::qnn_sigmoid, unary<inDouble<plainSigmoid>>},
    {ops::qnn_simulated_dequantize, simulated},
    {ops::qnn_simulated_quantize, simulated},
    {ops::qnn_sqrt, unary<inDouble<std::sqrt>>},
    {ops::qnn_tanh, unary<inDouble<std::tanh>>},
};

} // namespace

std::span<const KernelEntry> qnnKernels() { return qnnRows; }

} // namespace bycc::eval
