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

// Queries or keys without the factor that they were multiplied with, which goes into
// `factor`; the node itself when there is none.
Expected<NodeId> withoutFactor(Module &module, NodeId node, Builder &builder, double &factor) {
  auto isSame = [&](NodeId inner) { return module.type(inner) == module.type(node); };
  if (auto scaled = asWithConstant(module, node, ops::multiply)) {
    if (scaled->value == 0 || !std::isfinite(scaled->value) || !isSame(scaled->node))
      return node;
    factor *= scaled->value;
    return withoutFactor(module, scaled->node, builder, factor);
  }
  if (auto quotient = asBinary(module, node, ops::divide)) {
    std::optional<double> value = uniformValue(module, quotient->second);
    if (!value || *value == 0 || !std::isfinite(*value) || !isSame(quotient->first))
      return node;
    factor /= *value;
    return withoutFactor(module, quotient->first, builder, factor);
  }
  if (!module.isOp(node, ops::transpose) &&
      !(module.isOp(node, ops::reshape) && isView(module, node)))
    return node;
  NodeId inner = module.operands(node)[0],
         simple = BYCC_TRY(withoutFactor(module, inner, builder, factor));
  return simple == inner
             ? node
             : builder.callWithAttrs(module.node(node).op, {&simple, 1}, module.node(node).attrs);
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
    if (isView(module_, node)) {
      NodeId inner = module_.operands(node)[0], simple = BYCC_TRY(scaledOnce(inner));
      if (simple == inner)
        return node;
      builder_.setSource(module_.node(node).source);
      return builder_.callWithAttrs(module_.node(node).op, {&simple, 1}, module_.node(node).attrs);
    }
    if (auto times = asWithConstant(module_, node, ops::multiply);
        times && module_.type(times->node) == module_.type(node)) {
      auto inner = asWithConstant(module_, BYCC_TRY(scaledOnce(times->node)), ops::multiply);
      if (!inner || inner->node == times->node || module_.type(inner->node) != module_.type(node))
        return node;
      builder_.setSource(module_.node(node).source);
      NodeId factor =
          module_.addScalar(module_.types.dtype(module_.type(node)), inner->value * times->value);
      return builder_.call(ops::multiply, {inner->node, factor});
    }
    bool isProduct = module_.isOp(node, ops::nn_batch_matmul) || module_.isOp(node, ops::nn_matmul);
    DType dtype = module_.types.dtype(module_.type(node));
    if (!isProduct || dtype == DType::Float16)
      return node;
    NodeId left = module_.operands(node)[0], right = module_.operands(node)[1];
    double factor = 1;
    NodeId operands[] = {BYCC_TRY(withoutFactor(module_, left, builder_, factor)),
                         BYCC_TRY(withoutFactor(module_, right, builder_, factor))};
    if (factor == 1 || !std::isfinite(factor))
      return node;
    builder_.setSource(module_.node(node).source);
    NodeId product =
        BYCC_TRY(builder_.callWithAttrs(module_.node(node).op, operands, module_.node(node).attrs));
    return builder_.call(ops::multiply, {product, module_.addScalar(dtype, factor)});
  }

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
  return rewriteOpenBlocks(
      module, [&](NodeId node, Builder &builder) { return recognize(module, node, builder); });
}

} // namespace bycc
