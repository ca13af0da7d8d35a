// Writes the softmax of attention in one form:
//
//   nn.softmax(add(multiply(scores, 1/sqrt d), mask))
//
// 1. softmax taken apart (exp(x - max) over its sum) => nn.softmax
// 2. between scores and softmax, divide by a constant => multiply by its inverse
// 3. between scores and softmax, add(mask, scores)    => add(scores, mask)
// 4. factors of queries and keys => one of the scores: products have them for nothing. Not
//    in float16, where a product of unscaled rows may be beyond the largest number
//
// Scores are a product of matrices, possibly reshaped. Masks that choose
// (`where`) stay: with every position masked they mean another result than a
// large negative summand. A softmax without the subtracted maximum stays too.
#include "Recognize.h"
#include "Scopes.h"
#include "SimplifyRules.h"
#include "bycc/Transforms/Passes.h"

#include <cmath>

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

// value * c or value / c: the value, and what it is multiplied with.
std::optional<WithConstant> asScaled(const Module &module, NodeId node) {
  if (auto quotient = asBinary(module, node, ops::divide))
    if (auto divisor = uniformValue(module, quotient->second))
      return WithConstant{quotient->first, 1 / *divisor};
  return asWithConstant(module, node, ops::multiply);
}

// The same where the factor can be one of something else.
std::optional<WithConstant> asFactor(const Module &module, NodeId node) {
  std::optional<WithConstant> scaled = asScaled(module, node);
  bool isFactor = scaled && scaled->value != 0 && std::isfinite(scaled->value) &&
                  module.type(scaled->node) == module.type(node);
  return isFactor ? scaled : std::nullopt;
}

// True when the value is a product of matrices, through views and steps of the
// canonical form.
bool comesFromScores(const Module &module, NodeId node) {
  constexpr int maxSteps = 8;
  for (int step = 0; step < maxSteps; ++step) {
    if (module.isOp(node, ops::nn_batch_matmul) || module.isOp(node, ops::nn_matmul) ||
        module.isOp(node, ops::nn_dense))
      return true;
    if (keepsElements(module, node))
      node = module.operands(node)[0];
    else if (auto scaled = asScaled(module, node))
      node = scaled->node;
    else
      return false;
  }
  return false;
}

// The same operator, of another first operand.
Expected<NodeId> withOperand(Module &module, NodeId node, NodeId operand, Builder &builder) {
  if (operand == module.operands(node)[0])
    return node;
  builder.setSource(module.node(node).source);
  std::vector<NodeId> operands(module.operands(node).begin(), module.operands(node).end());
  operands[0] = operand;
  return builder.callWithAttrs(module.node(node).op, operands, module.node(node).attrs);
}

// Queries or keys without the factor that they were multiplied with, which goes into
// `factor`; the node itself when there is none.
Expected<NodeId> withoutFactor(Module &module, NodeId node, Builder &builder, double &factor) {
  if (auto scaled = asFactor(module, node)) {
    factor *= scaled->value;
    return withoutFactor(module, scaled->node, builder, factor);
  }
  if (!module.isOp(node, ops::transpose) &&
      !(module.isOp(node, ops::reshape) && keepsElements(module, node)))
    return node;
  NodeId simple = BYCC_TRY(withoutFactor(module, module.operands(node)[0], builder, factor));
  return withOperand(module, node, simple, builder);
}

// Rewrites what stands between scores and a softmax, from the softmax down.
class Scores {
public:
  Scores(Module &module, Builder &builder) : module_(module), builder_(builder) {}

  // The canonical value for the operand of a softmax; itself when it is one.
  Expected<NodeId> canonical(NodeId node) {
    std::optional<Operands2> sum = asBinary(module_, node, ops::add);
    if (!sum)
      return scaled(BYCC_TRY(scaledOnce(node)));
    bool isFirst = comesFromScores(module_, sum->first);
    bool isSecond = !isFirst && comesFromScores(module_, sum->second);
    if (!isFirst && !isSecond)
      return node;
    NodeId scores = isFirst ? sum->first : sum->second, mask = isFirst ? sum->second : sum->first;
    NodeId simple = BYCC_TRY(scaled(BYCC_TRY(scaledOnce(scores))));
    if (simple == scores && isFirst)
      return node;
    builder_.setSource(module_.node(node).source);
    return builder_.call(ops::add, {simple, mask});
  }

private:
  // Scores, through views, of rows that were multiplied before => scores * c
  Expected<NodeId> scaledOnce(NodeId node) {
    if (keepsElements(module_, node))
      return withOperand(module_, node, BYCC_TRY(scaledOnce(module_.operands(node)[0])), builder_);
    if (auto outer = asWithConstant(module_, node, ops::multiply);
        outer && module_.type(outer->node) == module_.type(node)) {
      auto inner = asWithConstant(module_, BYCC_TRY(scaledOnce(outer->node)), ops::multiply);
      if (!inner || inner->node == outer->node || module_.type(inner->node) != module_.type(node))
        return node;
      return multiplied(node, inner->node, inner->value * outer->value);
    }
    bool isProduct = module_.isOp(node, ops::nn_batch_matmul) || module_.isOp(node, ops::nn_matmul);
    if (!isProduct || module_.types.dtype(module_.type(node)) == DType::Float16)
      return node;
    double factor = 1;
    NodeId operands[] = {
        BYCC_TRY(withoutFactor(module_, module_.operands(node)[0], builder_, factor)),
        BYCC_TRY(withoutFactor(module_, module_.operands(node)[1], builder_, factor))};
    if (factor == 1 || !std::isfinite(factor))
      return node;
    builder_.setSource(module_.node(node).source);
    NodeId product =
        BYCC_TRY(builder_.callWithAttrs(module_.node(node).op, operands, module_.node(node).attrs));
    return multiplied(node, product, factor);
  }

  // scores / c => scores * (1 / c)
  Expected<NodeId> scaled(NodeId node) {
    auto quotient = asFactor(module_, node);
    if (!quotient || !module_.isOp(node, ops::divide) || !comesFromScores(module_, quotient->node))
      return node;
    return multiplied(node, quotient->node, quotient->value);
  }

  // In the place of `node`.
  Expected<NodeId> multiplied(NodeId node, NodeId value, double factor) {
    builder_.setSource(module_.node(node).source);
    NodeId constant = module_.addScalar(module_.types.dtype(module_.type(node)), factor);
    return builder_.call(ops::multiply, {value, constant});
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
  if (!hasKnownExtents(module, x) || !isFloat(module.types.dtype(module.type(x))))
    return node;
  NodeId simple = BYCC_TRY(Scores(module, builder).canonical(x));
  if (simple == x)
    return node;
  builder.setSource(module.node(node).source);
  return builder.callWithAttrs(ops::nn_softmax, {&simple, 1}, module.node(node).attrs);
}

} // namespace

Expected<bool> recognizeAttention(Module &module, PassContext &) {
  return rewriteOpenBlocks(
      module, [&](NodeId node, Builder &builder) { return recognize(module, node, builder); });
}

} // namespace bycc
