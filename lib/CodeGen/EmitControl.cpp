// Ifs of the entry.
#include "EntryEmitter.h"

namespace bycc::te {

void EntryEmitter::beginIf(const Instr &instr) {
  // Results of the branches get their memory before them.
  int depth = 0;
  for (const Instr *at = &instr;; ++at) {
    depth += at->kind == Instr::Kind::If;
    depth -= at->kind == Instr::Kind::EndIf;
    if (at->kind == Instr::Kind::Copy && depth == 1)
      define(at->outputs[0]);
    if (depth == 0)
      break;
  }
  LValue *condition = b_.CreateICmpNE(b_.CreateLoad(b_.getInt8Ty(), pointer(instr.inputs[0])), b_.getInt8(0));
  auto *then = llvm::BasicBlock::Create(llvm_, "then", function_);
  OpenIf open{llvm::BasicBlock::Create(llvm_, "else", function_), llvm::BasicBlock::Create(llvm_, "join", function_), pointers_};
  b_.CreateCondBr(condition, then, open.otherwise);
  b_.SetInsertPoint(then);
  ifs_.push_back(std::move(open));
}

void EntryEmitter::beginElse() {
  b_.CreateBr(ifs_.back().join);
  b_.SetInsertPoint(ifs_.back().otherwise);
  pointers_ = ifs_.back().outer;
}

void EntryEmitter::endIf() {
  b_.CreateBr(ifs_.back().join);
  b_.SetInsertPoint(ifs_.back().join);
  pointers_ = ifs_.back().outer;
  ifs_.pop_back();
}

} // namespace bycc::te
