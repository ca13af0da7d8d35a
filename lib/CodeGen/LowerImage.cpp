// Resizing: each output position is a weighted sum of a few input positions per
// axis, computed in double. Grids of sampling points and grey-scale dilation.
#include "Layout.h"
#include "Lower.h"
#include "bycc/IR/Layout.h"

#include <cmath>
#include <limits>

namespace bycc::te {
namespace {

struct Resize {
  std::string method = "linear", coordinates = "half_pixel", rounding = "round";
  double cubicAlpha = -0.5, outside = 0;
  bool excludesOutside = false;
  std::vector<double> roi, scales; // scales: else by the extents
};

class ResizeLowering {
public:
  ResizeLowering(OpLowering &op, Resize resize, AxisOrder order) : op_(op), r_(std::move(resize)), order_(std::move(order)) {}

  Expected<> run() {
    const Tensor &a = op_.input(0);
    return op_.mapResult([&](const Indices &i) {
      std::vector<std::vector<Tap>> axes;
      Ref inside = noRef;
      for (size_t s = 0; s < order_.spatial.size(); ++s) {
        size_t d = order_.spatial[s];
        axes.push_back(tapsOf(i[d], *op_.extent(a, d), outExtent(d), s, inside));
      }
      Ref sum = combine(axes, 0, i, noRef);
      if (isFloat(op_.x.type(sum)) && !isFloat(op_.resultDType())) // rounded, not truncated
        sum = op_.x.unary(Op::Round, sum);
      Ref value = op_.x.cast(sum, op_.resultDType());
      return inside == noRef ? value : op_.x.select(inside, value, op_.real(r_.outside, op_.resultDType()));
    });
  }

private:
  struct Tap {
    Ref at, weight; // noRef: one
  };

  Ref real(double value) { return op_.real(value, DType::Float64); }
  Ref plus(Ref a, double b) { return op_.x.add(a, real(b)); }
  Ref times(Ref a, double b) { return op_.op2(Op::Mul, a, real(b)); }
  int64_t outExtent(size_t d) { return op_.module.types.shape(op_.resultType())[d].value(); }

  Ref coordinate(Ref x, int64_t in, int64_t out, size_t s) {
    Ref at = op_.x.cast(x, DType::Float64);
    double n = static_cast<double>(in), m = static_cast<double>(out), scale = r_.scales.empty() ? n / m : 1 / r_.scales[s];
    if (!r_.scales.empty())
      m = r_.scales[s] * n;
    const std::string &mode = r_.coordinates;
    if (mode == "align_corners")
      return out > 1 && m != 1 ? op_.op2(Op::Div, times(at, n - 1), real(m - 1)) : real(0);
    if (mode == "half_pixel_symmetric")
      return plus(times(plus(at, 0.5), scale), n / 2 * (1 - static_cast<double>(out) / m) - 0.5);
    if (mode == "asymmetric")
      return times(at, scale);
    if (mode == "pytorch_half_pixel")
      return out > 1 ? plus(times(plus(at, 0.5), scale), -0.5) : real(0);
    if (mode == "tf_half_pixel_for_nn")
      return times(plus(at, 0.5), scale);
    if (mode == "tf_crop_and_resize") {
      size_t axes = order_.spatial.size();
      double begin = r_.roi.empty() ? 0 : r_.roi[s], end = r_.roi.empty() ? 1 : r_.roi[axes + s];
      if (out <= 1)
        return real(0.5 * (begin + end) * (n - 1));
      return plus(times(at, (end - begin) * (n - 1) / (m - 1)), begin * (n - 1));
    }
    return plus(times(plus(at, 0.5), scale), -0.5);
  }

  Ref clamped(Ref position, int64_t extent) {
    Ref low = op_.op2(Op::Max, position, real(0));
    return op_.x.cast(op_.op2(Op::Min, low, real(static_cast<double>(extent - 1))), DType::Int64);
  }

  Ref nearest(Ref at) {
    const double epsilon = 1e-5; // a whole coordinate must not fall to its neighbour
    if (r_.rounding == "floor")
      return op_.x.unary(Op::Floor, plus(at, epsilon));
    if (r_.rounding == "ceil")
      return op_.x.unary(Op::Ceil, plus(at, -epsilon));
    if (r_.rounding == "round_prefer_floor")
      return op_.x.unary(Op::Ceil, plus(at, -0.5));
    if (r_.rounding == "round_prefer_ceil")
      return op_.x.unary(Op::Floor, plus(at, 0.5));
    return op_.x.unary(Op::Round, at);
  }

  // Weight of a neighbour at distance d, within one or between one and two.
  Ref cubic(Ref d, bool isInner) {
    double a = r_.cubicAlpha;
    if (isInner)
      return plus(op_.op2(Op::Mul, op_.op2(Op::Mul, plus(times(d, a + 2), -(a + 3)), d), d), 1);
    Ref inner = plus(op_.op2(Op::Mul, plus(times(d, a), -5 * a), d), 8 * a);
    return plus(op_.op2(Op::Mul, inner, d), -4 * a);
  }

  std::vector<Tap> tapsOf(Ref x, int64_t in, int64_t out, size_t s, Ref &inside) {
    Ref at = coordinate(x, in, out, s);
    Ref last = real(static_cast<double>(in - 1));
    if (r_.coordinates == "tf_crop_and_resize")
      inside = op_.x.both(inside, op_.x.both(op_.op2(Op::Le, real(0), at), op_.op2(Op::Le, at, last)));
    if (r_.method == "nearest_neighbor")
      return {{clamped(nearest(at), in), noRef}};
    Ref base = op_.x.unary(Op::Floor, at), t = op_.x.sub(at, base);
    if (r_.method == "linear")
      return {{clamped(base, in), op_.x.sub(real(1), t)}, {clamped(plus(base, 1), in), t}};
    Ref weights[] = {cubic(plus(t, 1), false), cubic(t, true), cubic(op_.x.sub(real(1), t), true), cubic(op_.x.sub(real(2), t), false)};
    std::vector<Tap> taps;
    Ref sum = real(0);
    for (int n = 0; n < 4; ++n) {
      Ref position = plus(base, n - 1), weight = weights[n];
      if (r_.excludesOutside)
        weight = op_.x.select(op_.x.both(op_.op2(Op::Le, real(0), position), op_.op2(Op::Le, position, last)), weight, real(0));
      sum = op_.x.add(sum, weight);
      taps.push_back({clamped(position, in), weight});
    }
    if (r_.excludesOutside)
      for (Tap &tap : taps)
        tap.weight = op_.op2(Op::Div, tap.weight, sum);
    return taps;
  }

  Ref combine(const std::vector<std::vector<Tap>> &axes, size_t s, const Indices &i, Ref weight) {
    const Tensor &a = op_.input(0);
    if (s == axes.size()) {
      Ref value = op_.at(a, i);
      return weight == noRef ? value : op_.op2(Op::Mul, weight, op_.x.cast(value, DType::Float64));
    }
    Ref sum = noRef;
    for (const Tap &tap : axes[s]) {
      Indices at = i;
      at[order_.spatial[s]] = tap.at;
      Ref w = tap.weight == noRef ? weight : weight == noRef ? tap.weight : op_.op2(Op::Mul, weight, tap.weight);
      Ref part = combine(axes, s + 1, at, w);
      sum = sum == noRef ? part : op_.x.add(sum, part);
    }
    return sum;
  }

  OpLowering &op_;
  Resize r_;
  AxisOrder order_;
};

Expected<> resizeWith(OpLowering &op, Resize resize) {
  const Tensor &a = op.input(0);
  AxisOrder order;
  std::string layout = op.text("layout");
  if (!parseLayout(layout, 'N', 'C', a.rank() - 2, order))
    return op.unsupported() << "layout '" << layout << "'";
  for (size_t d : order.spatial)
    if (!op.extent(a, d) || !op.module.types.shape(op.resultType())[d].isConst())
      return op.unsupported() << "spatial dims must be known";
  return ResizeLowering(op, std::move(resize), order).run();
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
  resize.roi = realList(op, "roi");
  resize.scales = realList(op, "scales");
  return resizeWith(op, std::move(resize));
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
  return resizeWith(op, std::move(resize));
}

Ref lowest(OpLowering &op, DType type) {
  if (isFloat(type))
    return op.real(-std::numeric_limits<double>::infinity(), type);
  int64_t bits = sizeInBytes(type) * 8;
  return op.x.integer(isSignedInt(type) ? (bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1))) : 0, type);
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
    return op.x.add(op.op2(Op::Mul, position, op.real(step, wide)), op.real(aligns ? -1 : 1 / n - 1, wide));
  };
  std::vector<Ref> likely{theta.shape[0], op.x.integer(static_cast<int64_t>(spatial))};
  for (int64_t extent : target)
    likely.push_back(op.x.integer(extent));
  return op.mapResult(
      [&](const Indices &i) {
        auto factor = [&](size_t c) { return op.x.cast(op.at(theta, {i[0], i[1], op.x.integer(static_cast<int64_t>(c))}), wide); };
        Ref sum = factor(spatial);
        for (size_t c = 0; c < spatial; ++c) // coordinate 0 is that of the last axis
          sum = op.x.add(sum, op.op2(Op::Mul, factor(c), coordinate(i[1 + spatial - c], target[spatial - 1 - c])));
        return op.x.cast(sum, op.resultDType());
      },
      likely);
}

// Grey-scale dilation: the greatest of data plus weight in the window.
Expected<> lowerDilation(OpLowering &op) {
  const Tensor &a = op.input(0), &w = op.input(1);
  Layout data = *Layout::parse(op.text("data_layout")), kernel = *Layout::parse(op.text("kernel_layout"));
  std::vector<int64_t> strides = op.integers("strides"), dilations = op.integers("dilations");
  auto pads = parsePadding(op.integers("padding"), 2);
  std::vector<Ref> shape = BYCC_TRY(op.resultShape()), all = shape;
  const char letters[] = {'H', 'W'};
  for (char letter : letters)
    all.push_back(w.shape[*kernel.find(letter)]);
  Tensor best = op.reduce(Reduce::Max, a.type, all, {false, false, false, false, true, true}, [&](const Indices &i) {
    Indices at(i.begin(), i.begin() + 4), tap(3);
    Ref inside = noRef;
    tap[*kernel.find('I')] = i[*data.find('C')];
    for (size_t s = 0; s < 2; ++s) {
      size_t d = *data.find(letters[s]);
      tap[*kernel.find(letters[s])] = i[4 + s];
      at[d] = op.x.plus(op.x.add(op.x.times(i[d], strides[s]), op.x.times(i[4 + s], dilations[s])), -pads[s].first);
      if (pads[s].first != 0 || pads[s].second != 0)
        inside = op.x.both(inside, op.x.both(op.op2(Op::Le, op.x.integer(0), at[d]), op.op2(Op::Lt, at[d], a.shape[d])));
    }
    Ref value = op.x.add(inside == noRef ? op.at(a, at) : op.atGuarded(a, at), op.at(w, tap));
    return inside == noRef ? value : op.x.guard(inside, value, lowest(op, a.type));
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
  for (OpId op : {ops::image_resize1d, ops::image_resize2d, ops::image_resize3d})
    table[op.index] = lowerResize;
  for (OpId op : {ops::nn_upsampling, ops::nn_upsampling3d})
    table[op.index] = lowerUpsampling;
  table[ops::image_affine_grid.index] = lowerAffineGrid;
  table[ops::image_dilation2d.index] = lowerDilation;
}

} // namespace bycc::te
