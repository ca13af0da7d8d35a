// See Claim.h.
#include "Claim.h"

#include "Usage.h"

#include <algorithm>
#include <iterator>

namespace bycc::onednn {

namespace {

// "nn.conv2d" is conv2d, "nn.conv2d_transpose" deconv2d.
std::string productOf(vendor::Region body) {
  for (vendor::Node node : body.nodes()) {
    std::string op(node.op().substr(node.op().rfind('.') + 1));
    if (op.starts_with("conv") && op.ends_with("_transpose"))
      return "de" + op.substr(0, op.rfind('_'));
    if (op.starts_with("conv") || op == "dense" || op.ends_with("matmul"))
      return op;
  }
  return "product";
}

const char *nameOf(Math math) {
  constexpr const char *names[] = {"none",      "relu",  "clip", "linear",     "pow",     "abs",
                                   "exp",       "log",   "sqrt", "tanh",       "sigmoid", "gelu",
                                   "gelu_tanh", "swish", "mish", "hard_swish", "round",   "clip",
                                   "add",       "sub",   "mul",  "div",        "max",     "min"};
  static_assert(std::size(names) == static_cast<size_t>(Math::Min) + 1);
  return names[static_cast<size_t>(math)];
}

std::string nameOfOperand(const Plan &plan, const Step &step, const PostOp &postOp) {
  const Dims &operand = plan.values[postOp.operand].dims;
  if (postOp.math == Math::Add)
    return operand == plan.values[step.output].dims ? "sum" : "add";
  bool isFactor = postOp.math == Math::Mul || postOp.math == Math::Div;
  return isFactor && numElements(operand) == 1 ? "scale" : nameOf(postOp.math);
}

std::string nameOf(const Plan &plan, const Step &step, const PostOp &postOp) {
  if (postOp.operand != noValue)
    return nameOfOperand(plan, step, postOp);
  if (postOp.math == Math::Relu && postOp.alpha != 0)
    return "leaky_relu";
  if (postOp.math == Math::Linear && postOp.beta == 0)
    return "scale";
  return nameOf(postOp.math);
}

} // namespace

std::string refusalOfComposite(const Plan &plan) {
  if (numComputeSteps(plan) == 1)
    return "";
  std::string kinds;
  for (const Step &step : plan.steps)
    if (!isView(step.kind))
      kinds += std::string(kinds.empty() ? "" : ", ") + name(step.kind);
  return "oneDNN has no single primitive for this group, it takes " + kinds;
}

std::string nameOfComposite(vendor::Node composite, const Plan &plan) {
  auto step = std::find_if(plan.steps.begin(), plan.steps.end(),
                           [](const Step &each) { return isProduct(each.kind); });
  if (step == plan.steps.end() || (!step->hasBias && step->postOps.empty()))
    throw vendor::Refusal("nothing in this group becomes a part of a product");
  std::string text = "dnnl." + productOf(composite.body()) + (step->hasBias ? "_bias" : "");
  for (const PostOp &postOp : step->postOps)
    text += "_" + nameOf(plan, *step, postOp);
  return text;
}

} // namespace bycc::onednn
