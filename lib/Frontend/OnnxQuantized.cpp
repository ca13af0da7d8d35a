// Quantised operators. Zero points come in the dtype of their data and become
// int32; a scale of one element is one value. Sums are int32.
#include "OnnxConverters.h"

namespace bycc::onnx {
namespace {

// A zero point as int32, zero when absent.
Expected<NodeId> zeroPoint(OpContext &op, NodeId scale, size_t index = 2) {
  if (op.has(index))
    return op.cast(op.input(index), DType::Int32);
  if (op.rank(scale) == 0)
    return op.scalar(DType::Int32, 0);
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(scale));
  return op.call("zeros", {}, {{"shape", AttrValue::ints(shape)}, {"dtype", "int32"}});
}

// One scale for all is a rank-0 operand whatever the model writes.
Expected<NodeId> quantParam(OpContext &op, NodeId node) {
  std::vector<Dim> shape = op.shape(node);
  if (shape.size() == 1 && shape[0] == Dim(1))
    return op.reshape(node, {});
  return node;
}

Expected<int64_t> quantAxis(OpContext &op, NodeId x) {
  int64_t axis = BYCC_TRY(op.intAttr("axis", 1));
  int64_t block = BYCC_TRY(op.intAttr("block_size", 0));
  if (block != 0)
    return op.error(Status::Unsup) << "blocked quantisation is not supported";
  if (op.rank(op.input(1)) == 0)
    return -1; // no axis is looked at
  return op.normalAxis(axis, op.rank(x));
}

} // namespace

Expected<> convertQuantize(OpContext &op) {
  NodeId x = op.input(0);
  DType out = op.has(2) ? op.dtype(op.input(2)) : DType::UInt8;
  int64_t axis = BYCC_TRY(quantAxis(op, x));
  op.ignoreAttr("saturate");
  NodeId scale = BYCC_TRY(quantParam(op, op.input(1)));
  NodeId zero = BYCC_TRY(quantParam(op, BYCC_TRY(zeroPoint(op, op.input(1)))));
  op.setOutput(0, BYCC_TRY(op.call("qnn.quantize", {x, scale, zero},
                                   {{"out_dtype", name(out)}, {"axis", axis}, {"rounding", "TONEAREST_EVEN"}})));
  return {};
}

Expected<> convertDequantize(OpContext &op) {
  NodeId x = op.input(0);
  int64_t axis = BYCC_TRY(quantAxis(op, x));
  NodeId scale = BYCC_TRY(quantParam(op, op.input(1)));
  NodeId zero = BYCC_TRY(quantParam(op, BYCC_TRY(zeroPoint(op, op.input(1)))));
  op.setOutput(0, BYCC_TRY(op.call("qnn.dequantize", {x, scale, zero},
                                   {{"out_dtype", name(op.dtype(scale))}, {"axis", axis}})));
  return {};
}

namespace {

// One zero point of the integer operators, which have no scales.
Expected<NodeId> onlyZeroPoint(OpContext &op, size_t index) {
  NodeId zero = BYCC_TRY(zeroPoint(op, op.scalar(DType::Float32, 1), index));
  return quantParam(op, zero);
}

// What a product's operands are: data, zero point, scale.
struct Quantized {
  NodeId data, zero, scale;
};

Expected<Quantized> quantizedAt(OpContext &op, size_t index) {
  return Quantized{op.input(index), BYCC_TRY(quantParam(op, BYCC_TRY(op.cast(op.input(index + 2), DType::Int32)))),
                   BYCC_TRY(quantParam(op, op.input(index + 1)))};
}

// Operands of ConvInteger and MatMulInteger: scales of 1.
Expected<Quantized> integerAt(OpContext &op, size_t index) {
  return Quantized{op.input(index), BYCC_TRY(onlyZeroPoint(op, index + 2)), op.scalar(DType::Float32, 1)};
}

Expected<NodeId> quantizedConv(OpContext &op, const Quantized &x, const Quantized &weight) {
  if (op.rank(x.data) != 4)
    return op.error(Status::Unsup) << "input of rank " << op.rank(x.data) << ", quantised ones have rank 4";
  return op.call("qnn.conv2d", {x.data, weight.data, x.zero, weight.zero, x.scale, weight.scale},
                 BYCC_TRY(convAttrs(op, x.data, weight.data)));
}

Expected<NodeId> quantizedProduct(OpContext &op, const Quantized &a, const Quantized &b) {
  int64_t rank = op.rank(b.data);
  if (op.rank(a.data) < 2 || rank < 2)
    return op.error(Status::Unsup) << "operands of rank " << op.rank(a.data) << " and " << rank
                                   << ", quantised ones have 2 or more";
  if (op.rank(a.zero) != 0)
    return op.error(Status::Unsup) << "a zero point per row is not supported";
  if (rank == 2) {
    NodeId weight = BYCC_TRY(op.transpose(b.data, std::vector<int64_t>{1, 0}));
    Dim units = op.shape(weight)[0];
    return op.call("qnn.dense", {a.data, weight, a.zero, b.zero, a.scale, b.scale},
                   {{"units", units.isConst() ? AttrValue(units.value()) : AttrValue()}});
  }
  std::vector<int64_t> left = BYCC_TRY(op.staticShape(a.data)), right = BYCC_TRY(op.staticShape(b.data));
  std::vector<int64_t> shape(left.begin(), left.end() - 2);
  if (op.rank(b.zero) != 0 || op.rank(b.scale) != 0 || shape != std::vector<int64_t>(right.begin(), right.end() - 2))
    return op.error(Status::Unsup) << "stacks of matrices have equal leading dims and one scale and zero point";
  auto stacked = [&](NodeId node, const std::vector<int64_t> &own) {
    return op.reshape(node, std::vector<int64_t>{-1, own[own.size() - 2], own.back()});
  };
  NodeId product = BYCC_TRY(op.call("qnn.batch_matmul", {BYCC_TRY(stacked(a.data, left)), BYCC_TRY(stacked(b.data, right)),
                                                         a.zero, b.zero, a.scale, b.scale}));
  shape.insert(shape.end(), {left[left.size() - 2], right.back()});
  return op.reshape(product, shape);
}

// int32 sums to the scale and zero point at `index` and behind.
Expected<NodeId> toResult(OpContext &op, NodeId sums, const Quantized &a, const Quantized &b, size_t index, int64_t axis) {
  NodeId scale = BYCC_TRY(op.call("multiply", {a.scale, b.scale}));
  NodeId zero = BYCC_TRY(quantParam(op, BYCC_TRY(op.cast(op.input(index + 1), DType::Int32))));
  return op.call("qnn.requantize", {sums, scale, op.scalar(DType::Int32, 0), BYCC_TRY(quantParam(op, op.input(index))), zero},
                 {{"axis", axis}, {"out_dtype", name(op.dtype(op.input(index + 1)))}});
}

} // namespace

Expected<> convertQLinearConv(OpContext &op) {
  Quantized x = BYCC_TRY(quantizedAt(op, 0)), weight = BYCC_TRY(quantizedAt(op, 3));
  NodeId sums = BYCC_TRY(quantizedConv(op, x, weight));
  if (op.has(8))
    sums = BYCC_TRY(op.call("nn.bias_add", {sums, op.input(8)}));
  op.setOutput(0, BYCC_TRY(toResult(op, sums, x, weight, 6, 1)));
  return {};
}

Expected<> convertQLinearMatMul(OpContext &op) {
  Quantized a = BYCC_TRY(quantizedAt(op, 0)), b = BYCC_TRY(quantizedAt(op, 3));
  NodeId sums = BYCC_TRY(quantizedProduct(op, a, b));
  op.setOutput(0, BYCC_TRY(toResult(op, sums, a, b, 6, -1)));
  return {};
}

Expected<> convertConvInteger(OpContext &op) {
  op.setOutput(0, BYCC_TRY(quantizedConv(op, BYCC_TRY(integerAt(op, 0)), BYCC_TRY(integerAt(op, 1)))));
  return {};
}

Expected<> convertMatMulInteger(OpContext &op) {
  op.setOutput(0, BYCC_TRY(quantizedProduct(op, BYCC_TRY(integerAt(op, 0)), BYCC_TRY(integerAt(op, 1)))));
  return {};
}

} // namespace bycc::onnx
