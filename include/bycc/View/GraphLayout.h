// Draws a directed graph in layers: sizes and edges in, coordinates out; it knows nothing
// of programs. The usual steps, each near-linear, so that ten thousand nodes take well under
// a second:
//
//   1  layers     longest path, at most so many nodes in one; sources sink to their readers
//   2  chains     an edge over several layers passes each in between at a point. Edges of
//                 one source share their points, so that what everybody reads is one line
//   3  order      sweeps by mean position of neighbours; the order of fewest crossings stays
//   4  x          sweeps again: as near to the neighbours as order and gaps allow, which is
//                 isotonic regression for each layer
//   5  columns    a long graph goes on in a column beside the first, as text does, cut where
//                 few edges are
//
// Vertical coordinates are left to who draws: boxes that open change the heights of layers,
// not the layers.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace bycc {

struct LayoutGraph {
  struct Node {
    double width = 0, height = 0;
  };
  std::vector<Node> nodes; // in dependency order
  // From, to. Those that go against the order of nodes (loops) have no say in the layout.
  std::vector<std::pair<uint32_t, uint32_t>> edges;
};

struct LayoutOptions {
  double gapX = 18, gapY = 30;              // between nodes, between layers
  double gapChain = 8;                      // beside the points of chains
  double gapColumn = 56;                    // between columns
  double viewWidth = 900, viewHeight = 700; // columns are to fill
};

struct GraphLayout {
  uint32_t numLayers = 0;
  std::vector<uint32_t> layer; // by node
  std::vector<double> x;       // by node: of its centre
  // By node: where its edges pass the layers after its own, one by one. An edge to layer l
  // uses the points above l; with fewer of them it is too long to be led around others.
  std::vector<std::vector<double>> chain;
  std::vector<uint32_t> columns; // first layer of each column, [0] is 0
  // By layer: left to right, as node, or nodes.size() + i for the i-th point of all chains.
  std::vector<std::vector<uint32_t>> order;
};

GraphLayout layOut(const LayoutGraph &graph, const LayoutOptions &options = {});

// Of the drawing with these columns, closed boxes only.
struct LayoutExtent {
  double width = 0, height = 0;
};
LayoutExtent extentOf(const LayoutGraph &graph, const GraphLayout &layout,
                      const LayoutOptions &options = {});

} // namespace bycc
