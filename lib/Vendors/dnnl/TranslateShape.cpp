// Casts, and operators that move no element or only move elements: views, which become
// copies where the run half finds that layouts force it, and concatenation.
#include "Translate.h"

#include <cmath>

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

// Between float32 and bfloat16.
Expected<ValueId> cast(PlanBuilder &plan, const Call &call) {
  DType from = plan.dtype(call.inputs[0]), to = call.resultDType;
  if (from == to)
    return call.inputs[0];
  if (!isReal(from) || !isReal(to))
    return error(Status::Unsup) << "cast from " << name(from) << " to " << name(to)
                                << " is not supported";
  Step step;
  step.kind = StepKind::Convert;
  step.inputs = {call.inputs[0]};
  return plan.addStep(std::move(step), call.result, to);
}

// Only as part of the convolution that follows (Fuse.h).
Expected<ValueId> pad(PlanBuilder &plan, const Call &call) {
  if (call.node.string("pad_mode", "constant") != "constant")
    return error(Status::Unsup) << "nn.pad in a mode other than constant";
  const Dims data = plan.dims(call.inputs[0]);
  std::optional<std::vector<int64_t>> zero = integersOf(call.value(1));
  std::optional<double> real = call.scalar(1);
  Step step;
  step.kind = StepKind::Pad;
  if (real && *real == std::floor(*real) && std::fabs(*real) < 256)
    step.zeroOut = static_cast<int32_t>(*real);
  else if (zero && zero->size() == 1)
    step.zeroOut = static_cast<int32_t>(zero->front());
  else
    return error(Status::Unsup) << "nn.pad with a value that is no whole constant";
  BYCC_TRY(call.node.pairs("pad_width", data.size(), step.padBegin, step.padEnd));
  step.inputs = {call.inputs[0]};
  return plan.addStep(std::move(step), call.result);
}

} // namespace

std::vector<Operator> shapeOperators() {
  return {
      {"cast", 1, 1, cast, Takes::Mixed},
      {"concatenate", 1, 1024, concatenate, Takes::FloatOr8Bit},
      {"expand_dims", 1, 1, asReshape, Takes::Any},
      {"nn.batch_flatten", 1, 1, asReshape, Takes::Any},
      {"nn.pad", 2, 2, pad, Takes::Mixed},
      {"reshape", 1, 1, asReshape, Takes::Any},
      {"squeeze", 1, 1, asReshape, Takes::Any},
      {"transpose", 1, 1, transpose, Takes::Any},
  };
}

} // namespace bycc::onednn
