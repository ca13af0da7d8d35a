// The extents of a region that are known at run time only, as the tables of
// bycc_region: expressions over symbols, and the inputs that give the symbols.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/vendor.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace bycc {

class RegionExtents {
public:
  explicit RegionExtents(const Module &module) : module_(module) {}
  // One entry per axis, -1 for a constant or an unknown; null when all are constants.
  const int32_t *of(TypeId type);
  // An input of the region: extents that are symbols give their values.
  void addInput(uint32_t input, TypeId type);
  // The tables, as they are when all has been asked.
  void put(bycc_region &region) const;

private:
  int32_t entryOf(Dim dim);
  int32_t symbolOf(Dim dim);
  int32_t add(int32_t op, int64_t lhs, int64_t rhs);

  const Module &module_;
  std::vector<bycc_extent> extents_;
  std::vector<bycc_symbol> symbols_;
  std::deque<std::string> names_;
  std::deque<std::vector<int32_t>> lists_;
  std::unordered_map<int64_t, int32_t> entries_, numbers_; // by Dim::raw
};

} // namespace bycc
