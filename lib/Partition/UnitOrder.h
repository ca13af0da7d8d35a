// Puts a block in an order in which each region is one piece: units (a region,
// or a host node) by what they need, ties by old position.
#pragma once

#include "Numbers.h"
#include "RegionTable.h"

#include <utility>
#include <vector>

namespace bycc {

class UnitOrder {
public:
  struct Unit {
    uint32_t region = none;
    NodeId node; // of the host
  };

  UnitOrder(const Module &module, const NodePlaces &places, const RegionTable &regions,
            BlockId block)
      : module_(module), places_(places), regions_(regions), block_(block) {}

  // Empty when two units need each other and the block is not.
  std::vector<Unit> sort();
  // After a failed sort(): which region needs what comes after it.
  Error cycleError() const;
  // The regions and nodes that need each other in a ring.
  std::vector<Unit> cycle() const;

private:
  void makeUnits();
  void makeEdges();
  void sortEdges();
  void need(NodeId value, uint32_t unit);
  void addEdge(NodeId from, uint32_t unit);

  const Module &module_;
  const NodePlaces &places_;
  const RegionTable &regions_;
  BlockId block_;
  std::vector<Unit> units_;
  std::vector<uint32_t> unitOf_; // by position in the block
  std::vector<std::pair<uint32_t, uint32_t>> edges_;
  std::vector<uint32_t> begin_, to_, waiting_;
  std::vector<TensorRef> tensors_;
};

} // namespace bycc
