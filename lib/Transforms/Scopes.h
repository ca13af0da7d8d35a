// Where graph passes may change something, and the rewrite most of them use.
#pragma once

#include "bycc/IR/Builder.h"
#include "bycc/IR/Functions.h"
#include "bycc/IR/Visitor.h"

#include <functional>
#include <vector>

namespace bycc {

// Blocks inside closed local functions of `function`.
class ClosedBlocks {
public:
  ClosedBlocks(const Module &module, FunctionId function);
  bool contains(BlockId block) const {
    return block.index < closed_.size() && closed_[block.index];
  }

private:
  void walk(const Module &module, BlockId block, bool closed);
  std::vector<bool> closed_;
};

// rewriteFunction() over every function that passes may change, closed blocks
// left out, then without what became unused. True when anything changed.
Expected<bool> rewriteOpenBlocks(Module &module, const RewriteFn &rewrite);

} // namespace bycc
