// Products: dense, matmul, batched matmul and convolutions, all as a sum of
// products with affine indices. A convolution reads a padded copy of its input,
// so that its own indices need no bounds.
#include "Layout.h"
#include "Lower.h"

namespace bycc::te {
namespace {

DType accumulator(DType type) { return type == DType::Float16 || type == DType::BFloat16 ? DType::Float32 : type; }

// Integers of at most 16 bits are multiplied two by two, into sums of int32: the
// left operand is copied with neighbours along the reduction in one element, the
// weight is a constant and gets so in its panels. An odd last one is paired with 0.
bool canPair(OpLowering &op, const Tensor &a, const Tensor &w, int64_t depth) {
  auto isShort = [](DType type) { return type == DType::Int8 || type == DType::UInt8 || type == DType::Int16; };
  bool isConstant = w.buffer < op.k.buffers.size() && op.k.buffers[w.buffer].isConstant;
  return op.resultDType() == DType::Int32 && isShort(a.type) && isShort(w.type) && isConstant && depth >= 2;
}

// Elements 2 * i and 2 * i + 1 of `depth`.
Ref pairOf(OpLowering &op, Ref i, int64_t depth, const std::function<Ref(Ref)> &element) {
  Ref first = op.x.times(i, 2), second = op.x.plus(first, 1);
  Ref low = op.x.cast(element(first), DType::Int32), high = op.x.cast(element(second), DType::Int32);
  if (depth % 2 != 0)
    high = op.x.guard(op.op2(Op::Lt, second, op.x.integer(depth)), high, op.x.integer(0, DType::Int32));
  return op.op2(Op::Pair, low, high);
}

// Of a tensor, along dim `d`.
Ref pairAt(OpLowering &op, const Tensor &a, Indices at, size_t d, int64_t depth) {
  return pairOf(op, at[d], depth, [&](Ref k) {
    at[d] = k;
    return op.at(a, at);
  });
}

Tensor pairsAlong(OpLowering &op, const Tensor &a, size_t d, int64_t depth) {
  std::vector<Ref> shape = a.shape;
  shape[d] = op.x.integer((depth + 1) / 2);
  return op.map(DType::Int32, shape, [&](const Indices &at) { return pairAt(op, a, at, d, depth); }, true);
}

// result[axes] = sum over `reduction` of a * b, converted to the result's type.
Expected<> addProduct(OpLowering &op, const std::vector<Ref> &shape, const std::vector<Ref> &iteration,
                      const std::vector<Ref> &reduction,
                      const std::function<Indices(const Indices &)> &place,
                      const std::function<std::pair<Ref, Ref>(const Indices &, const Indices &)> &factors) {
  DType type = op.resultDType();
  DType wide = accumulator(type);
  Tensor sum = op.temp(wide, shape);
  Stage stage;
  stage.buffer = sum.buffer;
  stage.reduce = Reduce::Sum;
  Indices i = op.k.axesOver(iteration, stage.axes);
  Indices r = op.k.axesOver(reduction, stage.reduceAxes);
  auto [a, b] = factors(i, r);
  bool isPaired = op.x[b].op == Op::Pair;
  stage.body = isPaired ? op.op2(Op::DotPairs, a, b) : op.op2(Op::Mul, op.x.cast(a, wide), op.x.cast(b, wide));
  stage.store = op.k.flat(sum.buffer, place(i));
  op.k.stages.push_back(std::move(stage));
  if (wide == type)
    op.results.push_back(sum);
  else
    op.results.push_back(op.map(type, shape, [&](const Indices &at) { return op.x.cast(op.at(sum, at), type); }));
  return {};
}

// The extent that is summed over, known where one operand tells it.
Ref commonDepth(OpLowering &op, Ref a, Ref b) {
  op.requireEqual(b, a, "the summed axis of the second operand");
  return op.x.constant(b) ? b : a;
}

Expected<> lowerDense(OpLowering &op) {
  const Tensor &a = op.input(0), &w = op.input(1);
  std::vector<Ref> likely = a.shape;
  likely.back() = w.shape[0];
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely));
  Ref summed = commonDepth(op, a.shape.back(), w.shape[1]);
  if (int64_t depth = op.extent(w, 1).value_or(0); canPair(op, a, w, depth)) {
    Tensor pairs = pairsAlong(op, a, a.rank() - 1, depth);
    return addProduct(
        op, shape, shape, {pairs.shape.back()}, [](const Indices &i) { return i; },
        [&](const Indices &i, const Indices &r) {
          Indices at(i.begin(), i.end() - 1);
          at.push_back(r[0]);
          return std::pair{op.at(pairs, at), pairAt(op, w, {i.back(), r[0]}, 1, depth)};
        });
  }
  return addProduct(
      op, shape, shape, {summed}, [](const Indices &i) { return i; },
      [&](const Indices &i, const Indices &r) {
        Indices at(i.begin(), i.end() - 1);
        at.push_back(r[0]);
        return std::pair{op.at(a, at), op.at(w, {i.back(), r[0]})};
      });
}

// Two matrices, or batches of them; a batch of one is shared.
Expected<> lowerMatmul(OpLowering &op) {
  const Tensor &a = op.input(0), &b = op.input(1);
  bool ta = op.boolean("transpose_a"), tb = op.boolean("transpose_b");
  size_t batch = a.rank() - 2;
  std::vector<Ref> likely(a.shape.begin(), a.shape.begin() + static_cast<ptrdiff_t>(batch));
  for (size_t d = 0; d < batch; ++d)
    likely[d] = op.broadcastExtent(likely[d], b.shape[d]);
  likely.push_back(a.shape[ta ? batch + 1 : batch]);
  likely.push_back(b.shape[tb ? batch : batch + 1]);
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely));
  Ref depth = commonDepth(op, a.shape[ta ? batch : batch + 1], b.shape[tb ? batch + 1 : batch]);
  return addProduct(
      op, shape, shape, {depth}, [](const Indices &i) { return i; },
      [&](const Indices &i, const Indices &r) {
        auto indices = [&](const Tensor &tensor, Ref outer, Ref inner) {
          Indices at;
          for (size_t d = 0; d < batch; ++d)
            at.push_back(op.broadcastIndex(tensor.shape[d], i[d]));
          at.push_back(outer);
          at.push_back(inner);
          return at;
        };
        Ref m = i[batch], n = i[batch + 1], kk = r[0];
        return std::pair{op.at(a, ta ? indices(a, kk, m) : indices(a, m, kk)), op.at(b, tb ? indices(b, n, kk) : indices(b, kk, n))};
      });
}

size_t spatialRank(OpLowering &op) { return op.input(0).rank() - 2; }

// A copy of x, `low` and `high` more elements around each spatial axis, and
// `spread` - 1 zeros between elements.
// With a `depth` channels become pairs.
Tensor padded(OpLowering &op, const Tensor &a, const AxisOrder &order, const std::vector<std::pair<int64_t, int64_t>> &pads,
              const std::vector<int64_t> &spread, int64_t depth = 0) {
  bool isPlain = true;
  std::vector<Ref> shape = a.shape;
  for (size_t s = 0; s < pads.size(); ++s) {
    isPlain = isPlain && pads[s].first == 0 && pads[s].second == 0 && spread[s] == 1;
    Ref &extent = shape[order.spatial[s]];
    extent = op.x.plus(op.x.times(op.x.plus(extent, -1), spread[s]), 1 + pads[s].first + pads[s].second);
  }
  if (isPlain)
    return depth ? pairsAlong(op, a, order.channel, depth) : a;
  DType type = depth ? DType::Int32 : a.type;
  if (depth)
    shape[order.channel] = op.x.integer((depth + 1) / 2);
  return op.map(type, shape, [&](const Indices &i) {
    Indices at = i;
    Ref inside = noRef;
    for (size_t s = 0; s < pads.size(); ++s) {
      size_t d = order.spatial[s];
      if (pads[s].first == 0 && pads[s].second == 0 && spread[s] == 1)
        continue;
      Ref p = op.x.plus(i[d], -pads[s].first), step = op.x.integer(spread[s]);
      at[d] = op.op2(Op::FloorDiv, p, step);
      inside = op.x.both(inside, op.x.both(op.op2(Op::Le, op.x.integer(0), at[d]), op.op2(Op::Lt, at[d], a.shape[d])));
      if (spread[s] > 1)
        inside = op.x.both(inside, op.op2(Op::Eq, op.op2(Op::FloorMod, p, step), op.x.integer(0)));
    }
    Ref value = depth ? pairAt(op, a, at, order.channel, depth) : op.at(a, at);
    return op.x.guard(inside, value, op.real(0, type));
  }, true);
}

struct ConvLayouts {
  AxisOrder data, kernel, out;
};

Expected<ConvLayouts> layoutsOf(OpLowering &op) {
  ConvLayouts layouts;
  size_t n = spatialRank(op);
  std::string data = op.text("data_layout"), kernel = op.text("kernel_layout"), out = op.text("out_layout");
  if (!parseLayout(data, 'N', 'C', n, layouts.data))
    return op.unsupported() << "data_layout '" << data << "'";
  if (!parseLayout(kernel, 'O', 'I', n, layouts.kernel))
    return op.unsupported() << "kernel_layout '" << kernel << "'";
  if (!parseLayout(out.empty() ? data : out, 'N', 'C', n, layouts.out))
    return op.unsupported() << "out_layout '" << out << "'";
  return layouts;
}

// A convolution of stride `strides` over an already padded input. Kernel element
// (o, i, k) is weight[kernelIndex(group, o in group, i in group, k)].
Expected<> addConvolution(OpLowering &op, const Tensor &source, const ConvLayouts &layouts, int64_t groups,
                          const std::vector<int64_t> &strides, const std::vector<int64_t> &dilation, int64_t outPerGroup,
                          int64_t inPerGroup, const std::function<Indices(Ref, Ref, Ref, const Indices &)> &kernelIndex) {
  size_t n = strides.size();
  const Tensor &w = op.input(1);
  std::vector<Ref> likely(source.rank());
  likely[layouts.out.batch] = source.shape[layouts.data.batch];
  likely[layouts.out.channel] = op.x.integer(groups * outPerGroup);
  for (size_t s = 0; s < n; ++s) {
    Ref window = op.x.plus(op.x.times(op.x.plus(w.shape[layouts.kernel.spatial[s]], -1), dilation[s]), 1);
    Ref free = op.x.sub(source.shape[layouts.data.spatial[s]], window);
    likely[layouts.out.spatial[s]] = op.x.plus(op.op2(Op::FloorDiv, free, op.x.integer(strides[s])), 1);
  }
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely));
  std::vector<Ref> iteration{shape[layouts.out.batch], op.x.integer(groups), op.x.integer(outPerGroup)};
  bool isPaired = source.type == DType::Int32 && w.type != DType::Int32;
  std::vector<Ref> reduction{op.x.integer(isPaired ? (inPerGroup + 1) / 2 : inPerGroup)};
  for (size_t s = 0; s < n; ++s) {
    iteration.push_back(shape[layouts.out.spatial[s]]);
    reduction.push_back(w.shape[layouts.kernel.spatial[s]]);
  }
  return addProduct(
      op, shape, iteration, reduction,
      [&](const Indices &i) {
        Indices at(shape.size());
        at[layouts.out.batch] = i[0];
        at[layouts.out.channel] = op.x.add(op.x.times(i[1], outPerGroup), i[2]);
        for (size_t s = 0; s < n; ++s)
          at[layouts.out.spatial[s]] = i[3 + s];
        return at;
      },
      [&](const Indices &i, const Indices &r) {
        Indices at(shape.size()), taps(r.begin() + 1, r.end());
        at[layouts.data.batch] = i[0];
        at[layouts.data.channel] = op.x.add(op.x.times(i[1], inPerGroup), r[0]);
        for (size_t s = 0; s < n; ++s)
          at[layouts.data.spatial[s]] = op.x.add(op.x.times(i[3 + s], strides[s]), op.x.times(r[1 + s], dilation[s]));
        auto weight = [&](Ref channel) { return op.at(w, kernelIndex(i[1], i[2], channel, taps)); };
        return std::pair{op.at(source, at), isPaired ? pairOf(op, r[0], inPerGroup, weight) : weight(r[0])};
      });
}

Expected<> lowerConv(OpLowering &op) {
  ConvLayouts layouts = BYCC_TRY(layoutsOf(op));
  const Tensor &a = op.input(0), &w = op.input(1);
  size_t n = spatialRank(op);
  std::vector<int64_t> strides = op.integers("strides"), dilation = op.integers("dilation");
  int64_t groups = op.integer("groups");
  auto out = op.extent(w, layouts.kernel.batch), in = op.extent(w, layouts.kernel.channel);
  auto channels = op.extent(a, layouts.data.channel);
  if (!out || !in || !channels)
    return op.unsupported() << "the number of channels must be known";
  // A depthwise kernel may put its multiplier in the second place of "HWOI".
  int64_t total = *out, perGroup = *in;
  bool isMultiplier = *in * groups != *channels && groups == *channels && *out == *channels;
  if (*in * groups != *channels) {
    if (!isMultiplier)
      return op.unsupported() << "groups " << groups << " do not divide " << *channels << " channels";
    total = *out * *in;
    perGroup = 1;
  }
  int64_t pairedDepth = groups == 1 && canPair(op, a, w, perGroup) ? perGroup : 0;
  Tensor source = padded(op, a, layouts.data, parsePadding(op.integers("padding"), n), std::vector<int64_t>(n, 1), pairedDepth);
  return addConvolution(op, source, layouts, groups, strides, dilation, total / groups, perGroup,
                        [&](Ref group, Ref o, Ref i, const Indices &taps) {
                          Indices at(w.rank());
                          bool swapped = isMultiplier;
                          at[layouts.kernel.batch] = swapped ? group : op.x.add(op.x.times(group, total / groups), o);
                          at[layouts.kernel.channel] = swapped ? o : i;
                          for (size_t s = 0; s < n; ++s)
                            at[layouts.kernel.spatial[s]] = taps[s];
                          return at;
                        });
}

// A transposed convolution is a convolution of the input spread out by the strides
// with the kernel turned around.
Expected<> lowerConvTranspose(OpLowering &op) {
  ConvLayouts layouts = BYCC_TRY(layoutsOf(op));
  const Tensor &a = op.input(0), &w = op.input(1);
  size_t n = spatialRank(op);
  std::vector<int64_t> strides = op.integers("strides"), dilation = op.integers("dilation"), extra = op.integers("output_padding");
  auto pads = parsePadding(op.integers("padding"), n);
  int64_t groups = op.integer("groups");
  auto out = op.extent(w, layouts.kernel.batch), in = op.extent(a, layouts.data.channel);
  if (!out || !in)
    return op.unsupported() << "the number of channels must be known";
  std::vector<std::pair<int64_t, int64_t>> around;
  std::vector<int64_t> taps;
  for (size_t s = 0; s < n; ++s) {
    auto size = op.extent(w, layouts.kernel.spatial[s]);
    if (!size)
      return op.unsupported() << "the kernel's size must be known";
    taps.push_back(*size);
    int64_t reach = (*size - 1) * dilation[s];
    int64_t more = extra.empty() ? 0 : extra[std::min(s, extra.size() - 1)];
    if (reach < pads[s].first || reach + more < pads[s].second)
      return op.unsupported() << "padding larger than the kernel";
    around.push_back({reach - pads[s].first, reach - pads[s].second + more});
  }
  int64_t perGroup = *in / groups;
  Tensor source = padded(op, a, layouts.data, around, strides);
  return addConvolution(op, source, layouts, groups, std::vector<int64_t>(n, 1), dilation, *out, perGroup,
                        [&](Ref group, Ref o, Ref i, const Indices &r) {
                          Indices at(w.rank());
                          at[layouts.kernel.channel] = op.x.add(op.x.times(group, perGroup), i);
                          at[layouts.kernel.batch] = o;
                          for (size_t s = 0; s < n; ++s)
                            at[layouts.kernel.spatial[s]] = op.x.sub(op.x.integer(taps[s] - 1), r[s]);
                          return at;
                        });
}

} // namespace

void addContractionLowerings(LowerTable &table) {
  table[ops::nn_dense.index] = lowerDense;
  table[ops::nn_matmul.index] = lowerMatmul;
  table[ops::nn_batch_matmul.index] = lowerMatmul;
  table[ops::nn_conv1d.index] = lowerConv;
  table[ops::nn_conv2d.index] = lowerConv;
  table[ops::nn_conv3d.index] = lowerConv;
  table[ops::nn_conv1d_transpose.index] = lowerConvTranspose;
  table[ops::nn_conv2d_transpose.index] = lowerConvTranspose;
  table[ops::nn_conv3d_transpose.index] = lowerConvTranspose;
}

} // namespace bycc::te
