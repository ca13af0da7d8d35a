// Has vendors turn regions into blobs, in processes of their own (VendorProcess.h): a
// vendor that aborts, hangs, throws, exits or fills the memory takes its process with it
// and counts as failing; bycc goes on. A process compiles one region after the other;
// after a failure that ended it the next one takes over. What a vendor prints goes
// nowhere, or to stderr when asked for.
#pragma once

#include "bycc/Target/RegionView.h"
#include "bycc/Target/TargetInfo.h"
#include "bycc/Target/Vendor.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bycc {

struct RegionOutcome {
  enum class Kind : uint8_t { Done, Refused, Crashed, Hung };
  Kind kind = Kind::Refused;
  std::vector<uint8_t> blob;
  std::shared_ptr<const Storage> weights = nullptr; // that the vendor made; null: none
  std::optional<uint64_t> weightsHash = {};         // hashBytes, where somebody took it
  std::string reason;                               // unless done
  uint32_t blamed = UINT32_MAX;                     // index of the region's node; none: UINT32_MAX
  std::chrono::steady_clock::time_point begin = {}, end = {};
  int child = 0; // number of the process that it was compiled in, from 0
};

struct RegionJob {
  const Vendor *vendor = nullptr; // not emulated
  std::function<RegionView()> view;
  bool isTuning = false; // asks tune(), which the vendor has, instead of compile()
};

struct RegionCompilerOptions {
  double timeoutSeconds = 60; // for one region
  int jobs = 1;               // processes at a time
  int maxHangs = 3;           // of a vendor; its regions after that count as hung
  uint64_t maxBlobBytes = uint64_t{512} << 20;
  bool showOutput = false; // what vendors print goes to stderr
  // Called in between, and after each region with how many are done; false: stop, regions
  // that are not done count as refused.
  std::function<bool(size_t numDone)> proceed;
};

// BYCC_VENDOR_OWN_WEIGHTS: its run half reads what it wrote to RegionOutcome::weights,
// and no constant from where it lies in the params file.
bool ownsWeights(const Vendor &vendor);

// In this process.
RegionOutcome compileRegion(const Vendor &vendor, const TargetInfo &target, const RegionView &view,
                            uint64_t maxBlobBytes = UINT64_MAX, bool isTuning = false);

// One outcome per job, in their order. Regions of vendors with `runsHere` are compiled in
// this process, one after the other.
std::vector<RegionOutcome> compileRegionsApart(std::span<const RegionJob> jobs,
                                               const TargetInfo &target,
                                               const RegionCompilerOptions &options);

// Equal for regions whose vendors would see the same: operators, attributes, types,
// names, wiring, likely extents. Constants count by size and bycc_value::weights_offset.
std::array<uint8_t, 16> contentHash(const bycc_region &region);
// The same without names and places: equal for regions that tuning cannot tell apart.
std::array<uint8_t, 16> tuningHash(const bycc_region &region);

} // namespace bycc
