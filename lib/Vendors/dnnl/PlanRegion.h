// From a region with known extents to a plan that the library takes.
#pragma once

#include "Translate.h"

#include <mutex>
#include <unordered_map>

namespace bycc::onednn {

// Remembers what the library answered for a step. Thread-safe.
class ProbeCache {
public:
  // "" when the library takes the step, else why not.
  std::string ask(const Plan &plan, const Step &step);

private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::string> answers_;
};

// The fused plan, or the plain one where the library has no primitive for a fusion.
std::optional<Plan> planFor(const bycc_region &region, ProbeCache &cache, Refusal &refusal);

} // namespace bycc::onednn
