// Elementwise and broadcasting operators.
#include "OpLowering.h"

#include <cmath>

namespace bycc::loops {
namespace {

struct UnaryRow {
  OpId op;
  Op expr;
};
const UnaryRow unaryRows[] = {
    {ops::abs, Op::Abs},           {ops::negative, Op::Neg}, {ops::exp, Op::Exp},
    {ops::log, Op::Log},           {ops::sqrt, Op::Sqrt},    {ops::sigmoid, Op::Sigmoid},
    {ops::tanh, Op::Tanh},         {ops::erf, Op::Erf},      {ops::sign, Op::Sign},
    {ops::floor, Op::Floor},       {ops::ceil, Op::Ceil},    {ops::trunc, Op::Trunc},
    {ops::rint, Op::RoundEven},    {ops::round, Op::Round},  {ops::logical_not, Op::Not},
    {ops::bitwise_not, Op::Not},   {ops::isnan, Op::IsNan},  {ops::isinf, Op::IsInf},
    {ops::isfinite, Op::IsFinite}, {ops::fast_exp, Op::Exp}, {ops::fast_tanh, Op::Tanh},
    {ops::fast_erf, Op::Erf}};

struct LibmRow {
  OpId op;
  LibmFn function;
};
const LibmRow libmRows[] = {
    {ops::sin, LibmFn::Sin},     {ops::cos, LibmFn::Cos},     {ops::tan, LibmFn::Tan},
    {ops::asin, LibmFn::Asin},   {ops::acos, LibmFn::Acos},   {ops::atan, LibmFn::Atan},
    {ops::sinh, LibmFn::Sinh},   {ops::cosh, LibmFn::Cosh},   {ops::asinh, LibmFn::Asinh},
    {ops::acosh, LibmFn::Acosh}, {ops::atanh, LibmFn::Atanh}, {ops::log2, LibmFn::Log2},
    {ops::log10, LibmFn::Log10}};

struct BinaryRow {
  OpId op;
  Op expr;
};
const BinaryRow binaryRows[] = {{ops::add, Op::Add},
                                {ops::subtract, Op::Sub},
                                {ops::multiply, Op::Mul},
                                {ops::divide, Op::Div},
                                {ops::floor_divide, Op::FloorDiv},
                                {ops::floor_mod, Op::FloorMod},
                                {ops::mod, Op::TruncMod},
                                {ops::trunc_mod, Op::TruncMod},
                                {ops::maximum, Op::Max},
                                {ops::minimum, Op::Min},
                                {ops::equal, Op::Eq},
                                {ops::not_equal, Op::Ne},
                                {ops::less, Op::Lt},
                                {ops::less_equal, Op::Le},
                                {ops::logical_and, Op::And},
                                {ops::logical_or, Op::Or},
                                {ops::logical_xor, Op::Xor},
                                {ops::bitwise_and, Op::And},
                                {ops::bitwise_or, Op::Or},
                                {ops::bitwise_xor, Op::Xor},
                                {ops::left_shift, Op::Shl},
                                {ops::right_shift, Op::Shr}};

Expected<> elementwise(OpLowering &op, const std::function<Ref(Ref)> &value) {
  return op.mapResult([&](const Indices &i) { return value(op.at(op.input(0), i)); },
                      op.input(0).shape);
}

Expected<> lowerUnary(OpLowering &op) {
  for (const UnaryRow &row : unaryRows)
    if (op.isOp(row.op))
      return elementwise(op, [&](Ref v) { return op.x.unary(row.expr, v); });
  return op.unsupported() << "no such unary operator";
}

Expected<> lowerLibm(OpLowering &op) {
  for (const LibmRow &row : libmRows)
    if (op.isOp(row.op))
      return elementwise(
          op, [&](Ref v) { return op.x.unary(Op::Libm1, v, static_cast<int64_t>(row.function)); });
  return op.unsupported() << "no such function";
}

Expected<> lowerCopy(OpLowering &op) {
  return elementwise(op, [](Ref v) { return v; });
}

Expected<> lowerRsqrt(OpLowering &op) {
  return elementwise(op, [&](Ref v) {
    return op.op2(Op::Div, op.real(1, op.input(0).type), op.x.unary(Op::Sqrt, v));
  });
}

// exp(x) - 1 loses what there is near 0, where it is 2 t / (1 - t) with t = tanh(x / 2).
Expected<> lowerExpm1(OpLowering &op) {
  DType type = accumulator(op.input(0).type);
  return elementwise(op, [&](Ref v) {
    v = op.x.cast(v, type);
    Ref t = op.x.unary(Op::Tanh, op.op2(Op::Mul, v, op.real(0.5, type)));
    Ref near = op.op2(Op::Div, op.x.add(t, t), op.x.sub(op.real(1, type), t));
    Ref far = op.x.sub(op.x.unary(Op::Exp, v), op.real(1, type));
    Ref isNear = op.op2(Op::Lt, op.x.unary(Op::Abs, v), op.real(1, type));
    return op.x.cast(op.x.select(isNear, near, far), op.resultDType());
  });
}

// With u = 1 + x as it is rounded, log(u) / (u - 1) is what log(1 + x) / x is.
Expected<> lowerLog1p(OpLowering &op) {
  DType type = accumulator(op.input(0).type);
  return elementwise(op, [&](Ref v) {
    v = op.x.cast(v, type);
    Ref one = op.real(1, type), u = op.x.add(one, v), log = op.x.unary(Op::Log, u);
    Ref exact = op.op2(Op::Div, op.op2(Op::Mul, log, v), op.x.sub(u, one));
    Ref isTiny = op.op2(Op::Eq, u, one), isHuge = op.op2(Op::Lt, op.real(1e6, type), v);
    return op.x.cast(op.x.select(isTiny, v, op.x.select(isHuge, log, exact)), op.resultDType());
  });
}

Expected<> lowerRelu(OpLowering &op) {
  return elementwise(op, [&](Ref v) { return op.op2(Op::Max, v, op.real(0, op.input(0).type)); });
}

Expected<> lowerLeakyRelu(OpLowering &op) {
  DType type = op.input(0).type;
  return elementwise(op, [&](Ref v) {
    return op.x.select(op.op2(Op::Lt, op.real(0, type), v), v,
                       op.op2(Op::Mul, v, op.real(op.number("alpha"), type)));
  });
}

Expected<> lowerClip(OpLowering &op) {
  DType type = op.input(0).type;
  return elementwise(op, [&](Ref v) {
    Ref low = op.op2(Op::Max, v, op.real(op.number("a_min"), type));
    return op.op2(Op::Min, low, op.real(op.number("a_max"), type));
  });
}

Expected<> lowerCast(OpLowering &op) {
  return elementwise(op, [&](Ref v) { return op.x.cast(v, op.resultDType()); });
}

Expected<> lowerReinterpret(OpLowering &op) {
  return elementwise(op, [&](Ref v) { return op.x.reinterpret(v, op.resultDType()); });
}

// Shape of a broadcast with run-time extents: the longer operand's, right aligned.
std::vector<Ref> broadcastShape(OpLowering &op, const std::vector<const Tensor *> &operands) {
  std::vector<Ref> shape;
  for (const Tensor *tensor : operands) {
    if (tensor->rank() > shape.size())
      shape.insert(shape.begin(), tensor->rank() - shape.size(), op.x.integer(1));
    for (size_t d = 0; d < tensor->rank(); ++d) {
      Ref &extent = shape[shape.size() - tensor->rank() + d];
      extent = op.broadcastExtent(extent, tensor->shape[d]);
    }
  }
  return shape;
}

Expected<> lowerBinaryWith(OpLowering &op, const std::function<Ref(Ref, Ref)> &value) {
  const Tensor &a = op.input(0), &b = op.input(1);
  return op.mapResult(
      [&](const Indices &i) { return value(op.atBroadcast(a, i), op.atBroadcast(b, i)); },
      broadcastShape(op, {&a, &b}));
}

Expected<> lowerBinary(OpLowering &op) {
  for (const BinaryRow &row : binaryRows)
    if (op.isOp(row.op))
      return lowerBinaryWith(op, [&](Ref a, Ref b) { return op.op2(row.expr, a, b); });
  return op.unsupported() << "no such binary operator";
}

Expected<> lowerGreater(OpLowering &op) {
  Op expr = op.isOp(ops::greater) ? Op::Lt : Op::Le;
  return lowerBinaryWith(op, [&](Ref a, Ref b) { return op.op2(expr, b, a); });
}

Expected<> lowerTruncDivide(OpLowering &op) {
  return lowerBinaryWith(op, [&](Ref a, Ref b) {
    Ref quotient = op.op2(Op::Div, a, b);
    return isFloat(op.input(0).type) ? op.x.unary(Op::Trunc, quotient) : quotient;
  });
}

// Small constant exponents are products; the rest is pow. Integer powers go
// through double.
Expected<> lowerPower(OpLowering &op) {
  DType type = op.input(0).type;
  return lowerBinaryWith(op, [&](Ref a, Ref b) -> Ref {
    Expr exponent = op.x[b];
    if (exponent.op == Op::Const) {
      double value = isFloat(type) ? exponent.f : static_cast<double>(exponent.i);
      if (value == 1)
        return a;
      if (value == 2)
        return op.op2(Op::Mul, a, a);
      if (value == 3)
        return op.op2(Op::Mul, op.op2(Op::Mul, a, a), a);
    }
    DType wide = isFloat(type) ? type : DType::Float64;
    Ref result = op.x.binary(Op::Libm2, op.x.cast(a, wide), op.x.cast(b, wide),
                             static_cast<int64_t>(LibmFn::Pow));
    return op.x.cast(result, type);
  });
}

Expected<> lowerWhere(OpLowering &op) {
  return op.mapResult(
      [&](const Indices &i) {
        return op.x.select(op.atBroadcast(op.input(0), i), op.atBroadcast(op.input(1), i),
                           op.atBroadcast(op.input(2), i));
      },
      broadcastShape(op, {&op.input(0), &op.input(1), &op.input(2)}));
}

Expected<> lowerChannelBinary(OpLowering &op) {
  const Tensor &a = op.input(0), &b = op.input(1);
  size_t axis = op.axis("axis", a.rank());
  bool isPrelu = op.isOp(ops::nn_prelu);
  return op.mapResult(
      [&](const Indices &i) {
        Ref v = op.at(a, i), c = op.at(b, {i[axis]});
        if (!isPrelu)
          return op.op2(Op::Add, v, c);
        return op.x.select(op.op2(Op::Lt, op.real(0, a.type), v), v, op.op2(Op::Mul, v, c));
      },
      a.shape);
}

// The extents that operand `input` holds.
Expected<std::vector<Ref>> shapeIn(OpLowering &op, size_t input) {
  std::vector<Ref> shape;
  int64_t rank = BYCC_TRY(op.countOf(input));
  for (int64_t d = 0; d < rank; ++d)
    shape.push_back(BYCC_TRY(op.extentContent(input, d)));
  return shape;
}

Expected<> lowerFill(OpLowering &op) {
  bool isOne = op.isOp(ops::ones) || op.isOp(ops::ones_like) || op.isOp(ops::dyn_ones);
  bool isByOperand = op.isOp(ops::dyn_ones) || op.isOp(ops::dyn_zeros);
  std::vector<Ref> likely;
  if (isByOperand)
    likely = BYCC_TRY(shapeIn(op, 0));
  else if (op.numInputs() > 0)
    likely = op.input(0).shape;
  return op.mapResult([&](const Indices &) { return op.real(isOne ? 1 : 0, op.resultDType()); },
                      likely);
}

Expected<> lowerFull(OpLowering &op) {
  bool isLike = op.isOp(ops::full_like);
  const Tensor &value = op.input(isLike ? 1 : 0);
  std::vector<Ref> likely;
  if (op.isOp(ops::dyn_full))
    likely = BYCC_TRY(shapeIn(op, 1));
  else if (isLike)
    likely = op.input(0).shape;
  return op.mapResult(
      [&](const Indices &) {
        return op.x.cast(op.atFlat(value, op.x.integer(0)), op.resultDType());
      },
      likely);
}

Expected<> lowerBroadcastTo(OpLowering &op) {
  std::vector<Ref> likely;
  if (op.isOp(ops::dyn_broadcast_to))
    likely = BYCC_TRY(shapeIn(op, 1));
  else if (op.numInputs() > 1)
    likely = op.input(1).shape;
  return op.mapResult(
      [&](const Indices &i) { return op.x.cast(op.atBroadcast(op.input(0), i), op.resultDType()); },
      likely);
}

Expected<> lowerTrilu(OpLowering &op) {
  const Tensor &a = op.input(0);
  bool upper = op.boolean("upper");
  return op.mapResult(
      [&](const Indices &i) {
        Ref k = op.x.cast(op.atFlat(op.input(1), op.x.integer(0)), DType::Int64);
        Ref offset = op.x.sub(i[i.size() - 1], i[i.size() - 2]);
        Ref keep = upper ? op.op2(Op::Le, k, offset) : op.op2(Op::Le, offset, k);
        return op.x.select(keep, op.at(a, i), op.real(0, a.type));
      },
      a.shape);
}

// (x * 2^max(s, 0) * M + 2^(30 + r)) >> (31 + r) with r = max(-s, 0), in 64 bits.
Expected<> lowerFixedPoint(OpLowering &op) {
  int64_t shift = op.integer("shift"), right = std::max<int64_t>(-shift, 0),
          left = std::max<int64_t>(shift, 0);
  if (left > 30 || right > 31)
    return op.unsupported() << "shift " << shift << " is out of range";
  return elementwise(op, [&](Ref v) {
    Ref wide = op.x.cast(v, DType::Int64);
    wide = op.x.times(wide, (int64_t{1} << left) * op.integer("multiplier"));
    wide = op.x.plus(wide, int64_t{1} << (30 + right));
    return op.x.cast(op.op2(Op::Shr, wide, op.x.integer(31 + right)), DType::Int32);
  });
}

} // namespace

void addElementwiseLowerings(LowerTable &table) {
  for (const UnaryRow &row : unaryRows)
    table[row.op.index] = lowerUnary;
  for (const LibmRow &row : libmRows)
    table[row.op.index] = lowerLibm;
  for (const BinaryRow &row : binaryRows)
    table[row.op.index] = lowerBinary;
  for (OpId op : {ops::copy, ops::annotation_checkpoint, ops::annotation_stop_fusion,
                  ops::annotation_cast_hint, ops::annotation_compiler_begin,
                  ops::annotation_compiler_end, ops::device_copy, ops::on_device})
    table[op.index] = lowerCopy;
  for (OpId op :
       {ops::zeros, ops::ones, ops::zeros_like, ops::ones_like, ops::dyn_zeros, ops::dyn_ones})
    table[op.index] = lowerFill;
  table[ops::expm1.index] = lowerExpm1;
  table[ops::log1p.index] = lowerLog1p;
  table[ops::rsqrt.index] = lowerRsqrt;
  table[ops::nn_relu.index] = lowerRelu;
  table[ops::nn_leaky_relu.index] = lowerLeakyRelu;
  table[ops::clip.index] = lowerClip;
  table[ops::cast.index] = lowerCast;
  table[ops::cast_like.index] = lowerCast;
  table[ops::reinterpret.index] = lowerReinterpret;
  table[ops::greater.index] = lowerGreater;
  table[ops::greater_equal.index] = lowerGreater;
  table[ops::trunc_divide.index] = lowerTruncDivide;
  table[ops::power.index] = lowerPower;
  table[ops::where.index] = lowerWhere;
  table[ops::nn_bias_add.index] = lowerChannelBinary;
  table[ops::nn_prelu.index] = lowerChannelBinary;
  table[ops::full.index] = lowerFull;
  table[ops::full_like.index] = lowerFull;
  table[ops::dyn_full.index] = lowerFull;
  table[ops::broadcast_to.index] = lowerBroadcastTo;
  table[ops::broadcast_to_like.index] = lowerBroadcastTo;
  table[ops::dyn_broadcast_to.index] = lowerBroadcastTo;
  table[ops::trilu.index] = lowerTrilu;
  table[ops::fixed_point_multiply.index] = lowerFixedPoint;
}

} // namespace bycc::loops
