// The folding of constants, for passes that walk forwards: see FoldConstants.cpp.
#pragma once

#include "bycc/IR/Builder.h"
#include "bycc/IR/Visitor.h"

#include <unordered_map>
#include <vector>

namespace bycc {

class ConstantFolder {
public:
  // Results may be `maxBytes` larger than inputs.
  ConstantFolder(Module &module, int64_t maxBytes);
  // The constant that a call or field is, or the node itself. For nodes that the module had
  // when this was made, operands first.
  Expected<NodeId> visit(NodeId node, Builder &builder);

private:
  NodeId foldProject(NodeId node);
  Expected<NodeId> foldCall(NodeId call, Builder &builder);
  NodeId view(NodeId call);
  void dropReader(NodeId constant);
  NodeId shapeQuestion(NodeId call);
  bool isConstantValue(NodeId node) const;
  void appendConstants(NodeId node, std::vector<Constant> &result) const;
  int64_t totalBytes(NodeId node) const;
  bool isWorthFolding(NodeId call) const;
  NodeId replace(NodeId call, std::vector<Constant> results, Builder &builder);

  struct Readers {
    size_t left = 0;
    bool isView = false;
  };

  Module &module_;
  int64_t maxBytes_;
  int64_t maxFolded_ = 0;                       // of module_.foldedBytes
  Users users_;                                 // before anything is folded
  std::unordered_map<NodeId, Readers> readers_; // of constants made here, not yet folded
};

} // namespace bycc
