// Fourier transforms and determinants. ONNX has real and imaginary parts on the
// last axis, Relay as two tensors.
#include "OnnxCompose.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

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
    return op.error() << "the last axis of " << op.types().str(op.module().type(x))
                      << " holds 1 or 2 parts";
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

// How many bins of a spectrum of `length` are its own; the others mirror them.
NodeId halfOf(Compose &c, NodeId length) { return c.add(c.call("trunc_divide", length, 2), 1); }

// The last axis cut or filled with zeros to `length`, a scalar.
Expected<NodeId> fittedTo(OpContext &op, NodeId x, NodeId length) {
  Compose c(op);
  int64_t last = op.rank(x) - 1;
  NodeId index = BYCC_TRY(c.done(c.iota(length))), extent = BYCC_TRY(extentOf(op, x, last));
  NodeId held = c.call("take", {x, c.call("minimum", {index, c.sub(extent, 1)})}, {{"axis", last}});
  return c.done(c.where(c.call("less", {index, extent}), held, c.scalar(op.dtype(x), 0)));
}

// The `length` bins of the spectrum of a real signal from its first half: bin k is the
// conjugate of bin length - k.
Expected<Complex> mirrored(OpContext &op, Complex half, NodeId length) {
  Compose c(op);
  AttrDict axis{{"axis", op.rank(half.re) - 1}};
  DType dtype = op.dtype(half.re);
  NodeId index = BYCC_TRY(c.done(c.iota(length))), back = BYCC_TRY(c.done(c.sub(length, index)));
  NodeId from = c.call("minimum", {index, back});
  NodeId sign = c.where(c.call("less", {back, index}), c.scalar(dtype, -1), c.scalar(dtype, 1));
  Complex full{BYCC_TRY(c.done(c.call("take", {half.re, from}, axis))),
               c.call("take", {half.im, from}, axis)};
  full.im = BYCC_TRY(c.done(c.mul(full.im, sign)));
  return full;
}

// Of the last axis, its first half and one more when one-sided.
Expected<Complex> transformed(OpContext &op, Complex x, bool isInverse, bool isOneSided) {
  NodeId both = BYCC_TRY(op.call("dft", {x.re, x.im}, {{"inverse", isInverse}}));
  Complex y{BYCC_TRY(op.project(both, 0)), BYCC_TRY(op.project(both, 1))};
  if (!isOneSided || isInverse)
    return y;
  Compose c(op);
  int64_t last = op.rank(y.re) - 1;
  Dim extent = op.shape(y.re)[static_cast<size_t>(last)];
  NodeId half = BYCC_TRY(c.done(halfOf(c, BYCC_TRY(extentOf(op, y.re, last)))));
  for (NodeId *part : {&y.re, &y.im}) {
    NodeId cut = extent.isConst() ? c.slice(*part, last, 0, extent.value() / 2 + 1)
                                  : c.call("take", {*part, c.iota(half)}, {{"axis", last}});
    *part = BYCC_TRY(c.done(cut));
  }
  return y;
}

// Of a half spectrum with `bins` bins the length is 2 (bins - 1), unless dft_length tells.
Expected<NodeId> lengthOfDft(OpContext &op, NodeId x, bool isHalf) {
  Compose c(op);
  if (op.has(1))
    return op.isKnown(1)
               ? c.done(c.scalar(DType::Int64,
                                 static_cast<double>(BYCC_TRY(op.constInt(1, "dft_length")))))
               : runTimeInt(op, 1, "dft_length");
  NodeId extent = BYCC_TRY(extentOf(op, x, op.rank(x) - 1));
  return isHalf ? c.done(c.mul(c.sub(extent, 1), 2)) : Expected<NodeId>(extent);
}

// A transform of the last axis of which only the first half is given or wanted, or
// whose length is known when the model runs.
Expected<Complex> transformedTo(OpContext &op, Complex x, bool isInverse, bool isOneSided) {
  bool isHalf = isInverse && isOneSided;
  NodeId length = BYCC_TRY(lengthOfDft(op, x.re, isHalf));
  if (isHalf || op.has(1)) {
    Compose c(op);
    NodeId given = isHalf ? BYCC_TRY(c.done(halfOf(c, length))) : length;
    x = {BYCC_TRY(fittedTo(op, x.re, given)), BYCC_TRY(fittedTo(op, x.im, given))};
  }
  if (isHalf)
    x = BYCC_TRY(mirrored(op, x, length));
  return transformed(op, x, isInverse, isOneSided);
}

// The axis, which is known when the model runs, counted from the front of `rank` axes.
Expected<NodeId> runTimeAxis(OpContext &op, int64_t rank) {
  Compose c(op);
  NodeId axis = BYCC_TRY(runTimeInt(op, 2, "axis"));
  NodeId isNegative = c.call("less", {axis, c.scalar(DType::Int64, 0)});
  return c.done(c.where(isNegative, c.add(axis, static_cast<double>(rank)), axis));
}

// Such an axis becomes the last of three: [in front, behind, axis].
struct Flat {
  NodeId isAxis, extents, shape;
};

Expected<Flat> flatFor(OpContext &op, NodeId x, NodeId axis) {
  Compose c(op);
  NodeId zero = c.scalar(DType::Int64, 0), one = c.scalar(DType::Int64, 1),
         index = iota(op, op.rank(x)), parts[3];
  Flat flat{BYCC_TRY(c.done(c.call("equal", {index, axis}))), BYCC_TRY(extentsOf(op, x)), {}};
  std::string_view sides[3] = {"less", "equal", "greater"};
  for (int i = 0; i < 3; ++i) { // an axis that is not there has extent 0, which x does not fit
    NodeId own = BYCC_TRY(
        c.done(c.where(c.call(sides[i], {index, axis}), flat.extents, i == 1 ? zero : one)));
    parts[i] = BYCC_TRY(op.call(i == 1 ? "sum" : "prod", {own}, {{"keepdims", true}}));
  }
  flat.shape = BYCC_TRY(join(op, parts));
  return flat;
}

Expected<NodeId> flattenedTo(OpContext &op, const Flat &flat, NodeId x) {
  return op.call("transpose", {BYCC_TRY(reshapeTo(op, x, flat.shape))},
                 {{"axes", AttrValue::List{0, 2, 1}}});
}

Expected<NodeId> unflattened(OpContext &op, const Flat &flat, NodeId y) {
  Compose c(op);
  NodeId extents =
      BYCC_TRY(c.done(c.where(flat.isAxis, BYCC_TRY(extentOf(op, y, 2)), flat.extents)));
  return reshapeTo(op, BYCC_TRY(c.done(c.transpose(y, {0, 2, 1}))), extents);
}

// Two parts, or of the inverse of a half spectrum the real one.
Expected<NodeId> joinedParts(OpContext &op, Complex y, bool isReal) {
  Compose c(op);
  return c.done(isReal ? c.expand(y.re, op.rank(y.re)) : joined(c, op, y.re, y.im));
}

Expected<NodeId> dftAtRunTimeAxis(OpContext &op, NodeId x, bool isInverse, bool isOneSided) {
  Compose c(op);
  Complex parts = BYCC_TRY(partsOf(op, c, x));
  Flat flat = BYCC_TRY(flatFor(op, parts.re, BYCC_TRY(runTimeAxis(op, op.rank(x)))));
  parts = {BYCC_TRY(flattenedTo(op, flat, parts.re)), BYCC_TRY(flattenedTo(op, flat, parts.im))};
  parts = BYCC_TRY(transformedTo(op, parts, isInverse, isOneSided));
  parts = {BYCC_TRY(unflattened(op, flat, parts.re)), BYCC_TRY(unflattened(op, flat, parts.im))};
  return joinedParts(op, parts, isInverse && isOneSided);
}

// Frames of a signal (batch, n) at starts known when the model runs.
Expected<NodeId> framesAt(OpContext &op, NodeId signal, NodeId starts, NodeId size) {
  Compose c(op);
  NodeId index = c.add(c.expand(starts, 1), c.iota(size));
  return c.done(c.call("take", {signal, index}, {{"axis", 1}}));
}

// Where frames begin; none does that would reach over the end.
Expected<NodeId> frameStarts(OpContext &op, NodeId signal, NodeId size) {
  Compose c(op);
  NodeId zero = c.scalar(DType::Int64, 0),
         end = c.add(c.sub(BYCC_TRY(extentOf(op, signal, 1)), size), 1);
  return c.done(c.call("arange", {zero, end, BYCC_TRY(runTimeInt(op, 1, "frame_step"))},
                       {{"dtype", "int64"}}));
}

Expected<NodeId> stftAtRunTime(OpContext &op, NodeId x) {
  Compose c(op);
  Complex parts = op.rank(x) == 2 ? Complex{x, BYCC_TRY(op.call("zeros_like", {x}))}
                                  : BYCC_TRY(partsOf(op, c, x));
  if (!op.has(2) && !op.has(3))
    return op.error() << "neither window nor frame_length tells how long a frame is";
  NodeId size =
      BYCC_TRY(op.has(3) ? runTimeInt(op, 3, "frame_length") : extentOf(op, op.input(2), 0));
  NodeId starts = BYCC_TRY(frameStarts(op, parts.re, size));
  for (NodeId *part : {&parts.re, &parts.im}) {
    *part = BYCC_TRY(framesAt(op, *part, starts, size));
    *part = op.has(2) ? BYCC_TRY(c.done(c.mul(*part, op.input(2)))) : *part;
  }
  parts = BYCC_TRY(transformed(op, parts, false, BYCC_TRY(op.intAttr("onesided", 1)) != 0));
  return joinedParts(op, parts, false);
}

} // namespace

Expected<> convertDft(OpContext &op) {
  NodeId x = op.input(0);
  bool isInverse = BYCC_TRY(op.intAttr("inverse", 0)) != 0,
       isOneSided = BYCC_TRY(op.intAttr("onesided", 0)) != 0;
  if (op.opset() >= 20 && op.has(2) && !op.isKnown(2)) {
    op.setOutput(0, BYCC_TRY(dftAtRunTimeAxis(op, x, isInverse, isOneSided)));
    return {};
  }
  int64_t axis = op.opset() < 20 ? BYCC_TRY(op.intAttr("axis", 1))
                 : op.has(2)     ? BYCC_TRY(op.constInt(2, "axis"))
                                 : -2;
  axis = BYCC_TRY(op.normalAxis(axis, op.rank(x)));
  Compose c(op);
  Complex parts = BYCC_TRY(partsOf(op, c, x));
  if (axis == op.rank(x) - 1)
    return op.error() << "axis " << axis << " holds the parts of complex numbers";
  bool isHalf = isInverse && isOneSided, isLate = isHalf || (op.has(1) && !op.isKnown(1));
  if (op.has(1) && !isLate) {
    int64_t length = BYCC_TRY(op.constInt(1, "dft_length"));
    parts = {BYCC_TRY(fitted(op, c, parts.re, axis, length)),
             BYCC_TRY(fitted(op, c, parts.im, axis, length))};
  }
  parts = {BYCC_TRY(c.done(moved(op, c, parts.re, axis, false))),
           BYCC_TRY(c.done(moved(op, c, parts.im, axis, false)))};
  parts = BYCC_TRY(isLate ? transformedTo(op, parts, isInverse, isOneSided)
                          : transformed(op, parts, isInverse, isOneSided));
  parts = {BYCC_TRY(c.done(moved(op, c, parts.re, axis, true))),
           BYCC_TRY(c.done(moved(op, c, parts.im, axis, true)))};
  op.setOutput(0, BYCC_TRY(joinedParts(op, parts, isHalf)));
  return {};
}

// Frames of the signal times the window, transformed.
Expected<> convertStft(OpContext &op) {
  NodeId x = op.input(0);
  if (op.rank(x) != 2 && op.rank(x) != 3)
    return op.error() << "a signal of rank " << op.rank(x) << ", wanted 2 or 3";
  if (op.has(2) && op.rank(op.input(2)) != 1)
    return op.error() << "a window of rank " << op.rank(op.input(2)) << ", wanted 1";
  if (!op.isKnown(1) || (op.has(3) && !op.isKnown(3))) {
    op.setOutput(0, BYCC_TRY(stftAtRunTime(op, x)));
    return {};
  }
  int64_t hop = BYCC_TRY(op.constInt(1, "frame_step"));
  bool isOneSided = BYCC_TRY(op.intAttr("onesided", 1)) != 0;
  Dim size = op.has(2) ? op.shape(op.input(2))[0] : Dim::unknown();
  if (op.has(3))
    size = Dim(BYCC_TRY(op.constInt(3, "frame_length")));
  if (!size.isConst() || size.value() < 1 || hop < 1)
    return op.error() << "a frame of " << op.types().str(size) << " elements every " << hop;
  Compose c(op);
  Complex parts = op.rank(x) == 2 ? Complex{x, BYCC_TRY(op.call("zeros_like", {x}))}
                                  : BYCC_TRY(partsOf(op, c, x));
  auto frames = [&](NodeId signal) {
    NodeId made = c.call("sliding_window", {signal},
                         {{"axis", 1},
                          {"window_shape", AttrValue::List{size.value()}},
                          {"strides", AttrValue::List{hop}}});
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
