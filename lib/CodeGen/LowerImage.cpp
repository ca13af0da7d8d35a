// Resizing: each output position is a weighted sum of a few input positions per
// axis, computed in double.
#include "Layout.h"
#include "Lower.h"

#include <cmath>

namespace bycc::te {
namespace {

struct Resize {
  std::string method = "linear", coordinates = "half_pixel", rounding = "round";
  double cubicAlpha = -0.5, outside = 0;
  bool excludesOutside = false;
  std::vector<double> roi;
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
    double n = static_cast<double>(in), m = static_cast<double>(out), scale = n / m;
    const std::string &mode = r_.coordinates;
    if (mode == "align_corners")
      return out > 1 ? op_.op2(Op::Div, times(at, n - 1), real(m - 1)) : real(0);
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
  if (!op.isNone("roi"))
    for (const AttrValue &item : op.module.attr(op.call, "roi")->asList())
      resize.roi.push_back(item.isFloat() ? item.asFloat() : static_cast<double>(item.asInt()));
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

} // namespace

void addImageLowerings(LowerTable &table) {
  for (OpId op : {ops::image_resize1d, ops::image_resize2d, ops::image_resize3d})
    table[op.index] = lowerResize;
  for (OpId op : {ops::nn_upsampling, ops::nn_upsampling3d})
    table[op.index] = lowerUpsampling;
}

} // namespace bycc::te
