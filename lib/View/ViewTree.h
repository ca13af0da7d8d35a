// What is drawn of a document, as boxes in boxes. A unit is an operator, or a composite,
// which runs as one; a region is a box; units and regions that come several times in a row
// are a box for one turn of them.
//
//   root      inputs, units of the host, regions, repeats, outputs
//   region    units, repeats
//   repeat    what is in its first turn
//
// Rows of later turns are drawn as their rows of the first turn. Every box has a layout of
// its own, in which boxes inside it are closed.
#pragma once

#include "bycc/View/GraphLayout.h"
#include "bycc/View/ViewDocument.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bycc {

struct ViewTree {
  struct Child {
    enum class Kind : uint8_t { Input, Unit, Group, Output } kind = Kind::Unit;
    uint32_t index = 0;                               // input, unit, group, output
    bool readsOutside = false, isReadOutside = false; // beyond the group
  };
  struct Edge {
    uint32_t from = 0, to = 0; // children
    int64_t bytes = 0;         // of known sizes
    uint32_t tensors = 0;
    bool hasRunTimeSizes = false;
    bool crosses = false; // between the host and a vendor, or two vendors
  };
  struct Group {
    enum class Kind : uint8_t { Root, Region, Repeat } kind = Kind::Root;
    uint32_t parent = 0;
    uint32_t region = 0; // of report.functions
    uint32_t turns = 1;  // of a repeat
    uint32_t rows = 0;   // of one turn
    std::vector<Child> children;
    std::vector<Edge> edges;
    LayoutGraph boxes;
    GraphLayout layout;
  };
  struct Unit {
    uint32_t firstRow = 0, rows = 1;
    uint32_t group = 0;
  };
  // Where the turns of a row are: turn `turn` of `group`, whose first turn has `first` for it.
  struct Turn {
    uint32_t first = 0, group = 0, turn = 0;
  };

  std::vector<Group> groups; // [0] is the root
  std::vector<Unit> units;   // those that are drawn
  std::vector<Turn> turnOf;  // by row; `first` is the row itself in a first turn

  uint32_t drawn(uint32_t row) const {
    while (turnOf[row].first != row)
      row = turnOf[row].first;
    return row;
  }
  // Groups are made before what is in them.
  static constexpr double boxHeight = 40, groupHeight = 56;
};

ViewTree makeViewTree(const ViewDocument &document);

// "nn.conv2d", or a composite's name without its vendor: "conv2d_relu".
std::string unitTitle(const ViewDocument &document, const ViewTree::Unit &unit);
// Why a node of the host is there: what the vendor that would take it is told, else the first
// refusal; "" when no vendor was asked.
std::string hostReason(const OffloadNode &node);
// The same with every number as "N", so that reasons of one kind are one.
std::string reasonKind(const std::string &reason);

} // namespace bycc
