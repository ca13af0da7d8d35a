// Resizing: each output position is a weighted sum of a few input positions per
// axis. Grids of sampling points and grey-scale dilation.
//
// Positions and weights of floats are tables, one for each axis, made once. With channels last
// whole vectors are read. Else an image that grows is resized along its last axis first, all rows
// that there are, and then along the others, where whole vectors are read: reading single
// elements, which the last axis takes, is what costs most. What is left is one sum in double.
#include "OpLowering.h"
#include "bycc/IR/LibraryUse.h"

#include <cmath>

namespace bycc::loops {
namespace {

struct Resize {
  std::string method = "linear", coordinates = "half_pixel", rounding = "round";
  double cubicAlpha = -0.5, outside = 0;
  bool excludesOutside = false;
  std::vector<Ref> roi;       // in double
  std::vector<double> scales; // else by the extents
};

class ResizeLowering {
public:
  ResizeLowering(OpLowering &op, Resize resize, AxisOrder order)
      : op_(op), r_(std::move(resize)), order_(std::move(order)) {}

  // `likely`: extents of the result.
  Expected<> run(const std::vector<Ref> &likely) {
    const Tensor &a = op_.input(0);
    std::vector<Ref> shape = BYCC_TRY(op_.resultShape(likely));
    for (size_t d : order_.spatial)
      if (!op_.x.constant(a.shape[d])) // but nothing of nothing
        op_.require(op_.op2(Op::Lt, op_.x.integer(0),
                            op_.op2(Op::Max, a.shape[d], op_.x.sub(op_.x.integer(1), shape[d]))),
                    "an image with {} elements along axis " + std::to_string(d) + " has no values",
                    {a.shape[d]});
    if (hasResizeTables(op_.module, op_.call)) {
      fromTables(shape);
      return {};
    }
    op_.results.push_back(op_.map(op_.resultDType(), shape, [&](const Indices &i) {
      std::vector<std::vector<Tap>> axes;
      Ref inside = noRef;
      for (size_t s = 0; s < order_.spatial.size(); ++s) {
        size_t d = order_.spatial[s];
        axes.push_back(tapsOf(i[d], a.shape[d], shape[d], s, inside));
      }
      Ref sum = combine(a, order_.spatial, axes, 0, i, noRef);
      if (isFloat(op_.x.type(sum)) && !isFloat(op_.resultDType())) // rounded, not truncated
        sum = op_.x.unary(Op::Round, sum);
      Ref value = op_.x.cast(sum, op_.resultDType());
      return inside == noRef ? value
                             : op_.x.select(inside, value, op_.real(r_.outside, op_.resultDType()));
    }));
    return {};
  }

private:
  struct Tap {
    Ref at, weight; // noRef: one
  };

  // Positions and weights along one axis.
  struct Table {
    Tensor at;
    std::optional<Tensor> weight;
  };
  std::vector<Table> tablesOf(size_t s, const std::vector<Ref> &shape) {
    size_t d = order_.spatial[s];
    std::vector<Table> tables;
    for (size_t t = 0, count = numTaps(); t < count; ++t) {
      auto tap = [&](const Indices &i) {
        Ref inside = noRef;
        return tapsOf(i[0], op_.input(0).shape[d], shape[d], s, inside)[t];
      };
      Tensor at = op_.map(
          DType::Int32, {shape[d]},
          [&](const Indices &i) { return op_.x.cast(tap(i).at, DType::Int32); }, true);
      std::optional<Tensor> weight;
      if (r_.method != "nearest_neighbor")
        weight = op_.map(
            DType::Float32, {shape[d]},
            [&](const Indices &i) { return op_.x.cast(tap(i).weight, DType::Float32); }, true);
      tables.push_back({at, weight});
    }
    return tables;
  }
  std::vector<Tap> readTaps(const std::vector<Table> &tables, Ref index) {
    std::vector<Tap> taps;
    for (const Table &each : tables)
      taps.push_back({op_.x.cast(op_.at(each.at, {index}), DType::Int64),
                      each.weight ? op_.at(*each.weight, {index}) : noRef});
    return taps;
  }

  // Do rows that are resized first make fewer reads of single elements? An open extent may grow.
  bool rowsGoFirst(const std::vector<Ref> &shape) const {
    const Tensor &a = op_.input(0);
    if (order_.spatial.back() + 1 != a.rank())
      return false;
    bool grows = false;
    for (size_t s = 0; s + 1 < order_.spatial.size(); ++s) {
      auto in = op_.x.constant(a.shape[order_.spatial[s]]),
           out = op_.x.constant(shape[order_.spatial[s]]);
      double scale = !r_.scales.empty() ? r_.scales[s]
                     : in && out        ? static_cast<double>(*out) / static_cast<double>(*in)
                                        : 2;
      if (scale < (r_.method == "cubic" ? 0.4 : 1)) // 4 taps of each row, or 16 of each element
        return false;
      grows = grows || scale != 1;
    }
    return grows;
  }

  void fromTables(const std::vector<Ref> &shape) {
    Tensor image = op_.input(0);
    std::vector<size_t> axes = order_.spatial;
    std::vector<std::vector<Table>> tables;
    for (size_t s = 0; s < axes.size(); ++s)
      tables.push_back(tablesOf(s, shape));
    if (rowsGoFirst(shape)) {
      image = resizedRows(image, shape, tables.back());
      axes.pop_back();
    }
    op_.results.push_back(op_.map(op_.resultDType(), shape, [&](const Indices &i) {
      std::vector<std::vector<Tap>> taps;
      for (size_t s = 0; s < axes.size(); ++s)
        taps.push_back(readTaps(tables[s], i[axes[s]]));
      return op_.x.cast(combine(image, axes, taps, 0, i, noRef), op_.resultDType());
    }));
  }

  Tensor resizedRows(const Tensor &image, const std::vector<Ref> &shape,
                     const std::vector<Table> &tables) {
    size_t d = order_.spatial.back();
    std::vector<Ref> rows = image.shape;
    rows[d] = shape[d];
    DType type = tables[0].weight ? DType::Float32 : image.type;
    return op_.map(
        type, rows,
        [&](const Indices &i) {
          return combine(image, {d}, {readTaps(tables, i[d])}, 0, i, noRef);
        },
        true);
  }

  size_t numTaps() const {
    return r_.method == "nearest_neighbor" ? 1 : r_.method == "linear" ? 2 : 4;
  }

  Ref real(double value) { return op_.real(value, DType::Float64); }
  Ref plus(Ref a, double b) { return op_.x.add(a, real(b)); }
  Ref times(Ref a, double b) { return op_.op2(Op::Mul, a, real(b)); }
  Ref count(Ref extent) {
    auto known = op_.x.constant(extent);
    return known ? real(static_cast<double>(*known)) : op_.x.cast(extent, DType::Float64);
  }

  Ref coordinate(Ref x, Ref in, Ref out, size_t s) {
    Ref at = op_.x.cast(x, DType::Float64);
    auto over = [&](Ref a, Ref b) { return op_.op2(Op::Div, a, b); };
    auto by = [&](Ref a, Ref b) { return op_.op2(Op::Mul, a, b); };
    Ref n = count(in), m = count(out), scale = over(n, m), last = count(op_.x.plus(in, -1)),
        steps = count(op_.x.plus(out, -1));
    Ref hasSteps = op_.op2(Op::Lt, op_.x.integer(1), out);
    if (!r_.scales.empty()) {
      scale = real(1 / r_.scales[s]);
      m = by(real(r_.scales[s]), n);
      steps = plus(m, -1);
    }
    const std::string &mode = r_.coordinates;
    if (mode == "half_pixel_symmetric") {
      Ref rest = op_.x.sub(real(1), over(count(out), m));
      return op_.x.add(by(plus(at, 0.5), scale), plus(by(over(n, real(2)), rest), -0.5));
    }
    if (mode == "align_corners")
      return op_.x.select(op_.x.both(hasSteps, op_.op2(Op::Ne, steps, real(0))),
                          over(by(at, last), steps), real(0));
    if (mode == "asymmetric")
      return by(at, scale);
    if (mode == "pytorch_half_pixel")
      return op_.x.select(hasSteps, plus(by(plus(at, 0.5), scale), -0.5), real(0));
    if (mode == "tf_half_pixel_for_nn")
      return by(plus(at, 0.5), scale);
    if (mode == "tf_crop_and_resize") {
      size_t axes = order_.spatial.size();
      Ref begin = r_.roi.empty() ? real(0) : r_.roi[s],
          end = r_.roi.empty() ? real(1) : r_.roi[axes + s];
      Ref middle = by(by(real(0.5), op_.x.add(begin, end)), last);
      Ref step = over(by(op_.x.sub(end, begin), last), steps);
      return op_.x.select(hasSteps, op_.x.add(by(at, step), by(begin, last)), middle);
    }
    return plus(by(plus(at, 0.5), scale), -0.5);
  }

  Ref clamped(Ref position, Ref extent) {
    Ref low = op_.op2(Op::Max, position, real(0));
    return op_.x.cast(op_.op2(Op::Min, low, count(op_.x.plus(extent, -1))), DType::Int64);
  }

  Ref nearest(Ref at) {
    const double epsilon = 1e-5; // a whole coordinate must not fall to its neighbour
    const double tie = 1e-9;
    if (r_.rounding == "floor")
      return op_.x.unary(Op::Floor, plus(at, epsilon));
    if (r_.rounding == "ceil")
      return op_.x.unary(Op::Ceil, plus(at, -epsilon));
    if (r_.rounding == "round_prefer_floor")
      return op_.x.unary(Op::Ceil, plus(at, -0.5));
    if (r_.rounding == "round_prefer_ceil")
      return op_.x.unary(Op::Floor, plus(at, 0.5));
    return op_.x.unary(Op::Round, plus(at, tie)); // however the product before is rounded
  }

  // Weight of a neighbour at distance d, within one or between one and two.
  Ref cubic(Ref d, bool isInner) {
    double a = r_.cubicAlpha;
    if (isInner)
      return plus(op_.op2(Op::Mul, op_.op2(Op::Mul, plus(times(d, a + 2), -(a + 3)), d), d), 1);
    Ref inner = plus(op_.op2(Op::Mul, plus(times(d, a), -5 * a), d), 8 * a);
    return plus(op_.op2(Op::Mul, inner, d), -4 * a);
  }

  std::vector<Tap> tapsOf(Ref x, Ref in, Ref out, size_t s, Ref &inside) {
    Ref at = coordinate(x, in, out, s);
    Ref last = count(op_.x.plus(in, -1));
    if (r_.coordinates == "tf_crop_and_resize")
      inside =
          op_.x.both(inside, op_.x.both(op_.op2(Op::Le, real(0), at), op_.op2(Op::Le, at, last)));
    if (r_.method == "nearest_neighbor")
      return {{clamped(nearest(at), in), noRef}};
    Ref base = op_.x.unary(Op::Floor, at), t = op_.x.sub(at, base);
    if (r_.method == "linear")
      return {{clamped(base, in), op_.x.sub(real(1), t)}, {clamped(plus(base, 1), in), t}};
    Ref weights[] = {cubic(plus(t, 1), false), cubic(t, true), cubic(op_.x.sub(real(1), t), true),
                     cubic(op_.x.sub(real(2), t), false)};
    std::vector<Tap> taps;
    Ref sum = real(0);
    for (int n = 0; n < 4; ++n) {
      Ref position = plus(base, n - 1), weight = weights[n];
      if (r_.excludesOutside)
        weight = op_.x.select(
            op_.x.both(op_.op2(Op::Le, real(0), position), op_.op2(Op::Le, position, last)), weight,
            real(0));
      sum = op_.x.add(sum, weight);
      taps.push_back({clamped(position, in), weight});
    }
    if (r_.excludesOutside)
      for (Tap &tap : taps)
        tap.weight = op_.op2(Op::Div, tap.weight, sum);
    return taps;
  }

  // The sum over the taps of these axes of a tensor, in the type of the weights.
  Ref combine(const Tensor &a, const std::vector<size_t> &dims,
              const std::vector<std::vector<Tap>> &axes, size_t s, const Indices &i, Ref weight) {
    if (s == axes.size()) {
      Ref value = op_.at(a, i);
      return weight == noRef ? value
                             : op_.op2(Op::Mul, weight, op_.x.cast(value, op_.x.type(weight)));
    }
    Ref sum = noRef;
    for (const Tap &tap : axes[s]) {
      Indices at = i;
      at[dims[s]] = tap.at;
      Ref w = tap.weight == noRef ? weight
              : weight == noRef   ? tap.weight
                                  : op_.op2(Op::Mul, weight, tap.weight);
      Ref part = combine(a, dims, axes, s + 1, at, w);
      sum = sum == noRef ? part : op_.x.add(sum, part);
    }
    return sum;
  }

  OpLowering &op_;
  Resize r_;
  AxisOrder order_;
};

// Extents of the result: of each spatial axis by its number and extent.
using Scaling = std::function<Expected<Ref>(size_t, Ref)>;

Expected<> resizeWith(OpLowering &op, Resize resize, const Scaling &scaled) {
  const Tensor &a = op.input(0);
  AxisOrder order = BYCC_TRY(op.axisOrder("layout", op.text("layout"), "NC", a.rank() - 2));
  std::vector<Ref> likely = a.shape;
  for (size_t s = 0; s < order.spatial.size(); ++s)
    likely[order.spatial[s]] = BYCC_TRY(scaled(s, a.shape[order.spatial[s]]));
  return ResizeLowering(op, std::move(resize), order).run(likely);
}

// round(extent * scale) in double; a scale of an operand is asked for at run time.
Expected<Ref> scaledExtent(OpLowering &op, Ref extent, const char *key, size_t input) {
  Exprs &program = op.dims.around.exprs();
  bool isOperand = op.numInputs() > input;
  auto known = op.x.constant(extent);
  if (known && !isOperand)
    return op.x.integer(
        static_cast<int64_t>(std::round(static_cast<double>(*known) * op.number(key))));
  Ref scale =
      isOperand ? BYCC_TRY(op.element(input, 0)) : program.floating(op.number(key), DType::Float64);
  if (program.type(scale) != DType::Float64)
    scale = program.cast(scale, DType::Float64);
  Ref wide =
      program.binary(Op::Mul, program.cast(op.dims.toProgram(extent), DType::Float64), scale);
  Ref rounded = program.cast(program.unary(Op::Round, wide), DType::Int64);
  return op.dims.fromProgram(op.dims.around.define(rounded, std::string(op.info().name) +
                                                                ": a result has an extent of {}"));
}

std::vector<double> realList(OpLowering &op, std::string_view key) {
  std::vector<double> values;
  if (!op.isNone(key))
    for (const AttrValue &item : op.module.attr(op.call, key)->asList())
      values.push_back(item.isFloat() ? item.asFloat() : static_cast<double>(item.asInt()));
  return values;
}

Expected<> lowerResize(OpLowering &op) {
  Resize resize;
  resize.method = op.text("method");
  resize.coordinates = op.text("coordinate_transformation_mode");
  resize.rounding = op.text("rounding_method");
  if (resize.rounding.empty())
    resize.rounding = "round";
  resize.cubicAlpha = op.number("cubic_alpha");
  resize.excludesOutside = op.integer("cubic_exclude") != 0;
  resize.outside = op.number("extrapolation_value");
  resize.scales = realList(op, "scales");
  bool isDynamic = op.isOp(ops::dyn_image_resize2d);
  size_t spatial = op.input(0).rank() - 2;
  if (isDynamic) {
    const Tensor &roi = op.input(2);
    for (size_t n = 0; roi.rank() == 1 && op.extent(roi, 0) == static_cast<int64_t>(2 * spatial) &&
                       n < 2 * spatial;
         ++n)
      resize.roi.push_back(
          op.x.cast(op.at(roi, {op.x.integer(static_cast<int64_t>(n))}), DType::Float64));
  } else {
    for (double value : realList(op, "roi"))
      resize.roi.push_back(op.real(value, DType::Float64));
  }
  if (resize.roi.size() != 2 * spatial)
    resize.roi.clear();
  std::vector<int64_t> size;
  if (!isDynamic)
    size = op.integers("size");
  return resizeWith(op, std::move(resize), [&](size_t s, Ref) -> Expected<Ref> {
    if (isDynamic)
      return op.extentContent(1, static_cast<int64_t>(s));
    return op.x.integer(size[std::min(s, size.size() - 1)]);
  });
}

Expected<> lowerUpsampling(OpLowering &op) {
  Resize resize;
  std::string method = op.text("method");
  resize.method = method == "nearest_neighbor" ? method : method == "bicubic" ? "cubic" : "linear";
  resize.rounding = "floor";
  if (op.isOp(ops::nn_upsampling3d)) {
    resize.coordinates = op.text("coordinate_transformation_mode");
    if (resize.coordinates != "asymmetric")
      resize.rounding = "round";
  } else if (op.boolean("align_corners")) {
    resize.coordinates = "align_corners";
    resize.rounding = "round";
  } else {
    resize.coordinates = "asymmetric";
  }
  static const char *const keys[] = {"scale_d", "scale_h", "scale_w"};
  size_t first = op.input(0).rank() == 5 ? 0 : 1;
  return resizeWith(op, std::move(resize), [&](size_t s, Ref extent) {
    return scaledExtent(op, extent, keys[first + s], 1 + s);
  });
}

// theta (N, n, n + 1) times the coordinates (x, .., 1) of each point.
Expected<> lowerAffineGrid(OpLowering &op) {
  const Tensor &theta = op.input(0);
  std::vector<int64_t> target = op.integers("target_shape");
  size_t spatial = target.size();
  bool aligns = op.boolean("align_corners");
  DType wide = DType::Float64;
  auto coordinate = [&](Ref index, int64_t extent) {
    Ref position = op.x.cast(index, wide);
    double n = static_cast<double>(extent), step = aligns ? (extent > 1 ? 2 / (n - 1) : 0) : 2 / n;
    return op.x.add(op.op2(Op::Mul, position, op.real(step, wide)),
                    op.real(aligns ? -1 : 1 / n - 1, wide));
  };
  std::vector<Ref> likely{theta.shape[0], op.x.integer(static_cast<int64_t>(spatial))};
  for (int64_t extent : target)
    likely.push_back(op.x.integer(extent));
  return op.mapResult(
      [&](const Indices &i) {
        auto factor = [&](size_t c) {
          return op.x.cast(op.at(theta, {i[0], i[1], op.x.integer(static_cast<int64_t>(c))}), wide);
        };
        Ref sum = factor(spatial);
        for (size_t c = 0; c < spatial; ++c) // coordinate 0 is that of the last axis
          sum = op.x.add(sum, op.op2(Op::Mul, factor(c),
                                     coordinate(i[1 + spatial - c], target[spatial - 1 - c])));
        return op.x.cast(sum, op.resultDType());
      },
      likely);
}

// Grey-scale dilation: the greatest of data plus weight in the window.
Expected<> lowerDilation(OpLowering &op) {
  const Tensor &a = op.input(0), &w = op.input(1);
  Layout data = *Layout::parse(op.text("data_layout")),
         kernel = *Layout::parse(op.text("kernel_layout"));
  std::vector<int64_t> strides = op.integers("strides"), dilations = op.integers("dilations");
  Padding pads = op.padding(2);
  std::vector<Ref> shape = BYCC_TRY(op.resultShape()), all = shape;
  const char letters[] = {'H', 'W'};
  for (char letter : letters)
    all.push_back(w.shape[*kernel.find(letter)]);
  Tensor best = op.reduce(
      Reduce::Max, a.type, all, {false, false, false, false, true, true}, [&](const Indices &i) {
        Indices at(i.begin(), i.begin() + 4), tap(3);
        Ref inside = noRef;
        tap[*kernel.find('I')] = i[*data.find('C')];
        for (size_t s = 0; s < 2; ++s) {
          size_t d = *data.find(letters[s]);
          tap[*kernel.find(letters[s])] = i[4 + s];
          at[d] =
              op.x.plus(op.x.add(op.x.times(i[d], strides[s]), op.x.times(i[4 + s], dilations[s])),
                        -pads.before[s]);
          if (pads.before[s] != 0 || pads.after[s] != 0)
            inside = op.x.both(inside, op.x.both(op.op2(Op::Le, op.x.integer(0), at[d]),
                                                 op.op2(Op::Lt, at[d], a.shape[d])));
        }
        Ref value = op.x.add(inside == noRef ? op.at(a, at) : op.atGuarded(a, at), op.at(w, tap));
        return inside == noRef ? value : op.x.guard(inside, value, op.lowest(a.type));
      });
  op.results.push_back(op.map(op.resultDType(), shape, [&](const Indices &i) {
    Indices at = i;
    at.resize(6, op.x.integer(0));
    return op.x.cast(op.at(best, at), op.resultDType());
  }));
  return {};
}

} // namespace

void addImageLowerings(LowerTable &table) {
  for (OpId op :
       {ops::image_resize1d, ops::image_resize2d, ops::image_resize3d, ops::dyn_image_resize2d})
    table[op.index] = lowerResize;
  for (OpId op : {ops::nn_upsampling, ops::nn_upsampling3d, ops::dyn_nn_upsampling})
    table[op.index] = lowerUpsampling;
  table[ops::image_affine_grid.index] = lowerAffineGrid;
  table[ops::image_dilation2d.index] = lowerDilation;
}

} // namespace bycc::loops
