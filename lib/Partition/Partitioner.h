// Moves the regions of a table into global functions and puts calls in their
// places; see PartitionGraph.cpp.
#pragma once

#include "bycc/Support/FlatMap.h"
#include "bycc/Target/PassContext.h"

#include "ExtentCarriers.h"
#include "RegionTable.h"

#include <map>
#include <string>
#include <vector>

namespace bycc {

class Partitioner {
public:
  Partitioner(Module &module, PassContext &context, const RegionTable &regions);

  // INPUT error when regions need each other.
  Expected<> run();

private:
  // Host values made for this block, on top of the nodes that stay.
  struct Scope {
    std::vector<NodeId> list;
    FlatMap<NodeId, NodeId> values;
    FlatMap<TensorRef, NodeId> tensors;
  };

  Expected<> emitBlock(BlockId block);
  Expected<> emitNode(NodeId node, Scope &scope);
  bool isOnHost(NodeId value) const;
  bool staysValid(NodeId wire) const;
  NodeId hostValue(NodeId node, Scope &scope);
  NodeId hostTensor(const TensorRef &tensor, Scope &scope);
  Expected<> emitRegion(uint32_t index, Scope &scope);
  std::string makeSymbol(StringId vendor);

  Module &module_;
  PassContext &context_;
  const RegionTable &regions_;
  NodePlaces places_;
  std::vector<uint8_t> isKept_;          // tuples and projections that stay in host code
  std::vector<uint32_t> usesOfFunction_; // by node: calls of local functions
  // Host values of the regions' outputs, one region after the other.
  std::vector<uint32_t> resultsBegin_;
  std::vector<NodeId> results_;
  std::map<std::string, uint32_t> nextNumber_; // by vendor
  ExtentCarriers carriers_;                    // of the block at hand
};

} // namespace bycc
