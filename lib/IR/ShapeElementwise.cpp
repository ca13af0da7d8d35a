// Type rules of elementwise and broadcasting operators, and of constants.

#include "Shape.h"

#include "bycc/IR/Module.h"
#include "bycc/Support/Messages.h"

namespace bycc::shape {
namespace {

Expected<> checkFloat(InferContext &context, DType dtype) {
  if (!isFloat(dtype))
    return context.error() << "takes floats, got " << name(dtype);
  return {};
}

Expected<> checkNumeric(InferContext &context, DType dtype) {
  if (dtype == DType::Bool)
    return context.error() << "takes numbers, got bool";
  return {};
}

Expected<> checkIntOrBool(InferContext &context, DType dtype) {
  if (isFloat(dtype))
    return context.error() << "takes integers, got " << name(dtype);
  return {};
}

// Both inputs have one dtype; the result has it or `result`.
Expected<TypeId> broadcastTwo(InferContext &context, std::optional<DType> result,
                              Expected<> (*check)(InferContext &, DType)) {
  TensorInput a = BYCC_TRY(tensorInput(context, 0));
  TensorInput b = BYCC_TRY(tensorInput(context, 1));
  if (a.dtype != b.dtype)
    return context.error() << "lhs is " << name(a.dtype) << ", rhs is " << name(b.dtype);
  if (check)
    BYCC_TRY(check(context, a.dtype));
  if (a.type == b.type && (!result || *result == a.dtype))
    return a.type;
  Shape shape = BYCC_TRY(broadcastShapes(context, a.shape, b.shape));
  return tensorType(context, result.value_or(a.dtype), shape);
}

// x may be broadcast to `to`.
Expected<> checkBroadcastsTo(InferContext &context, const TensorInput &x, std::span<const Dim> to) {
  TypeTable &types = context.module().types;
  bool fits = x.rank() <= to.size();
  for (size_t i = 0; fits && i < x.rank(); ++i) {
    Dim from = x.shape[i], target = to[to.size() - x.rank() + i];
    fits = from == Dim(1) || unify(from, target).has_value();
  }
  if (!fits)
    return context.error().as(MessageId::Broadcast)
           << types.str(x.type) << " does not broadcast to "
           << types.str(types.tensor(x.dtype, to));
  return {};
}

Expected<> checkScalar(InferContext &context, const TensorInput &input, std::string_view what) {
  for (Dim dim : input.shape)
    if (!unify(dim, Dim(1)))
      return context.error() << what << " is a scalar, got "
                             << context.module().types.str(input.type);
  return {};
}

} // namespace

Expected<TypeId> sameAsAny(InferContext &context) { return context.input(0); }

Expected<TypeId> sameAsInput(InferContext &context) {
  return BYCC_TRY(tensorInput(context, 0)).type;
}

Expected<TypeId> sameNumeric(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkNumeric(context, x.dtype));
  return x.type;
}

Expected<TypeId> sameFloat(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkFloat(context, x.dtype));
  return x.type;
}

Expected<TypeId> sameInt(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkIntOrBool(context, x.dtype));
  return x.type;
}

Expected<TypeId> sameBool(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkDType(context, x.dtype, DType::Bool, "x"));
  return x.type;
}

Expected<TypeId> boolLikeInput(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  return tensorType(context, DType::Bool, x.shape);
}

Expected<TypeId> broadcastNumeric(InferContext &context) {
  return broadcastTwo(context, std::nullopt, checkNumeric);
}
Expected<TypeId> broadcastInt(InferContext &context) {
  return broadcastTwo(context, std::nullopt, checkIntOrBool);
}
Expected<TypeId> broadcastCompare(InferContext &context) {
  return broadcastTwo(context, DType::Bool, nullptr);
}
Expected<TypeId> broadcastBool(InferContext &context) {
  return broadcastTwo(context, DType::Bool, [](InferContext &c, DType dtype) {
    return checkDType(c, dtype, DType::Bool, "an input");
  });
}

Expected<TypeId> whereOf(InferContext &context) {
  TensorInput condition = BYCC_TRY(tensorInput(context, 0));
  TensorInput x = BYCC_TRY(tensorInput(context, 1));
  TensorInput y = BYCC_TRY(tensorInput(context, 2));
  BYCC_TRY(checkDType(context, condition.dtype, DType::Bool, "condition"));
  if (x.dtype != y.dtype)
    return context.error() << "x is " << name(x.dtype) << ", y is " << name(y.dtype);
  Shape shape = BYCC_TRY(broadcastShapes(context, x.shape, y.shape));
  shape = BYCC_TRY(broadcastShapes(context, condition.shape, shape));
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> castTo(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  return tensorType(context, dtypeAttr(context, "dtype", x.dtype), x.shape);
}

Expected<TypeId> castLike(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput like = BYCC_TRY(tensorInput(context, 1));
  return tensorType(context, like.dtype, x.shape);
}

Expected<TypeId> reinterpretAs(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  DType to = dtypeAttr(context, "dtype", x.dtype);
  if (sizeInBytes(to) != sizeInBytes(x.dtype) || (to == DType::Bool) != (x.dtype == DType::Bool))
    return context.error() << name(x.dtype) << " and " << name(to) << " do not have the same width";
  return tensorType(context, to, x.shape);
}

Expected<TypeId> fixedPoint(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkDType(context, x.dtype, DType::Int32, "x"));
  int64_t shift = context.integer("shift");
  if (shift < -31 || shift > 31)
    return context.error() << "shift is between -31 and 31, got " << shift;
  return x.type;
}

Expected<TypeId> fixedPointPerAxis(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkDType(context, x.dtype, DType::Int32, "x"));
  auto axes = BYCC_TRY(checkAxes(context, context.integers("axes"), x.rank(), "axes"));
  for (size_t i = 1; i < context.numInputs(); ++i) {
    TensorInput vector = BYCC_TRY(tensorInput(context, i));
    BYCC_TRY(checkDType(context, vector.dtype, DType::Int32, "a multiplier or shift"));
    BYCC_TRY(checkRank(context, vector, axes.size(), "a multiplier or shift"));
    for (size_t k = 0; k < axes.size(); ++k)
      BYCC_TRY(unifyDim(context, vector.shape[k], x.shape[axes[k]], "extent of a multiplier"));
  }
  return x.type;
}

Expected<TypeId> fullOf(InferContext &context) {
  TensorInput value = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkScalar(context, value, "fill_value"));
  Shape shape = BYCC_TRY(sizes(context, context.integers("shape"), "shape"));
  return tensorType(context, dtypeAttr(context, "dtype", value.dtype), shape);
}

Expected<TypeId> fullLike(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput value = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkScalar(context, value, "fill_value"));
  BYCC_TRY(checkDType(context, value.dtype, x.dtype, "fill_value"));
  return x.type;
}

Expected<TypeId> filled(InferContext &context) {
  Shape shape = BYCC_TRY(sizes(context, context.integers("shape"), "shape"));
  return tensorType(context, dtypeAttr(context, "dtype", DType::Float32), shape);
}

Expected<TypeId> triangle(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput k = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkInt(context, k.dtype, "values of k"));
  BYCC_TRY(checkScalar(context, k, "k"));
  if (x.rank() < 2)
    return context.error() << "x has rank 2 or more, got " << context.module().types.str(x.type);
  return x.type;
}

Expected<TypeId> broadcastTo(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  Shape shape = BYCC_TRY(sizes(context, context.integers("shape"), "shape"));
  BYCC_TRY(checkBroadcastsTo(context, x, shape));
  BYCC_TRY(checkDType(context, dtypeAttr(context, "dtype", x.dtype), x.dtype, "dtype"));
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> broadcastToLike(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput like = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkBroadcastsTo(context, x, like.shape));
  return tensorType(context, x.dtype, like.shape);
}

Expected<TypeId> collapseSumLike(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput like = BYCC_TRY(tensorInput(context, 1));
  TensorInput target{like.type, x.dtype, like.shape};
  BYCC_TRY(checkBroadcastsTo(context, target, x.shape));
  return tensorType(context, x.dtype, like.shape);
}

Expected<TypeId> collapseSumTo(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  Shape shape = BYCC_TRY(sizes(context, context.integers("shape"), "shape"));
  TypeId target = context.module().types.tensor(x.dtype, shape);
  BYCC_TRY(checkBroadcastsTo(context, TensorInput{target, x.dtype, shape}, x.shape));
  return tensorType(context, x.dtype, shape);
}

namespace {

// A tensor of `dtype` with the shape in operand `index`.
Expected<TypeId> shapedByOperand(InferContext &context, size_t index, DType dtype) {
  auto values = BYCC_TRY(symbolicInts(context, index));
  TensorInput shape = BYCC_TRY(tensorInput(context, index));
  BYCC_TRY(checkRank(context, shape, 1, "shape"));
  if (values) {
    Shape known = BYCC_TRY(sizes(context, *values, "shape"));
    return tensorType(context, dtype, known);
  }
  if (!shape.shape[0].isConst())
    return context.error() << "the rank of the result is not known";
  if (shape.shape[0].value() > static_cast<int64_t>(maxRank))
    return context.error(Status::Limit) << "the result has rank " << shape.shape[0].value();
  return tensorType(context, dtype, unknownShape(static_cast<size_t>(shape.shape[0].value())));
}

} // namespace

Expected<TypeId> dynBroadcastTo(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TypeId type = BYCC_TRY(shapedByOperand(context, 1, x.dtype));
  auto target = context.module().types.shape(type);
  BYCC_TRY(checkBroadcastsTo(context, x, target));
  // An extent other than 1 stays.
  Shape shape(target.begin(), target.end());
  for (size_t i = 0; i < x.rank(); ++i) {
    Dim &dim = shape[shape.size() - x.rank() + i];
    if (dim.isUnknown() && x.shape[i].isConst() && x.shape[i] != Dim(1))
      dim = x.shape[i];
  }
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> dynFull(InferContext &context) {
  TensorInput value = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkScalar(context, value, "fill_value"));
  return shapedByOperand(context, 1, dtypeAttr(context, "dtype", value.dtype));
}

Expected<TypeId> dynFilled(InferContext &context) {
  return shapedByOperand(context, 0, dtypeAttr(context, "dtype", DType::Float32));
}

} // namespace bycc::shape
