// Operators that read windows of feature maps at places of their own: regions of
// interest, correlations.
#include "Kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace bycc {
namespace {

// Axes C, H, W of a map (the batch is axis 0) as strides.
struct Plane {
  int64_t batch, channel, row, column; // strides
  int64_t batches, channels, rows, columns;
  Plane(std::span<const int64_t> shape, const LibraryCall &call) {
    Ints strides = rowStrides(shape);
    size_t c = static_cast<size_t>(call.attribute(0)), h = static_cast<size_t>(call.attribute(1)),
           w = static_cast<size_t>(call.attribute(2));
    batch = strides[0], channel = strides[c], row = strides[h], column = strides[w];
    batches = shape[0], channels = shape[c], rows = shape[h], columns = shape[w];
  }
};

// A place on an axis: the two elements around it, clamped into the axis, and the weight
// of the second; outside when it lies more than one element beyond.
struct AxisSample {
  int64_t low = 0, high = 0;
  double t = 0;
  bool isInside = false;

  AxisSample(double at, int64_t extent) {
    double last = static_cast<double>(extent) - 1;
    isInside = at >= -1 && at <= last + 1 && extent > 0;
    if (!isInside)
      return;
    at = std::clamp(at, 0.0, last);
    low = static_cast<int64_t>(at);
    high = std::min(low + 1, extent - 1);
    t = at - static_cast<double>(low);
  }
};

// Weights of the four neighbours of a point; no neighbours when it lies outside.
struct Corners {
  std::array<int64_t, 4> at = {};
  std::array<double, 4> weight = {};
  bool isInside = false;

  Corners(double y, double x, const Plane &map) {
    AxisSample row(y, map.rows), column(x, map.columns);
    isInside = row.isInside && column.isInside;
    if (!isInside)
      return;
    int64_t top = row.low * map.row, bottom = row.high * map.row;
    int64_t left = column.low * map.column, right = column.high * map.column;
    at = {top + left, top + right, bottom + left, bottom + right};
    weight = {(1 - row.t) * (1 - column.t), (1 - row.t) * column.t, row.t * (1 - column.t),
              row.t * column.t};
  }
};

// Where sample i of n in a bin lies on an axis.
double sampleAt(double first, double bin, int64_t index, int64_t i, int64_t n) {
  return first + bin * (static_cast<double>(index) +
                        (static_cast<double>(i) + 0.5) / static_cast<double>(n));
}

double largestPart(const Operand &x, int64_t base, const std::vector<Corners> &points) {
  double best = points.empty() ? 0 : -std::numeric_limits<double>::infinity();
  for (const Corners &point : points)
    for (size_t k = 0; k < 4; ++k)
      best = std::max(best, point.isInside ? point.weight[k] * x.real(base + point.at[k]) : 0);
  return best;
}

// The samples of a bin along one axis as elements and weights. The weight of an element
// of the map is the product of those on its two axes.
struct AxisTaps {
  std::vector<int64_t> at;
  std::vector<double> weight;

  void add(double first, double bin, int64_t index, int64_t samples, int64_t extent) {
    for (int64_t i = 0; i < samples; ++i) {
      AxisSample sample(sampleAt(first, bin, index, i, samples), extent);
      if (!sample.isInside)
        continue;
      at.insert(at.end(), {sample.low, sample.high});
      weight.insert(weight.end(), {1 - sample.t, sample.t});
    }
  }
};

// Averages of one row of bins: rows of the map are added up first, each element once.
class BinRow {
public:
  BinRow(const Plane &map, const AxisTaps &rows, const std::vector<AxisTaps> &columns, double count)
      : map_(map), rows_(rows), columns_(columns), count_(count), begin_(map.columns) {
    for (const AxisTaps &taps : columns)
      for (int64_t at : taps.at) {
        begin_ = std::min(begin_, at);
        end_ = std::max(end_, at + 1);
      }
  }

  // load(i): element i of the image; store(channel, column, average)
  template <typename T> void average(auto load, auto store) const {
    std::vector<T> sums(static_cast<size_t>(std::max<int64_t>(end_ - begin_, 0)));
    for (int64_t c = 0; c < map_.channels; ++c) {
      std::ranges::fill(sums, T(0));
      for (size_t k = 0; k < rows_.at.size(); ++k)
        addRow<T>(load, c * map_.channel + rows_.at[k] * map_.row + begin_ * map_.column,
                  static_cast<T>(rows_.weight[k]), sums);
      for (size_t column = 0; column < columns_.size(); ++column) {
        const AxisTaps &taps = columns_[column];
        T sum = 0;
        for (size_t k = 0; k < taps.at.size(); ++k)
          sum += static_cast<T>(taps.weight[k]) * sums[static_cast<size_t>(taps.at[k] - begin_)];
        store(c, static_cast<int64_t>(column), sum / static_cast<T>(count_));
      }
    }
  }

private:
  template <typename T>
  void addRow(auto load, int64_t first, T weight, std::vector<T> &sums) const {
    if (map_.column == 1)
      for (size_t i = 0; i < sums.size(); ++i)
        sums[i] += weight * load(first + static_cast<int64_t>(i));
    else
      for (size_t i = 0; i < sums.size(); ++i)
        sums[i] += weight * load(first + static_cast<int64_t>(i) * map_.column);
  }

  const Plane &map_;
  const AxisTaps &rows_;
  const std::vector<AxisTaps> &columns_;
  double count_;
  int64_t begin_, end_ = 0;
};

Expected<int64_t> roiBatch(const Operand &rois, int64_t r, int64_t batches) {
  double batch = rois.real(5 * r);
  if (!(batch >= 0 && batch < static_cast<double>(batches)))
    return error(Status::Arg) << "roi " << r << " is of image " << batch << ", there are "
                              << batches;
  return static_cast<int64_t>(batch);
}

// The result of R rois: the map's shape with R, height and width in place.
Expected<Operand> roiResult(LibraryCall &call, const Operand &x, const Operand &rois) {
  Ints shape(x.shape.begin(), x.shape.end());
  shape[0] = rois.shape[0];
  shape[static_cast<size_t>(call.attribute(1))] = call.attribute(3);
  shape[static_cast<size_t>(call.attribute(2))] = call.attribute(4);
  return call.result(0, shape);
}

} // namespace

namespace library {

Expected<> roiAlign(LibraryCall &call) {
  Operand x = call.input(0), rois = call.input(1), result = BYCC_TRY(roiResult(call, x, rois));
  Plane from(x.shape, call), to(result.shape, call);
  bool isMax = call.attribute(6), isAligned = call.attribute(7);
  double scale = call.realAttribute(8), shift = isAligned ? 0.5 : 0;
  Ints batches;
  for (int64_t r = 0; r < rois.shape[0]; ++r)
    batches.push_back(BYCC_TRY(roiBatch(rois, r, from.batches)));
  call.parallel(rois.shape[0] * to.rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      int64_t r = n / to.rows, row = n % to.rows;
      double left = rois.real(5 * r + 1) * scale - shift,
             top = rois.real(5 * r + 2) * scale - shift;
      double wide = rois.real(5 * r + 3) * scale - shift - left,
             high = rois.real(5 * r + 4) * scale - shift - top;
      if (!isAligned) {
        wide = std::max(wide, 1.0);
        high = std::max(high, 1.0);
      }
      double binHigh = high / static_cast<double>(to.rows),
             binWide = wide / static_cast<double>(to.columns);
      auto samples = [&](double bin) {
        return call.attribute(5) > 0
                   ? call.attribute(5)
                   : static_cast<int64_t>(std::clamp(std::ceil(bin), 0.0, 4096.0));
      };
      int64_t down = samples(binHigh), across = samples(binWide);
      int64_t first = batches[static_cast<size_t>(r)] * from.batch,
              at = r * to.batch + row * to.row;
      if (isMax) {
        for (int64_t column = 0; column < to.columns; ++column) {
          std::vector<Corners> points;
          for (int64_t i = 0; i < down * across; ++i)
            points.emplace_back(sampleAt(top, binHigh, row, i / across, down),
                                sampleAt(left, binWide, column, i % across, across), from);
          for (int64_t c = 0; c < from.channels; ++c)
            result.setReal(at + c * to.channel + column * to.column,
                           largestPart(x, first + c * from.channel, points));
        }
        continue;
      }
      std::vector<AxisTaps> columns(static_cast<size_t>(to.columns));
      for (int64_t column = 0; column < to.columns; ++column)
        columns[static_cast<size_t>(column)].add(left, binWide, column, across, from.columns);
      AxisTaps rows;
      rows.add(top, binHigh, row, down, from.rows);
      double count = static_cast<double>(std::max<int64_t>(down * across, 1));
      BinRow bins(from, rows, columns, count);
      switch (x.dtype) {
      case DType::Float32:
        bins.average<float>(
            [p = reinterpret_cast<const float *>(x.data) + first](int64_t i) { return p[i]; },
            [&](int64_t c, int64_t column, float value) {
              reinterpret_cast<float *>(result.data)[at + c * to.channel + column * to.column] =
                  value;
            });
        break;
      default:
        bins.average<double>([&](int64_t i) { return x.real(first + i); },
                             [&](int64_t c, int64_t column, double value) {
                               result.setReal(at + c * to.channel + column * to.column, value);
                             });
      }
    }
  });
  return {};
}

Expected<> roiPool(LibraryCall &call) {
  Operand x = call.input(0), rois = call.input(1), result = BYCC_TRY(roiResult(call, x, rois));
  Plane from(x.shape, call), to(result.shape, call);
  double scale = call.realAttribute(5);
  for (int64_t r = 0; r < rois.shape[0]; ++r) {
    int64_t batch = BYCC_TRY(roiBatch(rois, r, from.batches));
    auto corner = [&](int64_t i) {
      return std::round(std::clamp(rois.real(5 * r + i) * scale, -1e9, 1e9));
    };
    double left = corner(1), top = corner(2), wide = std::max(corner(3) - left + 1, 1.0),
           high = std::max(corner(4) - top + 1, 1.0);
    // Elements of bin i of an axis: begin and end.
    auto bin = [](double begin, double size, int64_t i, int64_t bins, int64_t extent) {
      double step = size / static_cast<double>(bins);
      auto inside = [&](double at) {
        return static_cast<int64_t>(std::clamp(at, 0.0, static_cast<double>(extent)));
      };
      return std::pair{inside(begin + std::floor(static_cast<double>(i) * step)),
                       inside(begin + std::ceil(static_cast<double>(i + 1) * step))};
    };
    for (int64_t row = 0; row < to.rows; ++row)
      for (int64_t column = 0; column < to.columns; ++column) {
        auto [top1, bottom] = bin(top, high, row, to.rows, from.rows);
        auto [left1, right] = bin(left, wide, column, to.columns, from.columns);
        bool isEmpty = top1 >= bottom || left1 >= right;
        for (int64_t c = 0; c < from.channels; ++c) {
          double best = isEmpty ? 0 : -std::numeric_limits<double>::infinity();
          for (int64_t y = top1; y < bottom; ++y)
            for (int64_t at = left1; at < right; ++at)
              best = std::max(best, x.real(batch * from.batch + c * from.channel + y * from.row +
                                           at * from.column));
          result.setReal(r * to.batch + c * to.channel + row * to.row + column * to.column, best);
        }
      }
  }
  return {};
}

// As in Darknet: the data read as stride times larger maps of fewer channels.
Expected<> yoloReorg(LibraryCall &call) {
  Operand x = call.input(0);
  int64_t s = call.attribute(0), channels = x.shape[1], rows = x.shape[2], columns = x.shape[3],
          kept = channels / (s * s);
  if (channels % (s * s) != 0 || rows % s != 0 || columns % s != 0)
    return error(Status::Arg) << "channels, rows and columns are no multiples of the stride " << s;
  Operand result = BYCC_TRY(call.result(0, {x.shape[0], channels * s * s, rows / s, columns / s}));
  int64_t to = 0;
  for (int64_t b = 0; b < x.shape[0]; ++b)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t y = 0; y < rows; ++y)
        for (int64_t at = 0; at < columns; ++at, ++to) {
          int64_t offset = c / kept, row = y * s + offset / s, column = at * s + offset % s;
          int64_t from = column + columns * s * (row + rows * s * (c % kept + kept * b));
          std::memcpy(result.at(to), x.at(from), static_cast<size_t>(x.elementBytes()));
        }
  return {};
}

Expected<> correlation(LibraryCall &call) {
  Operand a = call.input(0), b = call.input(1);
  int64_t kernel = call.attribute(0), reach = call.attribute(1), step = call.attribute(2),
          step2 = call.attribute(3), top = call.attribute(4), left = call.attribute(5);
  bool isProduct = call.attribute(8);
  int64_t channels = a.shape[1], rows = a.shape[2], columns = a.shape[3], radius = reach / step2,
          places = 2 * radius + 1;
  // Windows whose middle stays so far from the padded border.
  auto steps = [&](int64_t extent, int64_t pads) {
    return (extent + pads - 2 * (reach + (kernel - 1) / 2) + step - 1) / step;
  };
  int64_t high = steps(rows, top + call.attribute(6)),
          wide = steps(columns, left + call.attribute(7));
  if (high < 1 || wide < 1 || !std::equal(a.shape.begin(), a.shape.end(), b.shape.begin()))
    return error(Status::Arg) << "the data are smaller than a window, or of two shapes";
  Operand result = BYCC_TRY(call.result(0, {a.shape[0], places * places, high, wide}));
  auto padded = [&](const Operand &x, int64_t n, int64_t c, int64_t y, int64_t at) {
    bool isInside = y >= top && y - top < rows && at >= left && at - left < columns;
    return isInside ? x.real(((n * channels + c) * rows + y - top) * columns + at - left) : 0;
  };
  call.parallel(result.shape[0] * places * places * high, 1, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      int64_t i = line % high, q = line / high % (places * places),
              n = line / high / (places * places);
      int64_t dy = (q / places - radius) * step2, dx = (q % places - radius) * step2;
      for (int64_t j = 0; j < wide; ++j) {
        double sum = 0;
        for (int64_t t = 0; t < channels * kernel * kernel; ++t) {
          int64_t c = t / (kernel * kernel), y = i * step + reach + t / kernel % kernel,
                  x = j * step + reach + t % kernel;
          double p = padded(a, n, c, y, x), r = padded(b, n, c, y + dy, x + dx);
          sum += isProduct ? p * r : std::fabs(p - r);
        }
        result.setReal(line * wide + j, sum / static_cast<double>(kernel * kernel * channels));
      }
    }
  });
  return {};
}

} // namespace library
} // namespace bycc
