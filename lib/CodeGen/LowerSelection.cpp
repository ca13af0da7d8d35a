// Sorting, running sums and scatters without an order of execution: each result
// element says what it is. Sorting counts how many elements come before each one
// (its rank), then finds who has rank r; a scatter asks of each element which
// updates hit it. Quadratic along one axis, but parallel, vectorised, stable and
// the same in every run.
#include "Lower.h"

namespace bycc::te {
namespace {

// NaN counts as greater than every number.
Ref isLess(OpLowering &op, Ref a, Ref b) {
  Ref less = op.op2(Op::Lt, a, b);
  if (!isFloat(op.x.type(a)))
    return less;
  Ref onlyB = op.op2(Op::And, op.x.unary(Op::Not, op.x.unary(Op::IsNan, a)), op.x.unary(Op::IsNan, b));
  return op.op2(Op::Or, less, onlyB);
}

Indices without(Indices i, size_t last) {
  i.resize(last);
  return i;
}

// Positions of x in sorted order along `axis`, the first `count` of them.
Tensor sortedPositions(OpLowering &op, const Tensor &a, size_t axis, bool isAscending, Ref count) {
  size_t rank = a.rank();
  std::vector<Ref> pairs = a.shape;
  pairs.push_back(a.shape[axis]);
  std::vector<bool> last(rank + 1, false);
  last[rank] = true;
  Tensor ranks = op.reduce(Reduce::Sum, DType::Int32, pairs, last, [&](const Indices &i) {
    Indices mine = without(i, rank), other = mine;
    other[axis] = i[rank];
    Ref x = op.at(a, mine), y = op.at(a, other);
    Ref before = isAscending ? isLess(op, y, x) : isLess(op, x, y), after = isAscending ? isLess(op, x, y) : isLess(op, y, x);
    Ref tie = op.op2(Op::And, op.x.unary(Op::Not, after), op.op2(Op::Lt, other[axis], mine[axis]));
    return op.x.cast(op.op2(Op::Or, before, tie), DType::Int32);
  });
  std::vector<Ref> search = a.shape;
  search[axis] = count;
  search.push_back(a.shape[axis]);
  Tensor positions = op.reduce(Reduce::Sum, DType::Int32, search, last, [&](const Indices &i) {
    Indices at = without(i, rank);
    at[axis] = i[rank];
    at.push_back(op.x.integer(0));
    Ref hit = op.op2(Op::Eq, op.at(ranks, at), op.x.cast(i[axis], DType::Int32));
    return op.x.select(hit, op.x.cast(i[rank], DType::Int32), op.x.integer(0, DType::Int32));
  });
  op.k.stages.back().keep = true;
  return positions;
}

Tensor gatherAlong(OpLowering &op, const Tensor &a, const Tensor &positions, size_t axis, const std::vector<Ref> &shape) {
  return op.map(a.type, shape, [&](const Indices &i) {
    Indices where = i, at = i;
    where.push_back(op.x.integer(0));
    at[axis] = op.x.cast(op.at(positions, where), DType::Int64);
    return op.at(a, at);
  });
}

Tensor asIndices(OpLowering &op, const Tensor &positions, const std::vector<Ref> &shape, DType type) {
  return op.map(type, shape, [&](const Indices &i) {
    Indices where = i;
    where.push_back(op.x.integer(0));
    return op.x.cast(op.at(positions, where), type);
  });
}

Expected<> lowerSort(OpLowering &op) {
  const Tensor &a = op.input(0);
  size_t axis = static_cast<size_t>(op.axis("axis", a.rank()));
  bool isTopk = op.isOp(ops::topk);
  std::vector<Ref> shape = a.shape;
  if (isTopk) {
    int64_t wanted = op.integer("k");
    auto extent = op.extent(a, axis);
    if (wanted < 0 || !extent || wanted > *extent)
      return op.unsupported() << "k is " << wanted << ", which axis " << axis << " does not hold";
    shape[axis] = op.x.integer(wanted);
  }
  Tensor positions = sortedPositions(op, a, axis, op.boolean("is_ascend"), shape[axis]);
  std::string which = isTopk ? op.text("ret_type") : op.isOp(ops::sort) ? "values" : "indices";
  if (which != "indices")
    op.results.push_back(gatherAlong(op, a, positions, axis, shape));
  if (which != "values")
    op.results.push_back(asIndices(op, positions, shape, op.resultDType(op.results.size())));
  return {};
}

Expected<> lowerSearchSorted(OpLowering &op) {
  const Tensor &sorted = op.input(0), &wanted = op.input(1);
  std::vector<Ref> shape = wanted.shape;
  shape.push_back(sorted.shape.back());
  std::vector<bool> last(shape.size(), false);
  last.back() = true;
  bool isRight = op.boolean("right");
  Tensor count = op.reduce(Reduce::Sum, DType::Int64, shape, last, [&](const Indices &i) {
    Indices value = without(i, wanted.rank());
    Ref v = op.at(wanted, value);
    Indices line = sorted.rank() == 1 ? Indices{} : without(i, wanted.rank() - 1);
    line.push_back(i.back());
    Ref s = op.at(sorted, line);
    Ref before = isRight ? op.x.unary(Op::Not, isLess(op, v, s)) : isLess(op, s, v);
    return op.x.cast(before, DType::Int64);
  });
  op.results.push_back(asIndices(op, count, wanted.shape, op.resultDType()));
  return {};
}

Expected<> lowerCumulative(OpLowering &op) {
  const Tensor &a = op.input(0);
  bool isSum = op.isOp(ops::cumsum), isExclusive = op.boolean("exclusive"), isFlat = op.isNone("axis");
  DType type = op.resultDType();
  bool isNarrow = type == DType::Float16 || type == DType::BFloat16;
  DType wide = isNarrow ? DType::Float32 : type;
  std::vector<Ref> likely = a.shape;
  if (isFlat) {
    likely = {op.x.integer(1)};
    for (Ref extent : a.shape)
      likely[0] = op.x.mul(likely[0], extent);
  }
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely)), pairs = shape;
  size_t axis = isFlat ? 0 : static_cast<size_t>(op.axis("axis", a.rank()));
  pairs.push_back(shape[axis]);
  std::vector<bool> last(pairs.size(), false);
  last.back() = true;
  Tensor sums = op.reduce(isSum ? Reduce::Sum : Reduce::Prod, wide, pairs, last, [&](const Indices &i) {
    Indices at = without(i, shape.size());
    Ref end = at[axis];
    at[axis] = i.back();
    Ref v = op.x.cast(isFlat ? op.atFlat(a, at[0]) : op.at(a, at), wide);
    return op.x.select(op.op2(isExclusive ? Op::Lt : Op::Le, i.back(), end), v, op.real(isSum ? 0 : 1, wide));
  });
  op.results.push_back(op.map(type, shape, [&](const Indices &i) {
    Indices at = i;
    at.push_back(op.x.integer(0));
    return op.x.cast(op.at(sums, at), type);
  }));
  return {};
}

// result[p] = old(p) joined with update(p, s) of all s in `over` with hits(p, s).
struct Scatter {
  std::vector<Ref> shape, over;
  std::function<Ref(const Indices &)> old;
  std::function<Ref(const Indices &, const Indices &)> hits, update;
};

Expected<> addScatter(OpLowering &op, const Scatter &scatter, const std::string &how) {
  DType type = op.resultDType();
  size_t rank = scatter.shape.size();
  std::vector<Ref> all = scatter.shape;
  all.insert(all.end(), scatter.over.begin(), scatter.over.end());
  std::vector<bool> reduced(all.size(), false);
  for (size_t d = rank; d < all.size(); ++d)
    reduced[d] = true;
  auto joined = [&](Reduce kind, DType into, const std::function<Ref(const Indices &, const Indices &)> &value) {
    return op.reduce(kind, into, all, reduced, [&](const Indices &i) {
      return value(without(i, rank), Indices(i.begin() + static_cast<ptrdiff_t>(rank), i.end()));
    });
  };
  auto full = [&](Indices i) {
    i.resize(all.size(), op.x.integer(0));
    return i;
  };
  auto choose = [&](const Indices &p, const Indices &s, Ref otherwise) {
    return op.x.guard(scatter.hits(p, s), scatter.update(p, s), otherwise);
  };
  if (how == "update") {
    // The last update in order wins.
    Tensor winner = joined(Reduce::Max, DType::Int64, [&](const Indices &p, const Indices &s) {
      Ref order = op.x.integer(0);
      for (size_t d = 0; d < s.size(); ++d)
        order = op.x.add(op.x.mul(order, scatter.over[d]), s[d]);
      return op.x.select(scatter.hits(p, s), order, op.x.integer(-1));
    });
    return op.mapResult(
        [&](const Indices &p) {
          Ref order = op.at(winner, full(p)), rest = order;
          Indices s(scatter.over.size());
          for (size_t d = s.size(); d-- > 0;) {
            s[d] = d == 0 ? rest : op.op2(Op::FloorMod, rest, scatter.over[d]);
            rest = op.op2(Op::FloorDiv, rest, scatter.over[d]);
          }
          return op.x.guard(op.op2(Op::Le, op.x.integer(0), order), scatter.update(p, s), scatter.old(p));
        },
        scatter.shape);
  }
  if (how == "min" || how == "max") {
    Tensor best = joined(how == "min" ? Reduce::Min : Reduce::Max, type,
                         [&](const Indices &p, const Indices &s) { return choose(p, s, scatter.old(p)); });
    Op join = how == "min" ? Op::Min : Op::Max;
    return op.mapResult([&](const Indices &p) { return op.op2(join, op.at(best, full(p)), scatter.old(p)); }, scatter.shape);
  }
  if (how != "add" && how != "mul" && how != "mean")
    return op.unsupported() << "reduction '" << how << "'";
  bool isMul = how == "mul";
  Tensor total = joined(isMul ? Reduce::Prod : Reduce::Sum, type,
                        [&](const Indices &p, const Indices &s) { return choose(p, s, op.real(isMul ? 1 : 0, type)); });
  Tensor count;
  if (how == "mean")
    count = joined(Reduce::Sum, DType::Int64, [&](const Indices &p, const Indices &s) { return op.x.cast(scatter.hits(p, s), DType::Int64); });
  return op.mapResult(
      [&](const Indices &p) {
        Ref value = op.op2(isMul ? Op::Mul : Op::Add, scatter.old(p), op.at(total, full(p)));
        return how == "mean" ? op.op2(Op::Div, value, op.x.cast(op.x.plus(op.at(count, full(p)), 1), type)) : value;
      },
      scatter.shape);
}

// Does the index value (negative: from the end) name position p?
Ref names(OpLowering &op, Ref index, Ref position, Ref extent) {
  index = op.x.cast(index, DType::Int64);
  Ref wrapped = op.x.select(op.op2(Op::Lt, index, op.x.integer(0)), op.x.add(index, extent), index);
  return op.op2(Op::Eq, wrapped, position);
}

Expected<> lowerScatterElements(OpLowering &op) {
  const Tensor &a = op.input(0), &where = op.input(1), &updates = op.input(2);
  size_t axis = static_cast<size_t>(op.axis("axis", a.rank()));
  auto place = [&](const Indices &p, const Indices &s) {
    Indices at = p;
    at[axis] = s[0];
    return at;
  };
  Scatter scatter;
  scatter.shape = a.shape;
  scatter.over = {where.shape[axis]};
  scatter.old = [&](const Indices &p) { return op.at(a, p); };
  scatter.update = [&](const Indices &p, const Indices &s) { return op.at(updates, place(p, s)); };
  scatter.hits = [&](const Indices &p, const Indices &s) {
    Ref inside = noRef; // indices may cover a part of the other axes
    for (size_t d = 0; d < a.rank(); ++d)
      if (d != axis)
        inside = op.x.both(inside, op.op2(Op::Lt, p[d], where.shape[d]));
    Ref hit = names(op, op.at(where, place(p, s)), p[axis], a.shape[axis]);
    return inside == noRef ? hit : op.x.guard(inside, hit, op.x.boolean(false));
  };
  return addScatter(op, scatter, op.text("reduction"));
}

Expected<> lowerScatterNd(OpLowering &op) {
  const Tensor &a = op.input(0), &where = op.input(1), &updates = op.input(2);
  auto depth = op.extent(where, 0);
  if (!depth)
    return op.unsupported() << "the number of coordinates must be known";
  size_t m = static_cast<size_t>(*depth);
  Scatter scatter;
  scatter.shape = a.shape;
  scatter.over.assign(where.shape.begin() + 1, where.shape.end());
  scatter.old = [&](const Indices &p) { return op.at(a, p); };
  scatter.update = [&](const Indices &p, const Indices &s) {
    Indices at = s;
    at.insert(at.end(), p.begin() + static_cast<ptrdiff_t>(m), p.end());
    return op.at(updates, at);
  };
  scatter.hits = [&](const Indices &p, const Indices &s) {
    Ref hit = noRef;
    for (size_t c = 0; c < m; ++c) {
      Indices at{op.x.integer(static_cast<int64_t>(c))};
      at.insert(at.end(), s.begin(), s.end());
      hit = op.x.both(hit, names(op, op.at(where, at), p[c], a.shape[c]));
    }
    return hit == noRef ? op.x.boolean(true) : hit;
  };
  return addScatter(op, scatter, op.text("mode"));
}

Expected<> lowerSparseToDense(OpLowering &op) {
  const Tensor &where = op.input(0), &values = op.input(1), &fill = op.input(2);
  Scatter scatter;
  scatter.shape = BYCC_TRY(op.resultShape());
  if (where.rank() > 0)
    scatter.over = {where.shape[0]};
  scatter.old = [&](const Indices &) { return op.atFlat(fill, op.x.integer(0)); };
  scatter.update = [&](const Indices &, const Indices &s) { return values.rank() == 0 ? op.at(values, {}) : op.at(values, s); };
  scatter.hits = [&](const Indices &p, const Indices &s) {
    Ref hit = noRef;
    for (size_t d = 0; d < p.size(); ++d) {
      Indices at = s;
      if (where.rank() == 2)
        at.push_back(op.x.integer(static_cast<int64_t>(d)));
      hit = op.x.both(hit, names(op, op.at(where, at), p[d], scatter.shape[d]));
    }
    return hit;
  };
  return addScatter(op, scatter, "update");
}

Expected<> lowerInvertPermutation(OpLowering &op) {
  const Tensor &a = op.input(0);
  Tensor found = op.reduce(Reduce::Sum, a.type, {a.shape[0], a.shape[0]}, {false, true}, [&](const Indices &i) {
    return op.x.select(names(op, op.at(a, {i[1]}), i[0], a.shape[0]), op.x.cast(i[1], a.type), op.x.integer(0, a.type));
  });
  op.results.push_back(op.map(a.type, a.shape, [&](const Indices &i) { return op.at(found, {i[0], op.x.integer(0)}); }));
  return {};
}

// Windows along the axes from `axis` on: counts first, then the windows.
Expected<> lowerSlidingWindow(OpLowering &op) {
  const Tensor &a = op.input(0);
  size_t axis = static_cast<size_t>(op.axis("axis", a.rank()));
  std::vector<int64_t> strides = op.integers("strides");
  return op.mapResult([&](const Indices &i) {
    Indices at(i.begin(), i.begin() + static_cast<ptrdiff_t>(a.rank()));
    for (size_t d = axis; d < a.rank(); ++d)
      at[d] = op.x.add(op.x.times(i[d], strides[d - axis]), i[a.rank() + d - axis]);
    return op.at(a, at);
  });
}

Expected<> lowerUnravelIndex(OpLowering &op) {
  const Tensor &indices = op.input(0), &extents = op.input(1);
  auto rank = op.extent(extents, 0);
  if (!rank)
    return op.unsupported() << "the rank must be known";
  return op.mapResult([&](const Indices &i) {
    Indices at(i.begin() + 1, i.end());
    Ref rest = op.x.cast(op.at(indices, at), DType::Int64), result = noRef;
    for (int64_t d = *rank; d-- > 0;) {
      Ref extent = op.x.cast(op.at(extents, {op.x.integer(d)}), DType::Int64);
      Ref digit = op.op2(Op::FloorMod, rest, extent);
      rest = op.op2(Op::FloorDiv, rest, extent);
      result = result == noRef ? digit : op.x.select(op.op2(Op::Eq, i[0], op.x.integer(d)), digit, result);
    }
    return op.x.cast(result, op.resultDType());
  });
}

} // namespace

void addSelectionLowerings(LowerTable &table) {
  for (OpId op : {ops::sort, ops::argsort, ops::topk})
    table[op.index] = lowerSort;
  table[ops::searchsorted.index] = lowerSearchSorted;
  table[ops::cumsum.index] = lowerCumulative;
  table[ops::cumprod.index] = lowerCumulative;
  table[ops::scatter_elements.index] = lowerScatterElements;
  table[ops::scatter_nd.index] = lowerScatterNd;
  table[ops::sparse_to_dense.index] = lowerSparseToDense;
  table[ops::invert_permutation.index] = lowerInvertPermutation;
  table[ops::sliding_window.index] = lowerSlidingWindow;
  table[ops::unravel_index.index] = lowerUnravelIndex;
}

} // namespace bycc::te
