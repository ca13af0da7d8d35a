// Grouping as a problem on plain numbers, apart from the IR: items in dependency
// order, each of a vendor or the host; a region is a set of items of one vendor;
// no two regions may need each other, directly or through others or the host.
// Fewest regions wins.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bycc {

struct RegionProblem {
  static constexpr int32_t host = -1;
  // By item. Items come in dependency order.
  std::vector<int32_t> vendor;  // host, or a vendor's number
  std::vector<uint8_t> isWire;  // tuples and projections: join regions, but make none
  // What each item needs, as CSR arrays of item numbers.
  std::vector<uint32_t> needsBegin{0};
  std::vector<uint32_t> needs;
  // Sets of items that touch one value (its maker and users); only items that
  // are linked through such sets may share a region.
  std::vector<uint32_t> sharesBegin{0};
  std::vector<uint32_t> shares;

  uint32_t size() const { return static_cast<uint32_t>(vendor.size()); }
  std::span<const uint32_t> needsOf(uint32_t item) const {
    return {needs.data() + needsBegin[item], needsBegin[item + 1] - needsBegin[item]};
  }
  uint32_t numShares() const { return static_cast<uint32_t>(sharesBegin.size() - 1); }
  std::span<const uint32_t> share(uint32_t index) const {
    return {shares.data() + sharesBegin[index], sharesBegin[index + 1] - sharesBegin[index]};
  }
};

// Region of every item, -1 on the host; numbered by first member. Wires that
// would be a region by themselves are on the host.
using RegionAssignment = std::vector<int32_t>;

// Small problems are also searched exhaustively, for at most a part of
// `searchSteps`; what was used is taken off.
RegionAssignment solveRegions(const RegionProblem &problem, uint64_t &searchSteps);

uint32_t countRegions(const RegionAssignment &regions);
// Every region has one vendor, and no two need each other.
bool isLegal(const RegionProblem &problem, const RegionAssignment &regions);

} // namespace bycc
