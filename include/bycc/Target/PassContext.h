// What every pass is given beside the module: its options, the target, the
// vendors, and places to put remarks and refusals. The driver makes one per
// compilation; passes never ask the machine or the environment instead.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/Target/RefusalLog.h"
#include "bycc/Target/TargetInfo.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bycc {

class PlacementRules;
class VendorSet;
struct CompositeTable;
struct CostModel;
struct PrecisionRules;
struct RefusalPrices;

// key=value pairs of a pass's {braces}; a switch has the value "".
using PassOptions = std::map<std::string, std::string>;

// Steps of a search: so many for each operator, and `most` for all of a program.
struct SearchLimit {
  uint64_t most = 200000, perItem = UINT64_MAX;

  // For `size` of `all` operators.
  uint64_t of(size_t size, size_t all) const {
    uint64_t steps = perItem < most / std::max<size_t>(all, 1) ? perItem * all : most;
    double share = all == 0 ? 0 : static_cast<double>(size) / static_cast<double>(all);
    return static_cast<uint64_t>(static_cast<double>(steps) * share);
  }
};

// What the chosen plan is estimated to take, in microseconds. `us` to `boundUs` are
// raw time; `time` and `bound` are what was minimised, in which vendors are trusted
// more or less.
struct PlanEstimate {
  // `us` as the sum of what the host and each vendor with a region takes.
  struct Part {
    std::string name; // "host", or the vendor
    double operators = 0, launches = 0, transfers = 0;
    double total() const { return operators + launches + transfers; }
  };
  double us = 0;
  double hostUs = 0;        // without any vendor
  double bestSingleUs = 0;  // with the best vendor alone, `hostUs` if there is none
  double boundUs = 0;       // no plan is faster
  double measuredShare = 0; // of `us`, from numbers measured on the machine at hand
  double time = 0, bound = 0;
  bool hasVendors = false;
  std::vector<Part> parts; // the host first
  // "estimated 3.92 ms (host alone 7.10 ms, ..), proven within 0.0 %"
  std::string text() const;
};

// A float product that lower precision was asked for and that stays float32.
struct WideProduct {
  std::string name, op, why;
};

struct PassContext {
  PassOptions options;                   // of the pass that is running
  const TargetInfo *target = nullptr;    // never null while passes run
  VendorSet *vendors = nullptr;          // null: no vendor asked for
  RefusalLog *refusals = nullptr;        // null: reasons are not kept
  PlacementRules *placement = nullptr;   // null: no orders about single nodes
  const CostModel *hostCost = nullptr;   // null: costs are not compared
  const CostModel *hostPrices = nullptr; // for estimates alone; null: there are none, or hostCost
  const PrecisionRules *precision = nullptr; // null: those of bycc
  bool choosesPlan = false; // a pass of this list chooses a plan: composites wait for it
  std::shared_ptr<CompositeTable> composites; // that could be formed; null: they are formed
  bool isPlanChosen = false;                  // regions are those of the plan
  SearchLimit search;                         // of the search for a plan
  std::optional<PlanEstimate> estimate;       // of the plan that was chosen
  RefusalPrices *prices = nullptr; // filled with the plan, from `refusals`; null: nobody asks
  bool trustsHand = false;         // vendors that the program names are believed, not asked
  int64_t minRegionOps = 0;        // smaller regions return to the host
  double minRegionFlops = 0;
  std::string moduleName = "default"; // MODULE of generated symbols
  std::function<bool()>
      proceed; // asked now and then by passes that wait; false: stop. May be empty
  std::vector<Diagnostic> warnings;      // shown with `warning:`, in order
  std::vector<std::string> remarks;      // shown with -v
  std::vector<WideProduct> wideProducts; // for the report of what went where

  // What host code takes, whether or not costs are compared; null: that is not known.
  const CostModel *hostTimes() const { return hostCost ? hostCost : hostPrices; }
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
