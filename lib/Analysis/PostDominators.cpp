// The list order of a block is a topological order, so one backward walk does:
// the post-dominator of a node is the lowest common ancestor of its users in the
// tree built so far. Ancestors are found through one skip pointer per node
// (Myers' skew-binary numbers): O(log n) a query without tables of n log n.

#include "bycc/Analysis/PostDominators.h"

#include <utility>

namespace bycc {

PostDominators::PostDominators(const BlockGraph &graph)
    : exit_(graph.size()), parent_(graph.size() + 1), jump_(graph.size() + 1),
      depth_(graph.size() + 1, 0) {
  parent_[exit_] = jump_[exit_] = exit_;
  for (uint32_t at = graph.size(); at-- > 0;) {
    std::span<const uint32_t> users = graph.users(at);
    uint32_t common = users.empty() || graph.isResult(at) ? exit_ : users[0];
    for (uint32_t user : users) {
      if (common == exit_)
        break;
      common = meet(common, user);
    }
    link(at, common);
  }
}

void PostDominators::link(uint32_t at, uint32_t parent) {
  parent_[at] = parent;
  depth_[at] = depth_[parent] + 1;
  uint32_t far = jump_[parent];
  bool isLong = depth_[parent] - depth_[far] == depth_[far] - depth_[jump_[far]];
  jump_[at] = isLong ? jump_[far] : parent;
}

uint32_t PostDominators::meet(uint32_t a, uint32_t b) const {
  if (depth_[a] < depth_[b])
    std::swap(a, b);
  while (depth_[a] > depth_[b])
    a = depth_[jump_[a]] >= depth_[b] ? jump_[a] : parent_[a];
  while (a != b) {
    bool far = jump_[a] != jump_[b];
    a = far ? jump_[a] : parent_[a];
    b = far ? jump_[b] : parent_[b];
  }
  return a;
}

} // namespace bycc
