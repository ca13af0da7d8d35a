// Makes a program that was printed, changed by somebody and parsed again into the same
// module the program that it was: nodes get the ids, names and places back that they had.
//
// Calls say which node they were (annotation.origin); parameters are known by function and
// name; what has no room for it in Relay text by its place in a call (constants that are
// written out, tuples, functions), or by what it is made of (projections, branches, tuples).
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
  using Shape =
      std::pair<std::pair<uint8_t, uint32_t>, std::vector<NodeId>>; // kind, field; operands

  static Shape shapeOf(const Module &module, NodeId node);
  bool isNew(NodeId node) const { return node.index >= firstNode_; }
  NodeId now(NodeId node) const;
  static bool isUnchanged(const Module &module, NodeId node, NodeId old);
  void claim(NodeId node, NodeId old);
  void claimCalls(const Module &module);
  void claimOperands(const Module &module, NodeId node, NodeId old);
  void claimParams(const Module &module);
  void claimShapes(Module &module);
  void replace(Module &module);
  void renameOthers(Module &module);
  void restoreOrder(Module &module, BlockId block) const;
  void claimGlobals(Module &module);
  void orderGlobals(Module &module);

  std::vector<std::pair<NodeId, uint32_t>> origins_;
  uint32_t firstNode_, firstBlock_, firstFunction_;
  std::vector<FunctionId> globals_; // as they were
  std::map<Shape, NodeId> shapes_;  // of old tuples, projections and branches
  std::vector<NodeId> oldOf_;       // by node - firstNode_
  std::vector<NodeId> claimedBy_;   // by old node
  std::vector<uint32_t> positions_; // of old nodes in the program
  std::vector<BlockId> blockOf_;    // by node - firstNode_
};

} // namespace bycc
