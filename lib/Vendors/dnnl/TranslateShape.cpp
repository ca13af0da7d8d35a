// Operators that move no element or only move elements: views, which become
// copies where the run half finds that layouts force it, and concatenation.
#include "Translate.h"

namespace bycc::onednn {

namespace {

// All of these say their result's extents in the graph already.
Expected<ValueId> asReshape(PlanBuilder &plan, const Call &call) {
  if (numElements(plan.dims(call.inputs[0])) != numElements(call.result))
    return error(Status::Unsup) << text(plan.dims(call.inputs[0])) << " does not reshape to "
                                << text(call.result);
  return plan.reshape(call.inputs[0], call.result);
}

Expected<ValueId> transpose(PlanBuilder &plan, const Call &call) {
  size_t rank = plan.dims(call.inputs[0]).size();
  Dims permutation;
  if (std::optional<Dims> axes = call.node.integers("axes"); axes && !axes->empty())
    for (int64_t axis : *axes)
      permutation.push_back(BYCC_TRY(axisOf(axis, rank)));
  else
    for (size_t i = rank; i-- > 0;)
      permutation.push_back(static_cast<int64_t>(i));
  uint64_t seen = 0;
  for (int64_t axis : permutation)
    seen |= uint64_t{1} << axis;
  if (permutation.size() != rank || seen != (uint64_t{1} << rank) - 1)
    return error(Status::Unsup) << "axes " << text(permutation) << " are no permutation";
  return plan.permute(call.inputs[0], permutation);
}

Expected<ValueId> concatenate(PlanBuilder &plan, const Call &call) {
  Step step;
  step.kind = StepKind::Concat;
  step.axis = BYCC_TRY(axisOf(call.node.integer("axis", 0), call.result.size()));
  step.inputs = call.inputs;
  if (step.inputs.size() == 1)
    return step.inputs[0];
  return plan.addStep(std::move(step), call.result);
}

} // namespace

std::vector<Operator> shapeOperators() {
  return {
      {"concatenate", 1, 1024, concatenate},
      {"expand_dims", 1, 1, asReshape},
      {"nn.batch_flatten", 1, 1, asReshape},
      {"reshape", 1, 1, asReshape},
      {"squeeze", 1, 1, asReshape},
      {"transpose", 1, 1, transpose},
  };
}

} // namespace bycc::onednn
