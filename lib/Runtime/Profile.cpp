#include "Profile.h"

#include <algorithm>
#include <cstring>
#include <ctime>

namespace bycc::runtime {

static uint64_t clockNs() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

static const char *orEmpty(const char *text) { return text ? text : ""; }

void Profile::restart(const Model &model) {
  const bycc_module &module = model.module();
  entries_.clear();
  stepsBegin_.clear();
  numNodes_ = module.num_nodes;
  for (uint32_t i = 0; i < numNodes_; ++i) {
    const bycc_node_info &node = module.nodes[i];
    entries_.push_back({orEmpty(node.name), "", orEmpty(node.source), -1, 0, 0, 0, node.flops});
  }
  for (size_t r = 0; r < model.regions().size(); ++r) {
    stepsBegin_.push_back(entries_.size());
    const Region &region = model.regions()[r];
    if (!region.isLoaded() || !region.vendor->num_steps || !region.vendor->step)
      continue;
    uint32_t count = region.vendor->num_steps(region.context, region.handle);
    for (uint32_t i = 0; i < count; ++i) {
      bycc_step_info step = {};
      if (const bycc_step_info *given = region.vendor->step(region.context, region.handle, i))
        std::memcpy(&step, given, std::min<size_t>(given->size, sizeof step));
      entries_.push_back({orEmpty(step.name), orEmpty(step.detail), orEmpty(step.source),
                          static_cast<int32_t>(r), 0, 0, 0, step.flops});
    }
  }
  stepsBegin_.push_back(entries_.size());
  start_ = clockNs();
}

uint64_t Profile::now() const { return clockNs() - start_; }

void Profile::begin(uint32_t node) {
  if (node < numNodes_)
    entries_[node].last_begin_ns = now();
}

void Profile::end(uint32_t node) {
  if (node >= numNodes_)
    return;
  ++entries_[node].calls;
  entries_[node].total_ns += now() - entries_[node].last_begin_ns;
}

uint32_t Profile::numSteps(uint32_t region) const {
  return stepsBegin_[region + 1] - stepsBegin_[region];
}

void Profile::addSteps(uint32_t region, uint64_t begin, const uint64_t *ns) {
  bycc_profile_entry *steps = entries_.data() + stepsBegin_[region];
  for (uint32_t i = 0; i < numSteps(region); ++i) {
    ++steps[i].calls;
    steps[i].total_ns += ns[i];
    steps[i].last_begin_ns = begin;
    begin += ns[i];
  }
}

} // namespace bycc::runtime
