// Writes every spelling of gelu in one, that of its exact form and that of its
// approximation each:
//
//   multiply(multiply(x, 0.5), add(erf(multiply(x, 0.70710678)), 1))
//   multiply(multiply(x, 0.5), add(tanh(multiply(x, add(multiply(multiply(x, x), 0.035677408), 0.79788456))), 1))
//
// which is what vendors' patterns then look for. There is no gelu operator in
// Relay. Found are products of x, a half and 1 + g(u) in any order and
// association: (x * g) * 0.5, x * (g * 0.5), (0.5 * x) * g, (x * g) / 2, with g =
// erf(u) + 1 or 1 + erf(u), and x * (0.5 + 0.5 * erf(u)). u is a polynomial in x, in
// whatever way it is computed: x / sqrt 2 under erf, sqrt(2 / pi) * (x + 0.044715 * x^3) under
// tanh. All constants are checked to 1e-5, those of narrow types to what these
// hold; other values are another function.
#include "Recognize.h"
#include "Scopes.h"
#include "bycc/IR/Op.h"
#include "bycc/Support/Cubic.h"
#include "bycc/Transforms/Passes.h"

#include <cmath>

namespace bycc {
namespace {

class Gelu {
public:
  Gelu(Module &module, NodeId root) : module_(module), root_(root) {}

  bool match() {
    if (!module_.types.isTensor(module_.type(root_)) ||
        !isFloat(module_.types.dtype(module_.type(root_))))
      return false;
    DType dtype = module_.types.dtype(module_.type(root_));
    tolerance_ = dtype == DType::Float16 ? 2e-3 : dtype == DType::BFloat16 ? 0x1p-7 : 1e-5;
    collect(root_, 0);
    if (factors_.size() != 2)
      return false;
    for (int gate = 0; gate < 2; ++gate) {
      x_ = factors_[1 - gate];
      double factor = factor_;
      if (module_.type(x_) == module_.type(root_) && matchGate(factors_[gate], factor) &&
          isNear(factor, 0.5))
        return !isCanonical(factors_[gate]);
    }
    return false;
  }

  Expected<NodeId> build(Builder &builder) const {
    builder.setSource(module_.node(root_).source);
    DType dtype = module_.types.dtype(module_.type(root_));
    auto scalar = [&](double value) { return module_.addScalar(dtype, value); };
    NodeId factor = scalar(form_->inner[1]);
    if (form_ == &tanhGelu) {
      NodeId square = BYCC_TRY(builder.call(ops::multiply, {x_, x_}));
      NodeId bent = BYCC_TRY(builder.call(ops::multiply, {square, scalar(form_->inner[3])}));
      factor = BYCC_TRY(builder.call(ops::add, {bent, factor}));
    }
    NodeId inner = BYCC_TRY(builder.call(ops::multiply, {x_, factor}));
    NodeId gate = BYCC_TRY(builder.call(form_ == &exactGelu ? ops::erf : ops::tanh, {inner}));
    NodeId sum = BYCC_TRY(builder.call(ops::add, {gate, scalar(1)}));
    NodeId half = BYCC_TRY(builder.call(ops::multiply, {x_, scalar(0.5)}));
    return builder.call(ops::multiply, {half, sum});
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

  // Exporters write constants with 5 to 17 digits; what is meant must be clear.
  bool isNear(double value, double wanted) const {
    return std::abs(value - wanted) <= tolerance_ * std::abs(wanted);
  }

  // 1 + g(u), or c + c * g(u), which adds c to the factors.
  bool matchGate(NodeId node, double &factor) {
    std::optional<WithConstant> sum = asWithConstant(module_, node, ops::add);
    if (!sum)
      return false;
    if (matchForm(sum->node))
      return isNear(sum->value, 1);
    std::optional<WithConstant> product = asWithConstant(module_, sum->node, ops::multiply);
    if (!product || !isNear(product->value, sum->value))
      return false;
    factor *= sum->value;
    return matchForm(product->node);
  }

  bool matchForm(NodeId gate) {
    bool isErf = module_.isOp(gate, ops::erf);
    if (!isErf && !module_.isOp(gate, ops::tanh))
      return false;
    form_ = isErf ? &exactGelu : &tanhGelu;
    std::optional<Cubic> inner = cubicOf(module_.operands(gate)[0], 0);
    return inner && bycc::isNear(*inner, form_->inner, tolerance_);
  }

  // What `node` is as a polynomial in x.
  std::optional<Cubic> cubicOf(NodeId node, int depth) const {
    constexpr int maxDepth = 7;
    if (node == x_)
      return Cubic{0, 1, 0, 0};
    if (std::optional<double> value = uniformValue(module_, node))
      return Cubic{*value};
    if (module_.node(node).kind != NodeKind::CallOp || module_.operands(node).size() != 2 ||
        depth == maxDepth)
      return std::nullopt;
    std::optional<Cubic> a = cubicOf(module_.operands(node)[0], depth + 1);
    std::optional<Cubic> b = a ? cubicOf(module_.operands(node)[1], depth + 1) : std::nullopt;
    return b ? combineCubics(opInfo(module_.node(node).op).name, *a, *b) : std::nullopt;
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
    NodeId call = firstBeforeConstant(gate, ops::add);
    if (!call)
      return false;
    std::optional<Operands2> inner = asBinary(module_, module_.operands(call)[0], ops::multiply);
    return inner && inner->first == x_ && isCanonicalFactor(inner->second);
  }
  bool isCanonicalFactor(NodeId factor) const {
    if (form_ == &exactGelu)
      return uniformValue(module_, factor).has_value();
    NodeId bent = firstBeforeConstant(factor, ops::add);
    NodeId square = bent ? firstBeforeConstant(bent, ops::multiply) : NodeId();
    std::optional<Operands2> both =
        square ? asBinary(module_, square, ops::multiply) : std::nullopt;
    return both && both->first == x_ && both->second == x_;
  }

  Module &module_;
  NodeId root_, x_;
  std::vector<NodeId> factors_;
  double factor_ = 1, tolerance_ = 0;
  const GeluForm *form_ = nullptr;
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
