// Rules of the quantised operators: changes of scale, products, functions of one
// input. Every result is that of lib/Eval/Qnn.cpp, bit for bit; functions of
// values whose scales are not constant are those of the host's float32.

#include "LegalizeScale.h"
#include "bycc/Support/Layout.h"

#include <cmath>

namespace bycc {
namespace {

int64_t axisOf(const Legalizer &l) { return attrs::integer(l.module, l.call(), "axis"); }

// --- between scales

Expected<NodeId> requantizeReal(Legalizer &l, const ScaleOf &from, const ScaleOf &to, DType real,
                                Rounding rounding) {
  NodeId a = BYCC_TRY(l.cast(from.scale, real)), b = BYCC_TRY(l.cast(to.scale, real));
  NodeId factor = BYCC_TRY(l.make(ops::divide, {a, b}));
  NodeId y = BYCC_TRY(shiftedTo(l, l.input(0), from.zero, real));
  y = BYCC_TRY(l.make(ops::multiply, {factor, y}));
  y = BYCC_TRY(roundedWithZero(l, y, to.zero, rounding));
  y = BYCC_TRY(l.cast(y, DType::Int32));
  if (l.resultDType() == DType::Int32)
    return y;
  return saturated(l, {y, 31}, l.resultDType());
}

Expected<NodeId> requantize(Legalizer &l) {
  size_t rank = l.rank(l.input(0));
  ScaleOf from = BYCC_TRY(scaleOf(l, l.input(1), l.input(2), rank, axisOf(l)));
  ScaleOf to = BYCC_TRY(scaleOf(l, l.input(3), l.input(4), rank, 0));
  Rounding rounding = roundingOf(l, Rounding::Upward);
  std::string_view compute = attrs::text(l.module, l.call(), "compute_dtype");
  if (compute == "float32" || compute == "float64")
    return requantizeReal(l, from, to, *parseDType(compute), rounding);
  Wide value = BYCC_TRY(shifted(l, l.input(0), from.zero));
  value = BYCC_TRY(rescaled(l, value, from.scale, to.scale, rounding));
  return saturated(l, BYCC_TRY(withZero(l, value, to.zero)), l.resultDType());
}

Expected<NodeId> quantize(Legalizer &l) {
  NodeId x = l.input(0);
  ScaleOf to = BYCC_TRY(scaleOf(l, l.input(1), l.input(2), l.rank(x), axisOf(l)));
  return quantized(l, x, to, l.resultDType(), roundingOf(l, Rounding::ToNearest));
}

Expected<NodeId> dequantize(Legalizer &l) {
  NodeId x = l.input(0);
  ScaleOf from = BYCC_TRY(scaleOf(l, l.input(1), l.input(2), l.rank(x), axisOf(l)));
  NodeId real = BYCC_TRY(dequantized(l, x, from));
  if (l.resultDType() == DType::Float32)
    return real;
  constexpr double half = 65504; // the largest float16
  return l.cast(BYCC_TRY(l.clip(real, -half, half)), DType::Float16);
}

// A bound of the dtype that a code of run time stands for: 1 int8, 2 uint8, 3 int32.
Expected<NodeId> boundFor(Legalizer &l, NodeId code, double byte, double unsignedByte,
                          double word) {
  NodeId isByte = BYCC_TRY(l.make(ops::equal, {code, l.integer(1, DType::Int32)}));
  NodeId isUnsigned = BYCC_TRY(l.make(ops::equal, {code, l.integer(2, DType::Int32)}));
  NodeId rest = BYCC_TRY(l.make(ops::where, {isUnsigned, l.real(unsignedByte), l.real(word)}));
  return l.make(ops::where, {isByte, l.real(byte), rest});
}

Expected<NodeId> simulated(Legalizer &l) {
  NodeId x = l.input(0), code = BYCC_TRY(alongAxis(l, l.input(1), 1, 0));
  ScaleOf scale = BYCC_TRY(scaleOf(l, l.input(2), l.input(3), l.rank(x), axisOf(l)));
  NodeId y = x;
  if (l.op() == ops::qnn_simulated_quantize) {
    NodeId low = BYCC_TRY(boundFor(l, code, -128, 0, -2147483648.0));
    NodeId high = BYCC_TRY(boundFor(l, code, 127, 255, 2147483647.0));
    y = BYCC_TRY(l.make(ops::divide, {x, scale.scale}));
    y = BYCC_TRY(l.make(ops::round, {y}));
    y = BYCC_TRY(l.make(ops::add, {y, BYCC_TRY(l.cast(scale.zero, DType::Float32))}));
    y = BYCC_TRY(l.make(ops::maximum, {y, low}));
    y = BYCC_TRY(l.make(ops::minimum, {y, high}));
  } else {
    NodeId zero = BYCC_TRY(l.cast(scale.zero, DType::Float32));
    y = BYCC_TRY(l.make(ops::subtract, {x, zero}));
    y = BYCC_TRY(l.make(ops::multiply, {y, scale.scale}));
  }
  NodeId isLow = BYCC_TRY(l.make(ops::less, {code, l.integer(1, DType::Int32)}));
  NodeId isHigh = BYCC_TRY(l.make(ops::greater, {code, l.integer(3, DType::Int32)}));
  NodeId passes = BYCC_TRY(l.make(ops::logical_or, {isLow, isHigh}));
  return l.make(ops::where, {passes, x, y});
}

// --- products

bool isByte(DType dtype) { return dtype == DType::Int8 || dtype == DType::UInt8; }

// The narrowest dtype that holds both operands less their zero points: bytes as
// they are when there is nothing to subtract.
DType operandDType(const Legalizer &l) {
  bool areBytes = isByte(l.dtype(l.input(0))) && isByte(l.dtype(l.input(1)));
  if (l.isAll(l.input(2), 0) && l.isAll(l.input(3), 0) &&
      l.dtype(l.input(0)) == l.dtype(l.input(1)))
    return l.dtype(l.input(0));
  auto areSmall = [&](NodeId zeros) {
    bool wereBytes =
        l.module.isOp(zeros, ops::cast) && isByte(l.dtype(l.module.operands(zeros)[0]));
    return wereBytes || l.allOf(zeros, [](double zero) { return zero >= -128 && zero <= 255; });
  };
  return areBytes && areSmall(l.input(2)) && areSmall(l.input(3)) ? DType::Int16 : DType::Int32;
}

// Zero points subtracted first, so that the plain operator's padding is real 0.
Expected<NodeId> product(Legalizer &l, OpId plain, int64_t weightAxis) {
  NodeId x = l.input(0), weight = l.input(1);
  DType dtype = operandDType(l);
  NodeId zero = BYCC_TRY(alongAxis(l, l.input(2), l.rank(x), 0));
  NodeId weightZero = BYCC_TRY(alongAxis(l, l.input(3), l.rank(weight), weightAxis));
  x = BYCC_TRY(shiftedTo(l, x, zero, dtype));
  weight = BYCC_TRY(shiftedTo(l, weight, weightZero, dtype));
  AttrDict attrs = l.attrs({{"out_dtype", AttrValue(name(l.resultDType()))}});
  if (plain == ops::nn_conv2d)
    weight = BYCC_TRY(weightsByTap(l, weight, attrs));
  return l.make(plain, {x, weight}, std::move(attrs));
}

Expected<NodeId> conv(Legalizer &l) {
  auto layout = Layout::parse(attrs::text(l.module, l.call(), "kernel_layout"));
  bool isTransposed = l.op() == ops::qnn_conv2d_transpose;
  return product(l, isTransposed ? ops::nn_conv2d_transpose : ops::nn_conv2d,
                 static_cast<int64_t>(*layout->find('O')));
}

Expected<NodeId> dense(Legalizer &l) { return product(l, ops::nn_dense, 0); }
Expected<NodeId> batchMatmul(Legalizer &l) { return product(l, ops::nn_batch_matmul, 0); }

// --- functions of one input

bool areConstant(const Legalizer &l) {
  for (size_t i = 1; i < 5; ++i)
    if (!l.module.isConstant(l.input(i)))
      return false;
  return true;
}

// The function of all 256 values of a byte, by evaluating the operator on them.
Expected<NodeId> lookUp(Legalizer &l) {
  NodeId x = l.input(0);
  DType dtype = l.dtype(x);
  uint8_t bytes[256];
  int first = dtype == DType::Int8 ? -128 : 0;
  for (int i = 0; i < 256; ++i)
    bytes[i] = static_cast<uint8_t>(i + first);
  Dim count(256);
  NodeId all = l.module.addConstant(dtype, {&count, 1}, bytes, sizeof bytes);
  NodeId table =
      BYCC_TRY(l.make(l.op(), {all, l.input(1), l.input(2), l.input(3), l.input(4)}, l.attrs()));
  NodeId index = BYCC_TRY(l.cast(x, DType::Int32));
  if (first != 0)
    index = BYCC_TRY(l.make(ops::subtract, {index, l.integer(first, DType::Int32)}));
  return l.make(ops::take, {table, index});
}

// x * (clip(x + 3, 0, 6) / 6)
Expected<NodeId> hardswish(Legalizer &l, NodeId x) {
  NodeId gate = BYCC_TRY(l.clip(BYCC_TRY(l.make(ops::add, {x, l.real(3)})), 0, 6));
  return l.make(ops::multiply, {x, BYCC_TRY(l.make(ops::divide, {gate, l.real(6)}))});
}

template <OpId plain> Expected<NodeId> apply(Legalizer &l, NodeId x) { return l.make(plain, {x}); }

template <Expected<NodeId> (*function)(Legalizer &, NodeId)> Expected<NodeId> unary(Legalizer &l) {
  NodeId x = l.input(0);
  ScaleOf from = BYCC_TRY(scaleOf(l, l.input(1), l.input(2), l.rank(x), 0));
  ScaleOf to = BYCC_TRY(scaleOf(l, l.input(3), l.input(4), l.rank(x), 0));
  if (isByte(l.dtype(x)) && areConstant(l))
    return lookUp(l);
  NodeId y = BYCC_TRY(function(l, BYCC_TRY(dequantized(l, x, from))));
  return quantized(l, y, to, l.resultDType(), roundingOf(l, Rounding::ToNearest));
}

const LegalizeRule qnnRows[] = {
    {ops::qnn_abs, unary<apply<ops::abs>>},
    {ops::qnn_batch_matmul, batchMatmul},
    {ops::qnn_conv2d, conv},
    {ops::qnn_conv2d_transpose, conv},
    {ops::qnn_dense, dense},
    {ops::qnn_dequantize, dequantize},
    {ops::qnn_erf, unary<apply<ops::erf>>},
    {ops::qnn_exp, unary<apply<ops::exp>>},
    {ops::qnn_hardswish, unary<hardswish>},
    {ops::qnn_log, unary<apply<ops::log>>},
    {ops::qnn_quantize, quantize},
    {ops::qnn_requantize, requantize},
    {ops::qnn_rsqrt, unary<apply<ops::rsqrt>>},
    {ops::qnn_sigmoid, unary<apply<ops::sigmoid>>},
    {ops::qnn_simulated_dequantize, simulated},
    {ops::qnn_simulated_quantize, simulated},
    {ops::qnn_sqrt, unary<apply<ops::sqrt>>},
    {ops::qnn_tanh, unary<apply<ops::tanh>>},
};

} // namespace

std::span<const LegalizeRule> qnnRules() { return qnnRows; }

} // namespace bycc
