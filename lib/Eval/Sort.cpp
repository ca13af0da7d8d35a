// Sorting, selection and search. NaN counts as greater than every number; equal
// elements keep their order.

#include "Kernel.h"

#include <algorithm>
#include <numeric>

namespace bycc::eval {
namespace {

template <typename T> bool isLess(T a, T b) {
  bool aNan = a != a, bNan = b != b;
  return aNan || bNan ? !aNan && bNan : a < b;
}

// Calls fn with all elements as double or Wide.
template <typename Fn> Expected<Value> withElements(const Tensor &x, Fn fn) {
  return isFloat(x.dtype) ? fn(load<double>(x)) : fn(load<Wide>(x));
}

// For every line along `axis`: positions in sorted order.
template <typename T, typename Fn>
void forEachSortedLine(const std::vector<T> &values, const Ints &shape, size_t axis,
                       bool isAscending, Fn fn) {
  size_t extent = static_cast<size_t>(shape[axis]);
  size_t inner = static_cast<size_t>(count(std::span(shape).subspan(axis + 1)));
  size_t outer = static_cast<size_t>(count(std::span(shape).first(axis)));
  std::vector<size_t> order(extent);
  for (size_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < inner; ++i) {
      std::iota(order.begin(), order.end(), size_t{0});
      auto at = [&](size_t k) { return values[(o * extent + k) * inner + i]; };
      std::ranges::stable_sort(order, [&](size_t a, size_t b) {
        return isAscending ? isLess(at(a), at(b)) : isLess(at(b), at(a));
      });
      fn(o, i, order);
    }
}

Expected<Value> sort(const KernelContext &context) {
  const Tensor &x = context.input(0);
  size_t axis = context.axis("axis", x.shape.size());
  return withElements(x, [&](auto values) -> Expected<Value> {
    auto out = values;
    size_t inner = static_cast<size_t>(count(std::span(x.shape).subspan(axis + 1)));
    forEachSortedLine(values, x.shape, axis, context.boolean("is_ascend"),
                      [&](size_t o, size_t i, const std::vector<size_t> &order) {
                        for (size_t k = 0; k < order.size(); ++k)
                          out[(o * order.size() + k) * inner + i] =
                              values[(o * order.size() + order[k]) * inner + i];
                      });
    return store(context.result(), out);
  });
}

Expected<Value> argsort(const KernelContext &context) {
  const Tensor &x = context.input(0);
  size_t axis = context.axis("axis", x.shape.size());
  return withElements(x, [&](auto values) -> Expected<Value> {
    std::vector<Wide> out(values.size());
    size_t inner = static_cast<size_t>(count(std::span(x.shape).subspan(axis + 1)));
    forEachSortedLine(values, x.shape, axis, context.boolean("is_ascend"),
                      [&](size_t o, size_t i, const std::vector<size_t> &order) {
                        for (size_t k = 0; k < order.size(); ++k)
                          out[(o * order.size() + k) * inner + i] = static_cast<Wide>(order[k]);
                      });
    return store(context.result(), out);
  });
}

Expected<Value> topk(const KernelContext &context) {
  const Tensor &x = context.input(0);
  size_t axis = context.axis("axis", x.shape.size());
  int64_t wanted = context.numInputs() > 1 ? context.input(1).integer(0) : context.integer("k");
  if (wanted < 0)
    return context.error() << "k is at least 0, got " << wanted;
  if (wanted > x.shape[axis])
    return context.error() << "k is " << wanted << ", axis " << axis << " has " << x.shape[axis]
                           << " elements";
  Ints shape = x.shape;
  shape[axis] = wanted;
  size_t k = static_cast<size_t>(wanted);
  size_t inner = static_cast<size_t>(count(std::span(x.shape).subspan(axis + 1)));
  std::string_view which = context.text("ret_type");
  DType indexType = context.results().back().dtype;
  return withElements(x, [&](auto values) -> Expected<Value> {
    decltype(values) best(static_cast<size_t>(count(shape)));
    std::vector<Wide> indices(best.size());
    forEachSortedLine(values, x.shape, axis, context.boolean("is_ascend"),
                      [&](size_t o, size_t i, const std::vector<size_t> &order) {
                        for (size_t n = 0; n < k; ++n) {
                          size_t to = (o * k + n) * inner + i;
                          best[to] = values[(o * order.size() + order[n]) * inner + i];
                          indices[to] = static_cast<Wide>(order[n]);
                        }
                      });
    if (which == "indices")
      return store(indexType, shape, indices);
    Value first = BYCC_TRY(store(ResultType{x.dtype, shape, true}, best));
    if (which == "values")
      return first;
    return Value(Value::Tuple{first, BYCC_TRY(store(indexType, shape, indices))});
  });
}

Expected<Value> searchSorted(const KernelContext &context) {
  const Tensor &sorted = context.input(0), &wanted = context.input(1);
  bool isRight = context.boolean("right");
  auto run = [&](auto zero) -> Expected<Value> {
    using T = decltype(zero);
    std::vector<T> line = load<T>(sorted), values = load<T>(wanted);
    size_t extent = static_cast<size_t>(sorted.shape.back());
    size_t perLine =
        sorted.shape.size() == 1 ? values.size() : static_cast<size_t>(wanted.shape.back());
    std::vector<Wide> out;
    for (size_t i = 0; i < values.size(); ++i) {
      auto begin = line.begin() + static_cast<long>(i / std::max<size_t>(perLine, 1) * extent);
      auto end = begin + static_cast<long>(extent);
      auto at = isRight ? std::upper_bound(begin, end, values[i], isLess<T>)
                        : std::lower_bound(begin, end, values[i], isLess<T>);
      out.push_back(at - begin);
    }
    return store(context.result(), out);
  };
  return isFloat(sorted.dtype) ? run(double{}) : run(Wide{});
}

Expected<Value> argwhere(const KernelContext &context) {
  const Tensor &x = context.input(0);
  std::vector<double> values = load<double>(x);
  std::vector<Wide> coordinates;
  int64_t found = 0;
  IndexWalk walk(x.shape, {});
  for (double v : values) {
    if (v != 0) {
      ++found;
      coordinates.insert(coordinates.end(), walk.index().begin(), walk.index().end());
    }
    walk.next();
  }
  return store(DType::Int32, {found, static_cast<int64_t>(x.shape.size())}, coordinates);
}

const KernelEntry sortRows[] = {
    {ops::argsort, argsort},           {ops::argwhere, argwhere}, {ops::dyn_topk, topk},
    {ops::searchsorted, searchSorted}, {ops::sort, sort},         {ops::topk, topk},
};

} // namespace

std::span<const KernelEntry> sortKernels() { return sortRows; }

} // namespace bycc::eval
