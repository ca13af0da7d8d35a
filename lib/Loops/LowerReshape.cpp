// Operators that only change the shape. Which extents they give is worked out
// here, also where codes and axes come from operands; the program makes views of
// them where it can.
#include "OpLowering.h"

#include <algorithm>

namespace bycc::loops {
namespace {

using Extents = std::vector<Ref>;

Ref productOf(OpLowering &op, const Extents &extents) {
  Ref product = op.x.integer(1);
  for (Ref extent : extents)
    product = op.x.mul(product, extent);
  return product;
}

// The codes of newshape that are numbers. `inferred` is where the -1 stands.
class Codes {
public:
  Codes(OpLowering &op, Extents input, bool allowZero)
      : op_(op), input_(std::move(input)), allowZero_(allowZero) {}

  Expected<Extents> read(const std::vector<int64_t> &codes) {
    for (size_t i = 0; i < codes.size(); ++i)
      BYCC_TRY(readOne(codes, i));
    if (inferred_ != SIZE_MAX)
      shape_[inferred_] = inferred();
    return std::move(shape_);
  }

private:
  // The elements over those of the other axes. What is an extent of both needs no division, in
  // which it might be 0.
  Ref inferred() {
    Extents all = input_, others;
    for (Ref extent : shape_)
      if (auto same = std::ranges::find(all, extent); same != all.end())
        all.erase(same);
      else
        others.push_back(extent);
    return op_.op2(Op::FloorDiv, productOf(op_, all), productOf(op_, others));
  }

  Ref take() { return next_ < input_.size() ? input_[next_++] : op_.x.integer(1); }

  Expected<> readOne(const std::vector<int64_t> &codes, size_t &i) {
    int64_t code = codes[i];
    if (code > 0 || (code == 0 && allowZero_)) {
      shape_.push_back(op_.x.integer(code));
      ++next_;
    } else if (code == -1) {
      inferred_ = shape_.size();
      shape_.push_back(op_.x.integer(1));
      ++next_;
    } else if (code == 0) {
      shape_.push_back(take());
    } else if (code == -2) {
      while (next_ < input_.size())
        shape_.push_back(take());
    } else if (code == -3) {
      Ref first = take();
      shape_.push_back(op_.x.mul(first, take()));
    } else if (code == -4 && i + 2 < codes.size()) {
      Ref whole = take();
      int64_t a = codes[i + 1], b = codes[i + 2];
      Ref other = op_.op2(Op::FloorDiv, whole, op_.x.integer(std::max<int64_t>(a < 0 ? b : a, 1)));
      shape_.push_back(a < 0 ? other : op_.x.integer(a));
      shape_.push_back(b < 0 ? other : op_.x.integer(b));
      i += 2;
    } else {
      return op_.unsupported() << "newshape has the code " << code;
    }
    return {};
  }

  OpLowering &op_;
  Extents input_, shape_;
  bool allowZero_;
  size_t next_ = 0, inferred_ = SIZE_MAX;
};

Expected<Extents> byNewshape(OpLowering &op) {
  return Codes(op, op.input(0).shape, op.integer("allowzero") != 0).read(op.integers("newshape"));
}

Expected<Extents> byReversedNewshape(OpLowering &op) {
  Extents input(op.input(0).shape.rbegin(), op.input(0).shape.rend());
  std::vector<int64_t> codes = op.integers("newshape");
  std::reverse(codes.begin(), codes.end());
  Extents shape = BYCC_TRY(Codes(op, input, op.integer("allowzero") != 0).read(codes));
  std::reverse(shape.begin(), shape.end());
  return shape;
}

// Codes of an operand: 0 copies an extent, one -1 is worked out.
Expected<Extents> byOperand(OpLowering &op) {
  const Tensor &a = op.input(0);
  Exprs &x = op.x;
  int64_t rank = BYCC_TRY(op.countOf(1));
  bool copies = op.integer("allowzero") == 0;
  Ref known = x.integer(1);
  std::vector<Ref> codes, shape;
  for (int64_t i = 0; i < rank; ++i) {
    Ref code = BYCC_TRY(op.content(1, i));
    op.require(op.op2(Op::Le, x.integer(-1), code), "newshape holds {}", {code});
    Ref same = static_cast<size_t>(i) < a.rank() ? a.shape[static_cast<size_t>(i)] : x.integer(0);
    codes.push_back(copies ? x.select(op.op2(Op::Eq, code, x.integer(0)), same, code) : code);
    known = x.mul(
        known, x.select(op.op2(Op::Eq, codes.back(), x.integer(-1)), x.integer(1), codes.back()));
  }
  Ref rest = op.op2(Op::FloorDiv, productOf(op, a.shape), known);
  for (Ref code : codes)
    shape.push_back(x.select(op.op2(Op::Eq, code, x.integer(-1)), rest, code));
  return shape;
}

Expected<Extents> byOther(OpLowering &op) {
  const Extents &a = op.input(0).shape, &like = op.input(1).shape;
  auto bound = [&](const char *key, size_t rank, int64_t ifNone) {
    int64_t value = op.isNone(key) ? ifNone : op.integer(key);
    return value < 0 ? value + static_cast<int64_t>(rank) : value;
  };
  int64_t begin = bound("lhs_begin", a.size(), 0),
          end = bound("lhs_end", a.size(), static_cast<int64_t>(a.size()));
  int64_t from = bound("rhs_begin", like.size(), 0),
          to = bound("rhs_end", like.size(), static_cast<int64_t>(like.size()));
  Extents shape(a.begin(), a.begin() + begin);
  shape.insert(shape.end(), like.begin() + from, like.begin() + to);
  shape.insert(shape.end(), a.begin() + end, a.end());
  return shape;
}

Expected<Extents> flattened(OpLowering &op) {
  const Extents &a = op.input(0).shape;
  return Extents{a[0], productOf(op, Extents(a.begin() + 1, a.end()))};
}

// Axes of an operand or the attribute, from the front of `rank` axes.
Expected<std::vector<Ref>> axesOf(OpLowering &op, int64_t rank) {
  std::vector<Ref> axes;
  if (op.numInputs() == 1) {
    for (int64_t axis : op.integers("axis"))
      axes.push_back(op.x.integer(axis < 0 ? axis + rank : axis));
    return axes;
  }
  int64_t count = BYCC_TRY(op.countOf(1));
  for (int64_t i = 0; i < count; ++i) {
    Ref axis = BYCC_TRY(op.content(1, i));
    Ref wrapped = op.x.select(op.op2(Op::Lt, axis, op.x.integer(0)), op.x.plus(axis, rank), axis);
    op.require(op.x.both(op.op2(Op::Le, op.x.integer(0), wrapped),
                         op.op2(Op::Lt, wrapped, op.x.integer(rank))),
               "axis {} is out of range for rank " + std::to_string(rank), {axis});
    axes.push_back(wrapped);
  }
  return axes;
}

Expected<Extents> expanded(OpLowering &op) {
  const Extents &a = op.input(0).shape;
  int64_t more = op.integer("num_newaxis");
  Ref axis = BYCC_TRY(axesOf(op, static_cast<int64_t>(a.size()) + 1))[0];
  Extents shape;
  for (int64_t p = 0; p < static_cast<int64_t>(a.size()) + more; ++p) {
    Ref place = op.x.integer(p),
        before = static_cast<size_t>(p) < a.size() ? a[static_cast<size_t>(p)] : op.x.integer(1);
    Ref after = p >= more ? a[static_cast<size_t>(p - more)] : op.x.integer(1);
    Ref rest = op.x.select(op.op2(Op::Lt, place, op.x.plus(axis, more)), op.x.integer(1), after);
    shape.push_back(op.x.select(op.op2(Op::Lt, place, axis), before, rest));
  }
  return shape;
}

// Position p of the result is the p-th axis that stays; those that go have one element.
Expected<Extents> squeezed(OpLowering &op) {
  const Extents &a = op.input(0).shape;
  Exprs &x = op.x;
  bool dropsOnes = op.numInputs() == 1 && op.isNone("axis");
  std::vector<Ref> axes;
  if (!dropsOnes)
    axes = BYCC_TRY(axesOf(op, static_cast<int64_t>(a.size())));
  Extents shape(op.module.types.shape(op.resultType()).size(), x.integer(1));
  Ref place = x.integer(0);
  for (size_t d = 0; d < a.size(); ++d) {
    Ref stays = x.boolean(!(dropsOnes && x.constant(a[d]) == 1));
    for (Ref axis : axes)
      stays = x.both(stays, op.op2(Op::Ne, axis, x.integer(static_cast<int64_t>(d))));
    if (!dropsOnes)
      op.require(x.select(stays, x.boolean(true), op.op2(Op::Eq, a[d], x.integer(1))),
                 "axis " + std::to_string(d) + " has {} elements, not 1", {a[d]});
    for (size_t p = 0; p < shape.size(); ++p)
      shape[p] = x.select(x.both(stays, op.op2(Op::Eq, place, x.integer(static_cast<int64_t>(p)))),
                          a[d], shape[p]);
    place = x.add(place, x.select(stays, x.integer(1), x.integer(0)));
  }
  return shape;
}

Expected<Extents> extentsOf(OpLowering &op) {
  if (op.isOp(ops::reshape))
    return byNewshape(op);
  if (op.isOp(ops::contrib_reverse_reshape))
    return byReversedNewshape(op);
  if (op.isOp(ops::dyn_reshape))
    return byOperand(op);
  if (op.isOp(ops::reshape_like))
    return byOther(op);
  if (op.isOp(ops::nn_batch_flatten))
    return flattened(op);
  return op.isOp(ops::expand_dims) || op.isOp(ops::dyn_expand_dims) ? expanded(op) : squeezed(op);
}

// Same elements, another shape.
Expected<> lowerReshape(OpLowering &op) {
  const Tensor &a = op.input(0);
  Extents shape = BYCC_TRY(op.resultShape(BYCC_TRY(extentsOf(op))));
  Ref from = productOf(op, a.shape), to = productOf(op, shape);
  op.require(op.op2(Op::Eq, from, to), "{} elements cannot have a shape of {}", {from, to});
  op.results.push_back(op.map(a.type, shape, [&](const Indices &i) {
    Ref flat = op.x.integer(0);
    for (size_t d = 0; d < shape.size(); ++d)
      flat = op.x.add(op.x.mul(flat, shape[d]), i[d]);
    return op.atFlat(a, flat);
  }));
  return {};
}

} // namespace

void addReshapeLowerings(LowerTable &table) {
  for (uint32_t i = 0; i < numOps(); ++i)
    if (opInfo(OpId(i)).has(OpTrait::View))
      table[i] = lowerReshape;
}

} // namespace bycc::loops
