// Builds the function of one region. Its nodes move with their ids; what comes
// from outside becomes parameters, constants move in or do not, tuples and
// projections are made anew.
#pragma once

#include "bycc/IR/ConstantPool.h"
#include "bycc/Support/FlatMap.h"

#include "RegionTable.h"

#include <vector>

namespace bycc {

class Outliner {
public:
  Outliner(Module &module, const RegionTable &regions, uint32_t region, bool bindConstants,
           FunctionId function, const std::vector<uint32_t> &usesOfFunction)
      : module_(module), regions_(regions), region_(region), bindConstants_(bindConstants),
        function_(function), body_(module.function(function).body), usesOfFunction_(usesOfFunction),
        constants_(module) {}

  // What the host must pass, per parameter.
  std::vector<TensorRef> run();

private:
  void addCall(NodeId node);
  NodeId adopt(NodeId functionNode);
  NodeId copyFunction(NodeId functionNode);
  bool isInside(NodeId node) const { return regions_.of(node) == region_; }
  NodeId innerValue(NodeId node);
  NodeId makeInnerValue(NodeId node);
  NodeId innerTensor(TensorRef tensor);
  NodeId addParam(const TensorRef &tensor);

  Module &module_;
  const RegionTable &regions_;
  uint32_t region_;
  bool bindConstants_;
  FunctionId function_;
  BlockId body_;
  const std::vector<uint32_t> &usesOfFunction_; // by node
  ConstantPool constants_;
  std::vector<NodeId> list_, params_;
  std::vector<TensorRef> arguments_;
  FlatMap<NodeId, NodeId> values_; // outer value -> its form inside
  FlatMap<TensorRef, NodeId> tensors_;
};

} // namespace bycc
