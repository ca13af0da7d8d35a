// Pooling, as reductions over windows: taps outside the data are guarded out.
#include "OpLowering.h"

namespace bycc::loops {
namespace {

Expected<AxisOrder> poolOrder(OpLowering &op) {
  std::string layout = op.text("layout"), out = op.text("out_layout");
  if (!out.empty() && out != layout)
    return op.unsupported() << "layout '" << layout << "'";
  return op.axisOrder("layout", layout, "NC", op.input(0).rank() - 2);
}

// result[n, c, o..] = finish(reduce over taps of x[n, c, position(o, tap)..], indices)
Tensor windowReduce(OpLowering &op, Reduce kind, DType type, const std::vector<Ref> &shape,
                    const std::vector<Ref> &taps,
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

// sum[i] / count, as the operator's input has it.
Ref averageOf(OpLowering &op, const Tensor &sum, const Indices &i, Ref count) {
  auto known = op.x.constant(count);
  Ref divisor = known ? op.real(static_cast<double>(*known), sum.type) : op.x.cast(count, sum.type);
  return op.x.cast(op.op2(Op::Div, op.at(sum, i), divisor), op.input(0).type);
}

// A window of known size that slides over the spatial axes.
class SlidingWindow {
public:
  SlidingWindow(OpLowering &op, const AxisOrder &order)
      : op_(op), a_(op.input(0)), order_(order), n_(order.spatial.size()),
        size_(op.perAxis("pool_size", n_)), strides_(op.perAxis("strides", n_)),
        dilation_(op.perAxis("dilation", n_)), pads_(op.padding(n_)) {}

  std::vector<Ref> extents() {
    std::vector<Ref> extents = a_.shape;
    for (size_t s = 0; s < n_; ++s) {
      size_t d = order_.spatial[s];
      int64_t extra = pads_.before[s] + pads_.after[s] - (size_[s] - 1) * dilation_[s] - 1 +
                      (op_.boolean("ceil_mode") ? strides_[s] - 1 : 0);
      extents[d] = op_.x.plus(
          op_.op2(Op::FloorDiv, op_.x.plus(a_.shape[d], extra), op_.x.integer(strides_[s])), 1);
      taps_.push_back(op_.x.integer(size_[s]));
    }
    return extents;
  }
  const std::vector<Ref> &taps() const { return taps_; } // once extents() has been asked

  Indices positions(Indices i, const Indices &tap) {
    for (size_t s = 0; s < n_; ++s)
      i[order_.spatial[s]] = position(s, i[order_.spatial[s]], tap[s]);
    return i;
  }
  // The greatest of a window is that of the greatest of its rows, which windows share: worth it
  // where those are far fewer elements, what is stored in between counted as one more.
  bool isWorthSeparating() const {
    double together = 1, apart = 0, rows = 1; // elements for each result
    for (size_t s = 0; s < n_; ++s) {
      together *= static_cast<double>(size_[s]);
      apart += rows * static_cast<double>(size_[s] + 1);
      rows *= static_cast<double>(strides_[s]);
    }
    return n_ > 1 && apart < together;
  }
  // The greatest of each window, the last axis first.
  Tensor greatest(const std::vector<Ref> &shape) {
    Tensor made = a_;
    for (size_t s = n_; s-- > 0;)
      made = greatestAlong(made, s, shape[order_.spatial[s]]);
    return made;
  }

  // Whether a tap can fall outside at all is decided by ranges.
  Ref isInside(const Indices &at) {
    Ref inside = noRef;
    for (size_t d : order_.spatial)
      inside = op_.x.both(inside, isInside(a_, d, at[d]));
    return inside;
  }
  // Taps that are inside the data, or the padded data.
  Ref count(const Indices &i, bool countsPadding) {
    Ref count = op_.x.integer(1);
    for (size_t s = 0; s < n_; ++s) {
      size_t d = order_.spatial[s];
      Ref first = op_.x.plus(op_.x.times(i[d], strides_[s]), -pads_.before[s]);
      Ref low = op_.x.integer(countsPadding ? -pads_.before[s] : 0),
          high = countsPadding ? op_.x.plus(a_.shape[d], pads_.after[s]) : a_.shape[d];
      Ref step = op_.x.integer(dilation_[s]);
      // Taps t with low <= first + t * step < high.
      Ref skip = op_.op2(
          Op::FloorDiv,
          op_.x.plus(op_.op2(Op::Max, op_.x.sub(low, first), op_.x.integer(0)), dilation_[s] - 1),
          step);
      Ref end = op_.op2(Op::FloorDiv, op_.x.plus(op_.x.sub(high, first), dilation_[s] - 1), step);
      end = op_.op2(Op::Max, op_.op2(Op::Min, end, taps_[s]), skip);
      count = op_.x.mul(count, op_.x.sub(end, skip));
    }
    return count;
  }

private:
  // Of windows along one axis.
  Tensor greatestAlong(const Tensor &a, size_t s, Ref extent) {
    size_t d = order_.spatial[s];
    std::vector<Ref> shape = a.shape;
    shape[d] = extent;
    return windowReduce(
        op_, Reduce::Max, a.type, shape, {taps_[s]}, [&](const Indices &i, const Indices &tap) {
          Indices at = i;
          at[d] = position(s, i[d], tap[0]);
          return op_.x.guard(isInside(a, d, at[d]), op_.at(a, at), op_.lowest(a.type));
        });
  }

  Ref position(size_t s, Ref i, Ref tap) {
    return op_.x.plus(op_.x.add(op_.x.times(i, strides_[s]), op_.x.times(tap, dilation_[s])),
                      -pads_.before[s]);
  }
  Ref isInside(const Tensor &a, size_t d, Ref at) {
    return op_.x.both(op_.op2(Op::Le, op_.x.integer(0), at), op_.op2(Op::Lt, at, a.shape[d]));
  }

  OpLowering &op_;
  const Tensor &a_;
  const AxisOrder &order_;
  size_t n_;
  std::vector<int64_t> size_, strides_, dilation_;
  Padding pads_;
  std::vector<Ref> taps_;
};

Expected<> lowerPool(OpLowering &op) {
  AxisOrder order = BYCC_TRY(poolOrder(op));
  const Tensor &a = op.input(0);
  bool isMax =
      op.isOp(ops::nn_max_pool1d) || op.isOp(ops::nn_max_pool2d) || op.isOp(ops::nn_max_pool3d);
  DType type = isMax ? a.type : accumulator(a.type);
  SlidingWindow window(op, order);
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(window.extents()));
  if (isMax && window.isWorthSeparating()) {
    op.results.push_back(window.greatest(shape));
    return {};
  }
  Tensor result =
      windowReduce(op, isMax ? Reduce::Max : Reduce::Sum, type, shape, window.taps(),
                   [&](const Indices &i, const Indices &tap) {
                     Indices at = window.positions(i, tap);
                     Ref inside = window.isInside(at), value = op.x.cast(op.at(a, at), type);
                     return op.x.guard(inside, value, isMax ? op.lowest(type) : op.real(0, type));
                   });
  if (!isMax) {
    bool countsPadding = op.boolean("count_include_pad");
    Tensor sum = result;
    result = op.map(a.type, shape, [&](const Indices &i) {
      Ref count = window.count(i, countsPadding);
      return averageOf(op, sum, i, op.op2(Op::Max, count, op.x.integer(1)));
    });
  }
  op.results.push_back(result);
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
    result =
        op.map(a.type, sum.shape, [&](const Indices &i) { return averageOf(op, sum, i, count); });
  }
  op.results.push_back(result);
  return {};
}

// Window [floor(i d / o), ceil((i + 1) d / o)): taps up to the largest window, guarded.
Expected<> lowerAdaptivePool(OpLowering &op) {
  AxisOrder order = BYCC_TRY(poolOrder(op));
  const Tensor &a = op.input(0);
  size_t n = order.spatial.size();
  bool isMax = op.isOp(ops::nn_adaptive_max_pool1d) || op.isOp(ops::nn_adaptive_max_pool2d) ||
               op.isOp(ops::nn_adaptive_max_pool3d);
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
    taps.push_back(op.dims.settle(isWhole ? most : op.x.plus(most, 2),
                                  "a pooling window has an extent of {}"));
  }
  auto begin = [&](size_t s, Ref i) {
    return op.op2(Op::FloorDiv, op.x.mul(i, sizes[s].first), sizes[s].second);
  };
  auto end = [&](size_t s, Ref i) {
    Ref whole = op.x.mul(op.x.plus(i, 1), sizes[s].first);
    return op.op2(Op::FloorDiv, op.x.plus(op.x.add(whole, sizes[s].second), -1), sizes[s].second);
  };
  Tensor result = windowReduce(op, isMax ? Reduce::Max : Reduce::Sum, type, shape, taps,
                               [&](const Indices &i, const Indices &tap) {
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
      return averageOf(op, sum, i, count);
    });
  }
  op.results.push_back(result);
  return {};
}

} // namespace

void addPoolLowerings(LowerTable &table) {
  for (OpId op : {ops::nn_max_pool1d, ops::nn_max_pool2d, ops::nn_max_pool3d, ops::nn_avg_pool1d,
                  ops::nn_avg_pool2d, ops::nn_avg_pool3d})
    table[op.index] = lowerPool;
  for (OpId op : {ops::nn_global_avg_pool2d, ops::nn_global_max_pool2d})
    table[op.index] = lowerGlobalPool;
  for (OpId op :
       {ops::nn_adaptive_avg_pool1d, ops::nn_adaptive_avg_pool2d, ops::nn_adaptive_avg_pool3d,
        ops::nn_adaptive_max_pool1d, ops::nn_adaptive_max_pool2d, ops::nn_adaptive_max_pool3d})
    table[op.index] = lowerAdaptivePool;
}

} // namespace bycc::loops
