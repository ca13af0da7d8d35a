// Type rules of the quantised operators: those of the plain operators, and checks
// on dtypes, scales and zero points. A scale or zero point is one value (rank 0,
// or one element) or, where the operator allows it, one per element of an axis.

#include "Shape.h"

#include "bycc/IR/Module.h"
#include "bycc/Support/Element.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace bycc::shape {
namespace {

using DTypes = std::initializer_list<DType>;

constexpr DType i8 = DType::Int8, u8 = DType::UInt8, i16 = DType::Int16, u16 = DType::UInt16,
                i32 = DType::Int32, i64 = DType::Int64;

std::string inputName(InferContext &context, size_t index) {
  return opInfo(context.module().node(context.call()).op).inputs[index];
}

Expected<> checkAmong(InferContext &context, DType dtype, DTypes wanted, std::string_view what) {
  if (std::ranges::find(wanted, dtype) != wanted.end())
    return {};
  std::string list;
  for (DType each : wanted)
    list += (list.empty() ? "" : ", ") + std::string(name(each));
  return context.error() << what << " is one of " << list << ", got " << name(dtype);
}

bool isOneValue(const TensorInput &input) {
  return input.rank() == 0 || (input.rank() == 1 && input.shape[0] == Dim(1));
}

// What scales may run along: nothing, or an axis of that extent.
struct Along {
  std::optional<Dim> extent;
  std::string what; // "axis 1 of x"
};

Expected<> checkParameter(InferContext &context, const TensorInput &input, const std::string &what,
                          DType dtype, const Along &along) {
  BYCC_TRY(checkDType(context, input.dtype, dtype, what));
  if (isOneValue(input))
    return {};
  TypeTable &types = context.module().types;
  if (!along.extent)
    return context.error() << what << " is one value, got " << types.str(input.type);
  if (input.rank() != 1)
    return context.error() << what << " is one value or a vector, got " << types.str(input.type);
  if (!unify(input.shape[0], *along.extent))
    return context.error() << what << " has " << types.str(input.shape[0]) << " values, "
                           << along.what << " has " << types.str(*along.extent);
  return {};
}

// What of a constant is not allowed; nothing is known of other nodes.
template <typename Test>
std::optional<double> findValue(Module &module, NodeId node, const Test &isWrong) {
  if (!module.isConstant(node))
    return std::nullopt;
  const Constant &constant = module.constant(node);
  DType dtype = module.types.dtype(constant.type);
  int64_t count = module.types.numElements(constant.type).value_or(0);
  for (int64_t i = 0; i < count; ++i)
    if (double value = elementAsDouble(dtype, constant.data(), i); isWrong(value))
      return value;
  return std::nullopt;
}

Expected<> checkScale(InferContext &context, size_t index, const Along &along = {}) {
  TensorInput input = BYCC_TRY(tensorInput(context, index));
  BYCC_TRY(checkParameter(context, input, inputName(context, index), DType::Float32, along));
  auto isWrong = [](double scale) { return !(scale > 0 && std::isfinite(scale)); };
  if (auto wrong = findValue(context.module(), context.inputNode(index), isWrong))
    return context.error() << inputName(context, index) << " is " << formatDouble(*wrong)
                           << ", a scale is positive and finite";
  return {};
}

// A zero point is a value of the tensor's dtype.
Expected<> checkRange(InferContext &context, NodeId zero, DType dtype, const std::string &what) {
  if (sizeInBytes(dtype) >= sizeInBytes(i32))
    return {};
  int64_t count = int64_t{1} << 8 * sizeInBytes(dtype);
  int64_t low = isSignedInt(dtype) ? -count / 2 : 0, high = low + count - 1;
  auto isOutside = [&](double value) {
    return value < static_cast<double>(low) || value > static_cast<double>(high);
  };
  if (auto wrong = findValue(context.module(), zero, isOutside))
    return context.error() << what << " is " << static_cast<int64_t>(*wrong) << ", " << name(dtype)
                           << " holds " << low << " to " << high;
  return {};
}

Expected<> checkZeroPoint(InferContext &context, size_t index, DType dtype,
                          const Along &along = {}) {
  TensorInput input = BYCC_TRY(tensorInput(context, index));
  std::string what = inputName(context, index);
  BYCC_TRY(checkParameter(context, input, what, DType::Int32, along));
  return checkRange(context, context.inputNode(index), dtype, what);
}

// A scale at `index` and its zero point behind it, of a tensor of `dtype`.
Expected<> checkPair(InferContext &context, size_t index, DType dtype, const Along &along = {}) {
  BYCC_TRY(checkScale(context, index, along));
  return checkZeroPoint(context, index + 1, dtype, along);
}

// The axis an attribute names. It must exist only when somebody runs along it.
Expected<Along> alongAxis(InferContext &context, size_t index, std::string_view key,
                          std::initializer_list<size_t> parameters) {
  TensorInput x = BYCC_TRY(tensorInput(context, index));
  bool isUsed = false;
  for (size_t parameter : parameters) {
    TensorInput input = BYCC_TRY(tensorInput(context, parameter));
    isUsed |= !isOneValue(input);
  }
  if (!isUsed)
    return Along{};
  size_t axis = BYCC_TRY(checkAxis(context, context.integer(key), x.rank(), key));
  return Along{x.shape[axis], "axis " + std::to_string(axis) + " of " + inputName(context, index)};
}

Expected<TensorInput> quantizedInput(InferContext &context, size_t index, DTypes wanted) {
  TensorInput x = BYCC_TRY(tensorInput(context, index));
  BYCC_TRY(checkAmong(context, x.dtype, wanted, inputName(context, index)));
  return x;
}

DType outDType(InferContext &context) { return dtypeAttr(context, "out_dtype", DType::Int32); }

Expected<> checkRounding(InferContext &context) {
  return checkOneOf(context, "rounding", {"None", "UPWARD", "TONEAREST", "TONEAREST_EVEN"});
}

// Fixed point has no ties to even.
Expected<> checkCompute(InferContext &context, std::initializer_list<std::string_view> wanted) {
  BYCC_TRY(checkRounding(context));
  BYCC_TRY(checkOneOf(context, "compute_dtype", wanted));
  bool isFixed = !context.text("compute_dtype").starts_with("float");
  if (isFixed && context.text("rounding") == "TONEAREST_EVEN")
    return context.error() << "rounding TONEAREST_EVEN needs a compute_dtype of float32, got "
                           << context.text("compute_dtype");
  return {};
}

// The dtype of the result: that of the first input unless written.
Expected<DType> resultDType(InferContext &context, DType input, DTypes wanted) {
  DType out = dtypeAttr(context, "out_dtype", input);
  BYCC_TRY(checkAmong(context, out, wanted, "out_dtype"));
  return out;
}

// Scale and zero point of one input, then of the result.
Expected<TensorInput> unaryInput(InferContext &context) {
  return quantizedInput(context, 0, {i8, u8, i16, i32});
}

Expected<> checkUnary(InferContext &context, DType in, DType out) {
  BYCC_TRY(checkPair(context, 1, in));
  return checkPair(context, 3, out);
}

// Zero points of both operands at 2 and 3, their scales at 4 and 5; the second
// operand's may run along `along`.
Expected<> checkProduct(InferContext &context, const Along &along) {
  TensorInput a = BYCC_TRY(quantizedInput(context, 0, {i8, u8, i16}));
  TensorInput b = BYCC_TRY(quantizedInput(context, 1, {i8, u8, i16}));
  BYCC_TRY(checkZeroPoint(context, 2, a.dtype));
  BYCC_TRY(checkZeroPoint(context, 3, b.dtype, along));
  BYCC_TRY(checkScale(context, 4));
  return checkScale(context, 5, along);
}

Expected<TypeId> convOf(InferContext &context, Expected<TypeId> (*rule)(InferContext &)) {
  BYCC_TRY(quantizedInput(context, 0, {i8, u8, i16}));
  BYCC_TRY(quantizedInput(context, 1, {i8, u8, i16}));
  BYCC_TRY(checkAmong(context, outDType(context), {i16, i32, i64}, "out_dtype"));
  std::string_view out = context.text("out_layout");
  Layout layout = BYCC_TRY(layoutAttr(context, out.empty() ? "data_layout" : "out_layout", "NCHW"));
  for (std::string_view key : {"data_layout", "kernel_layout", "out_layout"})
    if (auto each = Layout::parse(context.text(key)); each && each->isBlocked())
      return context.error() << key << " is not blocked, got \"" << escaped(context.text(key))
                             << "\"";
  TypeId result = BYCC_TRY(rule(context));
  TypeTable &types = context.module().types;
  TensorInput made{result, types.dtype(result), types.shape(result)};
  Dim channels = BYCC_TRY(logicalExtent(context, made, layout, 'C'));
  BYCC_TRY(checkProduct(context, Along{channels, "the result's channel axis"}));
  return result;
}

} // namespace

Expected<TypeId> qnnQuantize(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkDType(context, x.dtype, DType::Float32, "x"));
  DType out = outDType(context);
  BYCC_TRY(checkAmong(context, out, {i8, u8, i16, u16, i32}, "out_dtype"));
  BYCC_TRY(checkRounding(context));
  Along along = BYCC_TRY(alongAxis(context, 0, "axis", {1, 2}));
  BYCC_TRY(checkPair(context, 1, out, along));
  return tensorType(context, out, x.shape);
}

Expected<TypeId> qnnDequantize(InferContext &context) {
  TensorInput x = BYCC_TRY(quantizedInput(context, 0, {i8, u8, i16, u16, i32}));
  DType out = dtypeAttr(context, "out_dtype", DType::Float32);
  BYCC_TRY(checkAmong(context, out, {DType::Float16, DType::Float32}, "out_dtype"));
  Along along = BYCC_TRY(alongAxis(context, 0, "axis", {1, 2}));
  BYCC_TRY(checkPair(context, 1, x.dtype, along));
  return tensorType(context, out, x.shape);
}

Expected<TypeId> qnnRequantize(InferContext &context) {
  TensorInput x = BYCC_TRY(quantizedInput(context, 0, {i8, u8, i16, i32, i64}));
  DType out = outDType(context);
  BYCC_TRY(checkAmong(context, out, {i8, u8, i16, i32}, "out_dtype"));
  BYCC_TRY(checkCompute(context, {"None", "int64", "float32", "float64"}));
  Along along = BYCC_TRY(alongAxis(context, 0, "axis", {1, 2}));
  BYCC_TRY(checkPair(context, 1, x.dtype, along));
  BYCC_TRY(checkPair(context, 3, out));
  return tensorType(context, out, x.shape);
}

Expected<TypeId> qnnConv(InferContext &context) { return convOf(context, conv); }

Expected<TypeId> qnnConvTranspose(InferContext &context) {
  TypeId result = BYCC_TRY(convOf(context, convTranspose));
  TensorInput zero = BYCC_TRY(tensorInput(context, 3));
  if (!isOneValue(zero) && context.integer("groups") != 1)
    return context.error() << "kernel_zero_point is one value when there are groups, got "
                           << context.module().types.str(zero.type);
  return result;
}

Expected<TypeId> qnnDense(InferContext &context) {
  TensorInput weight = BYCC_TRY(quantizedInput(context, 1, {i8, u8, i16}));
  BYCC_TRY(checkAmong(context, outDType(context), {i32, i64}, "out_dtype"));
  BYCC_TRY(checkRank(context, weight, 2, "weight"));
  BYCC_TRY(checkProduct(context, Along{weight.shape[0], "the unit axis of weight"}));
  return dense(context);
}

// Weights of 8 or 4 bits; those of 4 lie two to a byte along the summed axis. Each has a scale and a
// zero point for all of a block of that axis.
Expected<TypeId> denseWeightOnly(InferContext &context) {
  TypeTable &types = context.module().types;
  TensorInput x = BYCC_TRY(tensorInput(context, 0)), scale = BYCC_TRY(tensorInput(context, 2));
  int64_t bits = context.integer("bits");
  if (bits != 8 && bits != 4)
    return context.error() << "bits is 8 or 4, got " << bits;
  TensorInput weight =
      BYCC_TRY(quantizedInput(context, 1, bits == 4 ? DTypes{u8} : DTypes{i8, u8}));
  TensorInput zero = BYCC_TRY(quantizedInput(context, 3, {DType::Float32, i8, u8, i32}));
  BYCC_TRY(checkDType(context, x.dtype, DType::Float32, "x"));
  BYCC_TRY(checkDType(context, scale.dtype, DType::Float32, "scale"));
  if (x.rank() < 1)
    return context.error() << "x has rank 1 or more, got a scalar";
  BYCC_TRY(checkRank(context, weight, 2, "weight"));
  BYCC_TRY(checkRank(context, scale, 2, "scale"));
  for (Dim dim : {weight.shape[0], weight.shape[1], scale.shape[0], scale.shape[1]})
    if (!dim.isConst() || dim.value() < 1)
      return context.error() << "extents of weight and scale are known and at least 1, got "
                             << types.str(weight.type) << " and " << types.str(scale.type);
  int64_t bytes = weight.shape[1].value(), blocks = scale.shape[1].value();
  if (scale.shape[0] != weight.shape[0] || bytes % blocks != 0)
    return context.error() << "scale has a row for each of weight and blocks that are equal, got "
                           << types.str(scale.type) << " for " << types.str(weight.type);
  if (zero.rank() != 0 && !std::ranges::equal(zero.shape, scale.shape))
    return context.error() << "zero_point is one value or as many as scale, got "
                           << types.str(zero.type);
  Dim depth(bytes * (8 / bits));
  if (!unify(x.shape.back(), depth))
    return context.error() << "weight has " << types.str(depth) << " input features, x has "
                           << types.str(x.shape.back());
  Shape shape(x.shape.begin(), x.shape.end());
  shape.back() = weight.shape[0];
  return tensorType(context, DType::Float32, shape);
}

Expected<TypeId> qnnBatchMatmul(InferContext &context) {
  BYCC_TRY(checkAmong(context, outDType(context), {i32, i64}, "out_dtype"));
  BYCC_TRY(checkProduct(context, {}));
  return batchMatmul(context);
}

Expected<TypeId> qnnBinary(InferContext &context) {
  bool isProduct = context.module().node(context.call()).op == ops::qnn_mul;
  DTypes dtypes = {i8, u8, i16, i32}, factors = {i8, u8, i16};
  TensorInput a = BYCC_TRY(quantizedInput(context, 0, isProduct ? factors : dtypes));
  TensorInput b = BYCC_TRY(quantizedInput(context, 1, isProduct ? factors : dtypes));
  bool isReal = context.text("compute_dtype") == "float32";
  if (a.dtype != b.dtype && !isReal)
    return context.error() << "lhs is " << name(a.dtype) << ", rhs is " << name(b.dtype)
                           << "; they differ with compute_dtype=\"float32\" only";
  BYCC_TRY(checkCompute(context, {"None", "int64", "float32"}));
  DType out = BYCC_TRY(resultDType(context, a.dtype, dtypes));
  Along lhs = BYCC_TRY(alongAxis(context, 0, "lhs_axis", {2, 3}));
  Along rhs = BYCC_TRY(alongAxis(context, 1, "rhs_axis", {4, 5}));
  BYCC_TRY(checkPair(context, 2, a.dtype, lhs));
  BYCC_TRY(checkPair(context, 4, b.dtype, rhs));
  BYCC_TRY(checkPair(context, 6, out));
  TensorInput leftScale = BYCC_TRY(tensorInput(context, 2));
  TensorInput rightScale = BYCC_TRY(tensorInput(context, 4));
  auto fromEnd = [&](std::string_view key, size_t rank) {
    int64_t axis = context.integer(key);
    return axis < 0 ? axis : axis - static_cast<int64_t>(rank);
  };
  int64_t left = fromEnd("lhs_axis", a.rank()), right = fromEnd("rhs_axis", b.rank());
  if (isProduct && !isOneValue(leftScale) && !isOneValue(rightScale) && left != right)
    return context.error() << "scales of both inputs run along one axis, got lhs_axis "
                           << context.integer("lhs_axis") << " and rhs_axis "
                           << context.integer("rhs_axis");
  Shape shape = BYCC_TRY(broadcastShapes(context, a.shape, b.shape));
  return tensorType(context, out, shape);
}

Expected<TypeId> qnnConcatenate(InferContext &context) {
  auto inputs = BYCC_TRY(tupleInput(context, 0));
  for (const TensorInput &input : inputs)
    BYCC_TRY(checkAmong(context, input.dtype, {i8, u8, i16, i32}, "an input"));
  for (size_t index : {size_t{1}, size_t{2}}) {
    auto values = BYCC_TRY(tupleInput(context, index));
    std::string what = inputName(context, index);
    if (values.size() != inputs.size())
      return context.error() << what << " has " << values.size() << " fields, inputs has "
                             << inputs.size();
    for (const TensorInput &value : values)
      BYCC_TRY(checkParameter(context, value, "a field of " + what,
                              index == 1 ? DType::Float32 : DType::Int32, {}));
  }
  NodeId zeros = context.inputNode(2);
  for (size_t i = 0; i < inputs.size() && context.module().node(zeros).kind == NodeKind::Tuple; ++i)
    BYCC_TRY(checkRange(context, context.module().operands(zeros)[i], inputs[i].dtype,
                        inputName(context, 2)));
  BYCC_TRY(checkPair(context, 3, inputs.front().dtype));
  return concatenateOf(context);
}

Expected<TypeId> qnnUnary(InferContext &context) {
  TensorInput x = BYCC_TRY(unaryInput(context));
  BYCC_TRY(checkUnary(context, x.dtype, x.dtype));
  return x.type;
}

// The same, where the result may have another dtype.
Expected<TypeId> qnnFunction(InferContext &context) {
  TensorInput x = BYCC_TRY(unaryInput(context));
  BYCC_TRY(checkRounding(context));
  DType out = BYCC_TRY(resultDType(context, x.dtype, {i8, u8, i16, i32}));
  BYCC_TRY(checkUnary(context, x.dtype, out));
  return tensorType(context, out, x.shape);
}

Expected<TypeId> qnnPool(InferContext &context) {
  TensorInput x = BYCC_TRY(unaryInput(context));
  BYCC_TRY(checkCompute(context, {"None", "int64", "float32"}));
  DType out = BYCC_TRY(resultDType(context, x.dtype, {i8, u8, i16, i32}));
  BYCC_TRY(checkUnary(context, x.dtype, out));
  return tensorType(context, out, context.module().types.shape(BYCC_TRY(pool(context))));
}

Expected<TypeId> qnnSoftmax(InferContext &context) {
  TensorInput x = BYCC_TRY(quantizedInput(context, 0, {i8}));
  BYCC_TRY(checkUnary(context, i8, i8));
  BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  return x.type;
}

Expected<TypeId> qnnSimulated(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkDType(context, x.dtype, DType::Float32, "x"));
  BYCC_TRY(checkZeroPoint(context, 1, i32)); // the code of the dtype, an int32 as well
  Along along = BYCC_TRY(alongAxis(context, 0, "axis", {2, 3}));
  BYCC_TRY(checkPair(context, 2, i32, along)); // of a dtype that is not known here
  return x.type;
}

} // namespace bycc::shape
