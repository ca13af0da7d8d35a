// Activations: those without a Relay operator are composed of elementwise ones
// (which fuse into their producers), in forms that do not overflow.
#include "OnnxActivation.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include "bycc/Support/Cubic.h"

#include <algorithm>
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
NodeId smallPower(Compose &c, NodeId x) {
  return c.call("exp", {c.call("negative", {c.call("abs", {x})})});
}

constexpr Activation knownActivations[] = {{"affine", 1, 0, 2},
                                           {"elu", 1, 0, 1},
                                           {"hardsigmoid", 0.2, 0.5, 2},
                                           {"leakyrelu", 0.01, 0, 1},
                                           {"relu", 0, 0, 0},
                                           {"scaledtanh", 1, 1, 2},
                                           {"sigmoid", 0, 0, 0},
                                           {"softplus", 0, 0, 0},
                                           {"softsign", 0, 0, 0},
                                           {"tanh", 0, 0, 0},
                                           {"thresholdedrelu", 1, 0, 1}};

bool isSameName(std::string_view any, std::string_view lower) {
  return std::equal(any.begin(), any.end(), lower.begin(), lower.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

} // namespace

const Activation *findActivation(std::string_view name) {
  for (const Activation &known : knownActivations)
    if (isSameName(name, known.name))
      return &known;
  return nullptr;
}

NodeId activate(Compose &c, const Activation &f, NodeId x) {
  if (f.name == "affine")
    return c.add(c.mul(x, f.alpha), f.beta);
  if (f.name == "elu") {
    // expm1 of a large x must not reach where(): inf there is legal but slow.
    NodeId low = c.call("expm1", {c.call("minimum", x, 0)});
    return c.where(c.call("greater", x, 0), x, f.alpha == 1 ? low : c.mul(low, f.alpha));
  }
  if (f.name == "hardsigmoid")
    return c.call("clip", {c.add(c.mul(x, f.alpha), f.beta)}, {{"a_min", 0.0}, {"a_max", 1.0}});
  if (f.name == "leakyrelu")
    return c.call("nn.leaky_relu", {x}, {{"alpha", f.alpha}});
  if (f.name == "relu")
    return c.call("nn.relu", {x});
  if (f.name == "scaledtanh")
    return c.mul(c.call("tanh", {c.mul(x, f.beta)}), f.alpha);
  if (f.name == "softplus")
    return c.add(c.call("maximum", x, 0), c.call("log1p", {smallPower(c, x)}));
  if (f.name == "softsign")
    return c.div(x, c.add(c.call("abs", {x}), 1));
  if (f.name == "thresholdedrelu")
    return c.where(c.call("greater", x, f.alpha), x, 0);
  return c.call(f.name, {x}); // sigmoid, tanh
}

Expected<> convertActivation(OpContext &op) {
  Activation f = *findActivation(op.proto().opType);
  if (f.numParameters > 0)
    f.alpha = BYCC_TRY(op.floatAttr("alpha", f.alpha));
  if (f.numParameters > 1)
    f.beta = BYCC_TRY(op.floatAttr("beta", f.beta));
  Compose c(op);
  op.setOutput(0, BYCC_TRY(c.done(activate(c, f, op.input(0)))));
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

NodeId hardSwishOf(Compose &c, NodeId x) {
  return c.mul(x, activate(c, {"hardsigmoid", 1.0 / 6, 0.5, 2}, x));
}

Expected<> convertHardSwish(OpContext &op) {
  Compose c(op);
  op.setOutput(0, BYCC_TRY(c.done(hardSwishOf(c, op.input(0)))));
  return {};
}

// x * tanh(softplus(x)), of operators that vendors have: times x, what log(1 + v) loses of a small v
// is little.
Expected<> convertMish(OpContext &op) {
  NodeId x = op.input(0);
  Compose c(op);
  NodeId log = c.call("log", {c.add(smallPower(c, x), 1)});
  NodeId softplus = c.add(c.call("maximum", x, 0), log);
  op.setOutput(0, BYCC_TRY(c.done(c.mul(x, c.call("tanh", {softplus})))));
  return {};
}

// In the spelling that recognize-gelu makes: (x * 0.5) * (1 + erf(x / sqrt 2)), or with
// tanh(x * (x * x * 0.044715 * c + c)), c = sqrt(2 / pi).
Expected<NodeId> geluOf(OpContext &op, NodeId x, bool isTanh) {
  Compose c(op);
  NodeId inner;
  if (isTanh) {
    NodeId factor = c.add(c.mul(c.mul(x, x), tanhGelu.inner[3]), tanhGelu.inner[1]);
    inner = c.call("tanh", {c.mul(x, factor)});
  } else {
    inner = c.call("erf", {c.mul(x, exactGelu.inner[1])});
  }
  return c.done(c.mul(c.mul(x, 0.5), c.add(inner, 1)));
}

Expected<> convertGelu(OpContext &op) {
  std::string form = BYCC_TRY(op.textAttr("approximate", "none"));
  if (form != "none" && form != "tanh")
    return op.error() << "approximate must be none or tanh";
  op.setOutput(0, BYCC_TRY(geluOf(op, op.input(0), form == "tanh")));
  return {};
}

Expected<NodeId> swishOf(OpContext &op, NodeId x, double alpha) {
  Compose c(op);
  NodeId inner = alpha == 1 ? x : c.mul(x, alpha);
  return c.done(c.mul(x, c.call("sigmoid", {inner})));
}

Expected<> convertSwish(OpContext &op) {
  op.setOutput(0, BYCC_TRY(swishOf(op, op.input(0), BYCC_TRY(op.floatAttr("alpha", 1)))));
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

Expected<NodeId> softmaxOf(OpContext &op, std::string_view name, NodeId x, int64_t axis,
                           bool isFlattening) {
  bool isLast = axis == op.rank(x) - 1;
  auto over = [&](NodeId node, int64_t at) { return op.call(name, {node}, {{"axis", at}}); };
  if (!isFlattening || isLast)
    return over(x, isLast ? -1 : axis);
  NodeId result = BYCC_TRY(over(BYCC_TRY(flattened(op, x, axis)), -1));
  return reshapedLike(op, result, x);
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
  op.setOutput(0, BYCC_TRY(softmaxOf(op, op.relayName(), x, axis, isFlattening)));
  return {};
}

} // namespace bycc::onnx
