// Reductions. Axes are an attribute in old opsets and an input in new ones
// (ReduceSum since 13, the others since 18).
#include "OnnxConverters.h"

namespace bycc::onnx {
namespace {

struct Axes {
  std::vector<int64_t> axes; // empty: nothing is reduced
  bool keepDims = true;

  AttrDict attrs() const { return {{"axis", AttrValue::ints(axes)}, {"keepdims", keepDims}}; }
};

Expected<Axes> reduceAxes(OpContext &op) {
  Axes result;
  int64_t rank = op.rank(op.input(0));
  result.keepDims = BYCC_TRY(op.intAttr("keepdims", 1)) != 0;
  int inputSince = op.proto().opType == "ReduceSum" ? 13 : 18;
  std::optional<std::vector<int64_t>> axes = BYCC_TRY(axesOf(op, 1, inputSince));
  bool isNoop = op.opset() >= inputSince && BYCC_TRY(op.intAttr("noop_with_empty_axes", 0)) != 0;
  if (axes)
    result.axes = BYCC_TRY(op.normalAxes(*axes, rank));
  if (result.axes.empty() && !isNoop)
    for (int64_t i = 0; i < rank; ++i)
      result.axes.push_back(i);
  return result;
}

} // namespace

Expected<> convertReduce(OpContext &op) {
  NodeId x = op.input(0);
  Axes axes = BYCC_TRY(reduceAxes(op));
  std::string_view relay = op.relayName();
  if (op.dtype(x) == DType::Bool && (relay == "max" || relay == "min")) // since opset 20
    relay = relay == "max" ? "any" : "all";
  op.setOutput(0, axes.axes.empty() ? x : BYCC_TRY(op.call(relay, {x}, axes.attrs())));
  return {};
}

// L1, L2, SumSquare, LogSum and LogSumExp around a sum.
Expected<> convertReduceComposed(OpContext &op) {
  NodeId x = op.input(0);
  std::string_view kind = op.proto().opType;
  Axes axes = BYCC_TRY(reduceAxes(op));
  auto sum = [&](NodeId terms) -> Expected<NodeId> {
    return axes.axes.empty() ? Expected<NodeId>(terms) : op.call("sum", {terms}, axes.attrs());
  };
  NodeId result;
  if (kind == "ReduceL1") {
    result = BYCC_TRY(sum(BYCC_TRY(op.call("abs", {x}))));
  } else if (kind == "ReduceL2" || kind == "ReduceSumSquare") {
    result = BYCC_TRY(sum(BYCC_TRY(op.call("multiply", {x, x}))));
    if (kind == "ReduceL2")
      result = BYCC_TRY(op.call("sqrt", {result}));
  } else if (kind == "ReduceLogSum") {
    result = BYCC_TRY(op.call("log", {BYCC_TRY(sum(x))}));
  } else if (axes.axes.empty()) {
    result = x; // log(exp(x))
  } else {
    // log(sum(exp(x - max))) + max does not overflow.
    Axes kept{axes.axes, true};
    NodeId most = BYCC_TRY(op.call("max", {x}, kept.attrs()));
    NodeId powers = BYCC_TRY(op.call("exp", {BYCC_TRY(op.call("subtract", {x, most}))}));
    NodeId logs = BYCC_TRY(op.call("log", {BYCC_TRY(op.call("sum", {powers}, kept.attrs()))}));
    result = BYCC_TRY(op.call("add", {logs, most}));
    if (!axes.keepDims)
      result = BYCC_TRY(op.call("squeeze", {result}, {{"axis", AttrValue::ints(axes.axes)}}));
  }
  op.setOutput(0, result);
  return {};
}

Expected<> convertArgReduce(OpContext &op) {
  NodeId x = op.input(0);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", 0)), op.rank(x)));
  bool keepDims = BYCC_TRY(op.intAttr("keepdims", 1)) != 0;
  bool selectLast = BYCC_TRY(op.intAttr("select_last_index", 0)) != 0;
  NodeId index = BYCC_TRY(op.call(op.relayName(), {x}, {{"axis", AttrValue::ints({&axis, 1})},
                                                        {"keepdims", keepDims},
                                                        {"select_last_index", selectLast}}));
  op.setOutput(0, BYCC_TRY(op.cast(index, DType::Int64)));
  return {};
}

Expected<> convertCumSum(OpContext &op) {
  NodeId x = op.input(0);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.constInt(1, "axis")), op.rank(x)));
  bool isExclusive = BYCC_TRY(op.intAttr("exclusive", 0)) != 0;
  bool isReverse = BYCC_TRY(op.intAttr("reverse", 0)) != 0;
  if (isReverse)
    x = BYCC_TRY(op.call("reverse", {x}, {{"axis", axis}}));
  x = BYCC_TRY(op.call("cumsum", {x}, {{"axis", axis}, {"exclusive", isExclusive}}));
  if (isReverse)
    x = BYCC_TRY(op.call("reverse", {x}, {{"axis", axis}}));
  op.setOutput(0, x);
  return {};
}

} // namespace bycc::onnx
