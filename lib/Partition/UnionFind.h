// Disjoint sets of items; the lowest member names its set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace bycc {

class UnionFind {
public:
  explicit UnionFind(uint32_t size) { restart(size); }
  void restart(uint32_t size) { // each item alone
    parent_.resize(size);
    std::iota(parent_.begin(), parent_.end(), 0u);
  }
  uint32_t find(uint32_t item) {
    while (parent_[item] != item)
      item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  void join(uint32_t a, uint32_t b) {
    a = find(a), b = find(b);
    if (a != b)
      parent_[std::max(a, b)] = std::min(a, b);
  }

private:
  std::vector<uint32_t> parent_;
};

} // namespace bycc
