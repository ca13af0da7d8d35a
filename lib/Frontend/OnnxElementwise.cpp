// Elementwise operators. Most are one Relay operator under another name; the rest
// are composed so that the result is exactly what ONNX defines.
#include "OnnxConverters.h"

#include "bycc/Support/Text.h"

#include <cmath>
#include <limits>

namespace bycc::onnx {

Expected<> convertUnary(OpContext &op) {
  op.setOutput(0, BYCC_TRY(op.call(op.relayName(), {op.input(0)})));
  return {};
}

Expected<NodeId> rightOperand(OpContext &op) {
  NodeId left = op.input(0), right = op.input(1);
  if (op.opset() >= 7)
    return right;
  int64_t leftRank = op.rank(left), rank = op.rank(right);
  bool isBroadcast = BYCC_TRY(op.intAttr("broadcast", 0)) != 0;
  int64_t axis = BYCC_TRY(op.intAttr("axis", leftRank - rank));
  if (!isBroadcast && op.shape(left) != op.shape(right))
    return op.error() << "operands of type " << op.types().str(op.module().type(left)) << " and "
                      << op.types().str(op.module().type(right)) << " without broadcast";
  if (!isBroadcast || rank == 0 || rank > leftRank)
    return right;
  axis = BYCC_TRY(op.normalAxis(axis, leftRank));
  if (axis + rank > leftRank)
    return op.error() << "axis " << axis << " for an operand of rank " << rank
                      << ", the other has rank " << leftRank;
  if (axis + rank == leftRank)
    return right;
  return op.call("expand_dims", {right}, {{"axis", rank}, {"num_newaxis", leftRank - rank - axis}});
}

Expected<> convertBinary(OpContext &op) {
  NodeId right = BYCC_TRY(rightOperand(op));
  op.setOutput(0, BYCC_TRY(op.call(op.relayName(), {op.input(0), right})));
  return {};
}

Expected<NodeId> sumOf(OpContext &op, NodeId left, NodeId right) {
  NodeId operands[2] = {left, right};
  for (int side = 0; side < 2; ++side) {
    NodeId rows = op.importer().rowsProductOf(operands[side]), bias = operands[1 - side];
    if (!rows || !op.module().isConstant(bias) || op.rank(bias) != 1 ||
        op.shape(bias)[0] != op.shape(rows)[1])
      continue;
    NodeId sum = BYCC_TRY(op.call("nn.bias_add", {rows, bias}));
    return op.reshape(sum, BYCC_TRY(op.staticShape(operands[side])));
  }
  return op.call("add", {left, right});
}

Expected<> convertAdd(OpContext &op) {
  op.setOutput(0, BYCC_TRY(sumOf(op, op.input(0), BYCC_TRY(rightOperand(op)))));
  return {};
}

Expected<> convertVariadic(OpContext &op) {
  NodeId result = op.input(0);
  for (size_t i = 1; i < op.numInputs(); ++i)
    result = BYCC_TRY(op.call(op.relayName(), {result, op.input(i)}));
  op.setOutput(0, result);
  return {};
}

Expected<> convertMean(OpContext &op) {
  BYCC_TRY(convertVariadic(op));
  NodeId sum = op.outputs()[0].node;
  double count = static_cast<double>(op.numInputs());
  op.setOutput(0, BYCC_TRY(op.call("divide", {sum, op.scalar(op.dtype(sum), count)})));
  return {};
}

// The exponent may have another type than the base, which decides the result's.
Expected<> convertPow(OpContext &op) {
  NodeId base = op.input(0), exponent = BYCC_TRY(rightOperand(op));
  DType dtype = op.dtype(base), wide = dtype;
  if (isInt(dtype) && isFloat(op.dtype(exponent)))
    wide = DType::Float64;
  base = BYCC_TRY(op.cast(base, wide));
  exponent = BYCC_TRY(op.cast(exponent, wide));
  op.setOutput(0, BYCC_TRY(op.cast(BYCC_TRY(op.call("power", {base, exponent})), dtype)));
  return {};
}

// fmod = 0: the sign of the divisor (of floats since opset 28); 1: that of the
// dividend.
Expected<> convertMod(OpContext &op) {
  int64_t fmod = BYCC_TRY(op.intAttr("fmod", 0));
  NodeId a = op.input(0);
  if (fmod == 0 && isFloat(op.dtype(a)) && op.opset() < 28)
    return op.error() << "fmod must be 1 for floating-point inputs";
  op.setOutput(0, BYCC_TRY(op.call(fmod ? "trunc_mod" : "floor_mod", {a, op.input(1)})));
  return {};
}

Expected<> convertBitShift(OpContext &op) {
  std::string direction = BYCC_TRY(op.textAttr("direction", ""));
  if (direction != "LEFT" && direction != "RIGHT")
    return op.error() << "direction must be LEFT or RIGHT";
  NodeId x = op.input(0), by = op.input(1);
  DType dtype = op.dtype(x);
  if (!isInt(dtype) || (op.opset() < 28 && !isUnsignedInt(dtype)))
    return op.error() << "shifts " << name(dtype) << ", wanted unsigned integers";
  bool isLeft = direction == "LEFT";
  NodeId result = BYCC_TRY(op.call(isLeft ? "left_shift" : "right_shift", {x, by}));
  // By the number of bits or more (or less than none): nothing but the sign is left.
  double bits = static_cast<double>(sizeInBytes(dtype) * 8);
  NodeId all = BYCC_TRY(op.call("greater_equal", {by, op.scalar(dtype, bits)}));
  NodeId rest = op.scalar(dtype, 0);
  if (!isUnsignedInt(dtype)) {
    NodeId below = BYCC_TRY(op.call("less", {by, rest}));
    all = BYCC_TRY(op.call("logical_or", {all, below}));
    if (!isLeft)
      rest = BYCC_TRY(op.call("right_shift", {x, op.scalar(dtype, bits - 1)}));
  }
  op.setOutput(0, BYCC_TRY(op.call("where", {all, rest, result})));
  return {};
}

Expected<> convertReciprocal(OpContext &op) {
  NodeId x = op.input(0);
  op.setOutput(0, BYCC_TRY(op.call("divide", {op.scalar(op.dtype(x), 1), x})));
  return {};
}

Expected<> convertIsInf(OpContext &op) {
  bool positive = BYCC_TRY(op.intAttr("detect_positive", 1)) != 0;
  bool negative = BYCC_TRY(op.intAttr("detect_negative", 1)) != 0;
  NodeId x = op.input(0);
  NodeId result = BYCC_TRY(op.call("isinf", {x}));
  if (positive != negative) {
    NodeId sign = BYCC_TRY(op.call(positive ? "greater" : "less", {x, op.scalar(op.dtype(x), 0)}));
    result = BYCC_TRY(op.call("logical_and", {result, sign}));
  } else if (!positive) {
    NodeId never = BYCC_TRY(op.call("logical_not", {result}));
    result = BYCC_TRY(op.call("logical_and", {result, never}));
  }
  op.setOutput(0, result);
  return {};
}

namespace {

// A bound of Clip: an attribute of old opsets, an input of new ones.
struct Bound {
  bool isGiven = false;
  NodeId node;                 // when an input
  std::optional<double> value; // when known
};

Expected<Bound> clipBound(OpContext &op, size_t index, const char *name, double none) {
  if (op.opset() >= 11) {
    if (!op.has(index))
      return Bound{};
    NodeId node = op.input(index);
    auto isOne = [](Dim dim) { return !dim.isConst() || dim == Dim(1); };
    if (std::span<const Dim> shape = op.module().types.shape(op.module().type(node));
        !std::all_of(shape.begin(), shape.end(), isOne))
      return op.error() << name << " is one number, its type is "
                        << op.module().types.str(op.module().type(node));
    Bound bound{true, node, std::nullopt};
    std::optional<std::vector<double>> numbers = op.numbersOf(node);
    if (numbers && numbers->size() == 1)
      bound.value = (*numbers)[0];
    return bound;
  }
  double value = BYCC_TRY(op.floatAttr(name, none));
  if (value == none)
    return Bound{};
  return Bound{true, op.scalar(op.dtype(op.input(0)), value), value};
}

} // namespace

// Both bounds known: clip. Otherwise one maximum and minimum each, in the order
// that makes the upper bound win, as ONNX says.
Expected<> convertClip(OpContext &op) {
  constexpr double floatMax = std::numeric_limits<float>::max();
  NodeId x = op.input(0);
  Bound low = BYCC_TRY(clipBound(op, 1, "min", -floatMax));
  Bound high = BYCC_TRY(clipBound(op, 2, "max", floatMax));
  bool isExact = op.dtype(x) != DType::Int64 && op.dtype(x) != DType::UInt64;
  if (low.value && high.value && isExact && std::isfinite(*low.value) &&
      std::isfinite(*high.value)) {
    op.setOutput(0,
                 BYCC_TRY(op.call("clip", {x}, {{"a_min", *low.value}, {"a_max", *high.value}})));
    return {};
  }
  if (low.isGiven)
    x = BYCC_TRY(op.call("maximum", {x, low.node}));
  if (high.isGiven)
    x = BYCC_TRY(op.call("minimum", {x, high.node}));
  op.setOutput(0, x);
  return {};
}

namespace {

// Before opset 6 the type is written as its name in TensorProto.DataType.
Expected<int64_t> castTarget(OpContext &op) {
  static constexpr std::string_view names[] = {
      "UNDEFINED", "FLOAT", "UINT8",   "INT8",   "UINT16", "INT16",  "INT32",     "INT64",
      "STRING",    "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128"};
  if (op.opset() >= 6)
    return op.requiredInt("to");
  std::string to = BYCC_TRY(op.textAttr("to", ""));
  for (size_t i = 1; i < std::size(names); ++i)
    if (names[i] == to)
      return static_cast<int64_t>(i);
  return op.error() << "element type '" << escaped(to) << "' is not one of ONNX";
}

} // namespace

Expected<> convertCast(OpContext &op) {
  int64_t to = BYCC_TRY(castTarget(op));
  op.ignoreAttr("saturate"); // float8 only
  op.ignoreAttr("round_mode");
  if (to != static_cast<int32_t>(to))
    return op.error() << "element type " << to << " is not one of ONNX";
  DType dtype = BYCC_TRY(dtypeOf(static_cast<int32_t>(to), op.module().source(op.sourceId())));
  op.setOutput(0, BYCC_TRY(op.cast(op.input(0), dtype)));
  return {};
}

// The same bits as another type of the same size.
Expected<> convertBitCast(OpContext &op) {
  NodeId x = op.input(0);
  int64_t to = BYCC_TRY(op.requiredInt("to"));
  if (to != static_cast<int32_t>(to))
    return op.error() << "element type " << to << " is not one of ONNX";
  DType dtype = BYCC_TRY(dtypeOf(static_cast<int32_t>(to), op.module().source(op.sourceId())));
  if (sizeInBytes(dtype) != sizeInBytes(op.dtype(x)))
    return op.error() << "from " << name(op.dtype(x)) << " to " << name(dtype)
                      << ", of another size";
  // A bool is a byte that holds 0 or 1.
  if (op.dtype(x) == DType::Bool)
    x = BYCC_TRY(op.cast(x, DType::UInt8));
  bool isBool = dtype == DType::Bool;
  if (dtype != op.dtype(x))
    x = BYCC_TRY(op.call("reinterpret", {x}, {{"dtype", name(isBool ? DType::UInt8 : dtype)}}));
  op.setOutput(0, BYCC_TRY(op.cast(x, dtype)));
  return {};
}

Expected<> convertCastLike(OpContext &op) {
  op.ignoreAttr("saturate");
  op.ignoreAttr("round_mode");
  op.setOutput(0, BYCC_TRY(op.cast(op.input(0), op.dtype(op.input(1)))));
  return {};
}

Expected<> convertWhere(OpContext &op) {
  op.setOutput(0, BYCC_TRY(op.call("where", {op.input(0), op.input(1), op.input(2)})));
  return {};
}

} // namespace bycc::onnx
