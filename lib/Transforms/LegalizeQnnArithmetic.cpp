// Rules of quantised arithmetic, concatenation, pooling, leaky ReLU and softmax:
// lib/Eval/QnnArithmetic.cpp in operators.

#include "LegalizeScale.h"

#include <cmath>

namespace bycc {
namespace {

int64_t attr(const Legalizer &l, std::string_view key) {
  return attrs::integer(l.module, l.call(), key);
}

// The operator on real values: with compute_dtype="float32".
bool isReal(const Legalizer &l) {
  return attrs::text(l.module, l.call(), "compute_dtype") == "float32";
}

// The real values of both inputs, the operator, and back. A clip keeps products
// from being contracted with sums; no value of float32 is beyond it.
Expected<NodeId> onReals(Legalizer &l, OpId op) {
  constexpr double limit = 3.4028234663852886e38;
  NodeId a = l.input(0), b = l.input(1);
  ScaleOf left = BYCC_TRY(scaleOf(l, l.input(2), l.input(3), l.rank(a), attr(l, "lhs_axis")));
  ScaleOf right = BYCC_TRY(scaleOf(l, l.input(4), l.input(5), l.rank(b), attr(l, "rhs_axis")));
  ScaleOf to = BYCC_TRY(scaleOf(l, l.input(6), l.input(7), l.rank(l.call()), 0));
  NodeId x = BYCC_TRY(dequantized(l, a, left)), y = BYCC_TRY(dequantized(l, b, right));
  if (op != ops::multiply) {
    x = BYCC_TRY(l.clip(x, -limit, limit));
    y = BYCC_TRY(l.clip(y, -limit, limit));
  }
  return quantized(l, BYCC_TRY(l.make(op, {x, y})), to, l.resultDType(),
                   roundingOf(l, Rounding::Upward));
}

Expected<NodeId> addOrSubtract(Legalizer &l) {
  if (isReal(l))
    return onReals(l, l.op() == ops::qnn_add ? ops::add : ops::subtract);
  NodeId a = l.input(0), b = l.input(1);
  ScaleOf left = BYCC_TRY(scaleOf(l, l.input(2), l.input(3), l.rank(a), attr(l, "lhs_axis")));
  ScaleOf right = BYCC_TRY(scaleOf(l, l.input(4), l.input(5), l.rank(b), attr(l, "rhs_axis")));
  ScaleOf to = BYCC_TRY(scaleOf(l, l.input(6), l.input(7), l.rank(l.call()), 0));
  Rounding rounding = roundingOf(l, Rounding::Upward);
  Wide x = BYCC_TRY(atScale(l, a, left, to, rounding)),
       y = BYCC_TRY(atScale(l, b, right, to, rounding));
  bool isSum = l.op() == ops::qnn_add;
  NodeId value = BYCC_TRY(l.make(isSum ? ops::add : ops::subtract, {x.node, y.node}));
  if (!l.isAll(to.zero, 0)) {
    NodeId zero = BYCC_TRY(l.cast(to.zero, DType::Int64));
    value = BYCC_TRY(l.make(isSum ? ops::subtract : ops::add, {value, zero}));
  }
  return saturated(l, {value, 34}, l.resultDType());
}

Expected<NodeId> multiply(Legalizer &l) {
  if (isReal(l))
    return onReals(l, ops::multiply);
  NodeId a = l.input(0), b = l.input(1);
  ScaleOf left = BYCC_TRY(scaleOf(l, l.input(2), l.input(3), l.rank(a), attr(l, "lhs_axis")));
  ScaleOf right = BYCC_TRY(scaleOf(l, l.input(4), l.input(5), l.rank(b), attr(l, "rhs_axis")));
  ScaleOf to = BYCC_TRY(scaleOf(l, l.input(6), l.input(7), l.rank(l.call()), 0));
  Wide x = BYCC_TRY(shifted(l, a, left.zero)), y = BYCC_TRY(shifted(l, b, right.zero));
  NodeId scale = BYCC_TRY(l.make(ops::multiply, {left.scale, right.scale}));
  Wide product{BYCC_TRY(l.make(ops::multiply, {x.node, y.node})), x.bits + y.bits};
  Wide value = BYCC_TRY(rescaled(l, product, scale, to.scale, roundingOf(l, Rounding::Upward)));
  return saturated(l, BYCC_TRY(withZero(l, value, to.zero)), l.resultDType());
}

Expected<NodeId> concatenate(Legalizer &l) {
  std::vector<NodeId> inputs = BYCC_TRY(l.fields(0)), scales = BYCC_TRY(l.fields(1)),
                      zeros = BYCC_TRY(l.fields(2)), fields;
  ScaleOf to = BYCC_TRY(scaleOf(l, l.input(3), l.input(4), 1, 0));
  for (size_t i = 0; i < inputs.size(); ++i) {
    ScaleOf from = BYCC_TRY(scaleOf(l, scales[i], zeros[i], l.rank(inputs[i]), 0));
    bool isSame = l.isSameConstant(from.scale, to.scale) && l.isSameConstant(from.zero, to.zero);
    fields.push_back(isSame ? inputs[i]
                            : BYCC_TRY(saturated(l, BYCC_TRY(atScale(l, inputs[i], from, to)),
                                                 l.dtype(inputs[i]))));
  }
  return l.make(ops::concatenate, {l.tuple(fields)}, l.attrs());
}

// Those of the plain operator.
AttrDict poolAttrs(const Legalizer &l) {
  AttrDict result = l.attrs();
  std::erase_if(result, [](const Attr &attr) {
    return attr.key == "rounding" || attr.key == "compute_dtype" || attr.key == "out_dtype";
  });
  return result;
}

Expected<NodeId> avgPool(Legalizer &l) {
  NodeId x = l.input(0);
  ScaleOf from = BYCC_TRY(scaleOf(l, l.input(1), l.input(2), l.rank(x), 0));
  ScaleOf to = BYCC_TRY(scaleOf(l, l.input(3), l.input(4), l.rank(x), 0));
  if (isReal(l)) {
    NodeId factor = BYCC_TRY(l.make(ops::divide, {from.scale, to.scale}));
    NodeId y = BYCC_TRY(l.cast(BYCC_TRY(shiftedTo(l, x, from.zero, DType::Int32)), DType::Float32));
    y = BYCC_TRY(l.make(ops::nn_avg_pool2d, {y}, poolAttrs(l)));
    y = BYCC_TRY(l.make(ops::multiply, {y, factor}));
    return quantized(l, y, {l.real(1), to.zero}, l.resultDType(), roundingOf(l, Rounding::Upward));
  }
  NodeId value = BYCC_TRY(atScale(l, x, from, to, roundingOf(l, Rounding::Upward))).node;
  NodeId mean =
      BYCC_TRY(l.make(ops::nn_avg_pool2d, {BYCC_TRY(l.cast(value, DType::Int32))}, poolAttrs(l)));
  return saturated(l, {mean, 31}, l.resultDType());
}

// A value times a factor that the program gives as a number.
Expected<Wide> times(Legalizer &l, Wide value, double factor) {
  if (factor == 0)
    return Wide{l.integer(0), 0};
  NodeId magnitude = l.real(std::fabs(factor), DType::Float64), one = l.real(1, DType::Float64);
  if (factor < 0) // ties go up, so the sign is the value's
    value.node = BYCC_TRY(l.make(ops::negative, {value.node}));
  return rescaled(l, value, magnitude, one, Rounding::Upward);
}

Expected<NodeId> leakyRelu(Legalizer &l) {
  NodeId x = l.input(0);
  double alpha = attrs::number(l.module, l.call(), "alpha");
  ScaleOf from = BYCC_TRY(scaleOf(l, l.input(1), l.input(2), l.rank(x), 0));
  ScaleOf to = BYCC_TRY(scaleOf(l, l.input(3), l.input(4), l.rank(x), 0));
  Wide there = BYCC_TRY(atScale(l, x, from, to));
  Wide zero{BYCC_TRY(l.cast(to.zero, DType::Int64)), 32};
  Wide slope = BYCC_TRY(times(l, there, alpha)), offset = BYCC_TRY(times(l, zero, 1 - alpha));
  NodeId below = BYCC_TRY(l.make(ops::add, {slope.node, offset.node}));
  NodeId wide = BYCC_TRY(l.cast(x, DType::Int32));
  NodeId isBelow = BYCC_TRY(l.make(ops::less, {wide, from.zero}));
  NodeId value = BYCC_TRY(l.make(ops::where, {isBelow, below, there.node}));
  return saturated(l, {value, 36}, l.resultDType());
}

Expected<NodeId> softmax(Legalizer &l) {
  constexpr int64_t fraction = 10, precision = 30, bits = 7;
  NodeId scale = BYCC_TRY(alongAxis(l, l.input(1), 1, 0));
  if (l.module.isConstant(scale) && !l.allOf(scale, [](double v) { return v > 0 && v <= 1; }))
    return l.error() << "input_scale is more than 0 and at most 1";
  ScaleOf to = BYCC_TRY(scaleOf(l, l.input(3), l.input(4), l.rank(l.input(0)), 0));
  auto shiftRight = [&](NodeId a, int64_t b) {
    return l.make(ops::right_shift, {a, l.integer(b)});
  };
  AttrDict rows{{"axis", AttrValue(attr(l, "axis"))}, {"keepdims", AttrValue(true)}};
  NodeId x0 = BYCC_TRY(l.make(ops::round, {BYCC_TRY(l.make(ops::divide, {l.real(1), scale}))}));
  x0 = BYCC_TRY(l.cast(x0, DType::Int64));
  NodeId x = BYCC_TRY(l.cast(l.input(0), DType::Int64));
  x = BYCC_TRY(l.make(ops::subtract, {x, BYCC_TRY(l.make(ops::max, {x}, rows))}));
  NodeId v = BYCC_TRY(l.make(ops::add, {x, BYCC_TRY(shiftRight(x, 1))}));
  v = BYCC_TRY(l.make(ops::subtract, {v, BYCC_TRY(shiftRight(x, 4))}));
  NodeId q = BYCC_TRY(l.make(ops::divide, {BYCC_TRY(l.make(ops::negative, {v})), x0}));
  q = BYCC_TRY(l.clip(q, 0, fraction));
  NodeId r = BYCC_TRY(l.make(ops::add, {v, BYCC_TRY(l.make(ops::multiply, {q, x0}))}));
  NodeId power = BYCC_TRY(l.make(ops::add, {BYCC_TRY(shiftRight(r, 1)), x0}));
  NodeId places = BYCC_TRY(l.make(ops::subtract, {l.integer(fraction), q}));
  power = BYCC_TRY(l.make(ops::left_shift, {power, places}));
  NodeId sum = BYCC_TRY(l.make(ops::sum, {power}, rows));
  NodeId share = BYCC_TRY(l.make(ops::divide, {l.integer(int64_t{1} << precision), sum}));
  share = BYCC_TRY(shiftRight(BYCC_TRY(l.make(ops::multiply, {share, power})), precision - bits));
  Wide value = BYCC_TRY(rescaled(l, {share, 9}, l.real(1.0 / 128), to.scale, Rounding::Upward));
  return saturated(l, BYCC_TRY(withZero(l, value, to.zero)), l.resultDType());
}

const LegalizeRule qnnArithmeticRows[] = {
    {ops::qnn_add, addOrSubtract},
    {ops::qnn_avg_pool2d, avgPool},
    {ops::qnn_concatenate, concatenate},
    {ops::qnn_leaky_relu, leakyRelu},
    {ops::qnn_mul, multiply},
    {ops::qnn_softmax, softmax},
    {ops::qnn_subtract, addOrSubtract},
};

} // namespace

std::span<const LegalizeRule> qnnArithmeticRules() { return qnnArithmeticRows; }

} // namespace bycc
