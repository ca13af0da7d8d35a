// Walks and rewrites over blocks. Blocks nest at most 64 deep, so the recursion
// here is bounded; everything along a list is a loop.
#pragma once

#include "bycc/IR/Module.h"

#include <functional>
#include <vector>

namespace bycc {

// Every node of the block's list in order, and before each If or local Function
// the nodes of its blocks.
void forEachNode(const Module &module, BlockId block, const std::function<void(NodeId)> &visit);
// Every block of the function, inner ones first.
void forEachBlock(const Module &module, FunctionId function,
                  const std::function<void(BlockId)> &visit);
// Blocks directly owned by a node (If: two, Function: one, else none).
std::vector<BlockId> innerBlocks(const Module &module, NodeId node);

// Global functions that graph passes may change: not Compiler, Extern or
// SkipOptimization.
std::vector<FunctionId> optimizableFunctions(const Module &module);
// Global functions, and the host code of external ones.
std::vector<FunctionId> functionsWithHostCode(const Module &module);

// Users of every node of the module that stands in some live list, as CSR
// arrays. A block's result counts as one use by `resultUse`.
class Users {
public:
  explicit Users(const Module &module);
  // Each user once per operand position, in program order.
  std::span<const NodeId> of(NodeId node) const {
    return {users_.data() + begin_[node.index], begin_[node.index + 1] - begin_[node.index]};
  }
  uint32_t count(NodeId node) const {
    return begin_[node.index + 1] - begin_[node.index] + results_[node.index];
  }
  // How many blocks have the node as their result.
  uint32_t numResultUses(NodeId node) const { return results_[node.index]; }

private:
  std::vector<uint32_t> begin_;
  std::vector<NodeId> users_;
  std::vector<uint32_t> results_;
};

// One forward pass over all blocks of a function. For each node, with its
// operands already replaced, `rewrite` returns the node to use in its place
// (itself to keep it; a fresh one made through the given Builder, which inserts
// before it; or an older one to drop it). Returns true when anything changed.
// Inner blocks are rewritten before the node that owns them.
using RewriteFn = std::function<Expected<NodeId>(NodeId node, class Builder &builder)>;
Expected<bool> rewriteFunction(Module &module, FunctionId function, const RewriteFn &rewrite);

// Drops nodes that no result needs (lets marked `isLet` too when dropLets).
// True when something went.
bool removeDeadNodes(Module &module, FunctionId function, bool dropLets);

// Order of `nodes` in which operands come first and ties keep the given order;
// for passes that contract groups. Empty when there is a cycle.
std::vector<NodeId> topologicalOrder(const Module &module, std::span<const NodeId> nodes);

} // namespace bycc
