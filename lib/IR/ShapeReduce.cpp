// Type rules of reductions, running sums, sorting and selection.

#include "Shape.h"

#include "bycc/IR/Module.h"

#include <algorithm>

namespace bycc::shape {
namespace {

// Which axes go: `axis` (None: all), or the others with `exclude`.
Expected<std::vector<bool>> reducedAxes(InferContext &context, size_t rank) {
  std::vector<bool> isReduced(rank, true);
  if (context.isNone("axis"))
    return isReduced;
  std::fill(isReduced.begin(), isReduced.end(), false);
  for (size_t axis : BYCC_TRY(checkAxes(context, context.integers("axis"), rank)))
    isReduced[axis] = true;
  if (context.boolean("exclude"))
    isReduced.flip();
  return isReduced;
}

Expected<TypeId> reduceTo(InferContext &context, const TensorInput &x, DType dtype) {
  std::vector<bool> isReduced = BYCC_TRY(reducedAxes(context, x.rank()));
  bool keep = context.boolean("keepdims");
  Shape shape;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!isReduced[i])
      shape.push_back(x.shape[i]);
    else if (keep)
      shape.push_back(Dim(1));
  }
  return tensorType(context, dtype, shape);
}

Expected<DType> indexDType(InferContext &context, std::string_view key, DType fallback) {
  DType dtype = dtypeAttr(context, key, fallback);
  if (dtype == DType::Bool)
    return context.error() << key << " of indices is a number type, got bool";
  return dtype;
}

// The part of topk that does not depend on how k is given.
Expected<TypeId> topkResult(InferContext &context, const TensorInput &x, Dim k) {
  TypeTable &types = context.module().types;
  BYCC_TRY(checkOneOf(context, "ret_type", {"both", "values", "indices"}));
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  Shape shape(x.shape.begin(), x.shape.end());
  if (k.isConst() && shape[axis].isConst() && k.value() > shape[axis].value())
    return context.error() << "k is " << k.value() << ", axis " << axis << " has "
                           << shape[axis].value() << " elements";
  shape[axis] = k;
  TypeId values = BYCC_TRY(tensorType(context, x.dtype, shape));
  DType dtype = BYCC_TRY(indexDType(context, "dtype", DType::Int32));
  TypeId indices = BYCC_TRY(tensorType(context, dtype, shape));
  if (context.text("ret_type") == "values")
    return values;
  if (context.text("ret_type") == "indices")
    return indices;
  return types.tuple(std::vector<TypeId>{values, indices});
}

} // namespace

Expected<TypeId> reduceSame(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  if (x.dtype == DType::Bool)
    return context.error() << "takes numbers, got bool";
  return reduceTo(context, x, x.dtype);
}

Expected<TypeId> reduceFloat(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  if (!isFloat(x.dtype))
    return context.error() << "takes floats, got " << name(x.dtype);
  return reduceTo(context, x, x.dtype);
}

Expected<TypeId> reduceBool(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkDType(context, x.dtype, DType::Bool, "x"));
  return reduceTo(context, x, DType::Bool);
}

Expected<TypeId> reduceArg(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  std::vector<bool> isReduced = BYCC_TRY(reducedAxes(context, x.rank()));
  Shape reduced;
  for (size_t i = 0; i < x.rank(); ++i)
    if (isReduced[i])
      reduced.push_back(x.shape[i]);
  if (std::ranges::find(reduced, Dim(0)) != reduced.end())
    return context.error() << "no element to choose in " << context.module().types.str(x.type);
  return reduceTo(context, x, DType::Int32);
}

Expected<TypeId> reduceVariance(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput mean = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkDType(context, mean.dtype, x.dtype, "mean"));
  if (!isFloat(x.dtype))
    return context.error() << "takes floats, got " << name(x.dtype);
  Shape shape = BYCC_TRY(broadcastShapes(context, x.shape, mean.shape));
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape.size() != x.rank() || !unify(shape[i], x.shape[i]))
      return context.error() << "mean does not broadcast to x";
  return reduceTo(context, x, x.dtype);
}

Expected<TypeId> cumulative(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  DType dtype = dtypeAttr(context, "dtype", x.dtype);
  if (dtype == DType::Bool)
    return context.error() << "takes numbers, got bool; name a dtype for the result";
  if (context.isNone("axis")) {
    Dim count = BYCC_TRY(product(context, x.shape));
    return tensorType(context, dtype, Shape{count});
  }
  BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  return tensorType(context, dtype, x.shape);
}

Expected<TypeId> sortOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  return x.type;
}

Expected<TypeId> argsortOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  return tensorType(context, BYCC_TRY(indexDType(context, "dtype", DType::Int32)), x.shape);
}

Expected<TypeId> topkOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  int64_t k = context.integer("k");
  if (k < 0)
    return context.error() << "k is at least 0, got " << k;
  return topkResult(context, x, Dim(k));
}

Expected<TypeId> dynTopk(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  auto k = BYCC_TRY(symbolicInts(context, 1));
  if (k && k->size() != 1)
    return context.error() << "k is one number, got " << k->size();
  if (k && k->front().number && *k->front().number < 0)
    return context.error() << "k is at least 0, got " << *k->front().number;
  return topkResult(context, x, k ? k->front().extent() : Dim::unknown());
}

Expected<TypeId> searchSorted(InferContext &context) {
  TensorInput sorted = BYCC_TRY(tensorInput(context, 0));
  TensorInput values = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkDType(context, values.dtype, sorted.dtype, "values"));
  if (sorted.rank() < 1)
    return context.error() << "sorted has rank 1 or more, got a scalar";
  if (sorted.rank() > 1) {
    BYCC_TRY(checkRank(context, values, sorted.rank(), "values"));
    for (size_t i = 0; i + 1 < sorted.rank(); ++i)
      BYCC_TRY(unifyDim(context, values.shape[i], sorted.shape[i], "an extent of values"));
  }
  DType dtype = BYCC_TRY(indexDType(context, "dtype", DType::Int32));
  return tensorType(context, dtype, values.shape);
}

Expected<TypeId> argwhereOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  return tensorType(context, DType::Int32,
                    Shape{Dim::unknown(), Dim(static_cast<int64_t>(x.rank()))});
}

Expected<TypeId> uniqueOf(InferContext &context) {
  TypeTable &types = context.module().types;
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  size_t axis = 0;
  if (context.isNone("axis"))
    BYCC_TRY(checkRank(context, x, 1, "x"));
  else
    axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  Shape shape(x.shape.begin(), x.shape.end());
  shape[axis] = Dim::unknown();
  TypeId values = types.tensor(x.dtype, shape);
  TypeId some = types.tensor(DType::Int32, {Dim::unknown()});
  TypeId inverse = types.tensor(DType::Int32, x.shape.subspan(axis, 1));
  TypeId count = types.tensor(DType::Int32, {Dim(1)});
  std::vector<TypeId> fields{values, some, inverse, count};
  if (context.boolean("return_counts"))
    fields.push_back(some);
  return types.tuple(fields);
}

} // namespace bycc::shape
