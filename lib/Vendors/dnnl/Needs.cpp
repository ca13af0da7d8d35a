// See Needs.h.
#include "Needs.h"

#include "InstructionSet.h"

#include <algorithm>
#include <string_view>

namespace bycc::onednn {

namespace {

std::string_view featuresOf(const bycc_target &target) {
  return target.features ? target.features : "";
}

bool hasBFloat16(const bycc_region &region) {
  for (uint32_t i = 0; i < region.num_values; ++i)
    if (bycc_value_at(&region, i)->dtype == BYCC_BFLOAT16)
      return true;
  for (uint32_t i = 0; i < region.num_nodes; ++i)
    if (const bycc_region *body = bycc_node_at(&region, i)->body; body && hasBFloat16(*body))
      return true;
  return false;
}

bool hasBFloat16(const Plan &plan) {
  return std::any_of(plan.values.begin(), plan.values.end(),
                     [](const Value &value) { return value.dtype == DType::BFloat16; });
}

bool hasInt8Product(const Plan &plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step &step) {
    return isProduct(step.kind) && isQuantized(plan.values[step.inputs[0]].dtype);
  });
}

} // namespace

Expected<> checkBFloat16(const bycc_target &target, const bycc_region &region) {
  if (!hasBFloat16(region))
    return {};
  for (const char *wanted : {"avx512f", "avx512bw", "avx512dq", "avx512vl"})
    if (!hasFeature(featuresOf(target), wanted))
      return error(Status::Unsup) << "bfloat16: oneDNN needs AVX-512, the target has no " << wanted;
  return {};
}

Expected<> checkInt8(const bycc_target &target, const Plan &plan) {
  std::string_view features = featuresOf(target);
  if (!hasInt8Product(plan) || hasFeature(features, "avx512vnni") ||
      hasFeature(features, "avxvnni"))
    return {};
  return error(Status::Unsup) << "int8: oneDNN's products are exact with VNNI only, the target has "
                                 "neither avx512vnni nor avxvnni";
}

Expected<> checkMachine(const Plan &plan) {
  if (hasBFloat16(plan) && !libraryHas("avx512f"))
    return error(Status::Load) << "bfloat16: oneDNN needs AVX-512 and is limited to "
                               << instructionSet();
  if (hasInt8Product(plan) && !libraryHas("avx512vnni") && !libraryHas("avxvnni"))
    return error(Status::Load)
           << "int8: oneDNN's products are exact with VNNI only, it is limited to "
           << instructionSet();
  return {};
}

} // namespace bycc::onednn
