// See BFloat16.h.
#include "BFloat16.h"

#include <algorithm>
#include <string_view>

namespace bycc::onednn {

namespace {

bool hasFeature(std::string_view features, std::string_view wanted) {
  while (!features.empty()) {
    size_t comma = std::min(features.find(','), features.size());
    if (features.substr(0, comma) == wanted)
      return true;
    features.remove_prefix(std::min(comma + 1, features.size()));
  }
  return false;
}

bool hasBFloat16(const bycc_region &region) {
  return std::any_of(region.values, region.values + region.num_values,
                     [](const bycc_value &value) { return value.dtype == BYCC_BFLOAT16; }) ||
         std::any_of(region.nodes, region.nodes + region.num_nodes, [](const bycc_node &node) {
           return node.body && hasBFloat16(*node.body);
         });
}

} // namespace

Expected<> checkBFloat16(const bycc_target &target, const bycc_region &region) {
  if (!hasBFloat16(region))
    return {};
  for (const char *wanted : {"avx512f", "avx512bw", "avx512dq", "avx512vl"})
    if (!hasFeature(target.features ? target.features : "", wanted))
      return error(Status::Unsup) << "bfloat16: oneDNN needs AVX-512, the target has no " << wanted;
  return {};
}

} // namespace bycc::onednn
