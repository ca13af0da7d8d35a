#include "MinimumCut.h"

#include <algorithm>

namespace bycc {

void MinimumCut::addEdge(uint32_t from, uint32_t to, int64_t capacity) {
  if (capacity <= 0)
    return;
  edges_.push_back({to, first_[from], std::min(capacity, unlimited)});
  first_[from] = static_cast<uint32_t>(edges_.size() - 1);
  edges_.push_back({from, first_[to], 0});
  first_[to] = static_cast<uint32_t>(edges_.size() - 1);
}

bool MinimumCut::findLevels() {
  level_.assign(first_.size(), none);
  level_[source] = 0;
  std::vector<uint32_t> queue{source};
  for (size_t i = 0; i < queue.size(); ++i)
    for (uint32_t edge = first_[queue[i]]; edge != none; edge = edges_[edge].next)
      if (uint32_t to = edges_[edge].to; edges_[edge].left > 0 && level_[to] == none) {
        level_[to] = level_[queue[i]] + 1;
        queue.push_back(to);
      }
  return level_[sink] != none;
}

// Fills every path of the level graph.
void MinimumCut::block() {
  current_ = first_;
  std::vector<uint32_t> path; // edges from the source
  uint32_t at = source;
  while (true) {
    if (at == sink) {
      int64_t flow = unlimited;
      for (uint32_t edge : path)
        flow = std::min(flow, edges_[edge].left);
      size_t full = path.size();
      for (size_t i = path.size(); i-- > 0;) {
        edges_[path[i]].left -= flow;
        edges_[path[i] ^ 1].left += flow;
        if (edges_[path[i]].left == 0)
          full = i;
      }
      at = edges_[path[full] ^ 1].to;
      path.resize(full);
      continue;
    }
    uint32_t &edge = current_[at];
    while (edge != none && (edges_[edge].left == 0 || level_[edges_[edge].to] != level_[at] + 1))
      edge = edges_[edge].next;
    if (edge != none) {
      path.push_back(edge);
      at = edges_[edge].to;
    } else if (path.empty()) {
      return;
    } else { // a dead end: no path leads through it any more
      level_[at] = none;
      at = edges_[path.back() ^ 1].to;
      path.pop_back();
    }
  }
}

std::vector<uint8_t> MinimumCut::solve() {
  while (findLevels())
    block();
  std::vector<uint8_t> side(first_.size());
  for (size_t i = 0; i < side.size(); ++i)
    side[i] = level_[i] != none;
  return side;
}

} // namespace bycc
