// Quantised arithmetic, concatenation, pooling, leaky ReLU and qnnSoftmax: operands
// are brought to the result's scale as int32, computed with, and saturated.

#include "Requantize.h"

#include <algorithm>
#include <cmath>

namespace bycc::eval {
namespace {

// The operator on real values: with compute_dtype="float32".
bool isReal(const KernelContext &context) { return context.text("compute_dtype") == "float32"; }

// Changed to the result's scale, of which the parameters stand at `out`.
Expected<std::vector<Wide>> toResultScale(const KernelContext &context, const Tensor &x, size_t in,
                                          int64_t axis, size_t out, Rounding rounding) {
  QuantParams from(context.input(in), context.input(in + 1), x.shape, axis);
  QuantParams result(context.input(out), context.input(out + 1), x.shape, 0);
  return requantized(context, load<Wide>(x), from, result, rounding, DType::Int32);
}

// The result, each element of it from the two inputs' offsets that broadcast to it.
template <typename Fn> Expected<Value> forPairs(const KernelContext &context, Fn fn) {
  const Tensor &a = context.input(0), &b = context.input(1);
  const ResultType &type = context.result();
  std::vector<Wide> values(static_cast<size_t>(count(type.shape)));
  size_t rank = type.shape.size();
  IndexWalk walk(type.shape, {broadcastStrides(a.shape, rank), broadcastStrides(b.shape, rank)});
  for (Wide &v : values) {
    v = BYCC_TRY(fn(walk.offset(0), walk.offset(1)));
    walk.next();
  }
  return store(type, values);
}

// The inputs' real values and what they give, rounded to float32 at each step.
Expected<Value> onReals(const KernelContext &context, float (*fn)(float, float)) {
  const Tensor &a = context.input(0), &b = context.input(1);
  const ResultType &type = context.result();
  QuantParams left(context.input(2), context.input(3), a.shape, context.integer("lhs_axis"));
  QuantParams right(context.input(4), context.input(5), b.shape, context.integer("rhs_axis"));
  float scale = static_cast<float>(context.input(6).real(0));
  Wide zero = load<Wide>(context.input(7))[0];
  Rounding rounding = roundingOf(context, Rounding::Upward);
  std::vector<Wide> x = load<Wide>(a), y = load<Wide>(b);
  return forPairs(context, [&](int64_t i, int64_t j) -> Expected<Wide> {
    return quantized(fn(dequantized(x[static_cast<size_t>(i)], left.scale(i), left.zero(i)),
                        dequantized(y[static_cast<size_t>(j)], right.scale(j), right.zero(j))),
                     scale, zero, type.dtype, rounding);
  });
}

float sum(float a, float b) { return a + b; }
float difference(float a, float b) { return a - b; }
float product(float a, float b) { return a * b; }

Expected<Value> addOrSubtract(const KernelContext &context) {
  if (isReal(context))
    return onReals(context, context.op() == ops::qnn_add ? sum : difference);
  const Tensor &a = context.input(0), &b = context.input(1);
  const ResultType &type = context.result();
  bool isSum = context.op() == ops::qnn_add;
  Rounding rounding = roundingOf(context, Rounding::Upward);
  auto left = BYCC_TRY(toResultScale(context, a, 2, context.integer("lhs_axis"), 6, rounding));
  auto right = BYCC_TRY(toResultScale(context, b, 4, context.integer("rhs_axis"), 6, rounding));
  Wide zero = load<Wide>(context.input(7))[0];
  return forPairs(context, [&](int64_t i, int64_t j) -> Expected<Wide> {
    Wide x = left[static_cast<size_t>(i)], y = right[static_cast<size_t>(j)];
    return saturated(isSum ? x + y - zero : x - y + zero, type.dtype);
  });
}

// (a - za) * (b - zb) has the scale sa * sb, rounded to float32.
Expected<Value> multiply(const KernelContext &context) {
  if (isReal(context))
    return onReals(context, product);
  const Tensor &a = context.input(0), &b = context.input(1);
  const ResultType &type = context.result();
  QuantParams left(context.input(2), context.input(3), a.shape, context.integer("lhs_axis"));
  QuantParams right(context.input(4), context.input(5), b.shape, context.integer("rhs_axis"));
  float scaleOut = static_cast<float>(context.input(6).real(0));
  Wide zeroOut = load<Wide>(context.input(7))[0];
  Rounding rounding = roundingOf(context, Rounding::Upward);
  std::vector<Wide> x = load<Wide>(a), y = load<Wide>(b);
  return forPairs(context, [&](int64_t i, int64_t j) -> Expected<Wide> {
    FixedPoint factor = BYCC_TRY(scaleChange(context, left.scale(i) * right.scale(j), scaleOut));
    Wide value =
        (x[static_cast<size_t>(i)] - left.zero(i)) * (y[static_cast<size_t>(j)] - right.zero(j));
    return saturated(zeroOut + scaled(value, factor, rounding), type.dtype);
  });
}

Expected<Value> qnnConcatenate(const KernelContext &context) {
  std::vector<Tensor> inputs = context.tuple(0), scales = context.tuple(1),
                      zeros = context.tuple(2);
  QuantParams out(context.input(3), context.input(4), {}, 0);
  Value::Tuple fields;
  for (size_t i = 0; i < inputs.size(); ++i) {
    QuantParams in(scales[i], zeros[i], inputs[i].shape, 0);
    auto values = BYCC_TRY(
        requantized(context, load<Wide>(inputs[i]), in, out, Rounding::Upward, inputs[i].dtype));
    fields.push_back(BYCC_TRY(store(ResultType{inputs[i].dtype, inputs[i].shape, true}, values)));
  }
  std::vector<Value> operands{Value(std::move(fields))};
  return kernelOf(ops::concatenate)(context.with(operands, context.results()));
}

// mean(x - z) * (s_in / s_out) rounded, plus z_out; padding counts as real 0.
Expected<Value> avgPoolOfReals(const KernelContext &context) {
  const Tensor &x = context.input(0);
  QuantParams in(context.input(1), context.input(2), {}, 0),
      out(context.input(3), context.input(4), {}, 0);
  std::vector<double> reals = load<double>(x);
  for (double &each : reals)
    each -= static_cast<double>(in.zero(0));
  std::vector<Value> operands{BYCC_TRY(store(ResultType{DType::Float32, x.shape, true}, reals))};
  ResultType real{DType::Float32, context.result().shape, true};
  Value pooled = BYCC_TRY(kernelOf(ops::nn_avg_pool2d)(context.with(operands, {real})));
  BYCC_TRY(scaleChange(context, in.scale(0), out.scale(0)));
  float factor = in.scale(0) / out.scale(0);
  std::vector<Wide> values;
  for (double mean : load<double>(pooled.tensor()))
    values.push_back(quantized(static_cast<float>(mean) * factor, 1, out.zero(0),
                               context.result().dtype, roundingOf(context, Rounding::Upward)));
  return store(context.result(), values);
}

// The mean of int32 values, truncated; padding that counts is 0, as it stands.
Expected<Value> avgPool(const KernelContext &context) {
  if (isReal(context))
    return avgPoolOfReals(context);
  const Tensor &x = context.input(0);
  auto values = BYCC_TRY(toResultScale(context, x, 1, 0, 3, roundingOf(context, Rounding::Upward)));
  std::vector<Value> operands{BYCC_TRY(store(ResultType{DType::Int32, x.shape, true}, values))};
  ResultType wide{DType::Int32, context.result().shape, true};
  Value pooled = BYCC_TRY(kernelOf(ops::nn_avg_pool2d)(context.with(operands, {wide})));
  values = load<Wide>(pooled.tensor());
  for (Wide &v : values)
    v = saturated(v, context.result().dtype);
  return store(context.result(), values);
}

// Below the zero point: alpha * x' + (1 - alpha) * z, each product in fixed point.
Expected<Value> qnnLeakyRelu(const KernelContext &context) {
  const Tensor &x = context.input(0);
  double alpha = context.number("alpha");
  Wide zeroIn = load<Wide>(context.input(2))[0], zeroOut = load<Wide>(context.input(4))[0];
  Wide offset = scaled(zeroOut, fixedPoint(1 - alpha), Rounding::Upward);
  FixedPoint slope = fixedPoint(alpha);
  std::vector<Wide> values = load<Wide>(x);
  auto there = BYCC_TRY(toResultScale(context, x, 1, 0, 3, Rounding::Upward));
  for (size_t i = 0; i < values.size(); ++i) {
    bool isNegative = values[i] < zeroIn;
    Wide v = isNegative ? scaled(there[i], slope, Rounding::Upward) + offset : there[i];
    values[i] = saturated(v, x.dtype);
  }
  return store(context.result(), values);
}

// Integer qnnSoftmax after Li and Gu, "I-ViT: Integer-only Quantization for Efficient
// Vision Transformer Inference" (2022), algorithm 1: with x <= 0 relative to the
// row's maximum and x0 = round(1 / scale),
//   2^(x log2(e)) ~ 2^-q * (1 + r / 2),  x (1 + 1/2 - 1/16) = -q x0 + r, -x0 < r <= 0
// Exponentials are scaled by 2^10, their quotients by 2^7, and requantized.
struct Row {
  int64_t begin, step, length;
};

std::vector<Wide> softmaxRow(const std::vector<Wide> &x, const Row &row, Wide x0) {
  constexpr int fraction = 10, precision = 30, bits = 7;
  auto at = [&](int64_t i) { return x[static_cast<size_t>(row.begin + i * row.step)]; };
  Wide top = at(0), sum = 0;
  for (int64_t i = 1; i < row.length; ++i)
    top = std::max(top, at(i));
  std::vector<Wide> result;
  for (int64_t i = 0; i < row.length; ++i) {
    Wide v = at(i) - top;
    v = v + (v >> 1) - (v >> 4);
    Wide q = std::clamp<Wide>(-v / x0, 0, fraction);
    Wide r = v + q * x0;
    result.push_back(((r >> 1) + x0) << (fraction - static_cast<int>(q)));
    sum += result.back();
  }
  for (Wide &v : result)
    v = ((Wide(1) << precision) / sum * v) >> (precision - bits);
  return result;
}

Expected<Value> qnnSoftmax(const KernelContext &context) {
  const Tensor &x = context.input(0);
  float scale = static_cast<float>(context.input(1).real(0));
  if (!(scale > 0 && scale <= 1))
    return context.error() << "input_scale is more than 0 and at most 1, got " << scale;
  Wide x0 = static_cast<Wide>(std::round(1.0f / scale));
  FixedPoint factor =
      BYCC_TRY(scaleChange(context, 1.0f / 128, static_cast<float>(context.input(3).real(0))));
  Wide zeroOut = load<Wide>(context.input(4))[0];
  size_t axis = context.axis("axis", x.shape.size());
  int64_t step = rowStrides(x.shape)[axis], length = x.shape[axis];
  std::vector<Wide> values = load<Wide>(x);
  std::vector<Wide> out(values.size());
  for (int64_t block = 0; length > 0 && block < x.numElements(); block += step * length)
    for (int64_t i = 0; i < step; ++i) {
      Row row{block + i, step, length};
      std::vector<Wide> result = softmaxRow(values, row, x0);
      for (int64_t k = 0; k < length; ++k)
        out[static_cast<size_t>(row.begin + k * step)] = saturated(
            zeroOut + scaled(result[static_cast<size_t>(k)], factor, Rounding::Upward), x.dtype);
    }
  return store(context.result(), out);
}

const KernelEntry qnnArithmeticRows[] = {
    {ops::qnn_add, addOrSubtract},
    {ops::qnn_avg_pool2d, avgPool},
    {ops::qnn_concatenate, qnnConcatenate},
    {ops::qnn_leaky_relu, qnnLeakyRelu},
    {ops::qnn_mul, multiply},
    {ops::qnn_softmax, qnnSoftmax},
    {ops::qnn_subtract, addOrSubtract},
};

} // namespace

std::span<const KernelEntry> qnnArithmeticKernels() { return qnnArithmeticRows; }

} // namespace bycc::eval
