// STEM.json: the report on a compiled model.
#pragma once

#include "Interface.h"
#include "bycc/CodeGen/CodeGen.h"
#include "bycc/Support/GraphSet.h"
#include "bycc/Target/TargetInfo.h"

#include <string>
#include <vector>

namespace bycc {

// A region as the report names it.
struct RegionReport {
  std::string id, vendor;
  std::vector<std::string> nodes, composites;
  double flops = 0;
  uint64_t boundaryBytes = 0;
};

struct OffloadTotals {
  uint64_t regions = 0, offloadedOps = 0, hostOps = 0, boundaryBytes = 0;
  double offloadedFlops = 0, flops = 0;
};

struct GraphReport {
  std::string version;
  const TargetInfo *target = nullptr;
  std::vector<std::string> flags; // those that change the result, normalised
  uint64_t inputsHash = 0;
  ModelInterface interface;
  std::vector<RegionReport> regions;
  OffloadTotals totals;
  GraphSet set;
};

// Sealed text (see GraphSet.h).
std::string graphJson(const Module &module, const CompiledModule &code, const GraphReport &report);

} // namespace bycc
