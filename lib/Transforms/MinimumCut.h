// The cheapest way to part the nodes of a network in two, source from sink.
//
// Dinic's algorithm (E. A. Dinic, 1970): level graphs by breadth-first search,
// blocking flows in them by depth-first search, with arrays instead of recursion.
// What the source still reaches in the end is its side: of several cheapest cuts
// the one with the fewest nodes there, so the answer does not depend on the order
// of the edges.
#pragma once

#include <cstdint>
#include <vector>

namespace bycc {

class MinimumCut {
public:
  static constexpr uint32_t source = 0, sink = 1;
  static constexpr int64_t unlimited = int64_t{1} << 60;

  MinimumCut() : first_(2, none) {}
  uint32_t addNode() {
    first_.push_back(none);
    return static_cast<uint32_t>(first_.size() - 1);
  }
  // Costs `capacity` >= 0 when `from` ends on the source's side and `to` does not.
  void addEdge(uint32_t from, uint32_t to, int64_t capacity);
  // By node, 1 on the source's side. The network is used up.
  std::vector<uint8_t> solve();

private:
  static constexpr uint32_t none = UINT32_MAX;
  struct Edge {
    uint32_t to, next;
    int64_t left; // capacity not yet used; edge i ^ 1 is the way back
  };
  bool findLevels();
  void block();

  std::vector<Edge> edges_;
  std::vector<uint32_t> first_, level_, current_;
};

} // namespace bycc
