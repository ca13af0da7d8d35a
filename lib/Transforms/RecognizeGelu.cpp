// Writes every spelling of the erf form of gelu in one:
//
//   multiply(multiply(x, 0.5), add(erf(multiply(x, 0.70710678)), 1))
//
// which is what vendors' patterns then look for. There is no gelu operator in
// Relay. Found are products of x, a half and 1 + erf(x / sqrt 2) in any order and
// association: (x * g) * 0.5, x * (g * 0.5), (0.5 * x) * g, (x * g) / 2, with g =
// erf(u) + 1 or 1 + erf(u), u = x / 1.41421356 or x * 0.70710678, and
// x * (0.5 + 0.5 * erf(u)). All three constants are checked to 1e-5; other values
// are another function.
#include "Recognize.h"
#include "Scopes.h"
#include "bycc/Transforms/Passes.h"

namespace bycc {
namespace {

const double rootHalf = std::sqrt(0.5);

class Gelu {
public:
  Gelu(Module &module, NodeId root) : module_(module), root_(root) {}

  bool match() {
    if (!module_.types.isTensor(module_.type(root_)) ||
        !isFloat(module_.types.dtype(module_.type(root_))))
      return false;
    collect(root_, 0);
    if (factors_.size() != 2)
      return false;
    for (int gate = 0; gate < 2; ++gate) {
      x_ = factors_[1 - gate];
      double factor = factor_;
      if (module_.type(x_) == module_.type(root_) && matchGate(factors_[gate], factor) &&
          isClose(factor, 0.5))
        return !isCanonical(factors_[gate]);
    }
    return false;
  }

  Expected<NodeId> build(Builder &builder) const {
    builder.setSource(module_.node(root_).source);
    DType dtype = module_.types.dtype(module_.type(root_));
    NodeId scaled = BYCC_TRY(builder.call(ops::multiply, {x_, module_.addScalar(dtype, rootHalf)}));
    NodeId erf = BYCC_TRY(builder.call(ops::erf, {scaled}));
    NodeId gate = BYCC_TRY(builder.call(ops::add, {erf, module_.addScalar(dtype, 1)}));
    NodeId half = BYCC_TRY(builder.call(ops::multiply, {x_, module_.addScalar(dtype, 0.5)}));
    return builder.call(ops::multiply, {half, gate});
  }

private:
  // Splits a product into its factors that are no uniform constants, and the
  // product of those that are.
  void collect(NodeId node, int depth) {
    constexpr int maxDepth = 3;
    std::optional<Operands2> product = asBinary(module_, node, ops::multiply);
    if (product && depth < maxDepth) {
      collect(product->first, depth + 1);
      collect(product->second, depth + 1);
      return;
    }
    std::optional<Operands2> quotient = asBinary(module_, node, ops::divide);
    if (quotient && depth < maxDepth) {
      if (std::optional<double> divisor = uniformValue(module_, quotient->second)) {
        factor_ /= *divisor;
        collect(quotient->first, depth + 1);
        return;
      }
    }
    if (std::optional<double> value = uniformValue(module_, node))
      factor_ *= *value;
    else
      factors_.push_back(node);
  }

  // 1 + erf(u), or c + c * erf(u), which adds c to the factors.
  bool matchGate(NodeId node, double &factor) const {
    std::optional<WithConstant> sum = asWithConstant(module_, node, ops::add);
    if (!sum)
      return false;
    if (std::optional<NodeId> inner = asUnary(module_, sum->node, ops::erf))
      return isClose(sum->value, 1) && isScaledInput(*inner);
    std::optional<WithConstant> product = asWithConstant(module_, sum->node, ops::multiply);
    std::optional<NodeId> inner =
        product ? asUnary(module_, product->node, ops::erf) : std::nullopt;
    if (!inner || !isClose(product->value, sum->value))
      return false;
    factor *= sum->value;
    return isScaledInput(*inner);
  }

  // x * sqrt(1/2) or x / sqrt(2)
  bool isScaledInput(NodeId node) const {
    if (std::optional<WithConstant> product = asWithConstant(module_, node, ops::multiply))
      return product->node == x_ && isClose(product->value, rootHalf);
    std::optional<Operands2> quotient = asBinary(module_, node, ops::divide);
    if (!quotient || quotient->first != x_)
      return false;
    std::optional<double> divisor = uniformValue(module_, quotient->second);
    return divisor && isClose(*divisor, std::sqrt(2.0));
  }

  // A constant as second operand.
  NodeId firstBeforeConstant(NodeId node, OpId op) const {
    std::optional<Operands2> operands = asBinary(module_, node, op);
    return operands && uniformValue(module_, operands->second) ? operands->first : NodeId();
  }
  bool isCanonical(NodeId gate) const {
    std::optional<Operands2> root = asBinary(module_, root_, ops::multiply);
    if (!root || root->second != gate || firstBeforeConstant(root->first, ops::multiply) != x_)
      return false;
    NodeId erf = firstBeforeConstant(gate, ops::add);
    return erf && module_.isOp(erf, ops::erf) &&
           firstBeforeConstant(module_.operands(erf)[0], ops::multiply) == x_;
  }

  Module &module_;
  NodeId root_, x_;
  std::vector<NodeId> factors_;
  double factor_ = 1;
};

} // namespace

Expected<bool> recognizeGelu(Module &module, PassContext &) {
  return rewriteOpenBlocks(module, [&](NodeId node, Builder &builder) -> Expected<NodeId> {
    if (!module.isOp(node, ops::multiply) && !module.isOp(node, ops::divide))
      return node;
    Gelu gelu(module, node);
    return gelu.match() ? gelu.build(builder) : Expected<NodeId>(node);
  });
}

} // namespace bycc
