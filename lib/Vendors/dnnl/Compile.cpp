// Compile half of the dnnl vendor: answers for nodes and writes region plans.
//
// A node is supported when it translates to a plan whose shapes check, and the
// library has a primitive for every step. A composite must in addition become
// one primitive: the partitioner then falls back to its parts. What was asked
// once of the library is remembered, as models repeat their layers.
//
// The answers do not depend on the machine: for float32 the library has at least
// a portable kernel for everything that is let through to it.
#include "Fuse.h"
#include "Library.h"
#include "Translate.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

extern "C" const char dnnl_patterns[];

namespace bycc::onednn {

namespace {

class ProbeCache {
public:
  // "" when the library takes the step, else why not.
  std::string ask(const Plan &plan, const Step &step) {
    std::string key = keyOf(plan, step);
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = answers_.find(key);
    if (found != answers_.end())
      return found->second;
    Expected<> accepted = probePrimitive(plan, step);
    return answers_[key] = accepted ? "" : accepted.error().message();
  }

private:
  // Numbers that do not matter to the library's answer become one.
  static void normalize(Step &step) {
    std::fill(step.scales.begin(), step.scales.end(), 1.0f);
    for (int32_t *zero : {&step.zeroIn, &step.zeroWeights, &step.zeroOut})
      *zero = *zero != 0;
    for (PostOp &postOp : step.postOps) {
      postOp.scale = postOp.scale == 1 ? 1.0f : 2.0f;
      if (postOp.math == Math::Clip || postOp.math == Math::Saturate ||
          postOp.math == Math::Linear)
        postOp.alpha = postOp.beta = 1;
    }
  }

  // The step alone, as a plan whose values are numbered by first use.
  static std::string keyOf(const Plan &plan, const Step &step) {
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
    std::vector<uint8_t> bytes = writePlan(alone);
    return std::string(bytes.begin(), bytes.end());
  }

  std::mutex mutex_;
  std::unordered_map<std::string, std::string> answers_;
};

// Why a composite did not become one primitive.
std::string leftOver(const Plan &plan) {
  std::string kinds;
  for (const Step &step : plan.steps)
    if (!isView(step.kind))
      kinds += std::string(kinds.empty() ? "" : ", ") + name(step.kind);
  return "oneDNN has no single primitive for this group, it takes " + kinds;
}

// Steps that the library has in a slow reference loop only.
std::string slownessOf(const Plan &plan, const Step &step) {
  bool isSum = step.kind == StepKind::Binary && plan.values[step.output].dtype == DType::Int32;
  return isSum ? "int32 is added in a product's bias only" : "";
}

// "" when the shapes check and the library takes every step, else why not.
std::string objectionTo(const Plan &plan, ProbeCache &cache) {
  if (Expected<> checked = checkPlan(plan); !checked)
    return checked.error().message();
  for (const Step &step : plan.steps)
    if (!isView(step.kind))
      for (const std::string &why : {slownessOf(plan, step), cache.ask(plan, step)})
        if (!why.empty())
          return std::string(name(step.kind)) + ": " + why;
  return "";
}

// The fused plan, or the plain one where the library has no primitive for a fusion.
std::optional<Plan> planFor(const bycc_region &region, ProbeCache &cache, Refusal &refusal) {
  std::optional<Plan> plain = translateRegion(region, refusal);
  if (!plain)
    return std::nullopt;
  Plan fused = *plain;
  fuseSteps(fused, [&](const Plan &all, const Step &step) { return cache.ask(all, step).empty(); });
  if (objectionTo(fused, cache).empty())
    return fused;
  refusal = {region.num_nodes == 1 ? 0 : Refusal::unknown, objectionTo(*plain, cache)};
  return refusal.reason.empty() ? plain : std::nullopt;
}

// An operand that a pattern calls `bias` must be one: a value per channel.
bool hasFalseBias(const bycc_node &composite, const Plan &plan) {
  for (uint32_t i = 0; i < composite.num_roles; ++i)
    if (composite.roles[i].is_node == BYCC_ROLE_INPUT && !std::strcmp(composite.roles[i].name, "bias"))
      return std::none_of(plan.steps.begin(), plan.steps.end(),
                          [](const Step &step) { return step.hasBias; });
  return false;
}

// Why a composite cannot be taken as one primitive; "" when it can.
std::string refusalOf(const bycc_node &composite, const Plan &plan) {
  if (numComputeSteps(plan) != 1)
    return leftOver(plan);
  return hasFalseBias(composite, plan) ? "the bias does not hold one value per channel" : "";
}

void refuse(bycc_answer *answer, const Refusal &refusal) {
  if (answer->reason)
    answer->reason(answer, refusal.reason.c_str());
  if (answer->blame && refusal.node != Refusal::unknown)
    answer->blame(answer, refusal.node);
}

// The door for whatever may be thrown below: allocation and the library.
template <typename F> int32_t answered(bycc_answer *answer, int32_t failure, F body) {
  try {
    Refusal refusal;
    if (body(refusal))
      return failure ? 0 : 1;
    refuse(answer, refusal);
  } catch (const std::exception &fault) {
    refuse(answer, {Refusal::unknown, std::string("dnnl: ") + fault.what()});
  }
  return failure;
}

int32_t supports(void *self, const bycc_target *, const bycc_region *region,
                 bycc_answer *answer) {
  ProbeCache &cache = *static_cast<ProbeCache *>(self);
  return answered(answer, 0, [&](Refusal &refusal) {
    if (region->num_nodes == 0) {
      refusal.reason = "no node";
      return false;
    }
    std::optional<Plan> plan = planFor(*region, cache, refusal);
    if (plan && region->nodes[0].body)
      refusal.reason = refusalOf(region->nodes[0], *plan);
    return plan && refusal.reason.empty();
  });
}

int32_t compile(void *self, const bycc_target *, const bycc_region *region, bycc_answer *answer) {
  ProbeCache &cache = *static_cast<ProbeCache *>(self);
  return answered(answer, 1, [&](Refusal &refusal) {
    std::optional<Plan> plan = planFor(*region, cache, refusal);
    if (!plan)
      return false;
    std::vector<uint8_t> bytes = writePlan(*plan);
    answer->blob(answer, bytes.data(), bytes.size());
    return true;
  });
}

} // namespace
} // namespace bycc::onednn

extern "C" const bycc_vendor_compiler *bycc_vendor_compiler_dnnl(void) {
  using namespace bycc::onednn;
  static ProbeCache cache;
  static const std::string version = libraryVersion(), names = operatorNames();
  static const bycc_vendor_compiler compiler = {BYCC_VENDOR_ABI_VERSION,
                                                sizeof(bycc_vendor_compiler),
                                                "dnnl",
                                                version.c_str(),
                                                dnnl_patterns,
                                                &cache,
                                                supports,
                                                compile,
                                                nullptr,
                                                nullptr,
                                                nullptr,
                                                0,
                                                names.c_str()};
  return &compiler;
}
