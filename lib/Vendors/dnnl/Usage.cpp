// See Usage.h.
#include "Usage.h"

#include <algorithm>
#include <numeric>

namespace bycc::onednn {

Usage::Usage(const Plan &plan)
    : root(plan.values.size()), lastUse(plan.values.size(), 0), userCount(plan.values.size(), 0),
      onlyUser(plan.values.size(), never), isConstant(plan.values.size()),
      maker(plan.values.size(), never) {
  std::iota(root.begin(), root.end(), 0);
  for (size_t i = 0; i < plan.values.size(); ++i)
    isConstant[i] = plan.values[i].kind == ValueKind::Constant;
  for (uint32_t s = 0; s < plan.steps.size(); ++s) {
    const Step &step = plan.steps[s];
    auto use = [&](ValueId id) {
      ++userCount[id];
      onlyUser[id] = s;
      lastUse[root[id]] = s;
    };
    for (ValueId id : step.inputs)
      use(id);
    for (const PostOp &postOp : step.postOps)
      if (postOp.operand != noValue)
        use(postOp.operand);
    maker[step.output] = s;
    if (isView(step.kind))
      root[step.output] = root[step.inputs[0]];
    if (isView(step.kind) || step.kind == StepKind::Convert)
      isConstant[step.output] = isConstant[step.inputs[0]];
  }
  for (ValueId id : plan.outputs) {
    ++userCount[id];
    onlyUser[id] = never;
    lastUse[root[id]] = never;
  }
}

double arithmeticOf(const Plan &plan, const Step &step) {
  auto elements = [&](ValueId id) {
    return static_cast<double>(numElements(plan.values[id].dims));
  };
  const Dims &in = plan.values[step.inputs[0]].dims, &out = plan.values[step.output].dims;
  switch (step.kind) {
  case StepKind::Conv: // each result: one output channel's weights
    return 2 * elements(step.output) * elements(step.inputs[1]) / static_cast<double>(out[1]);
  case StepKind::Deconv: // each operand element: one input channel's weights
    return 2 * elements(step.inputs[0]) * elements(step.inputs[1]) / static_cast<double>(in[1]);
  case StepKind::MatMul:
    return 2 * elements(step.output) * static_cast<double>(in.back());
  case StepKind::Pool:
    return elements(step.output) * static_cast<double>(numElements(step.kernel));
  case StepKind::Concat:
    return 0;
  default:
    return elements(step.inputs[0]);
  }
}

void dropUnusedSteps(Plan &plan) {
  std::vector<bool> isUsed(plan.values.size());
  for (ValueId id : plan.outputs)
    isUsed[id] = true;
  std::vector<Step> kept; // last first
  for (size_t i = plan.steps.size(); i-- > 0;) {
    Step &step = plan.steps[i];
    if (!isUsed[step.output])
      continue;
    for (ValueId id : step.inputs)
      isUsed[id] = true;
    for (const PostOp &postOp : step.postOps)
      if (postOp.operand != noValue)
        isUsed[postOp.operand] = true;
    kept.push_back(std::move(step));
  }
  std::reverse(kept.begin(), kept.end());
  plan.steps = std::move(kept);
}

size_t numComputeSteps(const Plan &plan) {
  Usage usage(plan);
  return static_cast<size_t>(
      std::count_if(plan.steps.begin(), plan.steps.end(), [&](const Step &step) {
        return !isView(step.kind) && !usage.isConstant[step.output];
      }));
}

} // namespace bycc::onednn
