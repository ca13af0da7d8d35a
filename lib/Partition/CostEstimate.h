// How long things take, as cost models say. A unit is an operator call, or a
// composite: its operators run as one, so only what crosses its border is traffic.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Target/Cost.h"
#include "bycc/Target/Vendor.h"

namespace bycc {

// Bytes of a tensor or of all tensors of a tuple; open extents count as what is likely.
double bytesOf(const Module &module, TypeId type);

// Microseconds that a unit computes, without its launch: the larger of arithmetic
// and memory traffic, with the traffic rate of its heaviest operator.
double unitMicroseconds(const Module &module, NodeId unit, const CostModel &model);

// The same for a vendor with a cost model: what the vendor itself says about a
// unit, where it says anything, comes first.
class VendorTimes {
public:
  VendorTimes(const Module &module, const Vendor &vendor, const TargetInfo &target)
      : module_(module), vendor_(vendor), asker_(vendor, module, target) {}
  double of(NodeId unit);

private:
  const Module &module_;
  const Vendor &vendor_;
  VendorAsker asker_;
};

// Microseconds that one tensor takes across a region's border.
double transferMicroseconds(double bytes, const CostModel &model);

// "12.3 us", "4.56 ms".
std::string timeText(double microseconds);

} // namespace bycc
