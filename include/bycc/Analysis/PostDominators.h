// Immediate post-dominators in a block: the first node that every way from a
// value to the block's end passes through.
#pragma once

#include "bycc/Analysis/BlockGraph.h"

namespace bycc {

class PostDominators {
public:
  explicit PostDominators(const BlockGraph &graph);
  static constexpr uint32_t none = UINT32_MAX; // only the end of the block
  // Position of the immediate post-dominator, or none.
  uint32_t of(uint32_t position) const {
    uint32_t parent = parent_[position];
    return parent == exit_ ? none : parent;
  }

private:
  uint32_t meet(uint32_t a, uint32_t b) const;
  void link(uint32_t position, uint32_t parent);

  uint32_t exit_;
  std::vector<uint32_t> parent_, jump_, depth_; // index exit_ is the root
};

} // namespace bycc
