// See Usage.h.
#include "Usage.h"

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

} // namespace bycc::onednn
