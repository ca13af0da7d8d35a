// Running sums and products. Lines are divided into parts of which each is made in one go, many
// lines into whole ones. Where there are few lines and they are long, a part begins with the sum
// of those before it, which a first pass makes: so parts run in parallel, and as they depend on
// extents alone, results do not depend on the number of threads.
#include "Kernel.h"

#include <algorithm>
#include <array>
#include <utility>

namespace bycc {
namespace {

constexpr int64_t longLine = 65536, partElements = 16384, enoughLines = 16;
constexpr int64_t blockElements = 1024; // that stay in the first cache

// T is double, or uint64_t, which wraps.
template <typename T> class Cumulation {
public:
  Cumulation(const LibraryCall &call, const Operand &x, const Operand &result, const Lines &lines)
      : x_(x), result_(result), lines_(lines), isProduct_(call.attribute(1)),
        isExclusive_(call.attribute(2)) {
    // Products of parts may be 0 and infinite where that of both is neither.
    bool isDivided = lines.count < enoughLines && lines.extent >= longLine && !isProduct_;
    part_ = isDivided ? partElements : std::max<int64_t>(lines.extent, 1);
    parts_ = (lines.extent + part_ - 1) / part_;
  }

  void run(const LibraryCall &call) {
    int64_t items = lines_.count * parts_, grain = std::max<int64_t>(partElements / part_, 1);
    auto forAll = [&](auto &&body) {
      call.parallel(items, grain, [&](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end; ++item)
          body(item);
      });
    };
    if (parts_ <= 1)
      return forAll([&](int64_t item) { accumulate(item, isProduct_ ? 1 : 0); });
    std::vector<T> before(static_cast<size_t>(items));
    auto at = [&](int64_t item) -> T & { return before[static_cast<size_t>(item)]; };
    forAll([&](int64_t item) { at(item) = sumOf(item); });
    for (int64_t line = 0; line < lines_.count; ++line) {
      T total = 0;
      for (int64_t part = 0; part < parts_; ++part)
        total += std::exchange(at(line * parts_ + part), total);
    }
    forAll([&](int64_t item) { accumulate(item, at(item)); });
  }

private:
  // The values of a part, a block at a time; `body` may change them.
  template <typename Body> void forBlocks(int64_t item, const Body &body) const {
    int64_t first = item % parts_ * part_, end = std::min(first + part_, lines_.extent);
    std::array<T, blockElements> values;
    for (; first < end; first += blockElements) {
      auto block = std::span(values).first(
          static_cast<size_t>(std::min<int64_t>(end - first, blockElements)));
      int64_t at = lines_.begin(item / parts_) + first * lines_.stride;
      if constexpr (std::is_same_v<T, double>)
        loadReals(x_, at, lines_.stride, block);
      else
        loadInts(x_, at, lines_.stride, asInts(block));
      body(block, at);
    }
  }

  T sumOf(int64_t item) const {
    std::array<T, 8> sums = {}; // that do not wait for each other
    forBlocks(item, [&](std::span<T> block, int64_t) {
      for (size_t i = 0; i < block.size(); ++i)
        sums[i % sums.size()] += block[i];
    });
    T total = 0;
    for (T sum : sums)
      total += sum;
    return total;
  }

  void accumulate(int64_t item, T total) const {
    forBlocks(item, [&](std::span<T> block, int64_t at) {
      for (T &value : block) {
        T next = isProduct_ ? total * value : total + value;
        value = isExclusive_ ? total : next;
        total = next;
      }
      if constexpr (std::is_same_v<T, double>)
        storeReals(result_, at, lines_.stride, block);
      else
        storeInts(result_, at, lines_.stride, asInts(block));
    });
  }

  static std::span<int64_t> asInts(std::span<uint64_t> values) {
    return {reinterpret_cast<int64_t *>(values.data()), values.size()};
  }

  const Operand &x_, &result_;
  const Lines &lines_;
  bool isProduct_, isExclusive_;
  int64_t part_ = 0, parts_ = 0; // elements of one, of a line
};

} // namespace

namespace library {

Expected<> cumulate(LibraryCall &call) {
  Operand x = call.input(0);
  bool isFlat = call.attribute(0) < 0;
  int64_t count = x.count();
  std::span<const int64_t> shape = isFlat ? std::span<const int64_t>(&count, 1) : x.shape;
  Operand result = BYCC_TRY(call.result(0, shape));
  Lines lines(shape, isFlat ? 0 : static_cast<size_t>(call.attribute(0)));
  if (isFloat(result.dtype))
    Cumulation<double>(call, x, result, lines).run(call);
  else
    Cumulation<uint64_t>(call, x, result, lines).run(call);
  return {};
}

} // namespace library
} // namespace bycc
