// Writes the softmax of attention in one form:
//
//   nn.softmax(add(multiply(scores, 1/sqrt d), mask))
//
// 1. softmax taken apart (exp(x - max) over its sum) => nn.softmax
// 2. between scores and softmax, divide by a constant => multiply by its inverse
// 3. between scores and softmax, add(mask, scores)    => add(scores, mask)
//
// Scores are a product of matrices, possibly reshaped. Masks that choose
// (`where`) stay: with every position masked they mean another result than a
// large negative summand. A softmax without the subtracted maximum stays too.
#include "Recognize.h"
#include "Scopes.h"
#include "SimplifyRules.h"
#include "bycc/Transforms/Passes.h"

namespace bycc {
namespace {

// The axis of op(of, axis, keepdims=True) over one axis.
std::optional<size_t> keptAxis(const Module &module, NodeId node, OpId op, NodeId of) {
  std::optional<NodeId> operand = asUnary(module, node, op);
  if (!operand || *operand != of)
    return std::nullopt;
  const AttrValue *keep = module.attr(node, "keepdims"), *exclude = module.attr(node, "exclude");
  std::vector<int64_t> axes = intsAttr(module, node, "axis");
  if (!keep || !keep->isBool() || !keep->asBool() || axes.size() != 1 ||
      (exclude && exclude->isBool() && exclude->asBool()))
    return std::nullopt;
  return normalizedAxis(axes[0], module.types.shape(module.type(of)).size());
}

// exp(x - max x) / sum(exp(x - max x))
Expected<NodeId> composeSoftmax(Module &module, NodeId call, Builder &builder) {
  auto [powers, total] = *asBinary(module, call, ops::divide);
  std::optional<NodeId> shifted = asUnary(module, powers, ops::exp);
  std::optional<size_t> axis = keptAxis(module, total, ops::sum, powers);
  std::optional<Operands2> difference =
      shifted ? asBinary(module, *shifted, ops::subtract) : std::nullopt;
  if (!axis || !difference ||
      keptAxis(module, difference->second, ops::max, difference->first) != axis)
    return call;
  NodeId x = difference->first;
  bool isLast = *axis + 1 == module.types.shape(module.type(x)).size();
  builder.setSource(module.node(call).source);
  return builder.call(ops::nn_softmax, {x}, {{"axis", isLast ? -1 : static_cast<int64_t>(*axis)}});
}

// True when the value is a product of matrices, through views and steps of the
// canonical form.
bool comesFromScores(const Module &module, NodeId node) {
  constexpr int maxSteps = 8;
  for (int step = 0; step < maxSteps; ++step) {
    if (module.isOp(node, ops::nn_batch_matmul) || module.isOp(node, ops::nn_matmul) ||
        module.isOp(node, ops::nn_dense))
      return true;
    if (isView(module, node)) {
      node = module.operands(node)[0];
    } else if (auto scaled = asWithConstant(module, node, ops::multiply)) {
      node = scaled->node;
    } else if (auto quotient = asBinary(module, node, ops::divide);
               quotient && uniformValue(module, quotient->second)) {
      node = quotient->first;
    } else {
      return false;
    }
  }
  return false;
}

// Rewrites what stands between scores and a softmax, from the softmax down.
class Scores {
public:
  Scores(Module &module, Builder &builder) : module_(module), builder_(builder) {}

  // The canonical value for the operand of a softmax; itself when it is one.
  Expected<NodeId> canonical(NodeId node) {
    std::optional<Operands2> sum = asBinary(module_, node, ops::add);
    if (!sum)
      return scaled(node);
    bool isFirst = comesFromScores(module_, sum->first);
    bool isSecond = !isFirst && comesFromScores(module_, sum->second);
    if (!isFirst && !isSecond)
      return node;
    NodeId scores = isFirst ? sum->first : sum->second, mask = isFirst ? sum->second : sum->first;
    NodeId simple = BYCC_TRY(scaled(scores));
    if (simple == scores && isFirst)
      return node;
    builder_.setSource(module_.node(node).source);
    return builder_.call(ops::add, {simple, mask});
  }

private:
  // scores / c => scores * (1 / c)
  Expected<NodeId> scaled(NodeId node) {
    std::optional<Operands2> quotient = asBinary(module_, node, ops::divide);
    if (!quotient || !comesFromScores(module_, quotient->first) ||
        module_.type(quotient->first) != module_.type(node))
      return node;
    std::optional<double> divisor = uniformValue(module_, quotient->second);
    if (!divisor || *divisor == 0 || !std::isfinite(*divisor))
      return node;
    builder_.setSource(module_.node(node).source);
    NodeId factor = module_.addScalar(module_.types.dtype(module_.type(node)), 1 / *divisor);
    return builder_.call(ops::multiply, {quotient->first, factor});
  }

  Module &module_;
  Builder &builder_;
};

Expected<NodeId> recognize(Module &module, NodeId node, Builder &builder) {
  if (module.isOp(node, ops::divide))
    return composeSoftmax(module, node, builder);
  if (!module.isOp(node, ops::nn_softmax))
    return node;
  NodeId x = module.operands(node)[0];
  if (!module.types.isStatic(module.type(x)) || !isFloat(module.types.dtype(module.type(x))))
    return node;
  NodeId simple = BYCC_TRY(Scores(module, builder).canonical(x));
  if (simple == x)
    return node;
  builder.setSource(module.node(node).source);
  return builder.callWithAttrs(ops::nn_softmax, {&simple, 1}, module.node(node).attrs);
}

} // namespace

Expected<bool> recognizeAttention(Module &module, PassContext &) {
  return rewriteOpenBlocks(module, [&](NodeId node, Builder &builder) {
    return recognize(module, node, builder);
  });
}

} // namespace bycc
