// Changes of scale in 64-bit integer operators, for the rules of quantised
// operators. Equal to lib/Eval/Requantize.cpp bit for bit.
#pragma once

#include "LegalizeRules.h"

namespace bycc {

// An int64 value of at most 2^bits either way.
struct Wide {
  NodeId node;
  int bits;
};

// A scale and a zero point, ready to broadcast along `axis` of a tensor.
struct ScaleOf {
  NodeId scale, zero;
};

enum class Rounding : uint8_t { Upward, ToNearest, ToNearestEven };
// What the call's attribute "rounding" says.
Rounding roundingOf(const Legalizer &legalizer, Rounding otherwise);
// x rounded to an integer of its dtype, zero added; ties to even are those of x
// alone, the others those of the sum.
Expected<NodeId> roundedWithZero(Legalizer &legalizer, NodeId x, NodeId zero, Rounding rounding);
// round(x / scale) + zero in the range of the dtype.
Expected<NodeId> quantized(Legalizer &legalizer, NodeId x, const ScaleOf &to, DType dtype,
                           Rounding rounding);
// scale * (x - zero) as float32.
Expected<NodeId> dequantized(Legalizer &legalizer, NodeId x, const ScaleOf &from);

// An error when a constant scale is not positive and finite.
Expected<ScaleOf> scaleOf(Legalizer &legalizer, NodeId scale, NodeId zero, size_t rank,
                          int64_t axis);
// One value, or a vector along `axis` of a tensor of that rank.
Expected<NodeId> alongAxis(Legalizer &legalizer, NodeId parameter, size_t rank, int64_t axis);

// x - zero as int64.
Expected<Wide> shifted(Legalizer &legalizer, NodeId x, NodeId zero);
// x - zero point, in an integer dtype wide enough; x itself when it is known to be 0.
Expected<NodeId> shiftedTo(Legalizer &legalizer, NodeId x, NodeId zero, DType dtype);

// value * from / to, rounded to an integer of at most 33 bits and a sign: what
// goes beyond int32 keeps going beyond it.
Expected<Wide> rescaled(Legalizer &legalizer, Wide value, NodeId from, NodeId to,
                        Rounding rounding);
// value + zero.
Expected<Wide> withZero(Legalizer &legalizer, Wide value, NodeId zero);
// x brought to another scale and zero point, within int32.
Expected<Wide> atScale(Legalizer &legalizer, NodeId x, const ScaleOf &from, const ScaleOf &to,
                       Rounding rounding = Rounding::Upward);
// Clipped to the dtype's range and cast.
Expected<NodeId> saturated(Legalizer &legalizer, Wide value, DType dtype);

struct Range {
  double low, high;
};
Range rangeOf(DType dtype);

} // namespace bycc
