// Counters of a context: one per node of the module, then one per step inside
// each region.
#pragma once

#include "Model.h"

#include <cstdint>
#include <vector>

namespace bycc::runtime {

class Profile {
public:
  // Forgets all; makes the rows if there are none.
  void restart(const Model &model);
  void begin(uint32_t node);
  void end(uint32_t node);
  uint64_t now() const; // ns since restart
  // Adds one call with `ns[i]` for each step of a region that began at `begin`.
  void addSteps(uint32_t region, uint64_t begin, const uint64_t *ns);
  uint32_t numSteps(uint32_t region) const;
  const std::vector<bycc_profile_entry> &entries() const { return entries_; }

private:
  std::vector<bycc_profile_entry> entries_;
  uint32_t numNodes_ = 0;
  std::vector<uint32_t> stepsBegin_; // per region, and the end
  uint64_t start_ = 0;
};

} // namespace bycc::runtime
