// The scopes that partitioning looks at: every block of every function of the
// host, with composites, kernels and external functions left closed.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/IR/Visitor.h"

#include <vector>

namespace bycc {

// Blocks of host code that a node opens: both branches, or the body of a closure.
std::vector<BlockId> openBlocks(const Module &module, NodeId node);

// Every value that a node uses, and that the blocks in it use; some of them several
// times. What must run before what is told by this alone: grouping, ordering and
// splitting would otherwise disagree on what a region needs.
template <typename Visit> void forEachUsedValue(const Module &module, NodeId node, Visit &&visit) {
  for (NodeId operand : module.operands(node))
    visit(operand);
  for (BlockId inner : innerBlocks(module, node)) {
    for (NodeId innerNode : module.block(inner).nodes)
      forEachUsedValue(module, innerNode, visit);
    visit(module.block(inner).result);
  }
}

// Host blocks of all functions, outer ones first, in program order.
std::vector<BlockId> hostBlocks(const Module &module);

// Drops global functions that the roots do not reach. True when some went.
bool removeUnreachableFunctions(Module &module, std::vector<FunctionId> roots);

// Drops what no result needs, lets too. A field taken of a tuple that is made in
// sight is used directly, so that the other fields are needed by nobody for it.
// True when something changed.
bool dropUnneeded(Module &module);

// One more than the highest region of any annotation.
int32_t firstFreeRegion(const Module &module);

} // namespace bycc
