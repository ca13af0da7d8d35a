// Activations: those without a Relay operator are composed of elementwise ones
// (which fuse into their producers), in forms that do not overflow.
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <cmath>

namespace bycc::onnx {
namespace {

// Short forms for composing: every step may fail, so they hand on Expected.
Expected<NodeId> apply(OpContext &op, std::string_view name, NodeId a) {
  return op.call(name, {a});
}
Expected<NodeId> apply(OpContext &op, std::string_view name, NodeId a, NodeId b) {
  return op.call(name, {a, b});
}
Expected<NodeId> apply(OpContext &op, std::string_view name, NodeId a, double b) {
  return op.call(name, {a, op.scalar(op.dtype(a), b)});
}

// condition ? x : y with condition = x > 0.
Expected<NodeId> ifPositive(OpContext &op, NodeId x, NodeId whenTrue, NodeId whenFalse) {
  NodeId condition = BYCC_TRY(apply(op, "greater", x, 0.0));
  return op.call("where", {condition, whenTrue, whenFalse});
}

// scale * expm1(x / divisor)
Expected<NodeId> expMinusOne(OpContext &op, NodeId x, double divisor, double scale) {
  // That of a large x must not reach where(): inf there is legal but slow.
  NodeId low = BYCC_TRY(apply(op, "minimum", x, 0.0));
  if (divisor != 1)
    low = BYCC_TRY(apply(op, "divide", low, divisor));
  NodeId less = BYCC_TRY(apply(op, "expm1", low));
  return scale == 1 ? Expected<NodeId>(less) : apply(op, "multiply", less, scale);
}

// exp(-|x|)
Expected<NodeId> smallPower(OpContext &op, NodeId x) {
  return apply(op, "exp", BYCC_TRY(apply(op, "negative", BYCC_TRY(apply(op, "abs", x)))));
}

// clip(alpha * x + beta, 0, 1)
Expected<NodeId> hardSigmoid(OpContext &op, NodeId x, double alpha, double beta) {
  NodeId line = BYCC_TRY(apply(op, "add", BYCC_TRY(apply(op, "multiply", x, alpha)), beta));
  return op.call("clip", {line}, {{"a_min", 0.0}, {"a_max", 1.0}});
}

} // namespace

Expected<> convertLeakyRelu(OpContext &op) {
  double alpha = BYCC_TRY(op.floatAttr("alpha", 0.01));
  op.setOutput(0, BYCC_TRY(op.call("nn.leaky_relu", {op.input(0)}, {{"alpha", alpha}})));
  return {};
}

// A slope of one value per channel, (C) of a rank-2 input or (C, 1, ..), is
// nn.prelu; any other one broadcasts. Before opset 7 (C) is so for every rank.
Expected<> convertPRelu(OpContext &op) {
  NodeId x = op.input(0), slope = op.input(1);
  std::vector<Dim> shape = op.shape(x), slopeShape = op.shape(slope);
  bool isOld = op.opset() < 7 && slopeShape.size() == 1;
  bool isPerChannel = shape.size() >= 2 && (isOld || slopeShape.size() + 1 == shape.size()) &&
                      shape[1].isConst() && slopeShape[0] == shape[1];
  for (size_t i = 1; i < slopeShape.size(); ++i)
    isPerChannel = isPerChannel && slopeShape[i] == Dim(1);
  if (isPerChannel) {
    int64_t channels = shape[1].value();
    slope = BYCC_TRY(op.reshape(slope, {&channels, 1}));
    op.setOutput(0, BYCC_TRY(op.call("nn.prelu", {x, slope}, {{"axis", 1}})));
    return {};
  }
  NodeId scaled = BYCC_TRY(apply(op, "multiply", x, slope));
  op.setOutput(0, BYCC_TRY(ifPositive(op, x, x, scaled)));
  return {};
}

Expected<> convertElu(OpContext &op) {
  NodeId x = op.input(0);
  double alpha = BYCC_TRY(op.floatAttr("alpha", 1));
  op.setOutput(0, BYCC_TRY(ifPositive(op, x, x, BYCC_TRY(expMinusOne(op, x, 1, alpha)))));
  return {};
}

Expected<> convertSelu(OpContext &op) {
  NodeId x = op.input(0);
  bool isOld = op.opset() < 6;
  double alpha = BYCC_TRY(op.floatAttr("alpha", isOld ? 1.6732 : 1.67326319217681884765625));
  double gamma = BYCC_TRY(op.floatAttr("gamma", isOld ? 1.0507 : 1.05070102214813232421875));
  NodeId low = BYCC_TRY(expMinusOne(op, x, 1, alpha * gamma));
  NodeId high = BYCC_TRY(apply(op, "multiply", x, gamma));
  op.setOutput(0, BYCC_TRY(ifPositive(op, x, high, low)));
  return {};
}

Expected<> convertCelu(OpContext &op) {
  NodeId x = op.input(0);
  double alpha = BYCC_TRY(op.floatAttr("alpha", 1));
  if (alpha == 0)
    return op.error() << "alpha is 0";
  op.setOutput(0, BYCC_TRY(ifPositive(op, x, x, BYCC_TRY(expMinusOne(op, x, alpha, alpha)))));
  return {};
}

Expected<> convertThresholdedRelu(OpContext &op) {
  NodeId x = op.input(0);
  double alpha = BYCC_TRY(op.floatAttr("alpha", 1));
  NodeId condition = BYCC_TRY(apply(op, "greater", x, alpha));
  op.setOutput(0, BYCC_TRY(op.call("where", {condition, x, op.scalar(op.dtype(x), 0)})));
  return {};
}

// x + bias below -lambd, x - bias above lambd, 0 between.
Expected<> convertShrink(OpContext &op) {
  NodeId x = op.input(0);
  if (!isFloat(op.dtype(x)))
    return op.error(Status::Unsup) << "of integers is not supported";
  double bias = BYCC_TRY(op.floatAttr("bias", 0)), lambd = BYCC_TRY(op.floatAttr("lambd", 0.5));
  NodeId isLow = BYCC_TRY(apply(op, "less", x, -lambd));
  NodeId isHigh = BYCC_TRY(apply(op, "greater", x, lambd));
  NodeId high = BYCC_TRY(apply(op, "subtract", x, bias));
  NodeId rest = BYCC_TRY(op.call("where", {isHigh, high, op.scalar(op.dtype(x), 0)}));
  NodeId low = BYCC_TRY(apply(op, "add", x, bias));
  op.setOutput(0, BYCC_TRY(op.call("where", {isLow, low, rest})));
  return {};
}

Expected<> convertHardSigmoid(OpContext &op) {
  double alpha = BYCC_TRY(op.floatAttr("alpha", 0.2));
  double beta = BYCC_TRY(op.floatAttr("beta", 0.5));
  op.setOutput(0, BYCC_TRY(hardSigmoid(op, op.input(0), alpha, beta)));
  return {};
}

Expected<> convertHardSwish(OpContext &op) {
  NodeId x = op.input(0);
  NodeId gate = BYCC_TRY(hardSigmoid(op, x, 1.0 / 6, 0.5));
  op.setOutput(0, BYCC_TRY(apply(op, "multiply", x, gate)));
  return {};
}

// max(x, 0) + log(1 + exp(-|x|)), the logarithm `log1p` or, of operators that vendors have, `log`.
Expected<NodeId> softplus(OpContext &op, NodeId x, bool isExact) {
  NodeId power = BYCC_TRY(smallPower(op, x));
  NodeId log = isExact ? BYCC_TRY(apply(op, "log1p", power))
                       : BYCC_TRY(apply(op, "log", BYCC_TRY(apply(op, "add", power, 1.0))));
  return apply(op, "add", BYCC_TRY(apply(op, "maximum", x, 0.0)), log);
}

Expected<> convertSoftplus(OpContext &op) {
  op.setOutput(0, BYCC_TRY(softplus(op, op.input(0), true)));
  return {};
}

Expected<> convertSoftsign(OpContext &op) {
  NodeId x = op.input(0);
  NodeId sum = BYCC_TRY(apply(op, "add", BYCC_TRY(apply(op, "abs", x)), 1.0));
  op.setOutput(0, BYCC_TRY(apply(op, "divide", x, sum)));
  return {};
}

// x * tanh(softplus(x)); times x, what log(1 + v) loses of a small v is little.
Expected<> convertMish(OpContext &op) {
  NodeId x = op.input(0);
  NodeId gate = BYCC_TRY(apply(op, "tanh", BYCC_TRY(softplus(op, x, false))));
  op.setOutput(0, BYCC_TRY(apply(op, "multiply", x, gate)));
  return {};
}

// In the spelling that recognize-gelu makes: (x * 0.5) * (1 + erf(x / sqrt 2)).
Expected<> convertGelu(OpContext &op) {
  NodeId x = op.input(0);
  std::string form = BYCC_TRY(op.textAttr("approximate", "none"));
  NodeId inner;
  if (form == "none") {
    inner = BYCC_TRY(apply(op, "erf", BYCC_TRY(apply(op, "multiply", x, std::sqrt(0.5)))));
  } else if (form == "tanh") {
    NodeId square = BYCC_TRY(apply(op, "multiply", x, x));
    NodeId cubic =
        BYCC_TRY(apply(op, "multiply", BYCC_TRY(apply(op, "multiply", square, x)), 0.044715));
    NodeId sum = BYCC_TRY(apply(op, "add", x, cubic));
    NodeId scaled = BYCC_TRY(apply(op, "multiply", sum, std::sqrt(2 / std::acos(-1.0))));
    inner = BYCC_TRY(apply(op, "tanh", scaled));
  } else {
    return op.error() << "approximate must be none or tanh";
  }
  NodeId gate = BYCC_TRY(apply(op, "add", inner, 1.0));
  NodeId half = BYCC_TRY(apply(op, "multiply", x, 0.5));
  op.setOutput(0, BYCC_TRY(apply(op, "multiply", half, gate)));
  return {};
}

// x * sigmoid(alpha * x)
Expected<> convertSwish(OpContext &op) {
  NodeId x = op.input(0);
  double alpha = BYCC_TRY(op.floatAttr("alpha", 1));
  NodeId inner = alpha == 1 ? x : BYCC_TRY(apply(op, "multiply", x, alpha));
  NodeId gate = BYCC_TRY(apply(op, "sigmoid", inner));
  op.setOutput(0, BYCC_TRY(apply(op, "multiply", x, gate)));
  return {};
}

// Swish of the first input times the second.
Expected<> convertSwiGlu(OpContext &op) {
  BYCC_TRY(convertSwish(op));
  op.setOutput(0, BYCC_TRY(apply(op, "multiply", op.outputs()[0].node, op.input(1))));
  return {};
}

namespace {

// 1 at the first of the largest elements along `axis`, else 0.
Expected<NodeId> firstLargest(OpContext &op, NodeId x, int64_t axis) {
  Dim size = op.shape(x)[axis];
  if (!size.isConst())
    return op.error(Status::Unsup) << "over an axis of unknown size";
  NodeId index = BYCC_TRY(op.call("argmax", {x}, {{"axis", AttrValue::ints({&axis, 1})}}));
  DType dtype = op.dtype(x);
  return op.call("one_hot", {index, op.scalar(dtype, 1), op.scalar(dtype, 0)},
                 {{"depth", size.value()}, {"axis", axis}, {"dtype", name(dtype)}});
}

} // namespace

// Since opset 13 over one axis; before, over all axes from `axis` on, taken as one.
Expected<> convertHardmax(OpContext &op) {
  NodeId x = op.input(0);
  int64_t rank = op.rank(x);
  bool isFlattening = op.opset() < 13;
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", isFlattening ? 1 : -1)), rank));
  if (!isFlattening || axis == rank - 1) {
    op.setOutput(0, BYCC_TRY(firstLargest(op, x, axis)));
    return {};
  }
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
  std::vector<int64_t> flat{1, 1};
  for (int64_t i = 0; i < rank; ++i)
    flat[i >= axis] *= shape[i];
  NodeId result = BYCC_TRY(firstLargest(op, BYCC_TRY(op.reshape(x, flat)), 1));
  op.setOutput(0, BYCC_TRY(op.reshape(result, shape)));
  return {};
}

// Since opset 13 over one axis; before, over all axes from `axis` on, taken as one.
Expected<> convertSoftmax(OpContext &op) {
  NodeId x = op.input(0);
  int64_t rank = op.rank(x);
  bool isFlattening = op.opset() < 13;
  int64_t axis = BYCC_TRY(op.intAttr("axis", isFlattening ? 1 : -1));
  if (isFlattening && axis == rank && rank == 1)
    axis = 0; // the default of a vector
  axis = BYCC_TRY(op.normalAxis(axis, rank));
  auto over = [&](NodeId node, int64_t at) {
    return op.call(op.relayName(), {node}, {{"axis", at}});
  };
  if (!isFlattening || axis == rank - 1) {
    op.setOutput(0, BYCC_TRY(over(x, axis == rank - 1 ? -1 : axis)));
    return {};
  }
  NodeId result = BYCC_TRY(over(BYCC_TRY(flattened(op, x, axis)), -1));
  op.setOutput(0, BYCC_TRY(reshapedLike(op, result, x)));
  return {};
}

} // namespace bycc::onnx
