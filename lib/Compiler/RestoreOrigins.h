// Makes a program that was printed, changed by somebody and parsed again into the same
// module the program that it was: nodes get the ids, names and places back that they had.
//
// Which node was which is known in four ways: calls say so (annotation.origin); parameters
// by function and name; tuples, projections and branches, which have no room for it in Relay
// text, by what they are made of; functions that are called in place by their call.
#pragma once

#include "bycc/IR/Module.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bycc {

class RestoreOrigins {
public:
  // Before the functions are replaced.
  explicit RestoreOrigins(const Module &module);
  // Filled while the text is parsed: node, and the number that it says it had.
  std::vector<std::pair<NodeId, uint32_t>> &origins() { return origins_; }
  // After it.
  void run(Module &module);

private:
  using Shape = std::pair<std::pair<uint8_t, uint32_t>, std::vector<NodeId>>; // kind, field; operands

  static Shape shapeOf(const Module &module, NodeId node);
  bool isNew(NodeId node) const { return node.index >= firstNode_; }
  NodeId now(NodeId node) const;
  void claim(NodeId node, NodeId old);
  void claimCalls(const Module &module);
  void claimParams(const Module &module);
  void claimShapes(Module &module);
  void replace(Module &module);
  void renameOthers(Module &module);
  void orderGlobals(Module &module);

  std::vector<std::pair<NodeId, uint32_t>> origins_;
  uint32_t firstNode_, firstBlock_, firstFunction_;
  std::vector<FunctionId> globals_;     // as they were
  std::map<Shape, NodeId> shapes_;      // of old tuples, projections and branches
  std::vector<NodeId> oldOf_;           // by node - firstNode_
  std::vector<uint8_t> isClaimed_;      // by old node
};

} // namespace bycc
