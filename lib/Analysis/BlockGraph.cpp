// Edges of a block as two flat lists.

#include "bycc/Analysis/BlockGraph.h"

#include "bycc/IR/Visitor.h"

namespace bycc {

BlockGraph::BlockGraph(const Module &module, BlockId block, NodePositions &positions)
    : nodes_(module.block(block).nodes) {
  if (positions.size() < module.numNodes())
    positions.resize(module.numNodes(), UINT32_MAX);
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    positions[nodes_[i].index] = i;
  collectOperands(module, positions);
  if (NodeId result = module.block(block).result) {
    uint32_t at = positions[result.index];
    if (at < size() && nodes_[at] == result)
      result_ = at;
  }
  invertEdges();
}

void BlockGraph::collectOperands(const Module &module, const NodePositions &positions) {
  operandBegin_.push_back(0);
  for (NodeId node : nodes_) {
    auto take = [&](NodeId used) {
      uint32_t at = used ? positions[used.index] : UINT32_MAX;
      if (at < nodes_.size() && nodes_[at] == used && used != node)
        operands_.push_back(at);
    };
    for (NodeId operand : module.operands(node))
      take(operand);
    for (BlockId inner : innerBlocks(module, node)) {
      forEachNode(module, inner, [&](NodeId deep) {
        for (NodeId operand : module.operands(deep))
          take(operand);
        for (BlockId deeper : innerBlocks(module, deep))
          take(module.block(deeper).result);
      });
      take(module.block(inner).result);
    }
    operandBegin_.push_back(static_cast<uint32_t>(operands_.size()));
  }
}

void BlockGraph::invertEdges() {
  userBegin_.assign(nodes_.size() + 1, 0);
  for (uint32_t operand : operands_)
    ++userBegin_[operand + 1];
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    userBegin_[i + 1] += userBegin_[i];
  users_.resize(operands_.size());
  std::vector<uint32_t> next(userBegin_.begin(), userBegin_.end() - 1);
  for (uint32_t user = 0; user < nodes_.size(); ++user)
    for (uint32_t operand : operands(user))
      users_[next[operand]++] = user;
}

} // namespace bycc
