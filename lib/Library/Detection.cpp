// Boxes of detectors: choosing the best ones, and making them from anchors.
// Equal scores keep the order of the boxes.
#include "Kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace bycc {
namespace {

struct Box {
  double left, top, right, bottom;
  double area() const { return (right - left) * (bottom - top); }
};

Box ordered(double x1, double y1, double x2, double y2) {
  return {std::min(x1, x2), std::min(y1, y2), std::max(x1, x2), std::max(y1, y2)};
}

// Intersection over union. `pixel` is 1 where a box covers its last element too.
double overlap(const Box &a, const Box &b, double pixel = 0) {
  double wide = std::max(std::min(a.right, b.right) - std::max(a.left, b.left) + pixel, 0.0);
  double high = std::max(std::min(a.bottom, b.bottom) - std::max(a.top, b.top) + pixel, 0.0);
  auto area = [&](const Box &box) {
    return (box.right - box.left + pixel) * (box.bottom - box.top + pixel);
  };
  double common = wide * high, all = area(a) + area(b) - common;
  return all <= 0 ? 0 : common / all;
}

// Positions of scores from the greatest down; NaN last.
Ints byScore(const std::vector<double> &scores) {
  Ints order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    double x = scores[static_cast<size_t>(a)], y = scores[static_cast<size_t>(b)];
    return x > y || (!std::isnan(x) && std::isnan(y));
  });
  return order;
}

std::vector<double> realsAt(const LibraryCall &call, size_t &next, int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(call.realAttribute(next++));
  return values;
}

void fill(const Operand &to, double value) {
  for (int64_t i = 0, count = to.count(); i < count; ++i)
    to.setReal(i, value);
}

} // namespace

namespace library {

// Rows (batch, class, box), as ONNX's NonMaxSuppression gives them.
Expected<> allClassNonMaxSuppression(LibraryCall &call) {
  Operand boxes = call.input(0), scores = call.input(1);
  int64_t most = call.input(2).integer(0), numBoxes = boxes.shape[1], classes = scores.shape[1];
  double threshold = call.input(3).real(0), least = call.input(4).real(0);
  if (scores.shape[2] != numBoxes || scores.shape[0] != boxes.shape[0])
    return error(Status::Arg) << "there are " << boxes.shape[0] << " times " << numBoxes
                              << " boxes and " << scores.shape[0] << " times " << scores.shape[2]
                              << " scores";
  std::vector<Ints> chosen(static_cast<size_t>(boxes.shape[0] * classes));
  call.parallel(static_cast<int64_t>(chosen.size()), 1, [&](int64_t begin, int64_t end) {
    std::vector<double> line(static_cast<size_t>(numBoxes));
    for (int64_t n = begin; n < end; ++n) {
      loadReals(scores, n * numBoxes, 1, line);
      std::vector<Box> kept;
      for (int64_t b : byScore(line)) {
        if (!(line[static_cast<size_t>(b)] > least) || static_cast<int64_t>(kept.size()) >= most)
          break;
        int64_t at = (n / classes * numBoxes + b) * 4; // y1, x1, y2, x2
        Box box =
            ordered(boxes.real(at + 1), boxes.real(at), boxes.real(at + 3), boxes.real(at + 2));
        if (std::any_of(kept.begin(), kept.end(),
                        [&](const Box &other) { return overlap(box, other) > threshold; }))
          continue;
        kept.push_back(box);
        chosen[static_cast<size_t>(n)].push_back(b);
      }
    }
  });
  int64_t total = 0;
  for (const Ints &each : chosen)
    total += static_cast<int64_t>(each.size());
  Operand rows = BYCC_TRY(call.result(0, {total, 3})), count = BYCC_TRY(call.result(1, {1}));
  count.setInteger(0, total);
  int64_t to = 0;
  for (size_t n = 0; n < chosen.size(); ++n)
    for (int64_t b : chosen[n])
      for (int64_t value :
           {static_cast<int64_t>(n) / classes, static_cast<int64_t>(n) % classes, b})
        rows.setInteger(to++, value);
  return {};
}

// Valid boxes move to the front, the rest is -1.
Expected<> getValidCounts(LibraryCall &call) {
  Operand x = call.input(0);
  int64_t idIndex = call.attribute(0), scoreIndex = call.attribute(1), boxes = x.shape[1],
          width = x.shape[2];
  double least = call.input(1).real(0);
  Operand counts = BYCC_TRY(call.result(0, x.shape.first(1))),
          result = BYCC_TRY(call.result(1, x.shape)),
          indices = BYCC_TRY(call.result(2, x.shape.first(2)));
  fill(result, -1);
  fill(indices, -1);
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    int64_t found = 0;
    for (int64_t b = 0; b < boxes; ++b) {
      int64_t at = (n * boxes + b) * width;
      if (!(x.real(at + scoreIndex) > least) || (idIndex >= 0 && x.real(at + idIndex) < 0))
        continue;
      std::memcpy(result.at((n * boxes + found) * width), x.at(at),
                  static_cast<size_t>(width * x.elementBytes()));
      indices.setInteger(n * boxes + found++, b);
    }
    counts.setInteger(n, found);
  }
  return {};
}

// Boxes of rows [class, score, left, top, right, bottom] or as the attributes say.
Expected<> nonMaxSuppression(LibraryCall &call) {
  Operand x = call.input(0), counts = call.input(1), indices = call.input(2);
  int64_t most = call.input(3).integer(0), boxes = x.shape[1], width = x.shape[2];
  double threshold = call.input(4).real(0);
  bool isForced = call.attribute(0), returnsIndices = call.attribute(5),
       goesDown = call.attribute(6);
  int64_t topK = call.attribute(1), coordinates = call.attribute(2), scoreIndex = call.attribute(3),
          idIndex = call.attribute(4);
  Operand result, found;
  if (returnsIndices) {
    result = BYCC_TRY(call.result(0, x.shape.first(2)));
    found = BYCC_TRY(call.result(1, {x.shape[0], 1}));
  } else {
    result = BYCC_TRY(call.result(0, x.shape));
  }
  fill(result, -1);
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    int64_t valid = counts.integer(n);
    if (valid < 0 || valid > boxes)
      return error(Status::Arg) << "valid_count is " << valid << ", there are " << boxes
                                << " boxes";
    auto value = [&](int64_t b, int64_t k) { return x.real((n * boxes + b) * width + k); };
    std::vector<double> scores;
    for (int64_t b = 0; b < valid; ++b)
      scores.push_back(value(b, scoreIndex));
    Ints order = byScore(scores);
    if (threshold <= 0)
      std::iota(order.begin(), order.end(), 0);
    else if (topK > 0 && topK < valid)
      order.resize(static_cast<size_t>(topK));
    auto boxOf = [&](int64_t b) {
      return ordered(value(b, coordinates), value(b, coordinates + 1), value(b, coordinates + 2),
                     value(b, coordinates + 3));
    };
    Ints kept;
    for (size_t rank = 0; rank < order.size(); ++rank) {
      int64_t b = order[rank];
      bool isReal = value(b, scoreIndex) > 0 && (idIndex < 0 || value(b, idIndex) >= 0);
      bool isHidden = threshold > 0 && std::any_of(kept.begin(), kept.end(), [&](int64_t other) {
                        bool isSame =
                            isForced || idIndex < 0 || value(b, idIndex) == value(other, idIndex);
                        return isSame && overlap(boxOf(b), boxOf(other)) >= threshold;
                      });
      if (!isReal || isHidden || (most >= 0 && static_cast<int64_t>(kept.size()) >= most))
        continue;
      int64_t place = goesDown || returnsIndices ? static_cast<int64_t>(kept.size())
                                                 : static_cast<int64_t>(rank);
      kept.push_back(b);
      if (returnsIndices)
        result.setInteger(n * boxes + place, indices.integer(n * boxes + b));
      else
        std::memcpy(result.at((n * boxes + place) * width), x.at((n * boxes + b) * width),
                    static_cast<size_t>(width * x.elementBytes()));
    }
    if (returnsIndices)
      found.setInteger(n, static_cast<int64_t>(kept.size()));
  }
  return {};
}

// For each place of the map: one box per size, then one per further ratio.
Expected<> multiboxPrior(LibraryCall &call) {
  Operand x = call.input(0);
  size_t next = 3;
  std::vector<double> sizes = realsAt(call, next, call.attribute(0)),
                      ratios = realsAt(call, next, call.attribute(1)),
                      steps = realsAt(call, next, 2), offsets = realsAt(call, next, 2);
  int64_t rows = x.shape[2], columns = x.shape[3],
          perPlace = static_cast<int64_t>(sizes.size() + ratios.size()) - 1;
  Operand result = BYCC_TRY(call.result(0, {1, rows * columns * perPlace, 4}));
  double stepY = steps[0] > 0 ? steps[0] : 1 / static_cast<double>(rows),
         stepX = steps[1] > 0 ? steps[1] : 1 / static_cast<double>(columns);
  double aspect = static_cast<double>(rows) / static_cast<double>(columns);
  int64_t to = 0;
  for (int64_t place = 0; place < rows * columns; ++place)
    for (size_t k = 0; k < static_cast<size_t>(perPlace); ++k) {
      double y = (static_cast<double>(place / columns) + offsets[0]) * stepY,
             at = (static_cast<double>(place % columns) + offsets[1]) * stepX;
      double size = sizes[k < sizes.size() ? k : 0],
             ratio = k < sizes.size() ? 1 : std::sqrt(ratios[k - sizes.size() + 1]);
      double wide = size * aspect * ratio / 2, high = size / ratio / 2;
      for (double value : {at - wide, y - high, at + wide, y + high})
        result.setReal(to++, call.attribute(2) ? std::clamp(value, 0.0, 1.0) : value);
    }
  return {};
}

// Rows [class, score, left, top, right, bottom] of the anchors that are no background.
Expected<> multiboxTransformLoc(LibraryCall &call) {
  Operand scores = call.input(0), shifts = call.input(1), anchors = call.input(2);
  bool clips = call.attribute(0), keepsBackground = call.attribute(1);
  size_t next = 2;
  double threshold = realsAt(call, next, 1)[0];
  std::vector<double> variances = realsAt(call, next, 4);
  int64_t classes = scores.shape[1], count = scores.shape[2];
  Operand result = BYCC_TRY(call.result(0, {scores.shape[0], count, 6})),
          counts = BYCC_TRY(call.result(1, {scores.shape[0]}));
  fill(result, -1);
  for (int64_t n = 0; n < scores.shape[0]; ++n) {
    int64_t found = 0;
    for (int64_t a = 0; a < count; ++a) {
      double best = -1;
      int64_t id = keepsBackground ? -1 : 0;
      for (int64_t c = keepsBackground ? 0 : 1; c < classes; ++c)
        if (double score = scores.real((n * classes + c) * count + a); score > best) {
          best = score;
          id = c;
        }
      if (id < (keepsBackground ? 0 : 1) || best < threshold)
        continue;
      auto anchor = [&](int64_t i) { return anchors.real(a * 4 + i); };
      auto shift = [&](int64_t i) {
        return shifts.real(n * count * 4 + a * 4 + i) * variances[static_cast<size_t>(i)];
      };
      double wide = anchor(2) - anchor(0), high = anchor(3) - anchor(1);
      double x = shift(0) * wide + (anchor(0) + anchor(2)) / 2,
             y = shift(1) * high + (anchor(1) + anchor(3)) / 2;
      double halfWide = std::exp(shift(2)) * wide / 2, halfHigh = std::exp(shift(3)) * high / 2;
      std::array<double, 4> box = {x - halfWide, y - halfHigh, x + halfWide, y + halfHigh};
      int64_t to = (n * count + found++) * 6;
      result.setReal(to, static_cast<double>(keepsBackground ? id : id - 1));
      result.setReal(to + 1, best);
      for (size_t i = 0; i < 4; ++i)
        result.setReal(to + 2 + static_cast<int64_t>(i),
                       clips ? std::clamp(box[i], 0.0, 1.0) : box[i]);
    }
    counts.setInteger(n, found);
  }
  return {};
}

namespace {

struct Proposal {
  int64_t stride, preTop, postTop, minSize;
  bool isIouLoss;
  double threshold;
  std::vector<Box> anchors;

  // Anchors of an image element: each ratio in each scale, around a square of the stride.
  explicit Proposal(const LibraryCall &call)
      : stride(call.attribute(2)), preTop(call.attribute(3)), postTop(call.attribute(4)),
        minSize(call.attribute(5)), isIouLoss(call.attribute(6)) {
    size_t next = 7;
    threshold = realsAt(call, next, 1)[0];
    std::vector<double> scales = realsAt(call, next, call.attribute(0)),
                        ratios = realsAt(call, next, call.attribute(1));
    double base = static_cast<double>(stride), center = 0.5 * (base - 1);
    for (double ratio : ratios)
      for (double scale : scales) {
        double side = std::floor(std::sqrt(std::floor(base * base / ratio)) + 0.5);
        double wide = side * scale, high = std::floor(side * ratio + 0.5) * scale;
        anchors.push_back({center - 0.5 * (wide - 1), center - 0.5 * (high - 1),
                           center + 0.5 * (wide - 1), center + 0.5 * (high - 1)});
      }
  }
};

Box moved(const Box &box, const std::array<double, 4> &d, bool isIouLoss) {
  if (isIouLoss)
    return {box.left + d[0], box.top + d[1], box.right + d[2], box.bottom + d[3]};
  double wide = box.right - box.left + 1, high = box.bottom - box.top + 1;
  double x = d[0] * wide + box.left + 0.5 * (wide - 1),
         y = d[1] * high + box.top + 0.5 * (high - 1);
  double halfWide = 0.5 * (std::exp(d[2]) * wide - 1), halfHigh = 0.5 * (std::exp(d[3]) * high - 1);
  return {x - halfWide, y - halfHigh, x + halfWide, y + halfHigh};
}

} // namespace

// The best boxes of each image, over again when there are fewer than asked for.
Expected<> proposal(LibraryCall &call) {
  Operand scores = call.input(0), shifts = call.input(1), info = call.input(2);
  Proposal p(call);
  int64_t count = static_cast<int64_t>(p.anchors.size()), rows = scores.shape[2],
          columns = scores.shape[3], plane = rows * columns;
  Operand result = BYCC_TRY(call.result(0, {scores.shape[0] * p.postTop, 5}));
  fill(result, 0);
  for (int64_t n = 0; n < scores.shape[0]; ++n) {
    double high = info.real(n * 3), wide = info.real(n * 3 + 1),
           least = static_cast<double>(p.minSize) * info.real(n * 3 + 2);
    std::vector<Box> boxes;
    std::vector<double> values;
    for (int64_t place = 0; place < plane; ++place)
      for (int64_t a = 0; a < count; ++a) {
        double dx = static_cast<double>(place % columns * p.stride),
               dy = static_cast<double>(place / columns * p.stride);
        const Box &anchor = p.anchors[static_cast<size_t>(a)];
        std::array<double, 4> shift;
        for (int64_t i = 0; i < 4; ++i)
          shift[static_cast<size_t>(i)] = shifts.real((n * 4 * count + a * 4 + i) * plane + place);
        Box box = moved({anchor.left + dx, anchor.top + dy, anchor.right + dx, anchor.bottom + dy},
                        shift, p.isIouLoss);
        auto inside = [](double at, double extent) {
          return std::max(std::min(at, extent - 1), 0.0);
        };
        box = {inside(box.left, wide), inside(box.top, high), inside(box.right, wide),
               inside(box.bottom, high)};
        double score = scores.real((n * 2 * count + count + a) * plane + place);
        bool isOutside =
            dy / static_cast<double>(p.stride) >=
                std::floor(high / static_cast<double>(p.stride)) ||
            dx / static_cast<double>(p.stride) >= std::floor(wide / static_cast<double>(p.stride));
        if (box.right - box.left + 1 < least || box.bottom - box.top + 1 < least) {
          box = {box.left - least / 2, box.top - least / 2, box.right + least / 2,
                 box.bottom + least / 2};
          isOutside = true;
        }
        boxes.push_back(box);
        values.push_back(isOutside ? -1 : score);
      }
    Ints order = byScore(values), kept;
    if (p.preTop > 0 && p.preTop < static_cast<int64_t>(order.size()))
      order.resize(static_cast<size_t>(p.preTop));
    for (int64_t b : order) {
      if (static_cast<int64_t>(kept.size()) >= p.postTop)
        break;
      const Box &box = boxes[static_cast<size_t>(b)];
      if (std::none_of(kept.begin(), kept.end(), [&](int64_t other) {
            return overlap(box, boxes[static_cast<size_t>(other)], 1) > p.threshold;
          }))
        kept.push_back(b);
    }
    for (int64_t i = 0; i < p.postTop && !kept.empty(); ++i) {
      const Box &box = boxes[static_cast<size_t>(kept[static_cast<size_t>(i) % kept.size()])];
      int64_t to = (n * p.postTop + i) * 5;
      for (double value : {static_cast<double>(n), box.left, box.top, box.right, box.bottom})
        result.setReal(to++, value);
    }
  }
  return {};
}

} // namespace library
} // namespace bycc
