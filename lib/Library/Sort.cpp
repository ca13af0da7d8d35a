// Sorting, selection and search. Each line along the axis becomes (key, position)
// pairs, whose order is total: so results are stable and the same in every run.
#include "Kernel.h"

#include <algorithm>
#include <compare>
#include <numeric>

namespace bycc {
namespace {

struct Ranked {
  uint64_t key;
  int64_t position;
  bool operator<(const Ranked &other) const {
    return key != other.key ? key < other.key : position < other.position;
  }
};

// Of each line the first `wanted` pairs in order; fn(line, pairs).
template <typename Fn>
void forEachRanked(const LibraryCall &call, const Operand &x, size_t axis, bool isAscending,
                   int64_t wanted, Fn fn) {
  Lines lines(x.shape, axis);
  int64_t grain = std::max<int64_t>(4096 / std::max<int64_t>(lines.extent, 1), 1);
  call.parallel(lines.count, grain, [&](int64_t begin, int64_t end) {
    std::vector<uint64_t> keys(static_cast<size_t>(lines.extent));
    std::vector<Ranked> pairs(keys.size());
    for (int64_t line = begin; line < end; ++line) {
      loadKeys(x, lines.begin(line), lines.stride, keys);
      for (size_t i = 0; i < keys.size(); ++i)
        pairs[i] = {isAscending ? keys[i] : ~keys[i], static_cast<int64_t>(i)};
      std::partial_sort(pairs.begin(), pairs.begin() + (wanted < lines.extent ? wanted : 0),
                        pairs.end());
      if (wanted >= lines.extent)
        std::sort(pairs.begin(), pairs.end());
      fn(line, std::span(pairs).first(static_cast<size_t>(wanted)));
    }
  });
}

// Writes the elements (`values`) and positions (`indices`) of the pairs, where asked for.
void writeRanked(const LibraryCall &call, const Operand &x, size_t axis, bool isAscending,
                 const Operand *values, const Operand *indices) {
  Lines from(x.shape, axis), to((values ? values : indices)->shape, axis);
  forEachRanked(
      call, x, axis, isAscending, to.extent, [&](int64_t line, std::span<const Ranked> pairs) {
        int64_t at = to.begin(line);
        for (const Ranked &pair : pairs) {
          if (values)
            std::memcpy(values->at(at), x.at(from.begin(line) + pair.position * from.stride),
                        static_cast<size_t>(x.elementBytes()));
          if (indices)
            indices->setInteger(at, pair.position);
          at += to.stride;
        }
      });
}

} // namespace

namespace library {

Expected<> sort(LibraryCall &call) {
  Operand x = call.input(0), values = BYCC_TRY(call.result(0, x.shape));
  writeRanked(call, x, static_cast<size_t>(call.attribute(0)), call.attribute(1), &values, nullptr);
  return {};
}

Expected<> argsort(LibraryCall &call) {
  Operand x = call.input(0), indices = BYCC_TRY(call.result(0, x.shape));
  writeRanked(call, x, static_cast<size_t>(call.attribute(0)), call.attribute(1), nullptr,
              &indices);
  return {};
}

Expected<> topk(LibraryCall &call) {
  Operand x = call.input(0);
  int64_t k = call.attribute(0) < 0 ? call.input(1).integer(0) : call.attribute(0);
  size_t axis = static_cast<size_t>(call.attribute(1));
  if (k < 0)
    return error(Status::Arg) << "k is at least 0, got " << k;
  if (k > x.shape[axis])
    return error(Status::Arg) << "k is " << k << ", axis " << axis << " has " << x.shape[axis]
                              << " elements";
  Ints shape(x.shape.begin(), x.shape.end());
  shape[axis] = k;
  bool hasValues = call.attribute(3), hasIndices = call.attribute(4);
  Operand values, indices;
  if (hasValues)
    values = BYCC_TRY(call.result(0, shape));
  if (hasIndices)
    indices = BYCC_TRY(call.result(hasValues, shape));
  writeRanked(call, x, axis, call.attribute(2), hasValues ? &values : nullptr,
              hasIndices ? &indices : nullptr);
  return {};
}

Expected<> searchSorted(LibraryCall &call) {
  Operand sorted = call.input(0), wanted = call.input(1),
          result = BYCC_TRY(call.result(0, wanted.shape));
  bool isRight = call.attribute(0), isShared = sorted.rank() == 1;
  int64_t extent = sorted.shape.back(), perLine = isShared ? wanted.count() : wanted.shape.back();
  std::vector<uint64_t> line(static_cast<size_t>(extent)), values(static_cast<size_t>(perLine));
  for (int64_t n = 0, lines = perLine ? wanted.count() / perLine : 0; n < lines; ++n) {
    loadKeys(sorted, n * extent, 1, line);
    loadKeys(wanted, n * perLine, 1, values);
    call.parallel(perLine, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        uint64_t key = values[static_cast<size_t>(i)];
        auto at = isRight ? std::upper_bound(line.begin(), line.end(), key)
                          : std::lower_bound(line.begin(), line.end(), key);
        result.setInteger(n * perLine + i, at - line.begin());
      }
    });
  }
  return {};
}

Expected<> argwhere(LibraryCall &call) {
  Operand x = call.input(0);
  int64_t rank = static_cast<int64_t>(x.rank()), count = x.count();
  std::vector<int64_t> hits;
  std::vector<double> piece(4096);
  for (int64_t begin = 0; begin < count; begin += 4096) {
    size_t size = static_cast<size_t>(std::min<int64_t>(4096, count - begin));
    loadReals(x, begin, 1, std::span(piece).first(size));
    for (size_t i = 0; i < size; ++i)
      if (piece[i] != 0)
        hits.push_back(begin + static_cast<int64_t>(i));
  }
  Operand result = BYCC_TRY(call.result(0, {static_cast<int64_t>(hits.size()), rank}));
  for (size_t row = 0; row < hits.size(); ++row)
    for (int64_t d = rank, rest = hits[row]; d-- > 0; rest /= x.shape[static_cast<size_t>(d)])
      result.setInteger(static_cast<int64_t>(row) * rank + d,
                        rest % x.shape[static_cast<size_t>(d)]);
  return {};
}

// Slices along the axis, equal ones in one group named by its first position.
Expected<> unique(LibraryCall &call) {
  Operand x = call.input(0);
  size_t axis = static_cast<size_t>(call.attribute(0));
  Lines lines(x.shape, axis);
  size_t width = static_cast<size_t>(lines.count);
  std::vector<uint64_t> keys(static_cast<size_t>(lines.extent) * width); // slice after slice
  std::vector<uint64_t> line(static_cast<size_t>(lines.extent));
  for (size_t n = 0; n < width; ++n) {
    loadKeys(x, lines.begin(static_cast<int64_t>(n)), lines.stride, line);
    for (size_t i = 0; i < line.size(); ++i)
      keys[i * width + n] = line[i];
  }
  auto compared = [&](int64_t a, int64_t b) {
    auto first = keys.begin() + a * lines.count, second = keys.begin() + b * lines.count;
    return std::lexicographical_compare_three_way(first, first + lines.count, second,
                                                  second + lines.count);
  };
  Ints order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return compared(a, b) < 0; });
  std::vector<Ints> groups;
  for (int64_t at : order) {
    if (groups.empty() || compared(groups.back()[0], at) != 0)
      groups.emplace_back();
    groups.back().push_back(at);
  }
  if (!call.attribute(1))
    std::sort(groups.begin(), groups.end()); // by first position
  Ints shape(x.shape.begin(), x.shape.end());
  int64_t found = shape[axis] = static_cast<int64_t>(groups.size());
  Operand values = BYCC_TRY(call.result(0, shape)), firsts = BYCC_TRY(call.result(1, {found}));
  Operand inverse = BYCC_TRY(call.result(2, {lines.extent})), total = BYCC_TRY(call.result(3, {1}));
  Operand counts;
  if (call.attribute(2))
    counts = BYCC_TRY(call.result(4, {found}));
  total.setInteger(0, found);
  Lines to(values.shape, axis);
  for (int64_t g = 0; g < found; ++g) {
    const Ints &group = groups[static_cast<size_t>(g)];
    for (int64_t n = 0; n < lines.count; ++n)
      std::memcpy(values.at(to.begin(n) + g * to.stride),
                  x.at(lines.begin(n) + group[0] * lines.stride),
                  static_cast<size_t>(x.elementBytes()));
    firsts.setInteger(g, group[0]);
    for (int64_t at : group)
      inverse.setInteger(at, g);
    if (counts.data)
      counts.setInteger(g, static_cast<int64_t>(group.size()));
  }
  return {};
}

Expected<> invertPermutation(LibraryCall &call) {
  Operand x = call.input(0), result = BYCC_TRY(call.result(0, x.shape));
  Ints order = allInts(x);
  std::vector<bool> isSeen(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] < 0 || order[i] >= x.shape[0] || isSeen[static_cast<size_t>(order[i])])
      return error(Status::Arg) << "x is not a permutation";
    isSeen[static_cast<size_t>(order[i])] = true;
    result.setInteger(order[i], static_cast<int64_t>(i));
  }
  return {};
}

} // namespace library
} // namespace bycc
