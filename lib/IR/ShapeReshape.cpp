// Type rules of operators that give the same elements another shape.

#include "Shape.h"

#include "bycc/IR/Module.h"

#include <algorithm>

namespace bycc::shape {
namespace {

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
  std::optional<size_t> inferred;                // position of the -1
  std::vector<std::pair<size_t, size_t>> copied; // axes of the input, and here
  size_t open = 0, lastOpen = 0;                 // elements of which nothing is known

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
      if (!allowZero_)
        copied.emplace_back(next_, shape.size());
      shape.push_back(allowZero_ ? Dim(0) : BYCC_TRY(take(0)));
      next_ += allowZero_;
      return {};
    case -1:
      ++next_;
      return setInferred();
    case -2:
      while (next_ < input_.size())
        shape.push_back(input_[next_++]);
      return {};
    case -3: {
      Dim first = BYCC_TRY(take(-3)), second = BYCC_TRY(take(-3));
      shape.push_back(BYCC_TRY(product(context_, Shape{first, second})));
      return {};
    }
    case -4:
      return readSplit(codes, i);
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

// Checks that both shapes have the same number of elements; fills the -1. Extents that
// are copied and not known cancel out.
Expected<Shape> finishReshape(InferContext &context, const TensorInput &x, Shape shape,
                              std::optional<size_t> inferred,
                              const std::vector<std::pair<size_t, size_t>> &copied = {}) {
  TypeTable &types = context.module().types;
  Shape rest = shape, given(x.shape.begin(), x.shape.end());
  for (auto [axis, at] : copied)
    if (inferred && shape[at].isUnknown())
      given[axis] = rest[at] = Dim(1);
  Dim from = BYCC_TRY(product(context, given));
  Dim to = BYCC_TRY(product(context, rest));
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

} // namespace

Expected<TypeId> reshapeTo(InferContext &context, const TensorInput &x, const Symbolic &to,
                           bool allowZero) {
  ReshapeCodes codes(context, x.shape, allowZero);
  BYCC_TRY(codes.read(to));
  Shape shape = BYCC_TRY(finishReshape(context, x, codes.shape, codes.inferred, codes.copied));
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
  for (auto &[axis, at] : reader.copied)
    axis = input.size() - 1 - axis;
  Shape shape = BYCC_TRY(finishReshape(context, x, reader.shape, reader.inferred, reader.copied));
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

} // namespace bycc::shape
