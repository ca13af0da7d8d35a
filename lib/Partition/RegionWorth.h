// Is a region worth its transfers? Its vendor's limits and those of the command
// line, and what the cost model says.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Target/PassContext.h"

#include "CostEstimate.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bycc {

class TensorUses;

struct RegionContent {
  BlockId block;
  StringId vendor;
  std::vector<NodeId> nodes; // calls of operators and composites, in order
  int64_t ops = 0;
  double flops = 0;
  bool isPinned = false; // holds a pinned node
};

// Estimated microseconds.
struct EstimatedTimes {
  double here = 0, onHost = 0;
  bool isHeavy = false; // a convolution or matrix product is among it
  // The model is coarse, so it has to be sure: by a factor of two about heavy ones.
  bool isFasterOnHost() const { return onHost * (isHeavy ? 2 : 1) < here; }
};

class RegionWorth {
public:
  RegionWorth(Module &module, PassContext &context);
  ~RegionWorth();

  // The regions of the host's blocks, by first node. Without a number every
  // annotated call is one.
  std::vector<RegionContent> regions() const;

  // "below --min-region-ops=3", or nothing.
  std::string whyTooSmall(const RegionContent &region) const;

  // Are regions of this vendor judged by cost?
  bool hasCost(StringId vendor) const;
  EstimatedTimes timesOf(StringId vendor, std::span<const NodeId> nodes);
  // The program's nodes are others now.
  void refresh();

private:
  void add(RegionContent &region, NodeId node) const;
  VendorTimes &vendorTimes(StringId vendor);

  Module &module_;
  PassContext &context_;
  std::map<std::string, std::unique_ptr<VendorTimes>> times_;
  std::unique_ptr<TensorUses> uses_; // made when asked for
};

std::string flopCount(double flops);

} // namespace bycc
