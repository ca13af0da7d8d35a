// Finds layer normalisation that an exporter took apart:
//
//        x ------------------+
//        |                   |
//       mean (one axis) -> subtract ---+---------------+
//                                      |               |
//                         power 2 or multiply by self  |
//                                      |               |
//                              mean (same axis)        |
//                                      |               |
//                          add epsilon, sqrt or rsqrt  |
//                                      |               |
//                                      +--> divide or multiply
//                                              |
//                                    multiply gamma, add beta
//
//    =>  nn.layer_norm(x, gamma, beta, axis, epsilon)
//
// The subtract may be written twice, gamma may be multiplied into the reciprocal
// first, commutative operands may come in any order, `variance` may stand for the
// squares and their mean. Axis and epsilon are carried over; an epsilon that is
// negative or not one number, a mean that drops its axis, and a gamma or beta
// that varies along another axis are left alone.
#include "Recognize.h"
#include "Scopes.h"
#include "SimplifyRules.h"
#include "bycc/Support/Text.h"
#include "bycc/Transforms/Passes.h"

#include <cmath>

namespace bycc {
namespace {

class LayerNorm {
public:
  LayerNorm(Module &module, NodeId root) : module_(module), root_(root) {}

  // True for add(scaled, beta) with all parts found.
  bool match() {
    std::optional<Operands2> sum = asBinary(module_, root_, ops::add);
    return sum && (matchScaled(sum->first, sum->second) || matchScaled(sum->second, sum->first));
  }

  Expected<NodeId> build(Builder &builder) const {
    builder.setSource(module_.node(root_).source);
    NodeId gamma = BYCC_TRY(asVector(builder, gamma_)), beta = BYCC_TRY(asVector(builder, beta_));
    return builder.call(ops::nn_layer_norm, {x_, gamma, beta},
                        {{"axis", storedAxis()}, {"epsilon", epsilon_}});
  }

private:
  std::span<const Dim> shape(NodeId node) const { return module_.types.shape(module_.type(node)); }

  // multiply(normal, gamma), or multiply(diff, multiply(1/std, gamma))
  bool matchScaled(NodeId scaled, NodeId beta) {
    std::optional<Operands2> product = asBinary(module_, scaled, ops::multiply);
    if (!product || module_.type(scaled) != module_.type(root_))
      return false;
    beta_ = beta;
    for (auto [a, b] : {*product, Operands2{product->second, product->first}}) {
      if (matchNormal(a) && acceptsVectors(b))
        return true;
      std::optional<Operands2> factor = asBinary(module_, b, ops::multiply);
      if (!factor || !matchDifference(a))
        continue;
      for (auto [inverse, gamma] : {*factor, Operands2{factor->second, factor->first}})
        if (matchInverse(inverse) && acceptsVectors(gamma))
          return true;
    }
    return false;
  }

  // diff / std or diff * (1 / std)
  bool matchNormal(NodeId node) {
    if (std::optional<Operands2> quotient = asBinary(module_, node, ops::divide))
      return matchDifference(quotient->first) && matchRoot(quotient->second);
    std::optional<Operands2> product = asBinary(module_, node, ops::multiply);
    return product && ((matchDifference(product->first) && matchInverse(product->second)) ||
                       (matchDifference(product->second) && matchInverse(product->first)));
  }

  // x - mean(x): sets x_ and axis_
  bool matchDifference(NodeId node) {
    std::optional<Operands2> difference = asBinary(module_, node, ops::subtract);
    if (!difference)
      return false;
    x_ = difference->first;
    std::optional<int64_t> axis = meanAxis(difference->second, x_);
    axis_ = axis.value_or(-1);
    return axis && module_.types.isStatic(module_.type(x_)) &&
           isFloat(module_.types.dtype(module_.type(x_)));
  }

  // The axis of mean(of, axis, keepdims=True).
  std::optional<int64_t> meanAxis(NodeId node, NodeId of) const {
    std::optional<NodeId> operand = asUnary(module_, node, ops::mean);
    if (!operand || *operand != of)
      return std::nullopt;
    return reducedAxis(node, of);
  }
  std::optional<int64_t> reducedAxis(NodeId node, NodeId of) const {
    const AttrValue *keep = module_.attr(node, "keepdims"),
                    *exclude = module_.attr(node, "exclude");
    std::vector<int64_t> axes = intsAttr(module_, node, "axis");
    if (!keep || !keep->isBool() || !keep->asBool() ||
        (exclude && exclude->isBool() && exclude->asBool()) || axes.size() != 1)
      return std::nullopt;
    std::optional<size_t> axis = normalizedAxis(axes[0], shape(of).size());
    return axis ? std::optional(static_cast<int64_t>(*axis)) : std::nullopt;
  }

  // 1 / sqrt(variance + epsilon)
  bool matchInverse(NodeId node) {
    if (std::optional<NodeId> sum = asUnary(module_, node, ops::rsqrt))
      return matchSum(*sum);
    if (std::optional<Operands2> quotient = asBinary(module_, node, ops::divide)) {
      std::optional<double> one = uniformValue(module_, quotient->first);
      return one && *one == 1 && matchRoot(quotient->second);
    }
    std::optional<Operands2> power = asBinary(module_, node, ops::power);
    return power && uniformValue(module_, power->second) == -0.5 && matchSum(power->first);
  }

  // sqrt(variance + epsilon)
  bool matchRoot(NodeId node) {
    if (std::optional<NodeId> sum = asUnary(module_, node, ops::sqrt))
      return matchSum(*sum);
    std::optional<Operands2> power = asBinary(module_, node, ops::power);
    return power && uniformValue(module_, power->second) == 0.5 && matchSum(power->first);
  }

  bool matchSum(NodeId node) {
    std::optional<WithConstant> sum = asWithConstant(module_, node, ops::add);
    if (!sum || !(sum->value >= 0) || std::isinf(sum->value))
      return false;
    // As a decimal number: 1e-12, not what float32 makes of it.
    epsilon_ = parseDouble(formatFloat(static_cast<float>(sum->value))).value_or(sum->value);
    return matchVariance(sum->node);
  }

  // mean((x - mean)^2), or variance(x, mean)
  bool matchVariance(NodeId node) {
    if (module_.isOp(node, ops::variance)) {
      const AttrValue *unbiased = module_.attr(node, "unbiased");
      return module_.operands(node)[0] == x_ && (!unbiased || !unbiased->asBool()) &&
             meanAxis(module_.operands(node)[1], x_) == axis_ && reducedAxis(node, x_) == axis_;
    }
    std::optional<NodeId> squares = asUnary(module_, node, ops::mean);
    if (!squares || reducedAxis(node, *squares) != axis_)
      return false;
    NodeId difference;
    if (std::optional<Operands2> power = asBinary(module_, *squares, ops::power)) {
      if (uniformValue(module_, power->second) != 2.0)
        return false;
      difference = power->first;
    } else {
      std::optional<Operands2> product = asBinary(module_, *squares, ops::multiply);
      if (!product || product->first != product->second)
        return false;
      difference = product->first;
    }
    std::optional<Operands2> parts = asBinary(module_, difference, ops::subtract);
    return parts && parts->first == x_ && meanAxis(parts->second, x_) == axis_;
  }

  // Gamma and beta hold one number per element of the axis.
  bool acceptsVectors(NodeId gamma) {
    gamma_ = gamma;
    return isVector(gamma_) && isVector(beta_) && module_.type(root_) == module_.type(x_);
  }
  bool isVector(NodeId node) const {
    return module_.types.isTensor(module_.type(node)) && shape(node).size() >= 1 &&
           isAlongAxis(shape(node), shape(x_), static_cast<size_t>(axis_));
  }

  Expected<NodeId> asVector(Builder &builder, NodeId node) const {
    Dim count = shape(x_)[axis_];
    if (shape(node).size() == 1)
      return node;
    if (module_.isConstant(node))
      return reshapeConstant(module_, node, {&count, 1});
    return makeReshape(builder, node, {&count, 1});
  }

  // The last axis in the default's spelling.
  int64_t storedAxis() const {
    return axis_ + 1 == static_cast<int64_t>(shape(x_).size()) ? -1 : axis_;
  }

  Module &module_;
  NodeId root_;
  NodeId x_, gamma_, beta_;
  int64_t axis_ = -1;
  double epsilon_ = 0;
};

} // namespace

Expected<bool> recognizeLayerNorm(Module &module, PassContext &) {
  return rewriteOpenBlocks(module, [&](NodeId node, Builder &builder) -> Expected<NodeId> {
    LayerNorm norm(module, node);
    return norm.match() ? norm.build(builder) : Expected<NodeId>(node);
  });
}

} // namespace bycc
