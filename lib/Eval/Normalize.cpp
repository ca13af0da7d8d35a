// Normalisation, softmax and losses.

#include "Kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bycc::eval {
namespace {

// One group of elements per cell: strides of the cell's number along x's axes, 0
// along those inside a group.
struct Groups {
  Ints strides;
  int64_t number = 1; // of groups
};

Groups groupsOver(const Ints &shape, const std::vector<bool> &isInside) {
  Groups groups{Ints(shape.size(), 0), 1};
  for (size_t i = shape.size(); i-- > 0;)
    if (!isInside[i]) {
      groups.strides[i] = groups.number;
      groups.number *= shape[i];
    }
  return groups;
}

// Mean and variance of every group.
struct Moments {
  std::vector<double> mean, variance;
};

Moments momentsOf(const std::vector<double> &x, const Ints &shape, const Groups &groups) {
  size_t n = static_cast<size_t>(groups.number);
  Moments m{std::vector<double>(n, 0), std::vector<double>(n, 0)};
  double size = static_cast<double>(x.size()) / static_cast<double>(std::max<size_t>(n, 1));
  IndexWalk first(shape, {groups.strides});
  for (double v : x) {
    m.mean[static_cast<size_t>(first.offset())] += v / size;
    first.next();
  }
  IndexWalk second(shape, {groups.strides});
  for (double v : x) {
    size_t at = static_cast<size_t>(second.offset());
    m.variance[at] += (v - m.mean[at]) * (v - m.mean[at]) / size;
    second.next();
  }
  return m;
}

// (x - mean) / sqrt(variance + epsilon) * gamma + beta, gamma and beta by `axis`.
Expected<Value> normalized(const KernelContext &context, const Ints &shape, const Groups &groups,
                           const Ints &channelStrides) {
  std::vector<double> x = load<double>(context.input(0)), gamma = load<double>(context.input(1)),
                      beta = load<double>(context.input(2));
  double epsilon = context.number("epsilon");
  bool scales = context.boolean("scale"), centers = context.boolean("center");
  Moments m = momentsOf(x, shape, groups);
  IndexWalk walk(shape, {groups.strides, channelStrides});
  for (double &v : x) {
    size_t group = static_cast<size_t>(walk.offset(0)), c = static_cast<size_t>(walk.offset(1));
    v = (v - m.mean[group]) / std::sqrt(m.variance[group] + epsilon);
    v = v * (scales ? gamma[c] : 1) + (centers ? beta[c] : 0);
    walk.next();
  }
  return store(context.result(), x);
}

Ints unitStride(size_t rank, size_t axis) {
  Ints strides(rank, 0);
  strides[axis] = 1;
  return strides;
}

Expected<Value> layerNorm(const KernelContext &context) {
  const Ints &shape = context.input(0).shape;
  size_t axis = context.axis("axis", shape.size());
  std::vector<bool> isInside(shape.size(), false);
  isInside[axis] = true;
  return normalized(context, shape, groupsOver(shape, isInside), unitStride(shape.size(), axis));
}

Expected<Value> instanceNorm(const KernelContext &context) {
  const Ints &shape = context.input(0).shape;
  size_t axis = context.axis("axis", shape.size());
  std::vector<bool> isInside(shape.size(), true);
  isInside[0] = isInside[axis] = false;
  return normalized(context, shape, groupsOver(shape, isInside), unitStride(shape.size(), axis));
}

Expected<Value> groupNorm(const KernelContext &context) {
  // The channel axis becomes (groups, channels per group).
  Ints shape = context.input(0).shape;
  size_t axis = context.axis("axis", shape.size());
  int64_t groups = context.integer("num_groups"), perGroup = shape[axis] / groups;
  shape[axis] = groups;
  shape.insert(shape.begin() + static_cast<long>(axis) + 1, perGroup);
  std::vector<bool> isInside(shape.size(), true);
  isInside[0] = isInside[axis] = false;
  Ints channel(shape.size(), 0);
  channel[axis] = perGroup;
  channel[axis + 1] = 1;
  return normalized(context, shape, groupsOver(shape, isInside), channel);
}

Expected<Value> batchNorm(const KernelContext &context) {
  const Tensor &x = context.input(0);
  std::vector<double> values = load<double>(x), gamma = load<double>(context.input(1)),
                      beta = load<double>(context.input(2)), mean = load<double>(context.input(3)),
                      variance = load<double>(context.input(4));
  double epsilon = context.number("epsilon");
  bool scales = context.boolean("scale"), centers = context.boolean("center");
  IndexWalk walk(x.shape, {unitStride(x.shape.size(), context.axis("axis", x.shape.size()))});
  for (double &v : values) {
    size_t c = static_cast<size_t>(walk.offset());
    v = (v - mean[c]) / std::sqrt(variance[c] + epsilon);
    v = v * (scales ? gamma[c] : 1) + (centers ? beta[c] : 0);
    walk.next();
  }
  return Value(
      Value::Tuple{BYCC_TRY(store(context.result(0), values)), context.value(3), context.value(4)});
}

Expected<Value> dropout(const KernelContext &context) {
  std::vector<double> mask(static_cast<size_t>(context.input(0).numElements()), 1.0);
  return Value(Value::Tuple{context.value(0), BYCC_TRY(store(context.result(1), mask))});
}

Expected<Value> l2Normalize(const KernelContext &context) {
  const Tensor &x = context.input(0);
  size_t rank = x.shape.size();
  std::vector<bool> isInside(rank, context.isNone("axis"));
  if (!context.isNone("axis"))
    for (int64_t axis : context.integers("axis"))
      isInside[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)] = true;
  Groups groups = groupsOver(x.shape, isInside);
  std::vector<double> values = load<double>(x), sums(static_cast<size_t>(groups.number), 0);
  IndexWalk first(x.shape, {groups.strides}), second(x.shape, {groups.strides});
  for (double v : values) {
    sums[static_cast<size_t>(first.offset())] += v * v;
    first.next();
  }
  for (double &v : values) {
    v /= std::sqrt(std::max(sums[static_cast<size_t>(second.offset())], context.number("eps")));
    second.next();
  }
  return store(context.result(), values);
}

Expected<Value> localNorm(const KernelContext &context) {
  const Tensor &x = context.input(0);
  size_t axis = context.axis("axis", x.shape.size());
  int64_t half = context.integer("size") / 2, extent = x.shape[axis];
  int64_t step = rowStrides(x.shape)[axis];
  double scale = context.number("alpha") / static_cast<double>(context.integer("size"));
  std::vector<double> values = load<double>(x), out(values.size());
  IndexWalk walk(x.shape, {});
  for (size_t i = 0; i < values.size(); ++i, walk.next()) {
    int64_t at = walk.index()[axis];
    double sum = 0;
    for (int64_t k = std::max<int64_t>(at - half, 0); k <= std::min(at + half, extent - 1); ++k) {
      double v = values[static_cast<size_t>(static_cast<int64_t>(i) + (k - at) * step)];
      sum += v * v;
    }
    out[i] = values[i] / std::pow(context.number("bias") + scale * sum, context.number("beta"));
  }
  return store(context.result(), out);
}

Expected<Value> softmaxOf(const KernelContext &context, bool isLog) {
  const Tensor &x = context.input(0);
  size_t axis = context.axis("axis", x.shape.size());
  std::vector<bool> isInside(x.shape.size(), false);
  isInside[axis] = true;
  Groups groups = groupsOver(x.shape, isInside);
  size_t n = static_cast<size_t>(groups.number);
  std::vector<double> values = load<double>(x), sums(n, 0),
                      greatest(n, -std::numeric_limits<double>::infinity());
  auto forAll = [&](auto fn) {
    IndexWalk walk(x.shape, {groups.strides});
    for (double &v : values) {
      fn(v, static_cast<size_t>(walk.offset()));
      walk.next();
    }
  };
  forAll([&](double &v, size_t at) { greatest[at] = std::max(greatest[at], v); });
  forAll([&](double &v, size_t at) { sums[at] += std::exp(v - greatest[at]); });
  forAll([&](double &v, size_t at) {
    v = isLog ? v - greatest[at] - std::log(sums[at]) : std::exp(v - greatest[at]) / sums[at];
  });
  return store(context.result(), values);
}

Expected<Value> softmax(const KernelContext &context) { return softmaxOf(context, false); }
Expected<Value> logSoftmax(const KernelContext &context) { return softmaxOf(context, true); }

// --- losses

Expected<Value> crossEntropyOf(const KernelContext &context, bool hasLogits) {
  std::vector<double> x = load<double>(context.input(0)), y = load<double>(context.input(1));
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i)
    sum += (hasLogits ? x[i] : std::log(x[i])) * y[i];
  return store(context.result(),
               std::vector<double>{-sum / static_cast<double>(context.input(0).shape[0])});
}

Expected<Value> crossEntropy(const KernelContext &context) {
  return crossEntropyOf(context, false);
}
Expected<Value> crossEntropyWithLogits(const KernelContext &context) {
  return crossEntropyOf(context, true);
}

const KernelEntry normalizeRows[] = {
    {ops::nn_batch_norm, batchNorm},
    {ops::nn_cross_entropy, crossEntropy},
    {ops::nn_cross_entropy_with_logits, crossEntropyWithLogits},
    {ops::nn_dropout, dropout},
    {ops::nn_fast_softmax, softmax},
    {ops::nn_group_norm, groupNorm},
    {ops::nn_instance_norm, instanceNorm},
    {ops::nn_l2_normalize, l2Normalize},
    {ops::nn_layer_norm, layerNorm},
    {ops::nn_log_softmax, logSoftmax},
    {ops::nn_lrn, localNorm},
    {ops::nn_softmax, softmax},
};

} // namespace

std::span<const KernelEntry> normalizeKernels() { return normalizeRows; }

} // namespace bycc::eval
