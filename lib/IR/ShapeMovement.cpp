// Type rules of operators that move data: reshape, slices, gathers, padding.

#include "Shape.h"

#include "bycc/IR/Module.h"

#include <algorithm>

namespace bycc::shape {
namespace {

Expected<> checkSameDType(InferContext &context, const std::vector<TensorInput> &inputs) {
  for (const TensorInput &input : inputs)
    if (input.dtype != inputs.front().dtype)
      return context.error() << "inputs of " << name(inputs.front().dtype) << " and "
                             << name(input.dtype);
  return {};
}

// Turns the codes of newshape into dims; one -1 is left to the caller. An element
// of which nothing is known may be an extent, 0 or -1: a `?`, which what is left
// settles if it is the only one.
class ReshapeCodes {
public:
  ReshapeCodes(InferContext &context, std::span<const Dim> input, bool allowZero)
      : context_(context), input_(input), allowZero_(allowZero) {}

  Expected<> read(const Symbolic &codes) {
    for (size_t i = 0; i < codes.size(); ++i) {
      if (codes[i].number) {
        BYCC_TRY(readOne(codes, i));
        continue;
      }
      ++next_;
      open += !codes[i].isKnown();
      if (!codes[i].isKnown())
        lastOpen = shape.size();
      shape.push_back(codes[i].dim);
    }
    if (open == 1 && !inferred) {
      inferred = lastOpen;
      shape[lastOpen] = Dim(1);
    } else if (open && inferred) {
      shape[*inferred] = Dim::unknown();
      inferred.reset();
    }
    return {};
  }
  Shape shape;
  std::optional<size_t> inferred; // position of the -1
  size_t open = 0, lastOpen = 0;  // elements of which nothing is known

private:
  Expected<Dim> take(int64_t code) {
    if (next_ >= input_.size())
      return context_.error() << "code " << code << " of newshape has no input axis left";
    return input_[next_++];
  }

  Expected<> setInferred() {
    if (inferred)
      return context_.error() << "newshape infers two axes (-1 twice)";
    inferred = shape.size();
    shape.push_back(Dim(1));
    return {};
  }

  Expected<> readOne(const Symbolic &codes, size_t &i) {
    switch (int64_t code = *codes[i].number) {
    case 0:
      shape.push_back(allowZero_ ? Dim(0) : BYCC_TRY(take(0)));
      next_ += allowZero_;
      return {};
    case -1: ++next_; return setInferred();
    case -2:
      while (next_ < input_.size())
        shape.push_back(input_[next_++]);
      return {};
    case -3: {
      Dim first = BYCC_TRY(take(-3)), second = BYCC_TRY(take(-3));
      shape.push_back(BYCC_TRY(product(context_, Shape{first, second})));
      return {};
    }
    case -4: return readSplit(codes, i);
    default:
      if (code < 0)
        return context_.error() << "newshape has the unknown code " << code;
      ++next_;
      shape.push_back(Dim(code));
      return {};
    }
  }

  // -4 a b: the next axis becomes a and b; one of them may be -1.
  Expected<> readSplit(const Symbolic &codes, size_t &i) {
    Dim whole = BYCC_TRY(take(-4));
    if (i + 2 >= codes.size())
      return context_.error() << "code -4 of newshape takes two sizes";
    if (!codes[i + 1].number || !codes[i + 2].number)
      return context_.error(Status::Unsup) << "code -4 of newshape takes two known sizes";
    int64_t a = *codes[i + 1].number, b = *codes[i + 2].number;
    i += 2;
    if ((a < 0 && b < 0) || a < -1 || b < -1 || a == 0 || b == 0)
      return context_.error() << "code -4 of newshape has the sizes " << a << " and " << b;
    TypeTable &types = context_.module().types;
    int64_t known = a < 0 ? b : a;
    bool isExact = a < 0 || b < 0;
    if (whole.isConst()) {
      __int128 made = isExact ? static_cast<__int128>(whole.value() / known) * known
                              : static_cast<__int128>(a) * b;
      if (made != whole.value())
        return context_.error() << "newshape does not split " << whole.value() << " into " << a
                                << " and " << b;
    }
    Dim other = types.floorDiv(whole, Dim(known));
    shape.push_back(a < 0 ? other : Dim(a));
    shape.push_back(b < 0 ? other : Dim(b));
    return {};
  }

  InferContext &context_;
  std::span<const Dim> input_;
  bool allowZero_;
  size_t next_ = 0;
};

// Checks that both shapes have the same number of elements; fills the -1.
Expected<Shape> finishReshape(InferContext &context, const TensorInput &x, Shape shape,
                              std::optional<size_t> inferred) {
  TypeTable &types = context.module().types;
  Dim from = BYCC_TRY(product(context, x.shape));
  Dim to = BYCC_TRY(product(context, shape));
  if (inferred) {
    if (from.isConst() && to.isConst()) {
      if (to.value() == 0 || from.value() % to.value() != 0)
        return context.error() << types.str(x.type) << " has " << from.value()
                               << " elements, not a multiple of " << to.value();
      shape[*inferred] = Dim(from.value() / to.value());
    } else {
      shape[*inferred] = to == Dim(0) ? Dim::unknown() : types.floorDiv(from, to);
    }
    return shape;
  }
  if (!unify(from, to))
    return context.error() << types.str(x.type) << " has " << types.str(from)
                           << " elements, the new shape " << types.str(to);
  return shape;
}

Ints attrOrIota(const InferContext &context, std::string_view key, size_t count) {
  if (!context.isNone(key))
    return context.integers(key);
  Ints all(count);
  for (size_t i = 0; i < count; ++i)
    all[i] = static_cast<int64_t>(i);
  return all;
}

} // namespace

Expected<TypeId> reshapeTo(InferContext &context, const TensorInput &x, const Symbolic &to,
                           bool allowZero) {
  ReshapeCodes codes(context, x.shape, allowZero);
  BYCC_TRY(codes.read(to));
  Shape shape = BYCC_TRY(finishReshape(context, x, codes.shape, codes.inferred));
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> reshapeOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  return reshapeTo(context, x, symbolic(context.integers("newshape")),
                   context.integer("allowzero") != 0);
}

Expected<TypeId> dynReshape(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput shape = BYCC_TRY(tensorInput(context, 1));
  auto to = BYCC_TRY(symbolicInts(context, 1));
  BYCC_TRY(checkRank(context, shape, 1, "newshape"));
  if (!shape.shape[0].isConst())
    return context.error() << "the rank of the result is not known";
  if (shape.shape[0].value() > static_cast<int64_t>(maxRank))
    return context.error(Status::Limit) << "the result has rank " << shape.shape[0].value();
  if (to)
    return reshapeTo(context, x, *to, context.integer("allowzero") != 0);
  return tensorType(context, x.dtype, unknownShape(static_cast<size_t>(shape.shape[0].value())));
}

Expected<TypeId> reverseReshape(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  Ints codes = context.integers("newshape");
  Shape input(x.shape.rbegin(), x.shape.rend());
  std::ranges::reverse(codes);
  ReshapeCodes reader(context, input, context.integer("allowzero") != 0);
  BYCC_TRY(reader.read(symbolic(codes)));
  Shape shape = BYCC_TRY(finishReshape(context, x, reader.shape, reader.inferred));
  std::ranges::reverse(shape);
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> reshapeLike(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput like = BYCC_TRY(tensorInput(context, 1));
  auto bound = [&](std::string_view key, size_t rank, int64_t ifNone) -> Expected<size_t> {
    int64_t value = context.isNone(key) ? ifNone : context.integer(key);
    if (value < 0)
      value += static_cast<int64_t>(rank);
    if (value < 0 || value > static_cast<int64_t>(rank))
      return context.error() << key << " is out of range for rank " << rank;
    return static_cast<size_t>(value);
  };
  size_t lhsBegin = BYCC_TRY(bound("lhs_begin", x.rank(), 0));
  size_t lhsEnd = BYCC_TRY(bound("lhs_end", x.rank(), static_cast<int64_t>(x.rank())));
  size_t rhsBegin = BYCC_TRY(bound("rhs_begin", like.rank(), 0));
  size_t rhsEnd = BYCC_TRY(bound("rhs_end", like.rank(), static_cast<int64_t>(like.rank())));
  if (lhsBegin > lhsEnd || rhsBegin > rhsEnd)
    return context.error() << "a range of axes ends before it begins";
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<long>(lhsBegin));
  for (size_t i = rhsBegin; i < rhsEnd; ++i)
    shape.push_back(like.shape[i]);
  for (size_t i = lhsEnd; i < x.rank(); ++i)
    shape.push_back(x.shape[i]);
  shape = BYCC_TRY(finishReshape(context, x, std::move(shape), std::nullopt));
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> batchFlatten(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  if (x.rank() < 1)
    return context.error() << "x has rank 1 or more, got a scalar";
  Dim rest = BYCC_TRY(product(context, x.shape.subspan(1)));
  return tensorType(context, x.dtype, Shape{x.shape[0], rest});
}

Expected<TypeId> transposeOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  Shape shape;
  if (context.isNone("axes")) {
    shape.assign(x.shape.rbegin(), x.shape.rend());
    return tensorType(context, x.dtype, shape);
  }
  Ints axes = context.integers("axes");
  BYCC_TRY(checkCount(context, axes, x.rank(), "axes"));
  for (size_t axis : BYCC_TRY(checkAxes(context, axes, x.rank(), "axes")))
    shape.push_back(x.shape[axis]);
  return tensorType(context, x.dtype, shape);
}

namespace {

Expected<TypeId> expandAt(InferContext &context, const TensorInput &x, int64_t axis) {
  int64_t count = context.integer("num_newaxis");
  if (count < 0 || count > static_cast<int64_t>(maxRank))
    return context.error() << "num_newaxis is out of range: " << count;
  size_t rank = x.rank();
  int64_t last = static_cast<int64_t>(rank);
  if (axis < -last - 1 || axis > last)
    return context.error() << "axis " << axis << " is out of range for rank " << rank;
  size_t at = static_cast<size_t>(axis < 0 ? axis + last + 1 : axis);
  Shape shape(x.shape.begin(), x.shape.end());
  shape.insert(shape.begin() + static_cast<long>(at), static_cast<size_t>(count), Dim(1));
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> squeezeAxes(InferContext &context, const TensorInput &x,
                             std::span<const int64_t> axes) {
  auto dropped = BYCC_TRY(checkAxes(context, axes, x.rank()));
  Shape shape;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (std::ranges::find(dropped, i) == dropped.end())
      shape.push_back(x.shape[i]);
    else if (!unify(x.shape[i], Dim(1)))
      return context.error() << "axis " << i << " has " << context.module().types.str(x.shape[i])
                             << " elements, not 1";
  }
  return tensorType(context, x.dtype, shape);
}

} // namespace

Expected<TypeId> expandDims(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  return expandAt(context, x, context.integer("axis"));
}

Expected<TypeId> dynExpandDims(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  auto axis = BYCC_TRY(symbolicInts(context, 1));
  if (axis && axis->size() != 1)
    return context.error() << "axis is one number";
  if (axis && axis->front().number)
    return expandAt(context, x, *axis->front().number);
  return tensorType(context, x.dtype,
                    unknownShape(x.rank() + static_cast<size_t>(std::clamp<int64_t>(
                                                context.integer("num_newaxis"), 0, maxRank + 1))));
}

Expected<TypeId> squeezeOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  if (!context.isNone("axis"))
    return squeezeAxes(context, x, context.integers("axis"));
  Shape shape;
  for (Dim dim : x.shape) {
    if (!dim.isConst())
      return context.error() << "which axes are 1 is not known; name them with axis";
    if (dim != Dim(1))
      shape.push_back(dim);
  }
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> dynSqueeze(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput axis = BYCC_TRY(tensorInput(context, 1));
  auto axes = BYCC_TRY(symbolicInts(context, 1));
  bool isKnown = axes && std::ranges::all_of(*axes, [](const SymbolicInt &value) {
                   return value.number.has_value();
                 });
  if (isKnown) {
    Ints numbers;
    for (const SymbolicInt &value : *axes)
      numbers.push_back(*value.number);
    return squeezeAxes(context, x, numbers);
  }
  if (axis.rank() != 1 || !axis.shape[0].isConst() ||
      axis.shape[0].value() > static_cast<int64_t>(x.rank()))
    return context.error() << "the rank of the result is not known";
  size_t rank = x.rank() - static_cast<size_t>(axis.shape[0].value());
  // Where no order of the axes leaves a choice, extents other than 1 are those that stay.
  Shape kept;
  for (Dim dim : x.shape)
    if (dim.isConst() && dim != Dim(1))
      kept.push_back(dim);
  return tensorType(context, x.dtype, kept.size() == rank ? kept : unknownShape(rank));
}

Expected<TypeId> concatenateOf(InferContext &context) {
  TypeTable &types = context.module().types;
  auto inputs = BYCC_TRY(tupleInput(context, 0));
  BYCC_TRY(checkSameDType(context, inputs));
  const TensorInput &first = inputs.front();
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), first.rank()));
  Shape shape(first.shape.begin(), first.shape.end());
  int64_t constant = 0; // constant extents apart, so that a sum of symbols stays short
  Dim symbols(0);
  for (const TensorInput &input : inputs) {
    if (input.rank() != first.rank())
      return context.error() << "inputs of rank " << first.rank() << " and " << input.rank();
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i == axis)
        continue;
      auto dim = unify(shape[i], input.shape[i]);
      if (!dim)
        return context.error() << "axis " << i << " is " << types.str(shape[i]) << " in one input, "
                               << types.str(input.shape[i]) << " in another";
      shape[i] = *dim;
    }
    if (!input.shape[axis].isConst())
      symbols = types.add(symbols, input.shape[axis]);
    else if (__builtin_add_overflow(constant, input.shape[axis].value(), &constant))
      return context.error(Status::Limit) << "the extent of axis " << axis << " overflows";
  }
  shape[axis] = types.add(symbols, Dim(constant));
  return tensorType(context, first.dtype, shape);
}

Expected<TypeId> stackOf(InferContext &context) {
  auto inputs = BYCC_TRY(tupleInput(context, 0));
  BYCC_TRY(checkSameDType(context, inputs));
  const TensorInput &first = inputs.front();
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), first.rank() + 1));
  Shape shape(first.shape.begin(), first.shape.end());
  for (const TensorInput &input : inputs) {
    BYCC_TRY(checkRank(context, input, first.rank(), "every input"));
    for (size_t i = 0; i < shape.size(); ++i)
      shape[i] = BYCC_TRY(unifyDim(context, input.shape[i], shape[i], "an extent of an input"));
  }
  shape.insert(shape.begin() + static_cast<long>(axis), Dim(static_cast<int64_t>(inputs.size())));
  return tensorType(context, first.dtype, shape);
}

namespace {

// Extents of the parts along the split axis.
Expected<Shape> splitExtents(InferContext &context, Dim extent, size_t axis) {
  TypeTable &types = context.module().types;
  constexpr int64_t maxParts = 1 << 20;
  const AttrValue &parts = *context.module().attr(context.call(), "indices_or_sections");
  Shape extents;
  if (parts.isInt()) {
    int64_t count = parts.asInt();
    if (count < 1)
      return context.error() << "splits into at least 1 part, got " << count;
    if (count > maxParts)
      return context.error(Status::Limit) << "splits into " << count << " parts";
    if (extent.isConst() && extent.value() % count != 0)
      return context.error() << "axis " << axis << " has " << extent.value()
                             << " elements, not a multiple of " << count;
    extents.assign(static_cast<size_t>(count), types.floorDiv(extent, Dim(count)));
    return extents;
  }
  if (!parts.isList())
    return context.error() << "indices_or_sections is an integer or a list of integers";
  int64_t previous = 0;
  for (const AttrValue &cut : parts.asList()) {
    if (!cut.isInt() || cut.asInt() < previous ||
        (extent.isConst() && cut.asInt() > extent.value()))
      return context.error() << "cut points rise from 0 to " << types.str(extent) << ", got "
                             << parts.str();
    extents.push_back(Dim(cut.asInt() - previous));
    previous = cut.asInt();
  }
  extents.push_back(types.sub(extent, Dim(previous)));
  return extents;
}

} // namespace

Expected<TypeId> splitOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  Shape shape(x.shape.begin(), x.shape.end());
  std::vector<TypeId> fields;
  for (Dim extent : BYCC_TRY(splitExtents(context, x.shape[axis], axis))) {
    shape[axis] = extent;
    fields.push_back(BYCC_TRY(tensorType(context, x.dtype, shape)));
  }
  return context.module().types.tuple(fields);
}

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
  bool isKnown = !extent.isUnknown() && begin.isKnown() && end.isKnown() && stride.number;
  if (!isKnown || *stride.number == INT64_MIN)
    return Dim::unknown();
  if (begin.number && end.number && extent.isConst())
    return sliceExtent(extent.value(), *begin.number, *end.number, *stride.number);
  if (*stride.number < 0) { // all of it backwards
    bool isAll = begin.number == -1 && end.number && *end.number <= -INT32_MAX;
    return isAll ? types.dim(DimOp::CeilDiv, extent, Dim(-*stride.number)) : Dim::unknown();
  }
  Dim from = boundAt(types, extent, begin), to = boundAt(types, extent, end);
  Dim length = types.sub(types.dim(DimOp::Max, to, from), from);
  return types.dim(DimOp::CeilDiv, length, Dim(*stride.number));
}

// The end of a slice of `size` elements; -1 is all that is left.
SymbolicInt endOfSize(TypeTable &types, Dim extent, const SymbolicInt &begin,
                      const SymbolicInt &size) {
  constexpr int64_t all = INT64_MAX;
  if (size.number && *size.number < 0)
    return all;
  if (begin.number && *begin.number < 0) { // counted from the end
    if (!extent.isConst() || !size.number)
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
      return context.error() << "axis " << axis << " has " << shape[axis].value()
                             << " elements, " << to.value() << " are asked for";
    shape[axis] = to;
  }
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> takeOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput indices = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkInt(context, indices.dtype, "indices"));
  BYCC_TRY(checkOneOf(context, "mode", {"clip", "wrap", "fast"}));
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
    shape.push_back(i <= static_cast<size_t>(batch)
                        ? BYCC_TRY(unifyDim(context, indices.shape[i], x.shape[i - 1],
                                            "a batch extent"))
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

namespace {

Expected<TypeId> tileBy(InferContext &context, const TensorInput &x, Symbolic reps) {
  for (const SymbolicInt &rep : reps)
    if (rep.number && *rep.number < 0)
      return context.error() << "reps hold a negative count: " << *rep.number;
  if (reps.size() > maxRank)
    return context.error(Status::Limit) << "the result has rank " << reps.size();
  Shape shape(x.shape.begin(), x.shape.end());
  if (reps.size() < shape.size())
    reps.insert(reps.begin(), shape.size() - reps.size(), SymbolicInt(int64_t{1}));
  if (shape.size() < reps.size())
    shape.insert(shape.begin(), reps.size() - shape.size(), Dim(1));
  for (size_t i = 0; i < shape.size(); ++i)
    shape[i] = BYCC_TRY(product(context, Shape{shape[i], reps[i].extent()}));
  return tensorType(context, x.dtype, shape);
}

} // namespace

Expected<TypeId> tileOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  return tileBy(context, x, symbolic(context.integers("reps")));
}

Expected<TypeId> dynTile(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput operand = BYCC_TRY(tensorInput(context, 1));
  auto reps = BYCC_TRY(symbolicInts(context, 1));
  if (operand.rank() != 1 || !operand.shape[0].isConst())
    return context.error() << "the rank of the result is not known";
  if (reps)
    return tileBy(context, x, *reps);
  int64_t rank = std::min<int64_t>(operand.shape[0].value(), maxRank + 1);
  return tensorType(context, x.dtype,
                    unknownShape(std::max(x.rank(), static_cast<size_t>(rank))));
}

Expected<TypeId> repeatOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  int64_t repeats = context.integer("repeats");
  if (repeats < 0)
    return context.error() << "repeats is at least 0, got " << repeats;
  if (context.isNone("axis")) {
    Shape all(x.shape.begin(), x.shape.end());
    all.push_back(Dim(repeats));
    Dim count = BYCC_TRY(product(context, all));
    return tensorType(context, x.dtype, Shape{count});
  }
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  Shape shape(x.shape.begin(), x.shape.end());
  shape[axis] = BYCC_TRY(product(context, Shape{shape[axis], Dim(repeats)}));
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> reverseOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  return x.type;
}

Expected<TypeId> reverseSequence(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput lengths = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkInt(context, lengths.dtype, "lengths"));
  BYCC_TRY(checkRank(context, lengths, 1, "lengths"));
  size_t seq = BYCC_TRY(checkAxis(context, context.integer("seq_axis"), x.rank(), "seq_axis"));
  size_t batch =
      BYCC_TRY(checkAxis(context, context.integer("batch_axis"), x.rank(), "batch_axis"));
  if (seq == batch)
    return context.error() << "seq_axis and batch_axis are both " << seq;
  BYCC_TRY(unifyDim(context, lengths.shape[0], x.shape[batch], "extent of lengths"));
  return x.type;
}

namespace {

Expected<TypeId> padBy(InferContext &context, const TensorInput &x,
                       const std::vector<std::pair<int64_t, int64_t>> &pads,
                       int64_t reflectLimit /* elements a reflection skips, -1: none */) {
  TypeTable &types = context.module().types;
  if (pads.size() != x.rank())
    return context.error() << "pad_width has " << pads.size() << " pairs, x has rank " << x.rank();
  Shape shape(x.shape.begin(), x.shape.end());
  for (size_t i = 0; i < shape.size(); ++i) {
    auto [before, after] = pads[i];
    int64_t total = 0;
    if (before < 0 || after < 0)
      return context.error() << "pad_width of axis " << i << " is negative";
    if (__builtin_add_overflow(before, after, &total))
      return context.error(Status::Limit) << "pad_width of axis " << i << " overflows";
    // A reflection needs the elements that it repeats.
    if (reflectLimit >= 0 && shape[i].isConst() &&
        std::max(before, after) > std::max<int64_t>(shape[i].value() - reflectLimit, 0))
      return context.error() << "axis " << i << " has " << shape[i].value()
                             << " elements, too few for a padding of " << std::max(before, after);
    Dim dim = types.add(shape[i], Dim(total));
    if (dim.isUnknown() && shape[i].isConst())
      return context.error(Status::Limit) << "the extent of axis " << i << " overflows";
    shape[i] = dim;
  }
  return tensorType(context, x.dtype, shape);
}

// One number, converted to the data's dtype: exporters write int32 beside uint8.
Expected<> checkPadValue(InferContext &context, const TensorInput &x, size_t index) {
  TensorInput value = BYCC_TRY(tensorInput(context, index));
  if (isFloat(value.dtype) != isFloat(x.dtype))
    BYCC_TRY(checkDType(context, value.dtype, x.dtype, "pad_value"));
  for (Dim dim : value.shape)
    if (!unify(dim, Dim(1)))
      return context.error() << "pad_value is a scalar, got "
                             << context.module().types.str(value.type);
  return {};
}

} // namespace

Expected<TypeId> padOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkPadValue(context, x, 1));
  BYCC_TRY(checkOneOf(context, "pad_mode", {"constant", "edge", "reflect"}));
  auto pads = BYCC_TRY(pairsAttr(context, "pad_width"));
  std::string_view mode = context.text("pad_mode");
  if (mode == "edge") {
    for (size_t i = 0; i < std::min(pads.size(), x.rank()); ++i)
      if (x.shape[i] == Dim(0) && (pads[i].first || pads[i].second))
        return context.error() << "axis " << i << " is empty and has no edge";
    return padBy(context, x, pads, -1);
  }
  return padBy(context, x, pads, mode == "reflect" ? 1 : -1);
}

Expected<TypeId> dynPad(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput width = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkInt(context, width.dtype, "pad widths"));
  BYCC_TRY(checkPadValue(context, x, 2));
  BYCC_TRY(checkOneOf(context, "pad_mode", {"constant", "edge", "reflect"}));
  BYCC_TRY(checkRank(context, width, 2, "pad_width"));
  BYCC_TRY(unifyDim(context, width.shape[0], Dim(static_cast<int64_t>(x.rank())),
                    "the number of pairs"));
  BYCC_TRY(unifyDim(context, width.shape[1], Dim(2), "the length of a pair"));
  auto widths = BYCC_TRY(symbolicInts(context, 1, 2));
  Shape shape = unknownShape(x.rank());
  for (size_t i = 0; widths && i < x.rank(); ++i) {
    for (const SymbolicInt &side : {(*widths)[2 * i], (*widths)[2 * i + 1]})
      if (side.number && *side.number < 0)
        return context.error() << "pad_width of axis " << i << " is negative";
    Dim total = context.module().types.add((*widths)[2 * i].extent(), (*widths)[2 * i + 1].extent());
    shape[i] = context.module().types.add(x.shape[i], total);
  }
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> mirrorPad(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkOneOf(context, "mode", {"SYMMETRIC", "REFLECT"}));
  auto pads = BYCC_TRY(pairsAttr(context, "pad_width"));
  return padBy(context, x, pads, context.text("mode") == "REFLECT" ? 1 : 0);
}

namespace {

// Positions of C, H, W in a 4-D layout attribute.
Expected<TypeId> depthSpace(InferContext &context, bool toSpace) {
  TypeTable &types = context.module().types;
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkRank(context, x, 4, "x"));
  BYCC_TRY(checkOneOf(context, "mode", {"DCR", "CRD"}));
  BYCC_TRY(checkOneOf(context, "layout", {"NCHW", "NHWC"}));
  int64_t block = context.integer("block_size");
  BYCC_TRY(checkPositive(context, Ints{block}, "block_size"));
  if (block > (1 << 20))
    return context.error(Status::Limit) << "block_size is " << block;
  Layout layout = BYCC_TRY(layoutAttr(context, "layout", "NCHW"));
  Shape shape(x.shape.begin(), x.shape.end());
  for (char letter : std::string_view("CHW")) {
    Dim &dim = shape[*layout.find(letter)];
    bool divides = (letter == 'C') == toSpace;
    int64_t factor = letter == 'C' ? block * block : block;
    if (divides && dim.isConst() && dim.value() % factor != 0)
      return context.error() << "axis " << letter << " has " << dim.value()
                             << " elements, not a multiple of " << factor;
    dim = divides ? types.floorDiv(dim, Dim(factor))
                  : BYCC_TRY(product(context, Shape{dim, Dim(factor)}));
  }
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> batchSpace(InferContext &context, bool toBatch) {
  TypeTable &types = context.module().types;
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  Ints blocks = context.integers("block_shape");
  BYCC_TRY(checkPositive(context, blocks, "block_shape"));
  std::string_view key = toBatch ? "paddings" : "crops";
  auto pads = BYCC_TRY(pairsAttr(context, key));
  if (pads.size() != blocks.size())
    return context.error() << key << " has " << pads.size() << " pairs, block_shape "
                           << blocks.size() << " values";
  if (x.rank() < blocks.size() + 1)
    return context.error() << "x has rank " << x.rank() << ", at least " << blocks.size() + 1
                           << " is needed";
  Shape shape(x.shape.begin(), x.shape.end());
  Shape factors;
  for (int64_t block : blocks)
    factors.push_back(Dim(block));
  Dim total = BYCC_TRY(product(context, factors));
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto [before, after] = pads[i];
    int64_t sum = 0;
    if (before < 0 || after < 0)
      return context.error() << key << " of axis " << i + 1 << " is negative";
    if (__builtin_add_overflow(before, after, &sum))
      return context.error(Status::Limit) << key << " of axis " << i + 1 << " overflows";
    Dim &dim = shape[i + 1];
    if (!toBatch) {
      Dim whole = BYCC_TRY(product(context, Shape{dim, Dim(blocks[i])}));
      if (whole.isConst() && whole.value() < sum)
        return context.error() << "crops of axis " << i + 1 << " exceed its extent";
      dim = types.sub(whole, Dim(sum));
      continue;
    }
    Dim padded = types.add(dim, Dim(sum));
    if (padded.isConst() && padded.value() % blocks[i] != 0)
      return context.error() << "axis " << i + 1 << " has " << padded.value()
                             << " elements with padding, not a multiple of " << blocks[i];
    dim = types.floorDiv(padded, Dim(blocks[i]));
  }
  if (!toBatch && shape[0].isConst() && total.isConst() &&
      shape[0].value() % total.value() != 0)
    return context.error() << "the batch " << shape[0].value() << " is not a multiple of "
                           << total.value();
  shape[0] = toBatch ? BYCC_TRY(product(context, Shape{shape[0], total}))
                     : types.floorDiv(shape[0], total);
  return tensorType(context, x.dtype, shape);
}

} // namespace

Expected<TypeId> depthToSpace(InferContext &context) { return depthSpace(context, true); }
Expected<TypeId> spaceToDepth(InferContext &context) { return depthSpace(context, false); }
Expected<TypeId> spaceToBatch(InferContext &context) { return batchSpace(context, true); }
Expected<TypeId> batchToSpace(InferContext &context) { return batchSpace(context, false); }

} // namespace bycc::shape
