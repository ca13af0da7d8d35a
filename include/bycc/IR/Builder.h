// Makes nodes, infers their types, and appends them to a block. The usual way to
// create IR in frontends and passes.
#pragma once

#include "bycc/IR/Infer.h"
#include "bycc/IR/Module.h"

#include <initializer_list>

namespace bycc {

class Builder {
public:
  Builder(Module &module, BlockId block) : module_(module), block_(block) {}
  Module &module() { return module_; }
  BlockId block() const { return block_; }
  void setBlock(BlockId block) { block_ = block; }
  // Source given to the nodes made from now on.
  void setSource(SourceId source) { source_ = source; }
  // Where new nodes go instead of the block's end (the list of a rewrite); null: the block.
  void setList(std::vector<NodeId> *list) { list_ = list; }

  // Errors are INPUT errors at the current source: a wrong attribute or type.
  Expected<NodeId> call(OpId op, std::span<const NodeId> operands, AttrDict attrs = {});
  Expected<NodeId> call(OpId op, std::initializer_list<NodeId> operands, AttrDict attrs = {}) {
    return call(op, std::span<const NodeId>(operands.begin(), operands.size()), std::move(attrs));
  }
  // Interned attributes that another call of the same op had.
  Expected<NodeId> callWithAttrs(OpId op, std::span<const NodeId> operands, AttrsId attrs);
  Expected<NodeId> callFunction(NodeId callee, std::span<const NodeId> arguments);
  NodeId tuple(std::span<const NodeId> fields);
  // The same for fields that a file gives: LIMIT when tuples of tuples hold more tensors than
  // anybody writes down. A chain of tuples that each hold the last one twice has 2^n.
  Expected<NodeId> limitedTuple(std::span<const NodeId> fields);
  Expected<NodeId> project(NodeId tuple, uint32_t index);
  // Blocks must be complete and inferred.
  Expected<NodeId> ifNode(NodeId condition, BlockId thenBlock);
  NodeId localFunction(FunctionId function); // its body is complete and inferred

private:
  Expected<NodeId> finish(NodeId node);
  Module &module_;
  BlockId block_;
  SourceId source_{0};
  std::vector<NodeId> *list_ = nullptr;
};

} // namespace bycc
