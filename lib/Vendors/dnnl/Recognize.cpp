// All are products: the factors of the (nested) multiply at the root, and divisors that
// are constants, are collected, then compared with the forms
//
//   gelu   x * k * (a*erf(u) + b)      k*a = k*b = 1/2, u = x / sqrt(2); or with tanh, and
//                                      u = sqrt(2/pi) * (x + 0.044715*x^3) in whatever spelling
//   swish  x * sigmoid(x)
//   mish   x * tanh(log(exp(x) + 1))
//   hard   x * k * clip(a*x + b, 0, c)      k*a = 1/6, k*b = 1/2, k*c = 1
#include "Recognize.h"

#include "bycc/Support/Cubic.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace bycc::onednn {

namespace {

class Recognizer {
public:
  Recognizer(const bycc_region &region, const vendor::Uses &uses) : region_(region), uses_(uses) {}

  std::optional<Activation> at(uint32_t root) {
    if (!isProduct(root))
      return std::nullopt;
    bool isNarrow =
        bycc_value_at(&region_, bycc_node_at(&region_, root)->outputs[0])->dtype == BYCC_BFLOAT16;
    tolerance_ = isNarrow ? 0x1p-8 : 1e-5;
    collectFactors(root, 0);
    if (factors_.size() != 2)
      return std::nullopt;
    for (size_t i = 0; i < 2; ++i)
      if (std::optional<Math> math = match(factors_[i], factors_[1 - i])) {
        if (!isClosed(root))
          return std::nullopt;
        std::sort(nodes_.begin(), nodes_.end());
        nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
        return Activation{*math, factors_[i], nodes_};
      }
    return std::nullopt;
  }

private:
  bool isNear(double a, double b) const { return std::fabs(a - b) <= tolerance_ * std::fabs(b); }
  bool isOp(uint32_t node, const char *op) const {
    return !std::strcmp(bycc_node_at(&region_, node)->op, op) &&
           bycc_node_at(&region_, node)->num_outputs == 1;
  }
  std::optional<double> scalar(uint32_t value) const {
    return scalarOf(*bycc_value_at(&region_, value));
  }

  bool isDivision(uint32_t node) const {
    return isOp(node, "divide") && scalar(bycc_node_at(&region_, node)->inputs[1]).value_or(0) != 0;
  }
  bool isProduct(uint32_t node) const { return isOp(node, "multiply") || isDivision(node); }

  void collectFactors(uint32_t node, int depth) {
    nodes_.push_back(node);
    bool isQuotient = isDivision(node);
    if (isQuotient)
      product_ /= *scalar(bycc_node_at(&region_, node)->inputs[1]);
    for (uint32_t i = 0; i < (isQuotient ? 1 : bycc_node_at(&region_, node)->num_inputs); ++i) {
      uint32_t value = bycc_node_at(&region_, node)->inputs[i];
      uint32_t maker = uses_.maker[value];
      if (std::optional<double> constant = scalar(value))
        product_ *= *constant;
      else if (maker != vendor::none && isProduct(maker) && uses_.reads[value] == 1 && depth < 4)
        collectFactors(maker, depth + 1);
      else
        factors_.push_back(value);
    }
  }

  // The node that makes `value` when it is this operator; it then belongs to us.
  const bycc_node *take(uint32_t value, const char *op) {
    uint32_t maker = uses_.maker[value];
    if (maker == vendor::none || !isOp(maker, op))
      return nullptr;
    nodes_.push_back(maker);
    return bycc_node_at(&region_, maker);
  }

  // op(other, constant) in either order: the other, and the constant.
  std::optional<std::pair<uint32_t, double>> takeWithScalar(uint32_t value, const char *op,
                                                            bool isCommutative) {
    const bycc_node *node = take(value, op);
    if (!node || node->num_inputs != 2)
      return std::nullopt;
    if (std::optional<double> right = scalar(node->inputs[1]))
      return std::pair(node->inputs[0], *right);
    if (std::optional<double> left = scalar(node->inputs[0]); left && isCommutative)
      return std::pair(node->inputs[1], *left);
    return std::nullopt;
  }

  std::optional<Math> match(uint32_t x, uint32_t gate) {
    std::vector<uint32_t> saved = nodes_;
    for (auto [math, form] : {std::pair(Math::Gelu, &exactGelu), {Math::GeluTanh, &tanhGelu}}) {
      if (matchGelu(x, gate, *form))
        return math;
      nodes_ = saved;
    }
    if (matchHardSwish(x, gate))
      return Math::HardSwish;
    nodes_ = saved;
    if (isNear(product_, 1.0)) {
      if (const bycc_node *sigmoid = take(gate, "sigmoid"); sigmoid && sigmoid->inputs[0] == x)
        return Math::Swish;
      nodes_ = saved;
      if (matchMish(x, gate))
        return Math::Mish;
      nodes_ = saved;
    }
    return std::nullopt;
  }

  // What a value is as a polynomial in x; the nodes between are taken.
  std::optional<Cubic> takeCubic(uint32_t value, uint32_t x, int depth) {
    constexpr int maxDepth = 7;
    if (value == x)
      return Cubic{0, 1, 0, 0};
    if (std::optional<double> number = scalar(value))
      return Cubic{*number};
    uint32_t maker = uses_.maker[value];
    if (maker == vendor::none || depth == maxDepth)
      return std::nullopt;
    const bycc_node *node = bycc_node_at(&region_, maker);
    if (node->num_inputs != 2 || node->num_outputs != 1)
      return std::nullopt;
    nodes_.push_back(maker);
    std::optional<Cubic> a = takeCubic(node->inputs[0], x, depth + 1);
    std::optional<Cubic> b = a ? takeCubic(node->inputs[1], x, depth + 1) : std::nullopt;
    return b ? combineCubics(node->op, *a, *b) : std::nullopt;
  }

  bool matchGelu(uint32_t x, uint32_t gate, const GeluForm &form) {
    auto sum = takeWithScalar(gate, "add", true);
    if (!sum)
      return false;
    double scale = 1.0;
    uint32_t inner = sum->first;
    std::vector<uint32_t> saved = nodes_;
    if (auto scaled = takeWithScalar(inner, "multiply", true)) {
      inner = scaled->first;
      scale = scaled->second;
    } else {
      nodes_ = saved;
    }
    const bycc_node *call = take(inner, form.gate.data());
    if (!call || !isNear(product_ * scale, 0.5) || !isNear(product_ * sum->second, 0.5))
      return false;
    std::optional<Cubic> found = takeCubic(call->inputs[0], x, 0);
    return found && bycc::isNear(*found, form.inner, tolerance_);
  }

  // a * other + b, where each of the two may be missing; the factors too are nodes taken.
  struct Line {
    uint32_t other;
    double slope = 1, shift = 0;
  };
  Line takeLine(uint32_t value) {
    Line line{value};
    std::vector<uint32_t> saved = nodes_;
    if (auto sum = takeWithScalar(value, "add", true))
      line.other = sum->first, line.shift = sum->second;
    else
      nodes_ = saved;
    saved = nodes_;
    if (auto scaled = takeWithScalar(line.other, "multiply", true)) {
      line.other = scaled->first, line.slope = scaled->second;
      return line;
    }
    nodes_ = saved;
    if (auto divided = takeWithScalar(line.other, "divide", false))
      line.other = divided->first, line.slope = 1 / divided->second;
    else
      nodes_ = saved;
    return line;
  }

  bool matchHardSwish(uint32_t x, uint32_t gate) {
    const bycc_node *clip = take(gate, "clip");
    if (!clip || !isReal(static_cast<DType>(bycc_value_at(&region_, x)->dtype)))
      return false;
    vendor::Attributes bounds(clip->attrs, clip->num_attrs);
    Line line = takeLine(clip->inputs[0]);
    return line.other == x && bounds.number("a_min", -1) == 0 &&
           isNear(product_ * bounds.number("a_max", 0), 1.0) &&
           isNear(product_ * line.slope, 1.0 / 6) && isNear(product_ * line.shift, 0.5);
  }

  bool matchMish(uint32_t x, uint32_t gate) {
    const bycc_node *tanh = take(gate, "tanh");
    const bycc_node *log = tanh ? take(tanh->inputs[0], "log") : nullptr;
    if (!log)
      return false;
    auto sum = takeWithScalar(log->inputs[0], "add", true);
    if (!sum || !isNear(sum->second, 1.0))
      return false;
    const bycc_node *exp = take(sum->first, "exp");
    return exp && exp->inputs[0] == x;
  }

  // Inner results are used only inside.
  bool isClosed(uint32_t root) const {
    std::vector<uint32_t> nodes = nodes_;
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (uint32_t n : nodes) {
      if (n == root)
        continue;
      uint32_t result = bycc_node_at(&region_, n)->outputs[0], inside = 0;
      for (uint32_t user : nodes)
        for (uint32_t i = 0; i < bycc_node_at(&region_, user)->num_inputs; ++i)
          inside += bycc_node_at(&region_, user)->inputs[i] == result;
      if (inside != uses_.reads[result])
        return false;
    }
    return true;
  }

  const bycc_region &region_;
  const vendor::Uses &uses_;
  double tolerance_ = 0; // of constants, as their dtype rounds them
  double product_ = 1.0;
  std::vector<uint32_t> factors_; // values, constants left out
  std::vector<uint32_t> nodes_;
};

} // namespace

std::optional<Activation> recognizeActivation(const bycc_region &region, const vendor::Uses &uses,
                                              uint32_t root) {
  return Recognizer(region, uses).at(root);
}

} // namespace bycc::onednn
