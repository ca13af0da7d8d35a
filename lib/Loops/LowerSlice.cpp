// Slices, with begins, ends and strides known while compiling or read from operands.
#include "OpLowering.h"

#include <algorithm>

namespace bycc::loops {
namespace {

// Nothing an index means lies further out, and sums of a few of these stay in 64 bits.
constexpr int64_t farOut = int64_t{1} << 40;

// Elements first, first + step, ... of an axis, `count` of them.
struct Steps {
  Ref first, step, count;
  bool isFound = false; // where it begins is found at run time
};

class Slicer {
public:
  explicit Slicer(OpLowering &op) : op_(op), x_(op.x) {}

  Expected<Steps> steps(Ref extent, Ref begin, Ref end, Ref step, bool isSize) {
    op_.require(op2(Op::Ne, step, number(0)), "a slice has the stride {}", {step});
    Ref isDown = op2(Op::Lt, step, number(0));
    Ref low = x_.select(isDown, number(-1), number(0)),
        high = x_.select(isDown, x_.plus(extent, -1), extent);
    Ref from = wrapped(begin, extent), first = clamped(from, low, high);
    Ref last = isSize ? x_.select(op2(Op::Lt, end, number(0)), extent, x_.add(from, bounded(end)))
                      : wrapped(end, extent);
    bool toEnd = x_.constant(end) && *x_.constant(end) >= INT32_MAX && !isSize;
    last = toEnd ? high : clamped(last, low, high);
    Ref span = x_.select(isDown, x_.sub(first, last), x_.sub(last, first));
    Ref size = op2(Op::Max, step, x_.sub(number(0), step));
    Ref count = op2(Op::Max, op2(Op::FloorDiv, x_.plus(x_.add(span, size), -1), size), number(0));
    if (x_.constant(begin) == 0 && toEnd && x_.constant(step) == 1)
      return Steps{number(0), number(1), extent};
    return Steps{op_.dims.define(first), step, count, !x_.constant(begin)};
  }

private:
  Ref op2(Op op, Ref a, Ref b) { return op_.op2(op, a, b); }
  Ref number(int64_t value) { return x_.integer(value); }
  Ref clamped(Ref v, Ref low, Ref high) { return op2(Op::Min, op2(Op::Max, v, low), high); }
  Ref bounded(Ref v) { return clamped(v, number(-farOut), number(farOut)); }
  Ref wrapped(Ref v, Ref extent) {
    v = bounded(v);
    return x_.select(op2(Op::Lt, v, number(0)), x_.add(v, extent), v);
  }
  OpLowering &op_;
  Exprs &x_;
};

// Numbers of an attribute, or of the operand where the operator has one.
Expected<std::vector<Ref>> numbersOf(OpLowering &op, const char *key, size_t input) {
  std::vector<Ref> numbers;
  if (op.numInputs() == 1) {
    for (int64_t value : op.integers(key))
      numbers.push_back(op.x.integer(value));
    return numbers;
  }
  int64_t count = BYCC_TRY(op.countOf(input));
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(BYCC_TRY(op.content(input, i)));
  return numbers;
}

Expected<std::vector<Steps>> slicesOf(OpLowering &op, size_t firstInput, bool isSize,
                                      const std::vector<int64_t> &axes) {
  const Tensor &a = op.input(0);
  std::vector<Ref> begin = BYCC_TRY(numbersOf(op, "begin", firstInput)),
                   end = BYCC_TRY(numbersOf(op, "end", firstInput + 1)),
                   strides = BYCC_TRY(numbersOf(op, "strides", firstInput + 2));
  if (isSize || strides.empty())
    strides.assign(begin.size(), op.x.integer(1));
  if (end.size() < begin.size())
    return op.unsupported() << "begin has " << begin.size() << " values, end has " << end.size();
  std::vector<Steps> slices;
  for (Ref extent : a.shape)
    slices.push_back({op.x.integer(0), op.x.integer(1), extent});
  Slicer slicer(op);
  for (size_t n = 0; n < begin.size(); ++n) {
    size_t d =
        axes.empty()
            ? n
            : static_cast<size_t>(axes[n] < 0 ? axes[n] + static_cast<int64_t>(a.rank()) : axes[n]);
    if (d >= a.rank())
      return op.unsupported() << "begin has " << begin.size() << " values, x has rank " << a.rank();
    slices[d] = BYCC_TRY(slicer.steps(a.shape[d], begin[n], end[n],
                                      strides[std::min(n, strides.size() - 1)], isSize));
  }
  return slices;
}

Expected<> lowerStridedSlice(OpLowering &op) {
  std::vector<Steps> slices =
      BYCC_TRY(slicesOf(op, 1, op.text("slice_mode") == "size", op.integers("axes")));
  std::vector<Ref> shape;
  for (const Steps &slice : slices)
    shape.push_back(slice.count);
  // Types say min(n, extent) of the last n elements, which are all if n is 0.
  std::vector<Ref> said = BYCC_TRY(op.resultShape(shape));
  for (size_t d = 0; d < slices.size(); ++d)
    if (slices[d].isFound && said[d] != slices[d].count)
      op.requireEqual(slices[d].count, said[d], "axis " + std::to_string(d) + " of the result");
  return op.mapResult(
      [&](const Indices &i) {
        Indices at;
        for (size_t d = 0; d < i.size(); ++d)
          at.push_back(op.x.add(op.x.mul(i[d], slices[d].step), slices[d].first));
        return op.at(op.input(0), at);
      },
      shape);
}

// x with v at the places of the slice.
Expected<> lowerStridedSet(OpLowering &op) {
  const Tensor &a = op.input(0), &v = op.input(1);
  std::vector<Steps> slices = BYCC_TRY(slicesOf(op, 2, false, {}));
  for (size_t d = 0; d < a.rank(); ++d)
    op.require(op.op2(Op::Le, v.shape[d], slices[d].count),
               "v has {} elements along axis " + std::to_string(d) + ", the slice has {}",
               {v.shape[d], slices[d].count});
  return op.mapResult(
      [&](const Indices &i) {
        Indices at;
        Ref isInside = noRef;
        for (size_t d = 0; d < a.rank(); ++d) {
          Ref distance = op.x.sub(i[d], slices[d].first),
              n = op.op2(Op::FloorDiv, distance, slices[d].step);
          at.push_back(n);
          isInside = op.x.both(isInside, op.op2(Op::Eq, op.x.mul(n, slices[d].step), distance));
          isInside = op.x.both(isInside, op.x.both(op.op2(Op::Le, op.x.integer(0), n),
                                                   op.op2(Op::Lt, n, v.shape[d])));
        }
        return isInside == noRef ? op.atGuarded(v, at)
                                 : op.x.guard(isInside, op.atGuarded(v, at), op.at(a, i));
      },
      a.shape);
}

Expected<> lowerSliceLike(OpLowering &op) {
  std::vector<Ref> likely = op.input(0).shape;
  std::vector<int64_t> axes = op.integers("axes");
  for (size_t n = 0; n < (axes.empty() ? op.input(1).rank() : axes.size()); ++n) {
    size_t d = axes.empty()
                   ? n
                   : static_cast<size_t>(axes[n] < 0 ? axes[n] + static_cast<int64_t>(likely.size())
                                                     : axes[n]);
    likely[d] = op.input(1).shape[d];
  }
  return op.mapResult([&](const Indices &i) { return op.at(op.input(0), i); }, likely);
}

} // namespace

void addSliceLowerings(LowerTable &table) {
  table[ops::strided_slice.index] = lowerStridedSlice;
  table[ops::dyn_strided_slice.index] = lowerStridedSlice;
  table[ops::strided_set.index] = lowerStridedSet;
  table[ops::slice_like.index] = lowerSliceLike;
}

} // namespace bycc::loops
