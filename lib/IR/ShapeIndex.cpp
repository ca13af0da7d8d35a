// Type rules of operators that pick elements by place: slices, takes, gathers, scatters.

#include "Shape.h"

#include "bycc/IR/Module.h"

#include <algorithm>

namespace bycc::shape {
namespace {

// Length of the slice [begin, end) with a stride over a known extent.
Dim sliceExtent(int64_t extent, int64_t begin, int64_t end, int64_t stride) {
  auto wrap = [&](int64_t value) { return value < 0 ? value + extent : value; };
  int64_t low = stride < 0 ? -1 : 0, high = stride < 0 ? extent - 1 : extent;
  int64_t from = std::clamp(wrap(begin), low, high);
  int64_t to = std::clamp(wrap(end), low, high);
  __int128 span = stride > 0 ? static_cast<__int128>(to) - from : static_cast<__int128>(from) - to;
  __int128 step = stride > 0 ? stride : -static_cast<__int128>(stride);
  return span <= 0 ? Dim(0) : Dim(static_cast<int64_t>((span + step - 1) / step));
}

// Where a bound lies on an axis, after counting from the end and clamping.
Dim boundAt(TypeTable &types, Dim extent, const SymbolicInt &bound) {
  if (bound.isNegated)
    return types.sub(extent, types.dim(DimOp::Min, extent, bound.dim));
  if (!bound.number)
    return types.dim(DimOp::Min, extent, bound.dim);
  if (*bound.number >= INT32_MAX) // the usual "to the end"
    return extent;
  if (*bound.number >= 0)
    return types.dim(DimOp::Min, extent, Dim(*bound.number));
  if (*bound.number < -INT32_MAX)
    return Dim(0);
  return types.sub(extent, types.dim(DimOp::Min, extent, Dim(-*bound.number)));
}

// Length of a slice where some of its numbers are not known.
Dim symbolicSlice(TypeTable &types, Dim extent, const SymbolicInt &begin, const SymbolicInt &end,
                  const SymbolicInt &stride) {
  auto isBound = [](const SymbolicInt &bound) { return bound.number || !bound.dim.isUnknown(); };
  bool isKnown = !extent.isUnknown() && isBound(begin) && isBound(end) && stride.number;
  if (!isKnown || *stride.number == INT64_MIN)
    return Dim::unknown();
  if (begin.number && end.number && extent.isConst())
    return sliceExtent(extent.value(), *begin.number, *end.number, *stride.number);
  if (*stride.number < 0) { // all of it backwards
    bool isAll = begin.number == -1 && end.number && *end.number <= -INT32_MAX;
    return isAll ? types.dim(DimOp::CeilDiv, extent, Dim(-*stride.number)) : Dim::unknown();
  }
  Dim from = boundAt(types, extent, begin), to = boundAt(types, extent, end);
  if (begin.isNegated && to == extent) // the last ones
    return types.dim(DimOp::CeilDiv, types.dim(DimOp::Min, extent, begin.dim), Dim(*stride.number));
  Dim length = types.sub(types.dim(DimOp::Max, to, from), from);
  return types.dim(DimOp::CeilDiv, length, Dim(*stride.number));
}

// The end of a slice of `size` elements; -1 is all that is left.
SymbolicInt endOfSize(TypeTable &types, Dim extent, const SymbolicInt &begin,
                      const SymbolicInt &size) {
  constexpr int64_t all = INT64_MAX;
  if (size.number && *size.number < 0)
    return all;
  if (begin.isNegated || (begin.number && *begin.number < 0)) { // counted from the end
    if (begin.isNegated || !extent.isConst() || !size.number)
      return {};
    int64_t from = std::max<int64_t>(*begin.number + extent.value(), 0), last = 0;
    return __builtin_add_overflow(from, *size.number, &last) ? all : last;
  }
  int64_t last = 0;
  if (begin.number && size.number)
    return __builtin_add_overflow(*begin.number, *size.number, &last) ? all : last;
  return SymbolicInt(types.add(begin.extent(), size.extent()));
}

} // namespace

Expected<TypeId> sliceTo(InferContext &context, const TensorInput &x, const Symbolic &begin,
                         const Symbolic &end, Symbolic strides, bool isSizeMode,
                         std::optional<Ints> axes) {
  TypeTable &types = context.module().types;
  size_t count = begin.size();
  if (count > x.rank() && !axes)
    return context.error() << "begin has " << count << " values, x has rank " << x.rank();
  if (!axes) {
    axes = Ints(count);
    for (size_t i = 0; i < count; ++i)
      (*axes)[i] = static_cast<int64_t>(i);
  }
  auto checkLength = [&](size_t length, std::string_view key) -> Expected<> {
    if (length != count)
      return context.error() << key << " has " << count << " values, got " << length;
    return {};
  };
  BYCC_TRY(checkLength(axes->size(), "axes"));
  BYCC_TRY(checkLength(end.size(), "end"));
  if (isSizeMode || strides.empty())
    strides.assign(count, SymbolicInt(int64_t{1}));
  if (strides.size() == 1)
    strides.resize(count, strides[0]);
  BYCC_TRY(checkLength(strides.size(), "strides"));
  auto positions = BYCC_TRY(checkAxes(context, *axes, x.rank(), "axes"));
  Shape shape(x.shape.begin(), x.shape.end());
  for (size_t i = 0; i < count; ++i) {
    Dim &dim = shape[positions[i]];
    if (strides[i].number == 0)
      return context.error() << "strides hold a 0";
    if (isSizeMode && end[i].number && *end[i].number < -1)
      return context.error() << "a slice has a size of at least -1, got " << *end[i].number;
    SymbolicInt last = isSizeMode ? endOfSize(types, dim, begin[i], end[i]) : end[i];
    dim = symbolicSlice(types, dim, begin[i], last, strides[i]);
  }
  return tensorType(context, x.dtype, shape);
}

namespace {

std::optional<Ints> axesAttr(const InferContext &context) {
  return context.isNone("axes") ? std::nullopt : std::optional(context.integers("axes"));
}

} // namespace

Expected<TypeId> stridedSlice(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkOneOf(context, "slice_mode", {"end", "size"}));
  return sliceTo(context, x, symbolic(context.integers("begin")), symbolic(context.integers("end")),
                 symbolic(context.integers("strides")), context.text("slice_mode") == "size",
                 axesAttr(context));
}

Expected<TypeId> dynStridedSlice(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkOneOf(context, "slice_mode", {"end", "size"}));
  auto begin = BYCC_TRY(symbolicInts(context, 1));
  auto end = BYCC_TRY(symbolicInts(context, 2));
  auto strides = BYCC_TRY(symbolicInts(context, 3));
  if (begin && end && strides)
    return sliceTo(context, x, *begin, *end, *strides, context.text("slice_mode") == "size",
                   axesAttr(context));
  if (!context.isNone("axes")) { // the other axes keep their extents
    Shape shape(x.shape.begin(), x.shape.end());
    for (size_t axis : BYCC_TRY(checkAxes(context, context.integers("axes"), x.rank(), "axes")))
      shape[axis] = Dim::unknown();
    return tensorType(context, x.dtype, shape);
  }
  return tensorType(context, x.dtype, unknownShape(x.rank()));
}

Expected<TypeId> stridedSet(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput v = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkDType(context, v.dtype, x.dtype, "v"));
  BYCC_TRY(checkRank(context, v, x.rank(), "v"));
  std::optional<Ints> lists[3];
  for (size_t i = 0; i < 3; ++i)
    lists[i] = BYCC_TRY(constantInts(context, 2 + i));
  if (!lists[0] || !lists[1] || !lists[2])
    return x.type;
  TypeId part = BYCC_TRY(sliceTo(context, x, symbolic(*lists[0]), symbolic(*lists[1]),
                                 symbolic(*lists[2]), false, {}));
  auto wanted = context.module().types.shape(part);
  for (size_t i = 0; i < v.rank(); ++i)
    BYCC_TRY(unifyDim(context, v.shape[i], wanted[i], "an extent of v"));
  return x.type;
}

namespace {

Ints attrOrIota(const InferContext &context, std::string_view key, size_t count) {
  if (!context.isNone(key))
    return context.integers(key);
  Ints all(count);
  for (size_t i = 0; i < count; ++i)
    all[i] = static_cast<int64_t>(i);
  return all;
}

} // namespace

Expected<TypeId> sliceLike(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput like = BYCC_TRY(tensorInput(context, 1));
  Ints axes = attrOrIota(context, "axes", std::min(x.rank(), like.rank()));
  Shape shape(x.shape.begin(), x.shape.end());
  for (size_t axis : BYCC_TRY(checkAxes(context, axes, x.rank(), "axes"))) {
    if (axis >= like.rank())
      return context.error() << "axis " << axis << " is out of range for the second input";
    Dim to = like.shape[axis];
    if (shape[axis].isConst() && to.isConst() && to.value() > shape[axis].value())
      return context.error() << "axis " << axis << " has " << shape[axis].value() << " elements, "
                             << to.value() << " are asked for";
    shape[axis] = to;
  }
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> takeOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput indices = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkInt(context, indices.dtype, "indices"));
  BYCC_TRY(checkOneOf(context, "mode", {"clip", "error", "fast", "wrap"}));
  if (context.isNone("axis"))
    return tensorType(context, x.dtype, indices.shape);
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  int64_t batch = context.integer("batch_dims");
  if (batch < 0)
    batch += static_cast<int64_t>(indices.rank());
  if (batch < 0 || batch > static_cast<int64_t>(std::min(axis, indices.rank())))
    return context.error() << "batch_dims is out of range: " << context.integer("batch_dims");
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<long>(axis));
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i)
    shape[i] = BYCC_TRY(unifyDim(context, indices.shape[i], x.shape[i], "a batch extent"));
  shape.insert(shape.end(), indices.shape.begin() + batch, indices.shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<long>(axis) + 1, x.shape.end());
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> gatherAxis(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput indices = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkInt(context, indices.dtype, "indices"));
  BYCC_TRY(checkOneOf(context, "mode", {"clip", "error"}));
  BYCC_TRY(checkRank(context, indices, x.rank(), "indices"));
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  for (size_t i = 0; i < x.rank(); ++i)
    if (i != axis && x.shape[i].isConst() && indices.shape[i].isConst() &&
        indices.shape[i].value() > x.shape[i].value())
      return context.error() << "axis " << i << " of indices has " << indices.shape[i].value()
                             << " elements, x has " << x.shape[i].value();
  return tensorType(context, x.dtype, indices.shape);
}

Expected<TypeId> gatherNd(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput indices = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkInt(context, indices.dtype, "indices"));
  BYCC_TRY(checkOneOf(context, "mode", {"clip", "error"}));
  if (indices.rank() < 1)
    return context.error() << "indices have rank 1 or more, got a scalar";
  Dim count = indices.shape[0];
  if (!count.isConst() && !context.isNone("index_rank"))
    count = Dim(std::max<int64_t>(context.integer("index_rank"), 0));
  if (!count.isConst())
    return context.error() << "the first extent of indices is not known";
  int64_t batch = context.integer("batch_dims");
  int64_t rank = static_cast<int64_t>(x.rank());
  if (batch < 0 || batch > rank || count.value() > rank - batch ||
      batch > static_cast<int64_t>(indices.rank()) - 1)
    return context.error() << "batch_dims " << batch << " and " << count.value()
                           << " coordinates do not fit into rank " << rank;
  Shape shape;
  for (size_t i = 1; i < indices.rank(); ++i)
    shape.push_back(
        i <= static_cast<size_t>(batch)
            ? BYCC_TRY(unifyDim(context, indices.shape[i], x.shape[i - 1], "a batch extent"))
            : indices.shape[i]);
  for (int64_t i = batch + count.value(); i < rank; ++i)
    shape.push_back(x.shape[static_cast<size_t>(i)]);
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> scatterElements(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput indices = BYCC_TRY(tensorInput(context, 1));
  TensorInput updates = BYCC_TRY(tensorInput(context, 2));
  BYCC_TRY(checkInt(context, indices.dtype, "indices"));
  BYCC_TRY(checkDType(context, updates.dtype, x.dtype, "updates"));
  BYCC_TRY(checkOneOf(context, "reduction", {"update", "add", "mul", "min", "max", "mean"}));
  BYCC_TRY(checkRank(context, indices, x.rank(), "indices"));
  BYCC_TRY(checkRank(context, updates, x.rank(), "updates"));
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  for (size_t i = 0; i < x.rank(); ++i) {
    BYCC_TRY(unifyDim(context, updates.shape[i], indices.shape[i], "an extent of updates"));
    if (i != axis && x.shape[i].isConst() && indices.shape[i].isConst() &&
        indices.shape[i].value() > x.shape[i].value())
      return context.error() << "axis " << i << " of indices has " << indices.shape[i].value()
                             << " elements, x has " << x.shape[i].value();
  }
  return x.type;
}

Expected<TypeId> scatterNd(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput indices = BYCC_TRY(tensorInput(context, 1));
  TensorInput updates = BYCC_TRY(tensorInput(context, 2));
  BYCC_TRY(checkInt(context, indices.dtype, "indices"));
  BYCC_TRY(checkDType(context, updates.dtype, x.dtype, "updates"));
  BYCC_TRY(checkOneOf(context, "mode", {"update", "add", "mul", "min", "max"}));
  if (indices.rank() < 1 || !indices.shape[0].isConst())
    return context.error() << "the first extent of indices is not known";
  if (indices.shape[0].value() > static_cast<int64_t>(x.rank()))
    return context.error() << indices.shape[0].value() << " coordinates for rank " << x.rank();
  Shape wanted(indices.shape.begin() + 1, indices.shape.end());
  for (size_t i = static_cast<size_t>(indices.shape[0].value()); i < x.rank(); ++i)
    wanted.push_back(x.shape[i]);
  BYCC_TRY(checkRank(context, updates, wanted.size(), "updates"));
  for (size_t i = 0; i < wanted.size(); ++i)
    BYCC_TRY(unifyDim(context, updates.shape[i], wanted[i], "an extent of updates"));
  return x.type;
}

Expected<TypeId> advIndex(InferContext &context) {
  auto inputs = BYCC_TRY(tupleInput(context, 0));
  const TensorInput &x = inputs.front();
  if (inputs.size() - 1 > x.rank() || inputs.size() < 2)
    return context.error() << inputs.size() - 1 << " indices for rank " << x.rank();
  Shape shape;
  for (size_t i = 1; i < inputs.size(); ++i) {
    BYCC_TRY(checkInt(context, inputs[i].dtype, "indices"));
    shape = BYCC_TRY(broadcastShapes(context, shape, inputs[i].shape));
  }
  for (size_t i = inputs.size() - 1; i < x.rank(); ++i)
    shape.push_back(x.shape[i]);
  return tensorType(context, x.dtype, shape);
}

} // namespace bycc::shape
