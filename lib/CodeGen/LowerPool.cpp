// Pooling, as reductions over windows: taps outside the data are guarded out.
#include "Lower.h"

namespace bycc::te {
namespace {

Expected<AxisOrder> poolOrder(OpLowering &op) {
  std::string layout = op.text("layout"), out = op.text("out_layout");
  if (!out.empty() && out != layout)
    return op.unsupported() << "layout '" << layout << "'";
  return op.axisOrder("layout", layout, "NC", op.input(0).rank() - 2);
}

// result[n, c, o..] = finish(reduce over taps of x[n, c, position(o, tap)..], indices)
Tensor windowReduce(OpLowering &op, Reduce kind, DType type, const std::vector<Ref> &shape, const std::vector<Ref> &taps,
                    const std::function<Ref(const Indices &, const Indices &)> &body) {
  std::vector<Ref> all = shape;
  all.insert(all.end(), taps.begin(), taps.end());
  std::vector<bool> reduced(all.size(), false);
  for (size_t d = shape.size(); d < all.size(); ++d)
    reduced[d] = true;
  Tensor result = op.reduce(kind, type, all, reduced, [&](const Indices &i) {
    return body(Indices(i.begin(), i.begin() + static_cast<ptrdiff_t>(shape.size())),
                Indices(i.begin() + static_cast<ptrdiff_t>(shape.size()), i.end()));
  });
  result.shape = shape;
  op.k.buffers[result.buffer].shape = shape;
  return result;
}

Expected<> lowerPool(OpLowering &op) {
  AxisOrder order = BYCC_TRY(poolOrder(op));
  const Tensor &a = op.input(0);
  size_t n = order.spatial.size();
  bool isMax = op.isOp(ops::nn_max_pool1d) || op.isOp(ops::nn_max_pool2d) || op.isOp(ops::nn_max_pool3d);
  std::vector<int64_t> size = op.perAxis("pool_size", n), strides = op.perAxis("strides", n),
                       dilation = op.perAxis("dilation", n);
  Padding pads = op.padding(n);
  std::vector<Ref> likely = a.shape, taps;
  for (size_t s = 0; s < n; ++s) {
    size_t d = order.spatial[s];
    int64_t extra = pads.before[s] + pads.after[s] - (size[s] - 1) * dilation[s] - 1 +
                    (op.boolean("ceil_mode") ? strides[s] - 1 : 0);
    likely[d] = op.x.plus(op.op2(Op::FloorDiv, op.x.plus(a.shape[d], extra), op.x.integer(strides[s])), 1);
    taps.push_back(op.x.integer(size[s]));
  }
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely));
  auto positions = [&](Indices i, const Indices &tap) {
    for (size_t s = 0; s < n; ++s) {
      size_t d = order.spatial[s];
      i[d] = op.x.plus(op.x.add(op.x.times(i[d], strides[s]), op.x.times(tap[s], dilation[s])),
                       -pads.before[s]);
    }
    return i;
  };
  // Whether a tap can fall outside at all is decided by ranges.
  auto within = [&](const Indices &at, int64_t margin) {
    Ref inside = noRef;
    for (size_t s = 0; s < n; ++s) {
      size_t d = order.spatial[s];
      inside = op.x.both(
          inside, op.x.both(op.op2(Op::Le, op.x.integer(margin ? -pads.before[s] : 0), at[d]),
                            op.op2(Op::Lt, at[d],
                                   margin ? op.x.plus(a.shape[d], pads.after[s]) : a.shape[d])));
    }
    return inside;
  };
  if (isMax) {
    op.results.push_back(windowReduce(op, Reduce::Max, a.type, shape, taps, [&](const Indices &i, const Indices &tap) {
      Indices at = positions(i, tap);
      return op.x.guard(within(at, 0), op.at(a, at), op.lowest(a.type));
    }));
    return {};
  }
  DType type = accumulator(a.type);
  Tensor sum = windowReduce(op, Reduce::Sum, type, shape, taps, [&](const Indices &i, const Indices &tap) {
    Indices at = positions(i, tap);
    return op.x.guard(within(at, 0), op.x.cast(op.at(a, at), type), op.real(0, type));
  });
  // The divisor per axis: taps inside the data (or the padded data).
  int64_t margin = op.boolean("count_include_pad") ? 1 : 0;
  op.results.push_back(op.map(a.type, shape, [&](const Indices &i) {
    Ref count = op.x.integer(1);
    for (size_t s = 0; s < n; ++s) {
      size_t d = order.spatial[s];
      Ref first = op.x.plus(op.x.times(i[d], strides[s]), -pads.before[s]);
      Ref low = op.x.integer(margin ? -pads.before[s] : 0),
          high = margin ? op.x.plus(a.shape[d], pads.after[s]) : a.shape[d];
      Ref step = op.x.integer(dilation[s]);
      // Taps t with low <= first + t * step < high.
      Ref skip = op.op2(Op::FloorDiv, op.x.plus(op.op2(Op::Max, op.x.sub(low, first), op.x.integer(0)), dilation[s] - 1), step);
      Ref end = op.op2(Op::FloorDiv, op.x.plus(op.x.sub(high, first), dilation[s] - 1), step);
      end = op.op2(Op::Max, op.op2(Op::Min, end, taps[s]), skip);
      count = op.x.mul(count, op.x.sub(end, skip));
    }
    auto known = op.x.constant(count);
    Ref divisor = known ? op.real(static_cast<double>(std::max<int64_t>(*known, 1)), type)
                        : op.x.cast(op.op2(Op::Max, count, op.x.integer(1)), type);
    return op.x.cast(op.op2(Op::Div, op.at(sum, i), divisor), a.type);
  }));
  return {};
}

Expected<> lowerGlobalPool(OpLowering &op) {
  AxisOrder order = BYCC_TRY(poolOrder(op));
  const Tensor &a = op.input(0);
  bool isMax = op.isOp(ops::nn_global_max_pool2d);
  DType type = isMax ? a.type : accumulator(a.type);
  std::vector<bool> reduced(a.rank(), false);
  Ref count = op.x.integer(1);
  for (size_t d : order.spatial) {
    reduced[d] = true;
    count = op.x.mul(count, a.shape[d]);
  }
  Tensor result = op.reduce(isMax ? Reduce::Max : Reduce::Sum, type, a.shape, reduced,
                            [&](const Indices &i) { return op.x.cast(op.at(a, i), type); });
  if (!isMax) {
    Tensor sum = result;
    auto known = op.x.constant(count);
    Ref divisor = known ? op.real(static_cast<double>(*known), type) : op.x.cast(count, type);
    result = op.map(a.type, sum.shape, [&](const Indices &i) { return op.x.cast(op.op2(Op::Div, op.at(sum, i), divisor), a.type); });
  }
  op.results.push_back(result);
  return {};
}

// Window [floor(i d / o), ceil((i + 1) d / o)): taps up to the largest window, guarded.
Expected<> lowerAdaptivePool(OpLowering &op) {
  AxisOrder order = BYCC_TRY(poolOrder(op));
  const Tensor &a = op.input(0);
  size_t n = order.spatial.size();
  bool isMax = op.isOp(ops::nn_adaptive_max_pool1d) || op.isOp(ops::nn_adaptive_max_pool2d) || op.isOp(ops::nn_adaptive_max_pool3d);
  DType type = isMax ? a.type : accumulator(a.type);
  std::vector<Ref> likely = a.shape, taps;
  for (size_t d : order.spatial)
    likely[d] = noRef; // the type says it
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely));
  std::vector<std::pair<Ref, Ref>> sizes; // data, result
  for (size_t s = 0; s < n; ++s) {
    Ref d = a.shape[order.spatial[s]], o = shape[order.spatial[s]];
    sizes.push_back({d, o});
    auto in = op.x.constant(d), out = op.x.constant(o);
    bool isWhole = in && out && *out > 0 && *in % *out == 0;
    Ref most = op.op2(Op::FloorDiv, d, o);
    taps.push_back(op.dims.settle(isWhole ? most : op.x.plus(most, 2), "a pooling window has an extent of {}"));
  }
  auto begin = [&](size_t s, Ref i) { return op.op2(Op::FloorDiv, op.x.mul(i, sizes[s].first), sizes[s].second); };
  auto end = [&](size_t s, Ref i) {
    Ref whole = op.x.mul(op.x.plus(i, 1), sizes[s].first);
    return op.op2(Op::FloorDiv, op.x.plus(op.x.add(whole, sizes[s].second), -1), sizes[s].second);
  };
  Tensor result = windowReduce(op, isMax ? Reduce::Max : Reduce::Sum, type, shape, taps, [&](const Indices &i, const Indices &tap) {
    Indices at = i;
    Ref inside = noRef;
    for (size_t s = 0; s < n; ++s) {
      size_t d = order.spatial[s];
      at[d] = op.x.add(begin(s, i[d]), tap[s]);
      inside = op.x.both(inside, op.op2(Op::Lt, at[d], end(s, i[d])));
    }
    return op.x.guard(inside, op.x.cast(op.atGuarded(a, at), type),
                      isMax ? op.lowest(type) : op.real(0, type));
  });
  if (!isMax) {
    Tensor sum = result;
    result = op.map(a.type, shape, [&](const Indices &i) {
      Ref count = op.x.integer(1);
      for (size_t s = 0; s < n; ++s)
        count =
            op.x.mul(count, op.x.sub(end(s, i[order.spatial[s]]), begin(s, i[order.spatial[s]])));
      auto known = op.x.constant(count);
      Ref divisor = known ? op.real(static_cast<double>(*known), type) : op.x.cast(count, type);
      return op.x.cast(op.op2(Op::Div, op.at(sum, i), divisor), a.type);
    });
  }
  op.results.push_back(result);
  return {};
}

} // namespace

void addPoolLowerings(LowerTable &table) {
  for (OpId op : {ops::nn_max_pool1d, ops::nn_max_pool2d, ops::nn_max_pool3d, ops::nn_avg_pool1d, ops::nn_avg_pool2d, ops::nn_avg_pool3d})
    table[op.index] = lowerPool;
  for (OpId op : {ops::nn_global_avg_pool2d, ops::nn_global_max_pool2d})
    table[op.index] = lowerGlobalPool;
  for (OpId op : {ops::nn_adaptive_avg_pool1d, ops::nn_adaptive_avg_pool2d, ops::nn_adaptive_avg_pool3d, ops::nn_adaptive_max_pool1d,
                  ops::nn_adaptive_max_pool2d, ops::nn_adaptive_max_pool3d})
    table[op.index] = lowerAdaptivePool;
}

} // namespace bycc::te
