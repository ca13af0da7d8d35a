// Reductions, and the row-wise operators made of them: softmax and the norms.
#include "OpLowering.h"

#include <algorithm>

namespace bycc::loops {
namespace {

std::vector<bool> reducedAxes(OpLowering &op, std::string_view key = "axis") {
  size_t rank = op.input(0).rank();
  std::vector<bool> reduced(rank, op.isNone(key));
  if (op.isNone(key))
    return reduced;
  for (int64_t axis : op.integers(key))
    reduced[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)] = true;
  if (op.module.attr(op.call, "exclude") && op.boolean("exclude"))
    reduced.flip();
  return reduced;
}

// The kept-dims tensor as the operator's result: the same elements, ones dropped.
Expected<> finishReduction(OpLowering &op, const Tensor &kept, const std::vector<bool> &reduced,
                           const std::function<Ref(Ref)> &value) {
  bool keepDims = op.boolean("keepdims");
  std::vector<Ref> likely;
  for (size_t d = 0; d < kept.rank(); ++d)
    if (keepDims || !reduced[d])
      likely.push_back(kept.shape[d]);
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely));
  op.results.push_back(op.map(op.resultDType(), shape, [&](const Indices &i) {
    Indices full;
    size_t next = 0;
    for (size_t d = 0; d < kept.rank(); ++d) {
      if (reduced[d]) {
        full.push_back(op.x.integer(0));
        next += keepDims;
      } else {
        full.push_back(i[next++]);
      }
    }
    return value(op.at(kept, full));
  }));
  return {};
}

Indices rowIndices(OpLowering &op, Indices i, const std::vector<bool> &reduced) {
  for (size_t d = 0; d < i.size(); ++d)
    if (reduced[d])
      i[d] = op.x.integer(0);
  return i;
}

Ref countOf(OpLowering &op, const std::vector<bool> &reduced) {
  Ref count = op.x.integer(1);
  for (size_t d = 0; d < reduced.size(); ++d)
    if (reduced[d])
      count = op.x.mul(count, op.input(0).shape[d]);
  return count;
}

struct ReduceRow {
  OpId op;
  Reduce kind;
};
const ReduceRow reduceRows[] = {{ops::sum, Reduce::Sum},  {ops::prod, Reduce::Prod},
                                {ops::max, Reduce::Max},  {ops::min, Reduce::Min},
                                {ops::mean, Reduce::Sum}, {ops::all, Reduce::All},
                                {ops::any, Reduce::Any},  {ops::variance, Reduce::Sum}};

// The best, then the first or last place where it stands: two reductions whose steps do not
// wait for each other.
Expected<> lowerPlace(OpLowering &op) {
  const Tensor &a = op.input(0);
  Exprs &x = op.x;
  std::vector<bool> reduced = reducedAxes(op);
  DType type = a.type == DType::Bool ? DType::UInt8 : a.type;
  auto valueAt = [&](const Indices &i) { return x.cast(op.at(a, i), type); };
  Reduce kind = op.isOp(ops::argmax) ? Reduce::Max : Reduce::Min;
  Tensor best = op.reduce(kind, type, a.shape, reduced, valueAt);
  bool takesLast = op.boolean("select_last_index");
  auto count = x.constant(countOf(op, reduced));
  DType placeType = count && *count <= INT32_MAX ? DType::Int32 : DType::Int64;
  Ref nowhere = x.integer(takesLast                   ? -1
                          : placeType == DType::Int32 ? INT32_MAX
                                                      : INT64_MAX,
                          placeType);
  auto placeAt = [&](const Indices &i) {
    Ref value = valueAt(i), wanted = op.at(best, rowIndices(op, i, reduced)), place = x.integer(0);
    for (size_t d = 0; d < i.size(); ++d)
      if (reduced[d])
        place = x.add(x.mul(place, a.shape[d]), i[d]);
    Ref isBest = op.op2(Op::Eq, value, wanted);
    if (isFloat(type)) { // what is no number is the best
      Ref areNan = op.op2(Op::And, x.unary(Op::IsNan, value), x.unary(Op::IsNan, wanted));
      isBest = op.op2(Op::Or, isBest, areNan);
    }
    return x.select(isBest, x.cast(place, placeType), nowhere);
  };
  Tensor kept =
      op.reduce(takesLast ? Reduce::Max : Reduce::Min, placeType, a.shape, reduced, placeAt);
  return finishReduction(op, kept, reduced, [&](Ref v) {
    Ref none = x.integer(-1, placeType); // of no elements
    v = takesLast ? op.op2(Op::Max, v, none) : x.select(op.op2(Op::Eq, v, nowhere), none, v);
    return x.cast(v, op.resultDType());
  });
}

Expected<> lowerReduce(OpLowering &op) {
  Reduce kind = Reduce::Sum;
  for (const ReduceRow &row : reduceRows)
    if (op.isOp(row.op))
      kind = row.kind;
  const Tensor &a = op.input(0);
  std::vector<bool> reduced = reducedAxes(op);
  DType wide = accumulator(a.type);
  bool isVariance = op.isOp(ops::variance);
  Tensor kept = op.reduce(kind, wide, a.shape, reduced, [&](const Indices &i) {
    Ref v = op.x.cast(op.at(a, i), wide);
    if (!isVariance)
      return v;
    const Tensor &mean = op.input(1);
    Indices at;
    if (mean.rank() == a.rank()) {
      for (size_t d = 0; d < a.rank(); ++d)
        at.push_back(reduced[d] ? op.x.integer(0) : i[d]);
    } else {
      for (size_t d = 0; d < a.rank(); ++d)
        if (!reduced[d])
          at.push_back(i[d]);
    }
    Ref difference = op.x.sub(v, op.x.cast(op.at(mean, at), wide));
    return op.op2(Op::Mul, difference, difference);
  });
  bool divides = op.isOp(ops::mean) || isVariance;
  Ref count = countOf(op, reduced);
  if (isVariance && op.boolean("unbiased"))
    count = op.x.plus(count, -1);
  return finishReduction(op, kept, reduced, [&](Ref v) {
    if (divides) {
      auto known = op.x.constant(count);
      v = op.op2(Op::Div, v,
                 known ? op.real(static_cast<double>(*known), wide) : op.x.cast(count, wide));
    }
    return op.x.cast(v, op.resultDType());
  });
}

// log(sum(exp(x - top))) + top does not overflow; top is 0 where it would make a NaN of infinities.
Expected<> lowerLogSumExp(OpLowering &op) {
  const Tensor &a = op.input(0);
  DType type = accumulator(a.type);
  std::vector<bool> reduced = reducedAxes(op);
  auto value = [&](const Indices &i) { return op.x.cast(op.at(a, i), type); };
  Tensor most = op.reduce(Reduce::Max, type, a.shape, reduced, value);
  op.k.stages.back().ignoresNan = true; // the sum has it
  Tensor top = op.map(
      type, most.shape,
      [&](const Indices &i) {
        Ref v = op.at(most, i);
        return op.x.select(op.x.unary(Op::IsFinite, v), v, op.real(0, type));
      },
      true);
  Tensor sum = op.reduce(Reduce::Sum, type, a.shape, reduced, [&](const Indices &i) {
    return op.x.unary(Op::Exp, op.x.sub(value(i), op.at(top, rowIndices(op, i, reduced))));
  });
  Tensor result = op.map(type, sum.shape, [&](const Indices &i) {
    return op.x.add(op.x.unary(Op::Log, op.at(sum, i)), op.at(top, i));
  });
  return finishReduction(op, result, reduced,
                         [&](Ref v) { return op.x.cast(v, op.resultDType()); });
}

Expected<> lowerCollapseSum(OpLowering &op) {
  const Tensor &a = op.input(0);
  DType wide = accumulator(a.type);
  std::vector<Ref> likely =
      op.isOp(ops::collapse_sum_like) ? op.input(1).shape : std::vector<Ref>{};
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely));
  size_t skip = a.rank() - shape.size();
  std::vector<bool> reduced(a.rank(), false);
  for (size_t d = 0; d < a.rank(); ++d)
    reduced[d] =
        d < skip || (op.x.constant(shape[d - skip]) == 1 && op.x.constant(a.shape[d]) != 1);
  Tensor kept = op.reduce(Reduce::Sum, wide, a.shape, reduced,
                          [&](const Indices &i) { return op.x.cast(op.at(a, i), wide); });
  op.results.push_back(op.map(a.type, shape, [&](const Indices &i) {
    Indices full(skip, op.x.integer(0));
    full.insert(full.end(), i.begin(), i.end());
    return op.x.cast(op.at(kept, full), a.type);
  }));
  return {};
}

// e^x of a softmax, x being at most 0. Results that would be denormal are 0, so that neither they
// nor products with them underflow, which costs hundreds of cycles: a mask of -100 makes many.
Ref exponential(OpLowering &op, Ref x, DType type) {
  constexpr double leastNormal = -87.3365, zero = -200; // logarithms in float32
  if (type == DType::Float32)
    x = op.x.select(op.op2(Op::Lt, x, op.real(leastNormal, type)), op.real(zero, type), x);
  return op.x.unary(Op::Exp, x);
}

Expected<> lowerSoftmax(OpLowering &op) {
  const Tensor &a = op.input(0);
  DType type = accumulator(a.type);
  std::vector<bool> reduced(a.rank(), false);
  if (a.rank() > 0)
    reduced[static_cast<size_t>(op.axis("axis", a.rank()))] = true;
  auto row = [&](const Tensor &tensor, const Indices &i) {
    return op.at(tensor, rowIndices(op, i, reduced));
  };
  auto value = [&](const Indices &i) { return op.x.cast(op.at(a, i), type); };
  Tensor top = op.reduce(Reduce::Max, type, a.shape, reduced, value);
  op.k.stages.back().ignoresNan = true; // the sum has it
  Tensor shifted = op.map(
      type, a.shape,
      [&](const Indices &i) { return exponential(op, op.x.sub(value(i), row(top, i)), type); },
      true);
  Tensor total = op.reduce(Reduce::Sum, type, a.shape, reduced,
                           [&](const Indices &i) { return op.at(shifted, i); });
  bool isLog = op.isOp(ops::nn_log_softmax);
  // One reciprocal per row.
  Tensor scale = op.map(
      type, total.shape,
      [&](const Indices &i) {
        return isLog ? op.x.unary(Op::Log, op.at(total, i))
                     : op.op2(Op::Div, op.real(1, type), op.at(total, i));
      },
      true);
  return op.mapResult(
      [&](const Indices &i) {
        Ref result = isLog ? op.x.sub(op.x.sub(value(i), row(top, i)), row(scale, i))
                           : op.op2(Op::Mul, op.at(shifted, i), row(scale, i));
        return op.x.cast(result, op.resultDType());
      },
      a.shape);
}

// (x - mean) / sqrt(variance + epsilon) * gamma + beta over `reduced` of `shape`,
// with x read through `value`. Mean first, then the squares around it.
Tensor normalize(OpLowering &op, const std::vector<Ref> &shape, const std::vector<bool> &reduced,
                 const Kernel::BodyFn &value,
                 const std::function<Ref(Ref, const Indices &)> &finish, double epsilon,
                 DType type) {
  Ref count = op.x.integer(1);
  for (size_t d = 0; d < shape.size(); ++d)
    if (reduced[d])
      count = op.x.mul(count, shape[d]);
  auto known = op.x.constant(count);
  Ref factor = known ? op.real(1.0 / static_cast<double>(*known), type)
                     : op.op2(Op::Div, op.real(1, type), op.x.cast(count, type));
  auto row = [&](const Tensor &tensor, const Indices &i) {
    return op.at(tensor, rowIndices(op, i, reduced));
  };
  Tensor sum = op.reduce(Reduce::Sum, type, shape, reduced, value);
  Tensor mean = op.map(
      type, sum.shape, [&](const Indices &i) { return op.op2(Op::Mul, op.at(sum, i), factor); },
      true);
  Tensor squares = op.reduce(Reduce::Sum, type, shape, reduced, [&](const Indices &i) {
    Ref difference = op.x.sub(value(i), row(mean, i));
    return op.op2(Op::Mul, difference, difference);
  });
  Tensor scale = op.map(
      type, sum.shape,
      [&](const Indices &i) {
        Ref variance = op.op2(Op::Mul, op.at(squares, i), factor);
        return op.op2(Op::Div, op.real(1, type),
                      op.x.unary(Op::Sqrt, op.x.add(variance, op.real(epsilon, type))));
      },
      true);
  return op.map(op.resultDType(), shape, [&](const Indices &i) {
    return finish(op.op2(Op::Mul, op.x.sub(value(i), row(mean, i)), row(scale, i)), i);
  });
}

Expected<> lowerAxisNorm(OpLowering &op) {
  const Tensor &a = op.input(0);
  DType type = accumulator(a.type);
  size_t axis = op.axis("axis", a.rank());
  bool isLayer = op.isOp(ops::nn_layer_norm);
  std::vector<bool> reduced(a.rank(), !isLayer);
  if (isLayer) {
    reduced[axis] = true;
  } else {
    reduced[0] = false;
    reduced[axis] = false;
  }
  bool center = op.boolean("center"), scale = op.boolean("scale");
  op.results.push_back(normalize(
      op, a.shape, reduced, [&](const Indices &i) { return op.x.cast(op.at(a, i), type); },
      [&](Ref v, const Indices &i) {
        if (scale)
          v = op.op2(Op::Mul, v, op.x.cast(op.at(op.input(1), {i[axis]}), type));
        if (center)
          v = op.x.add(v, op.x.cast(op.at(op.input(2), {i[axis]}), type));
        return op.x.cast(v, op.resultDType());
      },
      op.number("epsilon"), type));
  return {};
}

// The channel axis split in two: groups and channels of a group.
Expected<> lowerGroupNorm(OpLowering &op) {
  const Tensor &a = op.input(0);
  DType type = accumulator(a.type);
  size_t axis = op.axis("axis", a.rank());
  int64_t groups = op.integer("num_groups");
  auto channels = op.extent(a, axis);
  if (!channels || groups <= 0 || *channels % groups != 0)
    return op.unsupported() << "num_groups " << groups << " does not divide the channels";
  std::vector<Ref> shape = a.shape;
  shape[axis] = op.x.integer(*channels / groups);
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), op.x.integer(groups));
  std::vector<bool> reduced(shape.size(), true);
  reduced[0] = false;
  reduced[axis] = false;
  auto join = [&](const Indices &i) {
    Indices own = i;
    own[axis] = op.x.add(op.x.times(i[axis], *channels / groups), i[axis + 1]);
    own.erase(own.begin() + static_cast<ptrdiff_t>(axis) + 1);
    return own;
  };
  Tensor result = normalize(
      op, shape, reduced, [&](const Indices &i) { return op.x.cast(op.at(a, join(i)), type); },
      [&](Ref v, const Indices &i) {
        Ref channel = join(i)[axis];
        if (op.boolean("scale"))
          v = op.op2(Op::Mul, v, op.x.cast(op.at(op.input(1), {channel}), type));
        if (op.boolean("center"))
          v = op.x.add(v, op.x.cast(op.at(op.input(2), {channel}), type));
        return op.x.cast(v, op.resultDType());
      },
      op.number("epsilon"), type);
  result.shape = a.shape;
  op.k.buffers[result.buffer].shape = a.shape;
  op.results.push_back(result);
  return {};
}

Expected<> lowerL2Normalize(OpLowering &op) {
  const Tensor &a = op.input(0);
  DType type = accumulator(a.type);
  std::vector<bool> reduced = reducedAxes(op);
  Tensor squares = op.reduce(Reduce::Sum, type, a.shape, reduced, [&](const Indices &i) {
    Ref v = op.x.cast(op.at(a, i), type);
    return op.op2(Op::Mul, v, v);
  });
  return op.mapResult(
      [&](const Indices &i) {
        Ref sum = op.op2(Op::Max, op.at(squares, rowIndices(op, i, reduced)),
                         op.real(op.number("eps"), type));
        return op.x.cast(op.op2(Op::Div, op.x.cast(op.at(a, i), type), op.x.unary(Op::Sqrt, sum)),
                         op.resultDType());
      },
      a.shape);
}

Expected<> lowerBatchNorm(OpLowering &op) {
  const Tensor &a = op.input(0);
  DType type = a.type;
  size_t axis = op.axis("axis", a.rank());
  Tensor y = op.map(type, a.shape, [&](const Indices &i) {
    Indices c{i[axis]};
    Ref deviation =
        op.x.unary(Op::Sqrt, op.x.add(op.at(op.input(4), c), op.real(op.number("epsilon"), type)));
    Ref v = op.op2(Op::Div, op.x.sub(op.at(a, i), op.at(op.input(3), c)), deviation);
    if (op.boolean("scale"))
      v = op.op2(Op::Mul, v, op.at(op.input(1), c));
    return op.boolean("center") ? op.x.add(v, op.at(op.input(2), c)) : v;
  });
  op.results = {y, op.input(3), op.input(4)};
  return {};
}

Expected<> lowerDropout(OpLowering &op) {
  const Tensor &a = op.input(0);
  op.results = {a, op.map(op.resultDType(1), a.shape,
                          [&](const Indices &) { return op.real(1, op.resultDType(1)); })};
  return {};
}

// x / (bias + alpha / size * sum of squares in the window)^beta.
Expected<> lowerLrn(OpLowering &op) {
  const Tensor &a = op.input(0);
  DType type = accumulator(a.type);
  size_t axis = op.axis("axis", a.rank());
  int64_t size = op.integer("size");
  std::vector<Ref> shape = a.shape;
  shape.push_back(op.x.integer(size));
  std::vector<bool> reduced(shape.size(), false);
  reduced.back() = true;
  Tensor squares = op.reduce(Reduce::Sum, type, shape, reduced, [&](const Indices &i) {
    Indices at(i.begin(), i.end() - 1);
    at[axis] = op.x.plus(op.x.add(at[axis], i.back()), -(size / 2));
    Ref inside = op.x.both(op.op2(Op::Le, op.x.integer(0), at[axis]),
                           op.op2(Op::Lt, at[axis], a.shape[axis]));
    Ref v = op.x.cast(op.at(a, at), type);
    return op.x.guard(inside, op.op2(Op::Mul, v, v), op.real(0, type));
  });
  return op.mapResult(
      [&](const Indices &i) {
        Indices row = i;
        row.push_back(op.x.integer(0));
        Ref base = op.op2(Op::Mul, op.at(squares, row),
                          op.real(op.number("alpha") / static_cast<double>(size), type));
        base = op.x.add(base, op.real(op.number("bias"), type));
        Ref power = op.x.binary(Op::Libm2, base, op.real(op.number("beta"), type),
                                static_cast<int64_t>(LibmFn::Pow));
        return op.x.cast(op.op2(Op::Div, op.x.cast(op.at(a, i), type), power), a.type);
      },
      a.shape);
}

// Minus the sum of log(x) y, or of x y for logits, over all but the batch's mean.
Expected<> lowerCrossEntropy(OpLowering &op) {
  const Tensor &a = op.input(0), &y = op.input(1);
  DType wide = op.resultDType() == DType::Float64 ? DType::Float64 : DType::Float32;
  Tensor sum = op.reduce(Reduce::Sum, wide, a.shape, {true, true}, [&](const Indices &i) {
    Ref value = op.x.cast(op.at(a, i), wide);
    if (op.isOp(ops::nn_cross_entropy))
      value = op.x.unary(Op::Log, value);
    return op.op2(Op::Mul, value, op.x.cast(op.at(y, i), wide));
  });
  Ref zero = op.x.integer(0);
  return op.mapResult([&](const Indices &) {
    Ref mean = op.op2(Op::Div, op.at(sum, {zero, zero}), op.x.cast(a.shape[0], wide));
    return op.x.cast(op.x.unary(Op::Neg, mean), op.resultDType());
  });
}

} // namespace

void addReductionLowerings(LowerTable &table) {
  for (const ReduceRow &row : reduceRows)
    table[row.op.index] = lowerReduce;
  table[ops::logsumexp.index] = lowerLogSumExp;
  table[ops::argmax.index] = lowerPlace;
  table[ops::argmin.index] = lowerPlace;
  table[ops::collapse_sum_like.index] = lowerCollapseSum;
  table[ops::collapse_sum_to.index] = lowerCollapseSum;
  table[ops::nn_cross_entropy.index] = lowerCrossEntropy;
  table[ops::nn_cross_entropy_with_logits.index] = lowerCrossEntropy;
  table[ops::nn_softmax.index] = lowerSoftmax;
  table[ops::nn_fast_softmax.index] = lowerSoftmax;
  table[ops::nn_log_softmax.index] = lowerSoftmax;
  table[ops::nn_layer_norm.index] = lowerAxisNorm;
  table[ops::nn_instance_norm.index] = lowerAxisNorm;
  table[ops::nn_group_norm.index] = lowerGroupNorm;
  table[ops::nn_l2_normalize.index] = lowerL2Normalize;
  table[ops::nn_batch_norm.index] = lowerBatchNorm;
  table[ops::nn_dropout.index] = lowerDropout;
  table[ops::nn_lrn.index] = lowerLrn;
}

} // namespace bycc::loops
