// Windows and filter banks: tables over a range, whose size may be known only when
// the model runs.
#include "OnnxCompose.h"
#include "OnnxConverters.h"

#include <cmath>

namespace bycc::onnx {
namespace {

Expected<DType> outputType(OpContext &op) {
  int64_t type = BYCC_TRY(op.intAttr("output_datatype", 1));
  if (type != static_cast<int32_t>(type))
    return op.error() << "output_datatype is " << type;
  return dtypeOf(static_cast<int32_t>(type), op.module().source(op.sourceId()));
}

// 0, 1, .. below the integer scalar `count`.
Expected<NodeId> rangeOf(OpContext &op, NodeId count, DType dtype) {
  if (op.rank(count) != 0)
    return op.error() << "a size of type " << op.types().str(op.module().type(count))
                      << ", wanted a scalar";
  Compose c(op);
  DType from = op.dtype(count);
  NodeId range =
      c.call("arange", {c.scalar(from, 0), count, c.scalar(from, 1)}, {{"dtype", name(from)}});
  return c.done(c.cast(range, dtype));
}

// Coefficients of a sum of cosines: a0 - a1 cos(2 pi i / N) + a2 cos(4 pi i / N).
struct WindowForm {
  std::string_view name;
  double a0, a1, a2;
};
constexpr WindowForm windowForms[] = {
    {"BlackmanWindow", 0.42, 0.5, 0.08},
    {"HammingWindow", 25.0 / 46, 21.0 / 46, 0},
    {"HannWindow", 0.5, 0.5, 0},
};

} // namespace

// N is the size of a periodic window, one less for a symmetric one.
Expected<> convertWindow(OpContext &op) {
  const WindowForm *window = windowForms;
  while (window->name != op.proto().opType)
    ++window;
  bool isPeriodic = BYCC_TRY(op.intAttr("periodic", 1)) != 0;
  DType dtype = BYCC_TRY(outputType(op)), wide = DType::Float32;
  NodeId size = op.input(0), range = BYCC_TRY(rangeOf(op, size, wide));
  Compose c(op);
  NodeId period = c.cast(size, wide);
  if (!isPeriodic) // of one element: cos(0)
    period = c.call("maximum", c.sub(period, 1), 1);
  NodeId angle = c.div(c.mul(range, 2 * std::acos(-1.0)), period);
  NodeId value = c.add(c.mul(c.call("cos", {angle}), -window->a1), window->a0);
  if (window->a2 != 0)
    value = c.add(value, c.mul(c.call("cos", {c.mul(angle, 2)}), window->a2));
  op.setOutput(0, BYCC_TRY(c.done(c.cast(value, dtype))));
  return {};
}

// Triangles over the bins of a spectrum, [dft_length / 2 + 1, num_mel_bins]. Corners
// are bin numbers at equal steps of the mel scale; triangle i rises from corner i to
// i + 1 and falls to i + 2.
Expected<> convertMelWeights(OpContext &op) {
  DType dtype = BYCC_TRY(outputType(op)), wide = DType::Float64;
  Compose c(op);
  NodeId count = op.input(0), length = op.input(1);
  for (size_t i = 0; i < 5; ++i)
    if (op.rank(op.input(i)) != 0)
      return op.error() << "input " << i << " has rank " << op.rank(op.input(i))
                        << ", wanted a scalar";
  auto toMel = [&](NodeId hertz) {
    return c.mul(c.call("log10", {c.add(c.div(c.cast(hertz, wide), 700), 1)}), 2595);
  };
  NodeId low = toMel(op.input(3)), high = toMel(op.input(4));
  NodeId step = c.div(c.sub(high, low), c.add(c.cast(count, wide), 2));
  NodeId triangles = BYCC_TRY(c.done(BYCC_TRY(rangeOf(op, count, wide))));
  auto corner = [&](double offset) { // the bin where corner i + offset lies
    NodeId mel = c.add(c.mul(c.add(triangles, offset), step), low);
    NodeId hertz = c.mul(c.sub(c.call("exp", {c.mul(mel, std::log(10.0) / 2595)}), 1), 700);
    NodeId bins = c.mul(hertz, c.add(c.cast(length, wide), 1));
    return c.call("floor", {c.div(bins, c.cast(op.input(2), wide))});
  };
  NodeId left = corner(0), centre = corner(1), right = corner(2);
  const IntTensor *known = op.knownInts(1); // then so is the result's shape
  NodeId half = known && known->isComplete()
                    ? c.scalar(op.dtype(length), static_cast<double>(known->all()[0] / 2 + 1))
                    : BYCC_TRY(c.done(c.add(c.call("trunc_divide", length, 2), 1)));
  NodeId bin = c.expand(BYCC_TRY(rangeOf(op, half, wide)), 1);
  NodeId zero = c.scalar(wide, 0), one = c.scalar(wide, 1);
  auto both = [&](NodeId a, NodeId b) { return c.call("logical_and", {a, b}); };
  NodeId rise = c.sub(centre, left), fall = c.sub(right, centre);
  NodeId isFlat = c.call("equal", {rise, zero});
  NodeId rising = both(c.call("greater_equal", {bin, left}), c.call("less_equal", {bin, centre}));
  NodeId up = c.where(rising, c.div(c.sub(bin, left), c.where(isFlat, one, rise)), zero);
  up = c.where(both(isFlat, c.call("equal", {bin, centre})), one, up);
  NodeId falling = both(c.call("greater_equal", {bin, centre}), c.call("less", {bin, right}));
  NodeId down = c.div(c.sub(right, bin), c.where(falling, fall, one));
  op.setOutput(0, BYCC_TRY(c.done(c.cast(c.where(falling, down, up), dtype))));
  return {};
}

} // namespace bycc::onnx
