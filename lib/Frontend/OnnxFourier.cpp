// Fourier transforms and determinants. ONNX has real and imaginary parts on the
// last axis, Relay as two tensors.
#include "OnnxCompose.h"
#include "OnnxConverters.h"

namespace bycc::onnx {
namespace {

struct Complex {
  NodeId re, im;
};

// Parts of x (.., 1 or 2); a single one is real.
Expected<Complex> partsOf(OpContext &op, Compose &c, NodeId x) {
  int64_t last = op.rank(x) - 1;
  Dim count = op.shape(x)[static_cast<size_t>(last)];
  if (last < 1 || !(count == Dim(1) || count == Dim(2)))
    return op.error() << "the last axis of " << op.types().str(op.module().type(x)) << " holds 1 or 2 parts";
  auto part = [&](int64_t index) { return c.squeeze(c.slice(x, last, index, index + 1), {last}); };
  NodeId re = part(0);
  NodeId im = count == Dim(2) ? part(1) : c.call("zeros_like", {re});
  return Complex{BYCC_TRY(c.done(re)), BYCC_TRY(c.done(im))};
}

NodeId joined(Compose &c, OpContext &op, NodeId re, NodeId im) {
  int64_t last = op.rank(re);
  NodeId parts[] = {c.expand(re, last), c.expand(im, last)};
  return c.concat(parts, last);
}

// Cut or filled with zeros to `length` along an axis.
Expected<NodeId> fitted(OpContext &op, Compose &c, NodeId x, int64_t axis, int64_t length) {
  Dim extent = op.shape(x)[static_cast<size_t>(axis)];
  if (!extent.isConst())
    return op.error(Status::Unsup) << "dft_length needs a known extent of axis " << axis;
  if (length < 1 || length > int64_t{1} << 32)
    return op.error() << "dft_length is " << length;
  if (length < extent.value())
    return c.done(c.slice(x, axis, 0, length));
  std::vector<std::array<int64_t, 2>> widths(static_cast<size_t>(op.rank(x)), {0, 0});
  widths[static_cast<size_t>(axis)][1] = length - extent.value();
  return c.done(c.pad(x, widths, 0));
}

// Brings an axis to the end, or back from there.
NodeId moved(OpContext &op, Compose &c, NodeId x, int64_t axis, bool isBack) {
  int64_t rank = op.rank(x);
  std::vector<int64_t> axes;
  for (int64_t d = 0; d < rank - 1; ++d)
    axes.push_back(isBack || d < axis ? d : d + 1);
  axes.insert(isBack ? axes.begin() + axis : axes.end(), isBack ? rank - 1 : axis);
  return c.transpose(x, axes);
}

// Of the last axis, its first half and one more when one-sided.
Expected<Complex> transformed(OpContext &op, Complex x, bool isInverse, bool isOneSided) {
  NodeId both = BYCC_TRY(op.call("dft", {x.re, x.im}, {{"inverse", isInverse}}));
  Complex y{BYCC_TRY(op.project(both, 0)), BYCC_TRY(op.project(both, 1))};
  if (!isOneSided)
    return y;
  int64_t last = op.rank(y.re) - 1;
  Dim extent = op.shape(y.re)[static_cast<size_t>(last)];
  if (!extent.isConst())
    return op.error(Status::Unsup) << "a one-sided transform needs a known extent";
  Compose c(op);
  y.re = c.slice(y.re, last, 0, extent.value() / 2 + 1);
  y.im = c.slice(y.im, last, 0, extent.value() / 2 + 1);
  BYCC_TRY(c.done(y.im));
  return y;
}

} // namespace

Expected<> convertDft(OpContext &op) {
  NodeId x = op.input(0);
  bool isInverse = BYCC_TRY(op.intAttr("inverse", 0)) != 0, isOneSided = BYCC_TRY(op.intAttr("onesided", 0)) != 0;
  if (isInverse && isOneSided)
    return op.error(Status::Unsup) << "a one-sided inverse transform is not supported";
  int64_t axis = op.opset() < 20 ? BYCC_TRY(op.intAttr("axis", 1)) : op.has(2) ? BYCC_TRY(op.constInt(2, "axis")) : -2;
  axis = BYCC_TRY(op.normalAxis(axis, op.rank(x)));
  Compose c(op);
  Complex parts = BYCC_TRY(partsOf(op, c, x));
  if (axis == op.rank(x) - 1)
    return op.error() << "axis " << axis << " holds the parts of complex numbers";
  if (op.has(1)) {
    int64_t length = BYCC_TRY(op.constInt(1, "dft_length"));
    parts = {BYCC_TRY(fitted(op, c, parts.re, axis, length)), BYCC_TRY(fitted(op, c, parts.im, axis, length))};
  }
  parts = {BYCC_TRY(c.done(moved(op, c, parts.re, axis, false))), BYCC_TRY(c.done(moved(op, c, parts.im, axis, false)))};
  parts = BYCC_TRY(transformed(op, parts, isInverse, isOneSided));
  NodeId re = BYCC_TRY(c.done(moved(op, c, parts.re, axis, true))), im = BYCC_TRY(c.done(moved(op, c, parts.im, axis, true)));
  op.setOutput(0, BYCC_TRY(c.done(joined(c, op, re, im))));
  return {};
}

// Frames of the signal times the window, transformed.
Expected<> convertStft(OpContext &op) {
  NodeId x = op.input(0);
  int64_t hop = BYCC_TRY(op.constInt(1, "frame_step"));
  bool isOneSided = BYCC_TRY(op.intAttr("onesided", 1)) != 0;
  Dim size = op.has(2) ? op.shape(op.input(2))[0] : Dim::unknown();
  if (op.has(3))
    size = Dim(BYCC_TRY(op.constInt(3, "frame_length")));
  if (!size.isConst() || size.value() < 1 || hop < 1)
    return op.error() << "a frame of " << op.types().str(size) << " elements every " << hop;
  Compose c(op);
  Complex parts = op.rank(x) == 2 ? Complex{x, BYCC_TRY(op.call("zeros_like", {x}))} : BYCC_TRY(partsOf(op, c, x));
  auto frames = [&](NodeId signal) {
    NodeId made = c.call("sliding_window", {signal}, {{"axis", 1}, {"window_shape", AttrValue::List{size.value()}}, {"strides", AttrValue::List{hop}}});
    return op.has(2) ? c.mul(made, op.input(2)) : made;
  };
  parts = {BYCC_TRY(c.done(frames(parts.re))), BYCC_TRY(c.done(frames(parts.im)))};
  parts = BYCC_TRY(transformed(op, parts, false, isOneSided));
  op.setOutput(0, BYCC_TRY(c.done(joined(c, op, parts.re, parts.im))));
  return {};
}

Expected<> convertDet(OpContext &op) {
  op.setOutput(0, BYCC_TRY(op.call("linalg.det", {op.input(0)})));
  return {};
}

} // namespace bycc::onnx
