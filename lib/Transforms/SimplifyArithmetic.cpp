// Rules about arithmetic and casts. Only exact ones: `x + 0.0` stays (it turns -0
// into 0), `x / 3` stays, `x / 4` becomes `x * 0.25`, constants are regrouped
// for integers only.

#include "ConstantView.h"
#include "SimplifyRules.h"

#include <cmath>
#include <limits>
#include <utility>

namespace bycc {
namespace {

class Arithmetic {
public:
  Arithmetic(Module &module, NodeId call, Builder &builder)
      : module_(module), call_(call), builder_(builder), op_(module.node(call).op) {}

  Expected<NodeId> run() {
    if (!module_.types.isTensor(module_.type(call_)))
      return call_;
    dtype_ = module_.types.dtype(module_.type(call_));
    switch (module_.node(call_).operandCount) {
    case 1:
      return unary();
    case 2:
      return binary();
    case 3:
      if (op_ == ops::where && operand(1) == operand(2) && hasType(operand(1)))
        return operand(1);
      return call_;
    default:
      return call_;
    }
  }

private:
  NodeId operand(size_t index) const { return module_.operands(call_)[index]; }
  NodeId operandOf(NodeId node) const { return module_.operands(node)[0]; }
  bool hasType(NodeId node) const { return module_.type(node) == module_.type(call_); }

  Expected<NodeId> unary() {
    NodeId x = operand(0);
    bool isTwice = module_.isOp(x, op_);
    if (isTwice && opInfo(op_).has(OpTrait::Involution))
      return operandOf(x);
    if (isTwice && opInfo(op_).has(OpTrait::Idempotent))
      return x;
    if (op_ == ops::nn_relu && module_.isOp(x, ops::clip) && bound(x, "a_min") >= 0)
      return x;
    if (op_ == ops::clip)
      return clip();
    return call_;
  }

  double bound(NodeId clip, std::string_view key) const {
    const AttrValue *value = module_.attr(clip, key);
    if (value && value->isFloat())
      return value->asFloat();
    return value && value->isInt() ? static_cast<double>(value->asInt())
                                   : std::numeric_limits<double>::quiet_NaN();
  }

  // clip of clip is a clip to the inner bounds clipped by the outer ones.
  Expected<NodeId> clip() {
    double low = bound(call_, "a_min"), high = bound(call_, "a_max");
    NodeId x = operand(0);
    if (isFloat(dtype_) && std::isinf(low) && low < 0 && std::isinf(high) && high > 0)
      return x;
    if (!module_.isOp(x, ops::clip) || !(low <= high))
      return call_;
    double innerLow = bound(x, "a_min"), innerHigh = bound(x, "a_max");
    if (!(innerLow <= innerHigh))
      return call_;
    auto clamp = [&](double value) { return std::min(std::max(value, low), high); };
    return builder_.call(
        ops::clip, {operandOf(x)},
        {{"a_min", AttrValue(clamp(innerLow))}, {"a_max", AttrValue(clamp(innerHigh))}});
  }

  Expected<NodeId> binary() {
    NodeId a = operand(0), b = operand(1);
    if ((op_ == ops::maximum || op_ == ops::minimum) && a == b)
      return a;
    if (auto value = uniformValue(module_, b)) {
      if (isRightIdentity(*value) && hasType(a))
        return a;
      if (op_ == ops::divide && isFloat(dtype_))
        if (auto factor = exactReciprocal(*value);
            factor && module_.types.shape(module_.type(b)).empty())
          return builder_.call(ops::multiply, {a, module_.addScalar(dtype_, *factor)});
      if (op_ == ops::power && *value == 2 && hasType(a) && isFloat(dtype_))
        return builder_.call(ops::multiply, {a, a});
    }
    if (auto value = uniformValue(module_, a)) {
      if (opInfo(op_).has(OpTrait::Commutative) && isRightIdentity(*value) && hasType(b))
        return b;
      if (op_ == ops::divide && *value == 1 && module_.isOp(b, ops::sqrt) && hasType(b))
        return builder_.call(ops::rsqrt, {operandOf(b)});
    }
    return moveSign(a, b);
  }

  // x op value is x, bit for bit.
  bool isRightIdentity(double value) const {
    if (op_ == ops::multiply || op_ == ops::divide)
      return value == 1;
    if (op_ == ops::power)
      return value == 1 && isFloat(dtype_);
    if (op_ == ops::subtract)
      return value == 0 && !(isFloat(dtype_) && std::signbit(value));
    if (op_ == ops::add)
      return value == 0 && (!isFloat(dtype_) || std::signbit(value));
    return false;
  }

  // 1 / value when that is exact and neither number is subnormal in any float type.
  static std::optional<double> exactReciprocal(double value) {
    int exponent = 0;
    if (!std::isfinite(value) || std::abs(std::frexp(value, &exponent)) != 0.5)
      return std::nullopt;
    if (exponent < -12 || exponent > 13)
      return std::nullopt;
    return 1 / value;
  }

  // a + -b, a - -b; integers: (x + c1) + c2 as x + (c1 + c2).
  Expected<NodeId> moveSign(NodeId a, NodeId b) {
    if (op_ == ops::add && module_.isOp(b, ops::negative))
      return builder_.call(ops::subtract, {a, operandOf(b)});
    if (op_ == ops::subtract && module_.isOp(b, ops::negative))
      return builder_.call(ops::add, {a, operandOf(b)});
    if ((op_ == ops::add || op_ == ops::multiply) && isInt(dtype_) && module_.isConstant(b) &&
        module_.isOp(a, op_) && module_.isConstant(module_.operands(a)[1])) {
      NodeId x = module_.operands(a)[0], inner = module_.operands(a)[1];
      NodeId constants = BYCC_TRY(builder_.call(op_, {inner, b}));
      return builder_.call(op_, {x, constants});
    }
    return call_;
  }

  Module &module_;
  NodeId call_;
  Builder &builder_;
  OpId op_;
  DType dtype_ = DType::Float32;
};

// Every value of `from` is a value of `to`.
bool isLossless(DType from, DType to) {
  if (from == to || from == DType::Bool)
    return true;
  int64_t fromBits = sizeInBytes(from) * 8, toBits = sizeInBytes(to) * 8;
  auto mantissa = [](DType type) {
    switch (type) {
    case DType::Float16:
      return 11;
    case DType::BFloat16:
      return 8;
    case DType::Float32:
      return 24;
    default:
      return 53;
    }
  };
  if (isFloat(from))
    return isFloat(to) && (to == DType::Float64 || (to == DType::Float32 && fromBits == 16));
  if (isFloat(to))
    return fromBits - (isSignedInt(from) ? 1 : 0) <= mantissa(to) && to != DType::Float16;
  if (isUnsignedInt(from))
    return toBits > fromBits || (toBits == fromBits && isUnsignedInt(to));
  return isSignedInt(to) && toBits >= fromBits;
}

} // namespace

Expected<NodeId> simplifyArithmetic(Module &module, NodeId call, Builder &builder) {
  return Arithmetic(module, call, builder).run();
}

Expected<NodeId> simplifyCast(Module &module, NodeId call, Builder &builder) {
  OpId op = module.node(call).op;
  if (op != ops::cast && op != ops::cast_like)
    return call;
  NodeId x = module.operands(call)[0];
  DType to = module.types.dtype(module.type(call));
  if (module.types.dtype(module.type(x)) == to)
    return x;
  AttrDict attrs{{"dtype", AttrValue(name(to))}};
  if (module.isOp(x, ops::cast)) {
    NodeId source = module.operands(x)[0];
    DType from = module.types.dtype(module.type(source));
    if (isLossless(from, module.types.dtype(module.type(x))))
      return from == to ? Expected<NodeId>(source) : builder.call(ops::cast, {source}, attrs);
  }
  return op == ops::cast ? Expected<NodeId>(call) : builder.call(ops::cast, {x}, attrs);
}

} // namespace bycc
