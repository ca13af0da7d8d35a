// One block as a graph over positions 0 .. n-1 of its list: who uses whom inside
// the block, and which values leave it (block result, or used by a block inside).
#pragma once

#include "bycc/IR/Module.h"

#include <cstdint>
#include <span>
#include <vector>

namespace bycc {

// Positions of nodes in the block being looked at; shared between the graphs of
// a module's blocks, so that each costs only its own size.
using NodePositions = std::vector<uint32_t>; // by NodeId, UINT32_MAX = elsewhere

class BlockGraph {
public:
  // `positions` is sized to the module on first use and left with this block's
  // entries set. Cost: the block and everything inside it.
  BlockGraph(const Module &module, BlockId block, NodePositions &positions);

  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  NodeId node(uint32_t position) const { return nodes_[position]; }
  // Operands that stand in this block; leaves and outer values are left out.
  // What an inner block takes counts as an operand of its owner.
  std::span<const uint32_t> operands(uint32_t position) const {
    return slice(operands_, operandBegin_, position);
  }
  // Each user once per use, ascending.
  std::span<const uint32_t> users(uint32_t position) const {
    return slice(users_, userBegin_, position);
  }
  bool isResult(uint32_t position) const { return position == result_; }

private:
  static std::span<const uint32_t> slice(const std::vector<uint32_t> &list,
                                         const std::vector<uint32_t> &begin, uint32_t position) {
    return {list.data() + begin[position], begin[position + 1] - begin[position]};
  }
  void collectOperands(const Module &module, const NodePositions &positions);
  void invertEdges();

  std::span<const NodeId> nodes_;
  uint32_t result_ = UINT32_MAX;
  std::vector<uint32_t> operands_, operandBegin_, users_, userBegin_;
};

} // namespace bycc
