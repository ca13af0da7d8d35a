// Reductions. Axes are an attribute in old opsets and an input in new ones
// (ReduceSum since 13, the others since 18).
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

namespace bycc::onnx {
namespace {

// What is reduced, and over which axes.
//
// Axes that are known only when the model runs: the data is seen with two axes in
// place of each, one that stays and one that is reduced. For axes = [1]:
//
//   x (2, 3)  ->  dyn.reshape (2, 1, 1, 3)  ->  reduce [1, 3]  ->  (2, 1)
//
// which is the result with the reduced axes kept as 1; `dropped` go then.
struct Axes {
  NodeId data;
  std::vector<int64_t> axes; // empty: nothing is reduced
  bool keepDims = true;
  NodeId dropped; // int64 vector, if any

  AttrDict attrs() const { return {{"axis", AttrValue::ints(axes)}, {"keepdims", keepDims}}; }
};

// The two extents of every axis: (1, n) where it is reduced, else (n, 1).
Expected<NodeId> splitExtents(OpContext &op, NodeId x, NodeId isReduced) {
  NodeId extents = BYCC_TRY(extentsOf(op, x)), one = op.scalar(DType::Int64, 1);
  NodeId kept = BYCC_TRY(op.call("where", {isReduced, one, extents}));
  NodeId reduced = BYCC_TRY(op.call("where", {isReduced, extents, one}));
  NodeId both[2] = {kept, reduced};
  NodeId pairs = BYCC_TRY(op.call("stack", {op.tuple(both)}, {{"axis", 1}}));
  int64_t all = 2 * op.rank(x);
  return op.reshape(pairs, {&all, 1});
}

Expected<Axes> axesAtRunTime(OpContext &op, bool keepDims, bool isNoop) {
  Axes result;
  NodeId x = op.input(0);
  int64_t rank = op.rank(x);
  std::optional<int64_t> declared = op.declaredRank(0);
  if (rank > 16)
    return op.error(Status::Limit) << "rank " << rank << " with axes as an input, the limit is 16";
  NodeId axes = op.input(1);
  bool isOpen = op.rank(axes) == 1 && !op.shape(axes)[0].isConst();
  if (!keepDims || !isOpen)
    axes =
        BYCC_TRY(runTimeInts(op, 1, "axes", declared ? std::optional(rank - *declared) : declared));
  else if (!isInt(op.dtype(axes)))
    return op.error() << "axes of " << name(op.dtype(axes)) << ", wanted integers";
  else // any number of them
    axes = BYCC_TRY(op.cast(axes, DType::Int64));
  NodeId isReduced = BYCC_TRY(axisMask(op, axes, rank)).isAny;
  if (isOpen && keepDims && !isNoop) { // none means all
    NodeId count = BYCC_TRY(op.call("ndarray_size", {axes}, {{"dtype", "int64"}}));
    NodeId isNone = BYCC_TRY(op.call("equal", {count, op.scalar(DType::Int64, 0)}));
    isReduced = BYCC_TRY(op.call("logical_or", {isReduced, isNone}));
  }
  result.data = BYCC_TRY(reshapeTo(op, x, BYCC_TRY(splitExtents(op, x, isReduced))));
  for (int64_t i = 0; i < rank; ++i)
    result.axes.push_back(2 * i + 1);
  result.keepDims = false;
  if (!keepDims)
    result.dropped = axes;
  return result;
}

Expected<Axes> reduceAxes(OpContext &op) {
  Axes result;
  result.data = op.input(0);
  int64_t rank = op.rank(result.data);
  result.keepDims = BYCC_TRY(op.intAttr("keepdims", 1)) != 0;
  int inputSince = op.proto().opType == "ReduceSum" ? 13 : 18;
  bool isNoop = op.opset() >= inputSince && BYCC_TRY(op.intAttr("noop_with_empty_axes", 0)) != 0;
  if (op.opset() >= inputSince && !op.isKnown(1) && rank > 0 &&
      !(op.rank(op.input(1)) == 1 && op.shape(op.input(1))[0] == Dim(0)))
    return axesAtRunTime(op, result.keepDims, isNoop);
  std::optional<std::vector<int64_t>> axes;
  if (op.isKnown(1) || op.opset() < inputSince) // else there are none
    axes = BYCC_TRY(axesOf(op, 1, inputSince));
  if (axes)
    result.axes = BYCC_TRY(op.normalAxes(*axes, rank));
  if (result.axes.empty() && !isNoop)
    for (int64_t i = 0; i < rank; ++i)
      result.axes.push_back(i);
  return result;
}

Expected<NodeId> finished(OpContext &op, const Axes &axes, NodeId result) {
  return axes.dropped ? op.call("dyn.squeeze", {result, axes.dropped}) : Expected<NodeId>(result);
}

} // namespace

Expected<> convertReduce(OpContext &op) {
  Axes axes = BYCC_TRY(reduceAxes(op));
  NodeId x = axes.data;
  std::string_view relay = op.relayName();
  if (op.dtype(x) == DType::Bool && (relay == "max" || relay == "min")) // since opset 20
    relay = relay == "max" ? "any" : "all";
  NodeId result = axes.axes.empty() ? x : BYCC_TRY(op.call(relay, {x}, axes.attrs()));
  op.setOutput(0, BYCC_TRY(finished(op, axes, result)));
  return {};
}

// L1, L2, SumSquare and LogSum around a sum; LogSumExp.
Expected<> convertReduceComposed(OpContext &op) {
  std::string_view kind = op.proto().opType;
  Axes axes = BYCC_TRY(reduceAxes(op));
  NodeId x = axes.data;
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
    result = BYCC_TRY(op.call("logsumexp", {x}, axes.attrs()));
  }
  op.setOutput(0, BYCC_TRY(finished(op, axes, result)));
  return {};
}

Expected<> convertArgReduce(OpContext &op) {
  NodeId x = op.input(0);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", 0)), op.rank(x)));
  bool keepDims = BYCC_TRY(op.intAttr("keepdims", 1)) != 0;
  bool selectLast = BYCC_TRY(op.intAttr("select_last_index", 0)) != 0;
  NodeId index = BYCC_TRY(op.call(op.relayName(), {x},
                                  {{"axis", AttrValue::ints({&axis, 1})},
                                   {"keepdims", keepDims},
                                   {"select_last_index", selectLast}}));
  op.setOutput(0, BYCC_TRY(op.cast(index, DType::Int64)));
  return {};
}

namespace {

Expected<NodeId> accumulated(OpContext &op, NodeId x, int64_t axis) {
  bool isExclusive = BYCC_TRY(op.intAttr("exclusive", 0)) != 0;
  bool isReverse = BYCC_TRY(op.intAttr("reverse", 0)) != 0;
  if (isReverse)
    x = BYCC_TRY(op.call("reverse", {x}, {{"axis", axis}}));
  x = BYCC_TRY(op.call(op.relayName(), {x}, {{"axis", axis}, {"exclusive", isExclusive}}));
  return isReverse ? op.call("reverse", {x}, {{"axis", axis}}) : Expected<NodeId>(x);
}

// The axis is known when the model runs: it is the middle one of three.
Expected<NodeId> accumulatedAtRunTime(OpContext &op, NodeId x) {
  int64_t rank = op.rank(x);
  NodeId axis = BYCC_TRY(runTimeInt(op, 1, "axis")), extents = BYCC_TRY(extentsOf(op, x));
  NodeId isNegative = BYCC_TRY(op.call("less", {axis, op.scalar(DType::Int64, 0)}));
  NodeId fromEnd =
      BYCC_TRY(op.call("add", {axis, op.scalar(DType::Int64, static_cast<double>(rank))}));
  axis = BYCC_TRY(op.call("where", {isNegative, fromEnd, axis}));
  NodeId parts[3], one = op.scalar(DType::Int64, 1);
  std::string_view sides[3] = {"less", "equal", "greater"};
  for (int i = 0; i < 3; ++i) {
    NodeId isSide = BYCC_TRY(op.call(sides[i], {iota(op, rank), axis}));
    NodeId own = BYCC_TRY(op.call("where", {isSide, extents, one}));
    parts[i] = BYCC_TRY(op.call("prod", {own}, {{"keepdims", true}}));
  }
  NodeId flat = BYCC_TRY(reshapeTo(op, x, BYCC_TRY(join(op, parts))));
  return reshapeTo(op, BYCC_TRY(accumulated(op, flat, 1)), extents);
}

} // namespace

// CumSum and CumProd.
Expected<> convertCumulative(OpContext &op) {
  NodeId x = op.input(0);
  if (!op.isKnown(1)) {
    op.setOutput(0, BYCC_TRY(accumulatedAtRunTime(op, x)));
    return {};
  }
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.constInt(1, "axis")), op.rank(x)));
  op.setOutput(0, BYCC_TRY(accumulated(op, x, axis)));
  return {};
}

} // namespace bycc::onnx
