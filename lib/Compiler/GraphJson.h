// STEM.json: the report on a compiled model.
#pragma once

#include "bycc/CodeGen/CodeGen.h"
#include "bycc/Compiler/Interface.h"
#include "bycc/Partition/OffloadReport.h"
#include "bycc/Support/GraphSet.h"
#include "bycc/Target/TargetInfo.h"
#include "bycc/Target/Vendor.h"
#include "bycc/View/OperatorGraph.h"

#include <string>
#include <vector>

namespace bycc {

struct GraphReport {
  std::string version;
  const TargetInfo *target = nullptr;
  std::vector<std::string> flags; // those that change the result, normalised
  const VendorSet *vendors = nullptr;
  uint64_t inputsHash = 0;
  ModelInterface interface;
  const OffloadReport *offload = nullptr;
  const OperatorGraph *operators = nullptr;
  GraphSet set;
};

// Sealed text (see GraphSet.h).
std::string graphJson(const Module &module, const CompiledModule &code, const GraphReport &report);

} // namespace bycc
