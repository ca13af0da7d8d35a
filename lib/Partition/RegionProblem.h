// Grouping as a problem on plain numbers, apart from the IR: items in dependency
// order, each of a vendor or the host; a region is a set of items of one vendor;
// no two regions may need each other, directly or through others or the host.
// What is wanted is the smallest RegionScore.
#pragma once

#include "Numbers.h"

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace bycc {

struct RegionProblem {
  static constexpr int32_t host = -1;
  // By item. Items come in dependency order.
  std::vector<int32_t> vendor; // host, or a vendor's number
  std::vector<uint8_t> isWire; // tuples and projections: join regions, but make none
  // What each item needs, as CSR arrays of item numbers.
  std::vector<uint32_t> needsBegin{0};
  std::vector<uint32_t> needs;
  // Sets of items that touch one value (its maker and users); only items that
  // are linked through such sets may share a region.
  std::vector<uint32_t> sharesBegin{0};
  std::vector<uint32_t> shares;
  std::vector<uint64_t> shareBytes; // by set; empty: sizes are not known
  // Calls that may not share a region with each item, both ways round; empty: none.
  std::vector<uint32_t> apartBegin, apart;

  // What crosses a border costs: tensors that items make or use.
  struct Tensor {
    uint32_t maker = none;      // item; none: made elsewhere
    bool isUsedOutside = false; // beyond the items
    uint64_t bytes = 0;         // 0 when not known
  };
  std::vector<Tensor> tensors;
  std::vector<uint32_t> usersBegin{0}, users; // calls, ascending, the host's as well

  uint32_t size() const { return static_cast<uint32_t>(vendor.size()); }
  bool isCall(uint32_t item) const { return vendor[item] != host && !isWire[item]; }
  std::span<const uint32_t> needsOf(uint32_t item) const {
    return {needs.data() + needsBegin[item], needsBegin[item + 1] - needsBegin[item]};
  }
  uint32_t numShares() const { return static_cast<uint32_t>(sharesBegin.size() - 1); }
  std::span<const uint32_t> share(uint32_t index) const {
    return {shares.data() + sharesBegin[index], sharesBegin[index + 1] - sharesBegin[index]};
  }
  std::span<const uint32_t> apartFrom(uint32_t item) const {
    if (apart.empty())
      return {};
    return {apart.data() + apartBegin[item], apartBegin[item + 1] - apartBegin[item]};
  }
  uint32_t numTensors() const { return static_cast<uint32_t>(tensors.size()); }
  std::span<const uint32_t> usersOf(uint32_t tensor) const {
    return {users.data() + usersBegin[tensor], usersBegin[tensor + 1] - usersBegin[tensor]};
  }
};

// Less is better: regions, then bytes across their borders.
struct RegionScore {
  uint64_t first = 0, second = 0;
  auto operator<=>(const RegionScore &) const = default;
  RegionScore &operator+=(const RegionScore &other) {
    first += other.first, second += other.second;
    return *this;
  }
};
// What a tensor across a border adds.
inline RegionScore scoreOfCrossing(const RegionProblem &problem, uint32_t tensor) {
  return {0, problem.tensors[tensor].bytes};
}

// Region of every item, -1 on the host; numbered by first member. Wires that
// would be a region by themselves are on the host.
using RegionAssignment = std::vector<int32_t>;

uint32_t countRegions(const RegionAssignment &regions);
RegionScore scoreOf(const RegionProblem &problem, const RegionAssignment &regions);
// Every region has one vendor and no two calls that must be apart, and no two
// regions need each other.
bool isLegal(const RegionProblem &problem, const RegionAssignment &regions);
// Can the regions and the host's items run one after the other, when tuples and
// projections are taken apart? Every legal assignment can.
bool canRun(const RegionProblem &problem, const RegionAssignment &regions);

// The regions of groups (by item, any name): groups without a call are the host's.
RegionAssignment toAssignment(const RegionProblem &problem, const std::vector<uint32_t> &groups);
// Parts of each class (by item, any number) that shared values link: the lowest
// member of its part for each item.
std::vector<uint32_t> linkedParts(const RegionProblem &problem,
                                  const std::vector<uint32_t> &classes);

} // namespace bycc
