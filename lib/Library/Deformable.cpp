// Deformable convolutions: each tap of the kernel reads the data at a place of its own, between
// four elements. A row of results at a time: where its taps read is worked out once for all
// channels of an offset group, what they read becomes columns, and results are sums of these.
#include "Kernel.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace bycc {
namespace {

struct Axis {
  int64_t extent, stride;
};
using Axes = std::array<Axis, 4>; // N, C, H, W; O, I, H, W of the weight

Axes axesOf(const LibraryCall &call, std::span<const int64_t> shape, size_t first) {
  Axes result;
  Ints strides = rowStrides(shape);
  for (size_t i = 0; i < result.size(); ++i) {
    size_t axis = static_cast<size_t>(call.attribute(first + i));
    result[i] = {shape[axis], strides[axis]};
  }
  return result;
}

struct Deformed {
  Axes in, shifts, weight, out;
  std::array<int64_t, 2> strides, pads, dilation;
  int64_t groups, offsetGroups, taps;

  int64_t channelsPerOffset() const { return in[1].extent / offsetGroups; }
};

Expected<Deformed> deformedOf(const LibraryCall &call) {
  auto pair = [&](size_t i) { return std::array{call.attribute(i), call.attribute(i + 1)}; };
  Deformed d{axesOf(call, call.input(0).shape, 8),
             axesOf(call, call.input(1).shape, 8),
             axesOf(call, call.input(2).shape, 12),
             {},
             pair(0),
             pair(2),
             pair(4),
             call.attribute(6),
             call.attribute(7),
             0};
  d.taps = d.weight[2].extent * d.weight[3].extent;
  if (d.shifts[0].extent != d.in[0].extent || d.shifts[1].extent != 2 * d.offsetGroups * d.taps ||
      d.in[1].extent != d.groups * d.weight[1].extent || d.weight[0].extent % d.groups != 0 ||
      d.in[1].extent % d.offsetGroups != 0)
    return error(Status::Arg) << "the channels of data, offset and weight do not fit";
  return d;
}

// The columns (channel * taps + tap) that each result sums up. One whose weights are zero but for
// one reads that column only: so frontends ask for the columns themselves.
template <typename T> struct Terms {
  struct Term {
    int64_t column;
    T weight;
  };
  std::vector<std::vector<Term>> of; // results

  Terms(const Deformed &d, const std::vector<double> &weights) {
    const Axes &w = d.weight;
    int64_t perGroup = w[1].extent, outPerGroup = w[0].extent / d.groups;
    for (int64_t o = 0; o < w[0].extent; ++o) {
      std::vector<Term> all, some;
      for (int64_t k = 0; k < perGroup * d.taps; ++k) {
        int64_t c = k / d.taps, t = k % d.taps;
        double weight = weights[static_cast<size_t>(o * w[0].stride + c * w[1].stride +
                                                    t / w[3].extent * w[2].stride +
                                                    t % w[3].extent * w[3].stride)];
        all.push_back({o / outPerGroup * perGroup * d.taps + k, static_cast<T>(weight)});
        if (weight != 0)
          some.push_back(all.back());
      }
      of.push_back(some.size() == 1 ? std::move(some) : std::move(all));
    }
  }
};

// A place between four elements of an image.
template <typename T> struct Place {
  std::array<int64_t, 4> at = {-1, -1, -1, -1}; // -1: outside, where there are zeros
  std::array<T, 4> weight = {};
  bool isInside = false; // all four are

  Place(double row, double column, const Axis &rows, const Axis &columns) {
    if (!(row > -1 && row < static_cast<double>(rows.extent) && column > -1 &&
          column < static_cast<double>(columns.extent)))
      return;
    double top = std::floor(row), left = std::floor(column), down = row - top,
           right = column - left;
    int64_t y = static_cast<int64_t>(top), x = static_cast<int64_t>(left);
    isInside = y >= 0 && y + 1 < rows.extent && x >= 0 && x + 1 < columns.extent;
    for (size_t i = 0; i < 4; ++i) {
      int64_t r = y + static_cast<int64_t>(i / 2), c = x + static_cast<int64_t>(i % 2);
      weight[i] = static_cast<T>((i / 2 ? down : 1 - down) * (i % 2 ? right : 1 - right));
      if (r >= 0 && r < rows.extent && c >= 0 && c < columns.extent)
        at[i] = r * rows.stride + c * columns.stride;
    }
  }

  T read(const T *image) const {
    auto load = [&](size_t i) { return isInside || at[i] >= 0 ? image[at[i]] * weight[i] : T(0); };
    return load(0) + load(1) + (load(2) + load(3));
  }
};

// Rows of results. T is what they are summed up in, and the type of `data`.
template <typename T> class DeformedRows {
public:
  DeformedRows(const Deformed &d, const T *data, const Operand &offset, const Terms<T> &terms)
      : d_(d), data_(data), offset_(offset), terms_(terms),
        columns_(static_cast<size_t>(d.in[1].extent * d.taps * d.out[3].extent)) {}

  void run(int64_t batch, int64_t row, auto store) {
    for (int64_t group = 0; group < d_.offsetGroups; ++group)
      readColumns(batch, group, placesOf(batch, group, row));
    int64_t wide = d_.out[3].extent;
    std::vector<T> sums(static_cast<size_t>(wide));
    for (size_t o = 0; o < terms_.of.size(); ++o) {
      const auto &terms = terms_.of[o];
      bool isColumn = terms.size() == 1;
      if (!isColumn)
        sum(terms, sums);
      const T *from = isColumn ? columnOf(terms[0]) : sums.data();
      T scale = isColumn ? terms[0].weight : T(1);
      int64_t at = batch * d_.out[0].stride + static_cast<int64_t>(o) * d_.out[1].stride +
                   row * d_.out[2].stride;
      for (int64_t i = 0; i < wide; ++i)
        store(at + i * d_.out[3].stride, scale * from[i]);
    }
  }

private:
  using Term = typename Terms<T>::Term;
  const T *columnOf(const Term &term) const {
    return columns_.data() + term.column * d_.out[3].extent;
  }

  void sum(const std::vector<Term> &terms, std::vector<T> &sums) const {
    std::ranges::fill(sums, T(0));
    for (const Term &term : terms) {
      const T *column = columnOf(term);
      for (size_t i = 0; i < sums.size(); ++i)
        sums[i] += term.weight * column[i];
    }
  }

  // Of each tap, for each result of the row.
  std::vector<Place<T>> placesOf(int64_t batch, int64_t group, int64_t row) const {
    std::vector<Place<T>> places;
    places.reserve(static_cast<size_t>(d_.taps * d_.out[3].extent));
    for (int64_t t = 0; t < d_.taps; ++t)
      for (int64_t i = 0; i < d_.out[3].extent; ++i) {
        int64_t at = batch * d_.shifts[0].stride + (group * d_.taps + t) * 2 * d_.shifts[1].stride +
                     row * d_.shifts[2].stride + i * d_.shifts[3].stride;
        auto tap = [&](size_t axis, int64_t index, int64_t of) {
          return static_cast<double>(index * d_.strides[axis] + of * d_.dilation[axis] -
                                     d_.pads[axis]);
        };
        places.emplace_back(tap(0, row, t / d_.weight[3].extent) + offset_.real(at),
                            tap(1, i, t % d_.weight[3].extent) +
                                offset_.real(at + d_.shifts[1].stride),
                            d_.in[2], d_.in[3]);
      }
    return places;
  }

  void readColumns(int64_t batch, int64_t group, const std::vector<Place<T>> &places) {
    int64_t count = d_.channelsPerOffset();
    for (int64_t c = group * count; c < (group + 1) * count; ++c) {
      const T *image = data_ + batch * d_.in[0].stride + c * d_.in[1].stride;
      T *to = columns_.data() + c * static_cast<int64_t>(places.size());
      for (const Place<T> &place : places)
        *to++ = place.read(image);
    }
  }

  const Deformed &d_;
  const T *data_;
  const Operand &offset_;
  const Terms<T> &terms_;
  std::vector<T> columns_;
};

template <typename T>
void runRows(LibraryCall &call, const Deformed &d, const T *data, auto store) {
  Terms<T> terms(d, allReals(call.input(2)));
  Operand offset = call.input(1);
  int64_t rows = d.out[2].extent;
  call.parallel(d.out[0].extent * rows, 1, [&](int64_t begin, int64_t end) {
    DeformedRows<T> work(d, data, offset, terms);
    for (int64_t n = begin; n < end; ++n)
      work.run(n / rows, n % rows, store);
  });
}

} // namespace

namespace library {

Expected<> deformableConv2d(LibraryCall &call) {
  Deformed d = BYCC_TRY(deformedOf(call));
  Ints shape(4);
  for (size_t i = 0; i < 4; ++i)
    shape[static_cast<size_t>(call.attribute(16 + i))] =
        i == 1 ? d.weight[0].extent : d.shifts[i].extent;
  Operand x = call.input(0), result = BYCC_TRY(call.result(0, shape));
  d.out = axesOf(call, result.shape, 16);
  if (x.dtype == DType::Float32 && result.dtype == DType::Float32) {
    runRows<float>(call, d, reinterpret_cast<const float *>(x.data), [&](int64_t at, float value) {
      reinterpret_cast<float *>(result.data)[at] = value;
    });
    return {};
  }
  std::vector<double> data = allReals(x);
  runRows<double>(call, d, data.data(),
                  [&](int64_t at, double value) { result.setReal(at, value); });
  return {};
}

} // namespace library
} // namespace bycc
