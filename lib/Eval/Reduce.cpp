// Reductions and running sums.

#include "Kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bycc::eval {
namespace {

// For each axis of x whether it is reduced.
std::vector<bool> reducedAxes(const KernelContext &context, size_t rank) {
  if (context.isNone("axis"))
    return std::vector<bool>(rank, true);
  std::vector<bool> isReduced(rank, false);
  for (int64_t axis : context.integers("axis"))
    isReduced[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)] = true;
  if (context.boolean("exclude"))
    isReduced.flip();
  return isReduced;
}

// Strides of the result along x's axes: 0 where reduced.
Ints resultStrides(const Ints &shape, const std::vector<bool> &isReduced) {
  Ints strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;)
    if (!isReduced[i]) {
      strides[i] = stride;
      stride *= shape[i];
    }
  return strides;
}

// out[o] = join(out[o], x[i]) over all i, from `identity`.
template <typename T, typename Join>
std::vector<T> reduce(const KernelContext &context, T identity, Join join) {
  const Tensor &x = context.input(0);
  std::vector<T> values = load<T>(x);
  std::vector<T> out(static_cast<size_t>(count(context.result().shape)), identity);
  IndexWalk walk(x.shape, {resultStrides(x.shape, reducedAxes(context, x.shape.size()))});
  for (T v : values) {
    T &to = out[static_cast<size_t>(walk.offset())];
    to = join(to, v);
    walk.next();
  }
  return out;
}

int64_t reducedCount(const KernelContext &context) {
  const Tensor &x = context.input(0);
  std::vector<bool> isReduced = reducedAxes(context, x.shape.size());
  int64_t product = 1;
  for (size_t i = 0; i < x.shape.size(); ++i)
    product *= isReduced[i] ? x.shape[i] : 1;
  return product;
}

Expected<Value> sum(const KernelContext &context) {
  auto add = [](auto a, auto b) { return a + b; };
  if (isFloat(context.input(0).dtype))
    return store(context.result(), reduce<double>(context, 0, add));
  return store(context.result(), reduce<uint64_t>(context, 0, add));
}

Expected<Value> prod(const KernelContext &context) {
  auto multiply = [](auto a, auto b) { return a * b; };
  if (isFloat(context.input(0).dtype))
    return store(context.result(), reduce<double>(context, 1, multiply));
  return store(context.result(), reduce<uint64_t>(context, 1, multiply));
}

Expected<Value> mean(const KernelContext &context) {
  auto add = [](auto a, auto b) { return a + b; };
  int64_t n = reducedCount(context);
  if (isFloat(context.input(0).dtype)) {
    std::vector<double> sums = reduce<double>(context, 0, add);
    for (double &v : sums)
      v /= static_cast<double>(n);
    return store(context.result(), sums);
  }
  std::vector<Wide> sums = reduce<Wide>(context, 0, add);
  for (Wide &v : sums)
    v = n ? v / n : 0;
  return store(context.result(), sums);
}

// The least and greatest value of an integer dtype.
std::pair<Wide, Wide> intRange(DType dtype) {
  int bits = static_cast<int>(8 * sizeInBytes(dtype));
  if (isSignedInt(dtype))
    return {-(Wide(1) << (bits - 1)), (Wide(1) << (bits - 1)) - 1};
  return {0, (Wide(1) << bits) - 1};
}

Expected<Value> max(const KernelContext &context) {
  DType dtype = context.input(0).dtype;
  if (!isFloat(dtype))
    return store(context.result(), reduce<Wide>(context, intRange(dtype).first,
                                                [](Wide a, Wide b) { return std::max(a, b); }));
  double low = -std::numeric_limits<double>::infinity();
  return store(context.result(), reduce<double>(context, low, [](double a, double b) {
                 return std::isnan(a) || a > b ? a : b;
               }));
}

Expected<Value> min(const KernelContext &context) {
  DType dtype = context.input(0).dtype;
  if (!isFloat(dtype))
    return store(context.result(), reduce<Wide>(context, intRange(dtype).second,
                                                [](Wide a, Wide b) { return std::min(a, b); }));
  double high = std::numeric_limits<double>::infinity();
  return store(context.result(), reduce<double>(context, high, [](double a, double b) {
                 return std::isnan(a) || a < b ? a : b;
               }));
}

// log(sum(exp(x))), whose powers are those of what is left below the greatest.
Expected<Value> logSumExp(const KernelContext &context) {
  double low = -std::numeric_limits<double>::infinity();
  std::vector<double> top = reduce<double>(
      context, low, [](double a, double b) { return std::isnan(a) || a > b ? a : b; });
  for (double &v : top)
    v = std::isfinite(v) ? v : 0;
  const Tensor &x = context.input(0);
  std::vector<double> sums(top.size(), 0);
  IndexWalk walk(x.shape, {resultStrides(x.shape, reducedAxes(context, x.shape.size()))});
  for (double v : load<double>(x)) {
    size_t at = static_cast<size_t>(walk.offset());
    sums[at] += std::exp(v - top[at]);
    walk.next();
  }
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] = top[i] + std::log(sums[i]);
  return store(context.result(), sums);
}

Expected<Value> all(const KernelContext &context) {
  return store(context.result(), reduce<Wide>(context, 1, [](Wide a, Wide b) { return a & b; }));
}

Expected<Value> any(const KernelContext &context) {
  return store(context.result(), reduce<Wide>(context, 0, [](Wide a, Wide b) { return a | b; }));
}

// `isBetter(new, old)`; the first NaN beats everything.
template <typename T, typename Better>
Expected<Value> argBest(const KernelContext &context, Better isBetter) {
  const Tensor &x = context.input(0);
  bool takeLast = context.boolean("select_last_index");
  std::vector<bool> isReduced = reducedAxes(context, x.shape.size());
  Ints position(x.shape.size(), 0); // strides of the index among the reduced axes
  int64_t stride = 1;
  for (size_t i = x.shape.size(); i-- > 0;)
    if (isReduced[i]) {
      position[i] = stride;
      stride *= x.shape[i];
    }
  std::vector<T> values = load<T>(x);
  size_t n = static_cast<size_t>(count(context.result().shape));
  std::vector<T> best(n, T(0));
  std::vector<Wide> index(n, -1);
  IndexWalk walk(x.shape, {resultStrides(x.shape, isReduced), position});
  for (T v : values) {
    size_t at = static_cast<size_t>(walk.offset(0));
    bool isFirst = index[at] < 0, isNan = v != v, wasNan = best[at] != best[at];
    bool isEqual = v == best[at] || (isNan && wasNan);
    if (isFirst || (isNan && !wasNan) || (!isNan && !wasNan && isBetter(v, best[at])) ||
        (isEqual && takeLast)) {
      best[at] = v;
      index[at] = walk.offset(1);
    }
    walk.next();
  }
  return store(context.result(), index);
}

Expected<Value> argmax(const KernelContext &context) {
  if (isFloat(context.input(0).dtype))
    return argBest<double>(context, [](double a, double b) { return a > b; });
  return argBest<Wide>(context, [](Wide a, Wide b) { return a > b; });
}

Expected<Value> argmin(const KernelContext &context) {
  if (isFloat(context.input(0).dtype))
    return argBest<double>(context, [](double a, double b) { return a < b; });
  return argBest<Wide>(context, [](Wide a, Wide b) { return a < b; });
}

Expected<Value> variance(const KernelContext &context) {
  const Tensor &x = context.input(0), &mean = context.input(1);
  std::vector<double> values = load<double>(x), means = load<double>(mean);
  std::vector<double> out(static_cast<size_t>(count(context.result().shape)), 0);
  IndexWalk walk(x.shape, {resultStrides(x.shape, reducedAxes(context, x.shape.size())),
                           broadcastStrides(mean.shape, x.shape.size())});
  for (double v : values) {
    double difference = v - means[static_cast<size_t>(walk.offset(1))];
    out[static_cast<size_t>(walk.offset(0))] += difference * difference;
    walk.next();
  }
  double n = static_cast<double>(reducedCount(context)) - (context.boolean("unbiased") ? 1 : 0);
  for (double &v : out)
    v /= n;
  return store(context.result(), out);
}

template <typename T, typename Join>
Expected<Value> running(const KernelContext &context, T identity, Join join) {
  const Tensor &x = context.input(0);
  std::vector<T> values = load<T>(x);
  Ints shape = context.isNone("axis") ? Ints{x.numElements()} : x.shape;
  size_t axis = context.isNone("axis") ? 0 : context.axis("axis", shape.size());
  bool isExclusive = context.boolean("exclusive");
  size_t extent = static_cast<size_t>(shape[axis]);
  size_t inner = static_cast<size_t>(count(std::span(shape).subspan(axis + 1)));
  size_t outer = extent && inner ? values.size() / (extent * inner) : 0;
  for (size_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < inner; ++i) {
      T sum = identity;
      for (size_t k = 0; k < extent; ++k) {
        T &at = values[(o * extent + k) * inner + i];
        T next = join(sum, at);
        at = isExclusive ? sum : next;
        sum = next;
      }
    }
  return store(context.result(), values);
}

Expected<Value> cumsum(const KernelContext &context) {
  auto add = [](auto a, auto b) { return a + b; };
  return isFloat(context.input(0).dtype) ? running<double>(context, 0, add)
                                         : running<uint64_t>(context, 0, add);
}

Expected<Value> cumprod(const KernelContext &context) {
  auto multiply = [](auto a, auto b) { return a * b; };
  return isFloat(context.input(0).dtype) ? running<double>(context, 1, multiply)
                                         : running<uint64_t>(context, 1, multiply);
}

const KernelEntry reduceRows[] = {
    {ops::all, all},
    {ops::any, any},
    {ops::argmax, argmax},
    {ops::argmin, argmin},
    {ops::cumprod, cumprod},
    {ops::cumsum, cumsum},
    {ops::logsumexp, logSumExp},
    {ops::max, max},
    {ops::mean, mean},
    {ops::min, min},
    {ops::prod, prod},
    {ops::sum, sum},
    {ops::variance, variance},
};

} // namespace

std::span<const KernelEntry> reduceKernels() { return reduceRows; }

} // namespace bycc::eval
