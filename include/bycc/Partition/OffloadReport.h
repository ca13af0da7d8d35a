// What went where, and why: the facts behind --dump-offloads, --explain, bycc
// check, the `placement` of a graph JSON and the compile line, read from a
// partitioned module and the log of refusals. All of them show one report.
#pragma once

#include "bycc/IR/LikelyExtents.h"
#include "bycc/IR/Module.h"
#include "bycc/Target/PassContext.h"
#include "bycc/Target/RefusalLog.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bycc {

class JsonWriter;
class VendorSet;

struct OffloadFunction {
  std::string symbol, compiler;
  std::string parent;                  // global function of its (first) call
  std::vector<std::string> ops;        // sorted, composite bodies included
  std::vector<std::string> composites; // sorted
  std::vector<std::string> nodes;      // names of its operators, program order
  int64_t constants = 0;               // distinct by dtype, shape and bytes
  std::vector<std::string> paramTypes, resultTypes;
  std::vector<std::string> arguments; // what feeds each parameter at the first call
  int64_t calls = 0;                  // call sites
  double flops = 0;
  // Tensors passed in and out per call, but for those that stay in the vendor's memory.
  int64_t boundaryTensors = 0;
  int64_t boundaryBytes = 0;    // of known sizes
  bool hasRunTimeSizes = false; // some have sizes known at run time only
};

struct OffloadNode {
  std::string name, op, source;
  std::string placed;                // vendor or "host"
  std::string region;                // symbol, "" on the host
  std::string composite;             // "" when in none
  RefusalLog::Reasons refused;       // vendor, reason
  std::vector<std::string> accepted; // vendors that would take it, best first
  RefusalLog::Reasons why;           // of these, why they do not have it
  double flops = 0;
  // What the unit takes that it is of, without launches and transfers; none without costs.
  std::optional<double> estimateUs;
  uint32_t unit = 0; // operators of one composite have one number
  NodeId id;         // in the module that the report was made from
};

// Why two regions of one vendor, one after the other, are not one.
struct OffloadApart {
  std::string first, second; // symbols
  std::string why;
  size_t index = 0; // in RefusalLog::apart()
};

struct OffloadTotals {
  int64_t regions = 0, ops = 0, offloadedOps = 0;
  int64_t guessedOps = 0; // with extents of which nothing is known; not by vendor
  double flops = 0, offloadedFlops = 0;
  int64_t boundaryTensors = 0, boundaryBytes = 0;
  bool hasRunTimeSizes = false;
};

// `sizeText` says `bytes`: what is known of a boundary, with a word about what is not.
std::string boundaryText(int64_t bytes, const std::string &sizeText, bool hasRunTimeSizes);

struct OffloadReport {
  std::vector<std::pair<std::string, std::string>> mainParams; // name, type
  std::string mainResult;
  OpenExtents open;                        // what FLOPs are counted with
  std::vector<OffloadFunction> functions;  // by symbol: m_va_9, m_va_10
  std::vector<std::string> hostOps;        // sorted
  std::vector<OffloadNode> nodes;          // program order, a region's where it is first called
  std::vector<ReturnedRegion> returned;    // regions that did not stay
  std::map<std::string, std::string> idle; // vendors that could have some and have none: why
  std::vector<OffloadApart> apart;         // for some tens of pairs
  std::vector<WideProduct> wideProducts;   // set by who knows them
  OffloadTotals totals;
  std::optional<PlanEstimate> estimate;          // set by who knows it; none without costs
  std::map<std::string, OffloadTotals> byVendor; // offloaded parts only
  std::vector<std::string> vendors;              // in use, by priority; set by who knows them
  std::vector<std::string> emulated;             // of these, those whose regions are host code
  std::vector<std::string> losesNan; // and those that may lose NaN (BYCC_VENDOR_LOSES_NAN)
  bool keepsNan = true;              // --nan

  // What each vendor has: those in use by priority, with nothing, too; then others.
  std::vector<std::pair<std::string, OffloadTotals>> vendorParts() const;
  bool isEmulated(const std::string &vendor) const;
  std::string titleOf(const std::string &vendor) const; // "dnnl", "npu (emulated)"
  std::string json() const;                             // cli.md, --dump-offloads=F.json
  std::string text() const;                             // --explain
};

// `refusals` may be null; so may `vendors`, then none has a memory of its own.
OffloadReport makeOffloadReport(const Module &module, const RefusalLog *refusals,
                                const VendorSet *vendors = nullptr);

// An object: --dump-offloads, totals.estimate.
void writeEstimate(JsonWriter &json, const PlanEstimate &estimate);

// What open extents count as: {"batch": 1, "seq": 64, "?": 64}.
void writeLikely(JsonWriter &json, const OpenExtents &open);

// The rows of report.nodes as an array.
void writeNodes(JsonWriter &json, const OffloadReport &report);

// "2 small regions returned to the host: below --min-region-ops=3", regions of one
// kind together, joined by "; ". Empty when all stayed.
std::string describeReturned(const OffloadReport &report);

} // namespace bycc
