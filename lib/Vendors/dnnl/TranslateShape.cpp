// Casts, and operators that move no element or only move elements: views, which become
// copies where the run half finds that layouts force it, and concatenation.
#include "Translate.h"

#include <algorithm>
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
  if (Dims axes = call.node.integers("axes", {}); !axes.empty())
    for (int64_t axis : axes)
      permutation.push_back(vendor::axisOf(axis, rank));
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

// ---- parts ----

// One of the pieces of equal length, or those between cuts.
Expected<ValueId> split(PlanBuilder &plan, const Call &call) {
  Dims from = plan.dims(call.inputs[0]), begin(from.size(), 0);
  uint32_t axis = vendor::axisOf(call.node.integer("axis", 0), from.size());
  Dims cuts = call.node.integers("indices_or_sections");
  bool isEven = call.node.find("indices_or_sections")->kind == BYCC_ATTR_INT;
  if (call.part > 0)
    begin[axis] = isEven ? call.part * call.result[axis] : cuts.at(call.part - 1);
  return plan.slice(call.inputs[0], begin, {}, call.result);
}

Expected<ValueId> stridedSlice(PlanBuilder &plan, const Call &call) {
  Dims from = plan.dims(call.inputs[0]), begin(from.size(), 0), steps(from.size(), 1);
  Dims wanted = call.node.integers("begin", {}), axes = call.node.integers("axes", {});
  Dims strides = call.node.integers("strides", {});
  size_t count = std::min(wanted.size(), from.size());
  for (size_t i = 0; i < count; ++i) {
    size_t axis = i < axes.size() ? vendor::axisOf(axes[i], from.size()) : i;
    if (!strides.empty())
      steps[axis] = strides[std::min(i, strides.size() - 1)];
    if (steps[axis] < 1)
      return error(Status::Unsup) << "strided_slice from the end to the front";
    int64_t first = wanted[i] < 0 ? wanted[i] + from[axis] : wanted[i];
    begin[axis] = std::clamp<int64_t>(first, 0, from[axis]);
  }
  if (std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; }))
    steps.clear();
  return plan.slice(call.inputs[0], begin, steps, call.result);
}

// Of one element or of neighbours: those are a slice.
Expected<ValueId> take(PlanBuilder &plan, const Call &call) {
  Dims from = plan.dims(call.inputs[0]), begin(from.size(), 0), part = from;
  std::optional<std::vector<int64_t>> indices = integersOf(call.value(1));
  if (!call.node.has("axis") || call.node.integer("batch_dims", 0) != 0 || !indices ||
      indices->empty())
    return error(Status::Unsup)
           << "oneDNN has no primitive for take but of constant places on one axis";
  uint32_t axis = vendor::axisOf(call.node.integer("axis", 0), from.size());
  int64_t first = (*indices)[0];
  for (size_t i = 0; i < indices->size(); ++i)
    if ((*indices)[i] != first + static_cast<int64_t>(i))
      return error(Status::Unsup) << "take of elements that do not lie side by side";
  auto count = static_cast<int64_t>(indices->size());
  if (first < 0 || first + count > from[axis])
    return error(Status::Unsup) << "take of elements outside of the tensor";
  begin[axis] = first;
  part[axis] = count;
  return plan.reshape(plan.slice(call.inputs[0], begin, {}, part), call.result);
}

Expected<ValueId> concatenate(PlanBuilder &plan, const Call &call) {
  Step step;
  step.kind = StepKind::Concat;
  step.axis = vendor::axisOf(call.node.integer("axis", 0), call.result.size());
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

// Part of the convolution that follows (Fuse.h), or a concatenation (SpellPads.h).
Expected<ValueId> pad(PlanBuilder &plan, const Call &call) {
  if (call.node.word("pad_mode", "constant") != "constant")
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
  vendor::Padding widths = call.node.pairs("pad_width", data.size());
  step.padBegin = std::move(widths.before);
  step.padEnd = std::move(widths.after);
  auto isZero = [](int64_t pad) { return pad == 0; };
  if (std::ranges::all_of(step.padBegin, isZero) && std::ranges::all_of(step.padEnd, isZero))
    return call.inputs[0];
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
      {"split", 1, 1, split, Takes::Any, ~0u, true},
      {"squeeze", 1, 1, asReshape, Takes::Any},
      {"strided_slice", 1, 1, stridedSlice, Takes::Any},
      {"take", 2, 2, take, Takes::Any, 1},
      {"transpose", 1, 1, transpose, Takes::Any},
  };
}

} // namespace bycc::onednn
