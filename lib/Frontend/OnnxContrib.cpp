// Operators of ONNX Runtime's own (domain com.microsoft) that its quantiser writes beside ONNX's: each
// is one of ONNX's between a change to real values and one back, which is what it is here.
#include "OnnxConverters.h"
#include "OnnxScales.h"

namespace bycc::onnx {
namespace {

Expected<> require(OpContext &op, size_t first, size_t last) {
  for (size_t i = first; i <= last; ++i)
    if (!op.has(i))
      return op.error() << "input " << i << " is missing";
  return {};
}

// Input `index`, its scale and its zero point, which may be left out.
Expected<NodeId> realAt(OpContext &op, size_t index) {
  BYCC_TRY(require(op, index, index + 1));
  NodeId scale = BYCC_TRY(scaleAt(op, index + 1)), zero = BYCC_TRY(zeroAt(op, index + 2));
  if (op.rank(scale) > 0 || op.rank(zero) > 0)
    return op.error(Status::Unsup) << "a scale for each channel of input " << index;
  return op.call("qnn.dequantize", {op.input(index), scale, zero});
}

// `real` with the scale and the zero point at `index`.
Expected<> setQuantized(OpContext &op, NodeId real, size_t index) {
  BYCC_TRY(require(op, index, index));
  NodeId scale = BYCC_TRY(scaleAt(op, index)), zero = BYCC_TRY(zeroAt(op, index + 1));
  DType out = op.has(index + 1) ? op.dtype(op.input(index + 1)) : DType::UInt8;
  op.setOutput(0, BYCC_TRY(op.call("qnn.quantize", {real, scale, zero},
                                   {{"out_dtype", name(out)}, tiesToEven})));
  return {};
}

} // namespace

Expected<> convertQLinearBinary(OpContext &op) {
  NodeId a = BYCC_TRY(realAt(op, 0)), b = BYCC_TRY(realAt(op, 3));
  return setQuantized(op, BYCC_TRY(op.call(op.relayName(), {a, b})), 6);
}

Expected<> convertQLinearSigmoid(OpContext &op) {
  return setQuantized(op, BYCC_TRY(op.call("sigmoid", {BYCC_TRY(realAt(op, 0))})), 3);
}

Expected<> convertQLinearLeakyRelu(OpContext &op) {
  double alpha = BYCC_TRY(op.floatAttr("alpha", 0.01));
  NodeId x = BYCC_TRY(realAt(op, 0));
  return setQuantized(op, BYCC_TRY(op.call("nn.leaky_relu", {x}, {{"alpha", alpha}})), 3);
}

Expected<> convertQLinearSoftmax(OpContext &op) {
  NodeId x = BYCC_TRY(realAt(op, 0));
  int64_t rank = op.rank(x);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", -1)), rank));
  // Of axes together, before version 13.
  if (BYCC_TRY(op.intAttr("opset", 13)) < 13 && axis != rank - 1)
    return op.error(Status::Unsup) << "softmax of several axes";
  return setQuantized(op, BYCC_TRY(op.call("nn.softmax", {x}, {{"axis", axis}})), 3);
}

// Result's scale and zero point, then three for each part.
Expected<> convertQLinearConcat(OpContext &op) {
  if (op.numInputs() < 4)
    return op.error() << "has " << op.numInputs() << " inputs, at least one part is wanted";
  std::vector<NodeId> parts;
  for (size_t i = 2; i < op.numInputs(); i += 3)
    parts.push_back(BYCC_TRY(realAt(op, i)));
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.requiredInt("axis")), op.rank(parts.front())));
  return setQuantized(op, BYCC_TRY(op.call("concatenate", {op.tuple(parts)}, {{"axis", axis}})), 0);
}

Expected<> convertQLinearGlobalPool(OpContext &op) {
  NodeId x = BYCC_TRY(realAt(op, 0));
  bool isLast = BYCC_TRY(op.intAttr("channels_last", 0)) != 0;
  std::vector<int64_t> axes;
  for (int64_t axis = isLast ? 1 : 2; axis < op.rank(x) - (isLast ? 1 : 0); ++axis)
    axes.push_back(axis);
  if (axes.empty())
    return op.error() << "the input has rank " << op.rank(x) << ", at least 3 is wanted";
  NodeId mean =
      BYCC_TRY(op.call("mean", {x}, {{"axis", AttrValue::ints(axes)}, {"keepdims", true}}));
  return setQuantized(op, mean, 3);
}

Expected<> convertQLinearAveragePool(OpContext &op) {
  NodeId x = BYCC_TRY(realAt(op, 0));
  int64_t last = BYCC_TRY(op.intAttr("channels_last", 0)) != 0 ? op.rank(x) - 1 : 1;
  NodeId means = BYCC_TRY(poolOf(op, BYCC_TRY(op.moveAxis(x, last, 1)), "nn.avg_pool"));
  return setQuantized(op, BYCC_TRY(op.moveAxis(means, 1, last)), 3);
}

Expected<> convertQLinearReduceMean(OpContext &op) {
  NodeId x = BYCC_TRY(realAt(op, 0));
  auto given = BYCC_TRY(op.intsAttr("axes"));
  bool keepDims = BYCC_TRY(op.intAttr("keepdims", 1)) != 0;
  AttrValue axes; // all
  if (given && !given->empty())
    axes = AttrValue::ints(BYCC_TRY(op.normalAxes(*given, op.rank(x))));
  return setQuantized(op, BYCC_TRY(op.call("mean", {x}, {{"axis", axes}, {"keepdims", keepDims}})),
                      3);
}

Expected<> convertQLinearWhere(OpContext &op) {
  NodeId x = BYCC_TRY(realAt(op, 1)), y = BYCC_TRY(realAt(op, 4));
  return setQuantized(op, BYCC_TRY(op.call("where", {op.input(0), x, y})), 7);
}

} // namespace bycc::onnx
