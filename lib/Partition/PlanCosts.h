// What tiles of a plan cost, in picoseconds, from cost models and from what vendors
// say about single nodes.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Target/PassContext.h"
#include "bycc/Target/Vendor.h"

#include "CompositeFormer.h"
#include "CostEstimate.h"
#include "PlanProblem.h"

#include <memory>
#include <vector>

namespace bycc {

// Are there costs to compare: those of the host, and of a vendor, in its file or
// offered for a node?
bool comparesCosts(const Module &module, const PassContext &context);

struct TilePrice {
  double time = 0; // as far as the vendor is trusted
  double raw = 0;
};

// Whole picoseconds; never so many that a sum of them is no longer exact.
double picoseconds(double microseconds);

class PlanCosts {
public:
  PlanCosts(Module &module, const PassContext &context);
  ~PlanCosts();

  // Vendors in an order of their own: by name. Numbers are those of plans, from 1 up.
  uint32_t numVendors() const { return static_cast<uint32_t>(vendors_.size()); }
  const Vendor &vendor(uint32_t number) const { return *vendors_[number - 1].vendor; }
  StringId nameOf(uint32_t number) const { return vendors_[number - 1].name; }
  uint32_t numberOf(StringId name) const; // none: not in use
  PlanProblem::Vendor row(uint32_t number) const;
  bool isMeasured(uint32_t number) const;
  bool isHostMeasured() const { return hostCost_.isMeasured; }

  // A unit on the host: its operators one by one.
  double onHost(NodeId unit) const;
  // An operator in one loop with others: `kept` bytes that it reads or makes stay in registers.
  double fusedOnHost(NodeId call, double kept) const;
  TilePrice of(uint32_t number, NodeId unit);
  TilePrice of(uint32_t number, const CompositeCandidate &candidate) const;

private:
  struct Row {
    const Vendor *vendor;
    StringId name;
    std::unique_ptr<VendorTimes> times;
    CostModel model;
  };
  TilePrice trusted(const Vendor &vendor, double microseconds, std::span<const NodeId> calls) const;

  const Module &module_;
  const PassContext &context_;
  CostModel hostCost_;
  std::vector<Row> vendors_;
  std::vector<NodeId> calls_; // of the unit at hand
};

} // namespace bycc
