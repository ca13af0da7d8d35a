// How long things take, as cost models say. A unit is an operator call, or a
// composite: its operators run as one, so only what crosses its border is traffic.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Target/Cost.h"
#include "bycc/Target/Vendor.h"

#include <span>
#include <string>
#include <string_view>

namespace bycc {

// Bytes of a tensor or of all tensors of a tuple; open extents count as what is likely.
double bytesOf(const Module &module, TypeId type);

// Microseconds that a unit computes, without its launch: the larger of arithmetic
// and memory traffic, with the traffic rate of its heaviest operator.
double unitMicroseconds(const Module &module, NodeId unit, const CostModel &model);
// The same for a call on the host that is in one loop with others; `kept` bytes of its operands and
// result stay in registers.
double fusedMicroseconds(const Module &module, NodeId call, const CostModel &model, double kept);
// The same for operator calls that a composite could be formed of.
double groupMicroseconds(const Module &module, std::span<const NodeId> calls,
                         std::string_view composite, std::span<const NodeId> operands,
                         TypeId result, const CostModel &model);

// The same for a vendor: what the vendor itself says about a unit, where it says
// anything, comes first, then its costs. For one without costs the rest counts as on
// the host.
class VendorTimes {
public:
  VendorTimes(const Module &module, const Vendor &vendor, const TargetInfo &target,
              const CostModel &hostCost);
  double of(NodeId unit);

private:
  const Module &module_;
  const Vendor &vendor_;
  VendorAsker asker_;
  CostModel model_;
};

// "12.3 us", "4.56 ms".
std::string timeText(double microseconds);

} // namespace bycc
