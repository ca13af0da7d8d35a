// Fixed-point multiplication by a ratio of scales:
//
//   m = from / to as a double, its bits taken apart: m = M * 2^(e - 31),
//   M = the upper 31 bits of the mantissa, rounded, in [2^30, 2^31)
//   round(x * m) = (x * M + 2^(t-1)) >> t        with t = 31 - e
//
// All of it is operators, so scales may be values of run time; constants are
// evaluated on the way and leave the last line. For |x| < 2^32 the product has 63
// bits, but the sum with 2^(t-1) or a shift by t > 63 may not fit; then
//
//   round(x * m) = (((x * M) >> (t-1)) + 1) >> 1
//
// For e > 1 x is cut off first where the result is beyond int32 anyway. To round
// ties away from zero a negative product is made less by 1 before. Products of 64
// bits are two words of 31 bits and the rest.

#include "LegalizeScale.h"

#include <cmath>

namespace bycc {
namespace {

struct Factor {
  NodeId multiplier, exponent; // int64, broadcastable
};

class Scaler {
public:
  Scaler(Legalizer &legalizer, bool toNearest) : l_(legalizer), toNearest_(toNearest) {}

  Expected<Factor> factorOf(NodeId from, NodeId to) {
    NodeId a = BYCC_TRY(l_.cast(from, DType::Float64)), b = BYCC_TRY(l_.cast(to, DType::Float64));
    NodeId m = BYCC_TRY(l_.make(ops::divide, {a, b}));
    NodeId bits = BYCC_TRY(l_.make(ops::reinterpret, {m}, {{"dtype", AttrValue("int64")}}));
    NodeId e = BYCC_TRY(subtract(BYCC_TRY(shiftRight(bits, 52)), 1022));
    NodeId mantissa =
        BYCC_TRY(l_.make(ops::bitwise_and, {bits, l_.integer((int64_t{1} << 52) - 1)}));
    mantissa = BYCC_TRY(add(mantissa, (int64_t{1} << 52) + (int64_t{1} << 21)));
    NodeId multiplier = BYCC_TRY(shiftRight(mantissa, 22));
    // Rounded up to 2^31: half of it, and the next exponent.
    NodeId carry = BYCC_TRY(shiftRight(multiplier, 31));
    multiplier = BYCC_TRY(l_.make(ops::right_shift, {multiplier, carry}));
    return Factor{multiplier, BYCC_TRY(l_.make(ops::add, {e, carry}))};
  }

  Expected<Wide> multiply(Wide x, const Factor &factor) {
    if (l_.isAll(factor.multiplier, 1 << 30) && l_.isAll(factor.exponent, 1) && x.bits <= 33)
      return x;
    if (x.bits > 32)
      return multiplyLong(x, factor);
    auto fits = [](double e) { return e <= 1 && e >= -31; };
    if (l_.allOf(factor.exponent, fits) && x.bits <= 31)
      return multiplyShort(x, factor);
    return multiplyAny(x, factor);
  }

private:
  Expected<NodeId> add(NodeId a, int64_t b) { return l_.make(ops::add, {a, l_.integer(b)}); }
  Expected<NodeId> subtract(NodeId a, int64_t b) {
    return l_.make(ops::subtract, {a, l_.integer(b)});
  }
  Expected<NodeId> shiftRight(NodeId a, int64_t b) {
    return l_.make(ops::right_shift, {a, l_.integer(b)});
  }
  // a - b and at least 0.
  Expected<NodeId> excess(NodeId a, int64_t b) {
    return l_.make(ops::maximum, {BYCC_TRY(subtract(a, b)), l_.integer(0)});
  }
  Expected<NodeId> positive(int64_t a, NodeId b) {
    NodeId difference = BYCC_TRY(l_.make(ops::subtract, {l_.integer(a), b}));
    return l_.make(ops::maximum, {difference, l_.integer(0)});
  }
  // -1 for negative values, else 0.
  Expected<NodeId> signOf(NodeId a) { return shiftRight(a, 63); }
  Expected<NodeId> within(NodeId a, NodeId limit) {
    NodeId low = BYCC_TRY(l_.make(ops::negative, {limit}));
    return l_.make(ops::minimum, {BYCC_TRY(l_.make(ops::maximum, {a, low})), limit});
  }
  // Beyond int32 for sure, and not much more.
  static constexpr int resultBits = 35;

  // 0 < t < 63 and the sum fits.
  Expected<Wide> multiplyShort(Wide x, const Factor &factor) {
    NodeId product = BYCC_TRY(l_.make(ops::multiply, {x.node, factor.multiplier}));
    NodeId t = BYCC_TRY(l_.make(ops::subtract, {l_.integer(31), factor.exponent}));
    NodeId half = BYCC_TRY(l_.make(ops::left_shift, {l_.integer(1), BYCC_TRY(subtract(t, 1))}));
    NodeId sum = BYCC_TRY(l_.make(ops::add, {product, half}));
    if (toNearest_)
      sum = BYCC_TRY(l_.make(ops::add, {sum, BYCC_TRY(signOf(product))}));
    int grows = l_.allOf(factor.exponent, [](double e) { return e <= 0; }) ? 0 : 1;
    return Wide{BYCC_TRY(l_.make(ops::right_shift, {sum, t})), x.bits + grows};
  }

  Expected<Wide> multiplyAny(Wide x, const Factor &factor) {
    NodeId e = BYCC_TRY(l_.make(ops::minimum, {factor.exponent, l_.integer(33)}));
    NodeId value = x.node;
    if (!l_.allOf(e, [](double each) { return each <= 1; })) {
      // At least 2^32 beyond the cut.
      NodeId room = BYCC_TRY(l_.make(ops::minimum, {BYCC_TRY(positive(33, e)), l_.integer(40)}));
      value = BYCC_TRY(within(value, BYCC_TRY(l_.make(ops::left_shift, {l_.integer(1), room}))));
    }
    NodeId product = BYCC_TRY(l_.make(ops::multiply, {value, factor.multiplier}));
    if (toNearest_)
      product = BYCC_TRY(l_.make(ops::add, {product, BYCC_TRY(signOf(product))}));
    NodeId up = BYCC_TRY(excess(e, 30));
    if (!l_.isAll(up, 0))
      product = BYCC_TRY(l_.make(ops::left_shift, {product, up}));
    NodeId down = BYCC_TRY(l_.make(ops::minimum, {BYCC_TRY(positive(30, e)), l_.integer(63)}));
    return halved(BYCC_TRY(l_.make(ops::right_shift, {product, down})));
  }

  // Twice the result rounded down -> the result.
  Expected<Wide> halved(NodeId twice) {
    return Wide{BYCC_TRY(shiftRight(BYCC_TRY(add(twice, 1)), 1)), resultBits};
  }

  // high * 2^31 + low with 0 <= low < 2^31
  struct Words {
    NodeId high, low;
  };
  Expected<Words> normal(NodeId high, NodeId low) {
    NodeId carry = BYCC_TRY(shiftRight(low, 31));
    NodeId rest = BYCC_TRY(l_.make(ops::bitwise_and, {low, l_.integer((int64_t{1} << 31) - 1)}));
    return Words{BYCC_TRY(l_.make(ops::add, {high, carry})), rest};
  }

  Expected<Wide> multiplyLong(Wide x, const Factor &factor) {
    NodeId e = BYCC_TRY(l_.make(ops::minimum, {factor.exponent, l_.integer(33)}));
    NodeId high = BYCC_TRY(shiftRight(x.node, 31));
    NodeId low = BYCC_TRY(l_.make(ops::bitwise_and, {x.node, l_.integer((int64_t{1} << 31) - 1)}));
    Words p = BYCC_TRY(normal(BYCC_TRY(l_.make(ops::multiply, {high, factor.multiplier})),
                              BYCC_TRY(l_.make(ops::multiply, {low, factor.multiplier}))));
    if (toNearest_)
      p = BYCC_TRY(normal(p.high, BYCC_TRY(l_.make(ops::add, {p.low, BYCC_TRY(signOf(p.high))}))));
    // The product shifted right by s = 30 - e, which is -3 to 94.
    NodeId s = BYCC_TRY(l_.make(ops::subtract, {l_.integer(30), e}));
    s = BYCC_TRY(l_.make(ops::minimum, {s, l_.integer(94)}));
    NodeId room = BYCC_TRY(l_.make(ops::minimum, {BYCC_TRY(add(s, 4)), l_.integer(62)}));
    high = BYCC_TRY(within(p.high, BYCC_TRY(l_.make(ops::left_shift, {l_.integer(1), room}))));
    high = BYCC_TRY(l_.make(ops::left_shift, {high, BYCC_TRY(positive(31, s))}));
    high = BYCC_TRY(l_.make(ops::right_shift, {high, BYCC_TRY(excess(s, 31))}));
    low = BYCC_TRY(l_.make(ops::left_shift, {p.low, BYCC_TRY(positive(0, s))}));
    NodeId down = BYCC_TRY(l_.make(ops::minimum, {BYCC_TRY(excess(s, 0)), l_.integer(31)}));
    low = BYCC_TRY(l_.make(ops::right_shift, {low, down}));
    NodeId twice = BYCC_TRY(l_.make(ops::add, {high, low}));
    NodeId limit = l_.integer(int64_t{1} << 34);
    return halved(BYCC_TRY(within(twice, limit)));
  }

  Legalizer &l_;
  bool toNearest_;
};

int bitsOf(DType dtype) {
  int bits = static_cast<int>(sizeInBytes(dtype)) * 8;
  return isSignedInt(dtype) ? bits - 1 : bits;
}

// |value| < 2^bits for a constant, else as the dtype has it.
int bitsOf(const Legalizer &l, NodeId node) {
  int bits = bitsOf(l.dtype(node));
  for (int tried : {0, 8, 16})
    if (tried < bits &&
        l.allOf(node, [&](double v) { return std::fabs(v) < std::ldexp(1, tried); }))
      return tried;
  return bits;
}

} // namespace

Range rangeOf(DType dtype) {
  double size = std::ldexp(1, static_cast<int>(sizeInBytes(dtype)) * 8);
  return isSignedInt(dtype) ? Range{-size / 2, size / 2 - 1} : Range{0, size - 1};
}

Rounding roundingOf(const Legalizer &l, Rounding otherwise) {
  std::string_view text = attrs::text(l.module, l.call(), "rounding");
  if (text == "None")
    return otherwise;
  if (text == "UPWARD")
    return Rounding::Upward;
  return text == "TONEAREST" ? Rounding::ToNearest : Rounding::ToNearestEven;
}

// The clip keeps a product from being contracted with the sum, so that each is
// rounded by itself; it cuts off only what int32 does not hold.
Expected<NodeId> roundedWithZero(Legalizer &l, NodeId x, NodeId zero, Rounding rounding) {
  DType real = l.dtype(x);
  NodeId offset = BYCC_TRY(l.cast(zero, real));
  bool isZero = l.isAll(zero, 0);
  if (rounding == Rounding::ToNearestEven) {
    x = BYCC_TRY(l.make(ops::rint, {x}));
    return isZero ? Expected<NodeId>(x) : l.make(ops::add, {x, offset});
  }
  constexpr double limit = 1099511627776.0; // 2^40
  if (!isZero) {
    x = BYCC_TRY(l.clip(x, -limit, limit));
    x = BYCC_TRY(l.make(ops::add, {x, offset}));
  }
  if (rounding == Rounding::ToNearest)
    return l.make(ops::round, {x});
  if (isZero)
    x = BYCC_TRY(l.clip(x, -limit, limit));
  return l.make(ops::floor, {BYCC_TRY(l.make(ops::add, {x, l.real(0.5, real)}))});
}

// Here the zero point is added to what was rounded, whatever the rounding.
Expected<NodeId> quantized(Legalizer &l, NodeId x, const ScaleOf &to, DType dtype,
                           Rounding rounding) {
  NodeId none = l.integer(0, DType::Int32);
  NodeId y = x;
  if (!l.isAll(to.scale, 1))
    y = BYCC_TRY(l.make(ops::divide, {x, to.scale}));
  y = BYCC_TRY(roundedWithZero(l, y, none, rounding));
  if (!l.isAll(to.zero, 0))
    y = BYCC_TRY(l.make(ops::add, {y, BYCC_TRY(l.cast(to.zero, DType::Float32))}));
  Range range = rangeOf(dtype);
  if (dtype != DType::Int32) // whose bounds float32 does not have; the cast saturates
    y = BYCC_TRY(l.clip(y, range.low, range.high));
  return l.cast(y, dtype);
}

Expected<NodeId> dequantized(Legalizer &l, NodeId x, const ScaleOf &from) {
  NodeId value = BYCC_TRY(shiftedTo(l, x, from.zero, DType::Int32));
  return l.make(ops::multiply, {BYCC_TRY(l.cast(value, DType::Float32)), from.scale});
}

Expected<NodeId> alongAxis(Legalizer &l, NodeId parameter, size_t rank, int64_t axis) {
  if (l.rank(parameter) == 0)
    return parameter;
  if (l.shape(parameter)[0] == Dim(1))
    return l.make(ops::reshape, {parameter}, {{"newshape", AttrValue(AttrValue::List())}});
  int64_t position = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  int64_t after = static_cast<int64_t>(rank) - 1 - position;
  if (after == 0)
    return parameter;
  return l.make(ops::expand_dims, {parameter},
                {{"axis", AttrValue(1)}, {"num_newaxis", AttrValue(after)}});
}

Expected<ScaleOf> scaleOf(Legalizer &l, NodeId scale, NodeId zero, size_t rank, int64_t axis) {
  auto isUsable = [](double each) { return each > 0 && std::isfinite(each); };
  if (l.module.isConstant(scale) && !l.allOf(scale, isUsable))
    return l.error() << "a scale is positive and finite, and one here is not";
  return ScaleOf{BYCC_TRY(alongAxis(l, scale, rank, axis)),
                 BYCC_TRY(alongAxis(l, zero, rank, axis))};
}

Expected<Wide> shifted(Legalizer &l, NodeId x, NodeId zero) {
  int bits = std::max(bitsOf(l.dtype(x)), bitsOf(l, zero)) + 1;
  NodeId wide = BYCC_TRY(l.cast(x, DType::Int64));
  if (l.isAll(zero, 0))
    return Wide{wide, bitsOf(l.dtype(x))};
  NodeId offset = BYCC_TRY(l.cast(zero, DType::Int64));
  if (l.dtype(x) == DType::Int64) { // stays within 63 bits
    double limit = std::ldexp(1, 62);
    wide = BYCC_TRY(l.clip(wide, -limit, limit));
  }
  return Wide{BYCC_TRY(l.make(ops::subtract, {wide, offset})), bits};
}

Expected<NodeId> shiftedTo(Legalizer &l, NodeId x, NodeId zero, DType dtype) {
  NodeId wide = BYCC_TRY(l.cast(x, dtype));
  if (l.isAll(zero, 0))
    return wide;
  return l.make(ops::subtract, {wide, BYCC_TRY(l.cast(zero, dtype))});
}

Expected<Wide> rescaled(Legalizer &l, Wide value, NodeId from, NodeId to, Rounding rounding) {
  Scaler scaler(l, rounding == Rounding::ToNearest);
  return scaler.multiply(value, BYCC_TRY(scaler.factorOf(from, to)));
}

Expected<Wide> withZero(Legalizer &l, Wide value, NodeId zero) {
  if (l.isAll(zero, 0))
    return value;
  NodeId sum = BYCC_TRY(l.make(ops::add, {value.node, BYCC_TRY(l.cast(zero, DType::Int64))}));
  return Wide{sum, std::max(value.bits, bitsOf(l, zero)) + 1};
}

Expected<Wide> atScale(Legalizer &l, NodeId x, const ScaleOf &from, const ScaleOf &to,
                       Rounding rounding) {
  if (l.isSameConstant(from.scale, to.scale) && l.isSameConstant(from.zero, to.zero))
    return Wide{BYCC_TRY(l.cast(x, DType::Int64)), bitsOf(l.dtype(x))};
  Wide value = BYCC_TRY(shifted(l, x, from.zero));
  value =
      BYCC_TRY(withZero(l, BYCC_TRY(rescaled(l, value, from.scale, to.scale, rounding)), to.zero));
  if (value.bits <= 31)
    return value;
  Range range = rangeOf(DType::Int32);
  return Wide{BYCC_TRY(l.clip(value.node, range.low, range.high)), 32};
}

Expected<NodeId> saturated(Legalizer &l, Wide value, DType dtype) {
  Range range = rangeOf(dtype);
  return l.cast(BYCC_TRY(l.clip(value.node, range.low, range.high)), dtype);
}

} // namespace bycc
