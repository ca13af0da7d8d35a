// Do regions keep the limits of their vendor and of the command line?
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Target/PassContext.h"

#include <string>
#include <vector>

namespace bycc {

struct RegionContent {
  BlockId block;
  StringId vendor;
  std::vector<NodeId> nodes; // calls of operators and composites, in order
  int64_t ops = 0;
  double flops = 0;
  bool isPinned = false; // holds a pinned node
};

class RegionLimits {
public:
  RegionLimits(const Module &module, const PassContext &context)
      : module_(module), context_(context) {}

  // The regions of the host's blocks, by first node. Without a number every
  // annotated call is one.
  std::vector<RegionContent> regions() const;

  // "below --min-region-ops=3", or nothing.
  std::string whyTooSmall(const RegionContent &region) const;

private:
  void add(RegionContent &region, NodeId node) const;

  const Module &module_;
  const PassContext &context_;
};

std::string flopCount(double flops);

} // namespace bycc
