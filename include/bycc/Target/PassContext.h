// What every pass is given beside the module: its options, the target, the
// vendors, and places to put remarks and refusals. The driver makes one per
// compilation; passes never ask the machine or the environment instead.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/Target/RefusalLog.h"
#include "bycc/Target/TargetInfo.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bycc {

class PlacementRules;
class VendorSet;
struct CostModel;
struct PrecisionRules;

// key=value pairs of a pass's {braces}; a switch has the value "".
using PassOptions = std::map<std::string, std::string>;

// A float product that lower precision was asked for and that stays float32.
struct WideProduct {
  std::string name, op, why;
};

struct PassContext {
  PassOptions options; // of the pass that is running
  const TargetInfo *target = nullptr; // never null while passes run
  VendorSet *vendors = nullptr;       // null: no vendor asked for
  RefusalLog *refusals = nullptr;     // null: reasons are not kept
  PlacementRules *placement = nullptr; // null: no orders about single nodes
  const CostModel *hostCost = nullptr; // null: costs are not compared
  const PrecisionRules *precision = nullptr; // null: those of bycc
  bool trustsHand = false; // vendors that the program names are believed, not asked
  int64_t minRegionOps = 0;            // smaller regions return to the host
  double minRegionFlops = 0;
  std::string moduleName = "default"; // MODULE of generated symbols
  std::vector<Diagnostic> warnings;   // shown with `warning:`, in order
  std::vector<std::string> remarks;   // shown with -v
  std::vector<WideProduct> wideProducts; // for the report of what went where

  void warn(SourceLocation location, std::string text) {
    Diagnostic diagnostic;
    diagnostic.status = Status::Input;
    diagnostic.location = std::move(location);
    diagnostic.message = std::move(text);
    warnings.push_back(std::move(diagnostic));
  }
  // Value of a pass option, or the fallback.
  std::string option(const std::string &key, const std::string &fallback = {}) const {
    auto found = options.find(key);
    return found == options.end() ? fallback : found->second;
  }
};

} // namespace bycc
