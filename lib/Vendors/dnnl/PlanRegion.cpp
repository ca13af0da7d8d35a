// See PlanRegion.h.
#include "PlanRegion.h"

#include "PlanArchive.h"

#include "Fuse.h"
#include "Library.h"
#include "Narrow.h"
#include "SpellBroadcasts.h"
#include "SpellPads.h"
#include "SplitConcat.h"
#include "Usage.h"

#include <algorithm>

namespace bycc::onednn {

namespace {

// Numbers that do not matter to the library's answer become one.
void normalize(Step &step) {
  std::fill(step.scales.begin(), step.scales.end(), 1.0f);
  for (int32_t *zero : {&step.zeroIn, &step.zeroWeights, &step.zeroOut})
    *zero = *zero != 0;
  for (PostOp &postOp : step.postOps) {
    postOp.scale = postOp.scale == 1 ? 1.0f : 2.0f;
    if (postOp.math == Math::Clip || postOp.math == Math::Saturate || postOp.math == Math::Linear)
      postOp.alpha = postOp.beta = 1;
  }
}

// The step alone, as a plan whose values are numbered by first use.
std::string keyOf(const Plan &plan, const Step &step) {
  Plan alone;
  auto add = [&](ValueId &id) {
    Value value = plan.values[id];
    value.kind = ValueKind::Temp;
    value.where = 0;
    alone.values.push_back(value);
    id = static_cast<ValueId>(alone.values.size() - 1);
  };
  Step copy = step;
  copy.source.clear();
  normalize(copy);
  for (ValueId &id : copy.inputs)
    add(id);
  for (PostOp &postOp : copy.postOps)
    if (postOp.operand != noValue)
      add(postOp.operand);
  add(copy.output);
  alone.steps.push_back(std::move(copy));
  vendor::Bytes bytes = vendor::write({"dnnl plan", 1}, alone);
  return std::string(bytes.begin(), bytes.end());
}

// Steps that the library has in a slow reference loop only.
std::string slownessOf(const Plan &plan, const Step &step) {
  bool isSum = step.kind == StepKind::Binary && plan.values[step.output].dtype == DType::Int32;
  return isSum ? "int32 is added in a product's bias only" : "";
}

// Scaled at load, or not at all.
std::string objectionToBias(const Plan &plan, const Usage &usage, const Step &step) {
  if (!hasScaledBias(step) || (usage.isConstant[step.inputs[2]] &&
                               sizeInBytes(plan.values[step.inputs[2]].dtype) == sizeof(float)))
    return "";
  return "a bias of scaled sums that is no constant";
}

// Constants are not copied by parts.
std::string objectionToSlice(const Plan &plan, const Usage &usage, const Step &step) {
  return usage.isConstant[step.output] &&
                 axisSteppedBeyond(plan.values[step.inputs[0]].dims, step.strides,
                                   plan.values[step.output].dims)
             ? "oneDNN has no view of a constant whose last step goes beyond an axis"
             : "";
}

// "" when the shapes check and the library takes every step, else why not.
std::string objectionTo(const Plan &plan, ProbeCache &cache) {
  if (Expected<> checked = checkPlan(plan); !checked)
    return checked.error().message();
  Usage usage(plan);
  for (const Step &step : plan.steps) {
    if (step.kind == StepKind::Slice)
      if (std::string why = objectionToSlice(plan, usage, step); !why.empty())
        return why;
    if (!isView(step.kind))
      for (const std::string &why :
           {slownessOf(plan, step), objectionToBias(plan, usage, step), cache.ask(plan, step)})
        if (!why.empty())
          return std::string(name(step.kind)) + ": " + why;
  }
  return "";
}

} // namespace

std::string ProbeCache::ask(const Plan &plan, const Step &step) {
  std::string key = keyOf(plan, step);
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = answers_.find(key);
  if (found != answers_.end())
    return found->second;
  Expected<> accepted = probePrimitive(plan, step);
  return answers_[key] = accepted ? "" : accepted.error().message();
}

std::optional<Plan> planFor(const bycc_region &region, ProbeCache &cache, Refusal &refusal) {
  std::optional<Plan> plain = translateRegion(region, refusal);
  if (!plain)
    return std::nullopt;
  Plan fused = *plain;
  auto accepts = [&](const Plan &all, const Step &step) { return cache.ask(all, step).empty(); };
  narrowSteps(fused, accepts);
  spellBroadcasts(fused, accepts);
  fuseSteps(fused, accepts);
  splitConcats(fused, accepts);
  spellPads(fused);
  if (objectionTo(fused, cache).empty())
    return fused;
  refusal = {region.num_nodes == 1 ? 0 : Refusal::unknown, objectionTo(*plain, cache)};
  return refusal.reason.empty() ? plain : std::nullopt;
}

} // namespace bycc::onednn
