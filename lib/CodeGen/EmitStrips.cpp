// Strips: a task of the thread pool that takes turns through a chain of kernels.
//
//   parallel_for(exec, task, exec, turns, 1)
//
//   task(exec, begin, end, thread):
//     for turn in begin .. end:
//       each kernel, its arguments moved on by the turn, on this thread
//
// What one kernel leaves to the next lies in the thread's scratch; all else has a fixed
// place in the arena, the weights, inputs or outputs, which the task finds from exec.
#include "EntryEmitter.h"

namespace bycc::codegen {

void EntryEmitter::beginStrips(const Instr &instr) {
  llvm::Type *ptr = b_.getPtrTy(), *slot = b_.getInt64Ty();
  auto *taskType =
      llvm::FunctionType::get(b_.getVoidTy(), {ptr, slot, slot, b_.getInt32Ty()}, false);
  auto *task = llvm::Function::Create(taskType, llvm::GlobalValue::InternalLinkage,
                                      options_.moduleName + "_strips", module_);
  int64_t turns = 1;
  for (int64_t count : instr.counts)
    turns *= count;
  beginNode(instr);
  auto *type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, slot, slot}, false);
  b_.CreateCall(type, field(frame_.api, offsetof(bycc_exec_api, parallel_for)),
                {frame_.exec, task, frame_.exec, i64(turns), i64(1)});
  endNode(instr);

  strips_ = std::make_unique<OpenStrips>();
  strips_->caller = frame_;
  strips_->place = b_.saveIP();
  beginFunction(task);
  strips_->thread = task->getArg(3);
  LValue *number = b_.CreateZExt(strips_->thread, slot);
  auto perThread = static_cast<int64_t>(p_.scratchBytes);
  LValue *own = b_.CreateAdd(b_.CreateMul(number, i64(perThread)),
                             i64(perThread - static_cast<int64_t>(p_.stripBytes)));
  strips_->memory =
      b_.CreateGEP(b_.getInt8Ty(), field(frame_.exec, offsetof(bycc_exec, scratch)), own);
  auto *before = b_.GetInsertBlock();
  strips_->head = llvm::BasicBlock::Create(llvm_, "turn", task);
  b_.CreateBr(strips_->head);
  b_.SetInsertPoint(strips_->head);
  strips_->turn = b_.CreatePHI(slot, 2);
  strips_->turn->addIncoming(task->getArg(1), before);
  LValue *rest = strips_->turn;
  strips_->parts.resize(instr.counts.size());
  for (size_t level = instr.counts.size(); level-- > 0;) {
    strips_->parts[level] = level > 0 ? b_.CreateURem(rest, i64(instr.counts[level])) : rest;
    rest = b_.CreateUDiv(rest, i64(instr.counts[level]));
  }
}

void EntryEmitter::endStrips() {
  LValue *next = b_.CreateAdd(strips_->turn, i64(1));
  strips_->turn->addIncoming(next, b_.GetInsertBlock());
  auto *done = llvm::BasicBlock::Create(llvm_, "", frame_.function);
  b_.CreateCondBr(b_.CreateICmpSLT(next, frame_.function->getArg(2)), strips_->head, done);
  b_.SetInsertPoint(done);
  b_.CreateRetVoid();
  b_.SetInsertPoint(frame_.fail); // nothing in strips fails
  b_.CreateUnreachable();
  b_.SetInsertPoint(frame_.allocas);
  b_.CreateBr(frame_.start);
  frame_ = strips_->caller;
  b_.restoreIP(strips_->place);
  strips_.reset();
}

EntryEmitter::LValue *EntryEmitter::stripOf(LValue *whole, const Instr &instr, size_t argument) {
  LValue *begin = whole;
  for (size_t level = 0; level < instr.steps.size(); ++level)
    if (int64_t step = instr.steps[level][argument])
      begin = b_.CreateGEP(b_.getInt8Ty(), begin, b_.CreateMul(strips_->parts[level], i64(step)));
  return begin;
}

} // namespace bycc::codegen
