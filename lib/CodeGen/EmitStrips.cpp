// Strips: a task of the thread pool that takes turns through a chain of kernels.
//
//   parallel_for(exec, task, closure, turns, 1)
//
//   task(closure, begin, end, thread):
//     for turn in begin .. end:
//       each kernel, its arguments moved on by the turn, on this thread
//
// What one kernel leaves to the next lies in memory of the thread; where all else begins,
// and extents that are known at run time only, the closure tells:
//
//   exec | pointers | extents
#include "EntryEmitter.h"

#include <algorithm>
#include <array>

namespace bycc::codegen {

EntryEmitter::Closure EntryEmitter::closureOf(const Instr &strips) const {
  Closure closure;
  auto addPointer = [&](ValueId value) {
    value = p_.root(value);
    if (p_.values[value].stripOffset == noRef &&
        std::ranges::find(closure.pointers, value) == closure.pointers.end())
      closure.pointers.push_back(value);
  };
  auto addExtent = [&](Ref ref) {
    if (ref != noRef && ref != strips.rows.dim && !p_.exprs.constant(ref) &&
        std::ranges::find(closure.extents, ref) == closure.extents.end())
      closure.extents.push_back(ref);
  };
  std::ranges::for_each(strips.counts, addExtent);
  std::ranges::for_each(std::array{strips.rows.most, strips.rows.all}, addExtent);
  if (!strips.temps.empty()) {
    addPointer(strips.temps[0]);
    addExtent(p_.values[strips.temps[0]].dims[1]);
  }
  for (const Instr *kernel = &strips + 1; kernel->kind == Instr::Kind::Kernel; ++kernel) {
    std::ranges::for_each(kernel->arguments, addPointer);
    std::ranges::for_each(kernel->dims, addExtent);
    for (const std::vector<Ref> &steps : kernel->steps)
      std::ranges::for_each(steps, addExtent);
    for (ValueId value : kernel->arguments)
      addExtent(p_.values[p_.root(value)].stripOffset);
  }
  return closure;
}

EntryEmitter::LValue *EntryEmitter::makeClosure(const Closure &closure) {
  std::vector<LValue *> words{frame_.exec};
  for (ValueId value : closure.pointers)
    words.push_back(pointer(value));
  for (Ref extent : closure.extents)
    words.push_back(evaluate(extent));
  LValue *made = newAlloca(llvm::ArrayType::get(b_.getInt64Ty(), words.size()));
  for (size_t w = 0; w < words.size(); ++w)
    b_.CreateStore(words[w], at(made, static_cast<int64_t>(8 * w)));
  return made;
}

void EntryEmitter::openClosure(const Closure &closure, LValue *words) {
  int64_t offset = 8;
  for (ValueId value : closure.pointers) {
    strips_->pointers[value] = field(words, offset);
    offset += 8;
  }
  for (Ref extent : closure.extents) {
    strips_->extents[extent] = b_.CreateLoad(b_.getInt64Ty(), at(words, offset));
    offset += 8;
  }
}

EntryEmitter::LValue *EntryEmitter::memoryOfThread(const Instr &strips) {
  LValue *number = b_.CreateZExt(strips_->thread, b_.getInt64Ty());
  if (!strips.temps.empty()) {
    LValue *perThread = evaluate(p_.values[strips.temps[0]].dims[1]);
    return b_.CreateGEP(b_.getInt8Ty(), pointer(strips.temps[0]), b_.CreateMul(number, perThread));
  }
  auto perThread = static_cast<int64_t>(p_.scratchBytes);
  LValue *own = b_.CreateAdd(b_.CreateMul(number, i64(perThread)),
                             i64(perThread - static_cast<int64_t>(p_.stripBytes)));
  return b_.CreateGEP(b_.getInt8Ty(), field(frame_.exec, offsetof(bycc_exec, scratch)), own);
}

// Which part of each cut the turn is, and how many rows that has.
void EntryEmitter::findParts(const Instr &strips) {
  LValue *rest = strips_->turn;
  strips_->parts.resize(strips.counts.size());
  for (size_t level = strips.counts.size(); level-- > 0;) {
    LValue *count = evaluate(strips.counts[level]);
    strips_->parts[level] = level > 0 ? b_.CreateURem(rest, count) : rest;
    rest = b_.CreateUDiv(rest, count);
  }
  if (strips.rows.dim == noRef)
    return;
  LValue *most = evaluate(strips.rows.most);
  LValue *left = b_.CreateSub(evaluate(strips.rows.all), b_.CreateMul(strips_->parts.back(), most));
  strips_->extents[strips.rows.dim] = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, most, left);
}

void EntryEmitter::beginStrips(const Instr &instr) {
  llvm::Type *ptr = b_.getPtrTy(), *slot = b_.getInt64Ty();
  auto *taskType =
      llvm::FunctionType::get(b_.getVoidTy(), {ptr, slot, slot, b_.getInt32Ty()}, false);
  auto *task = llvm::Function::Create(taskType, llvm::GlobalValue::InternalLinkage,
                                      options_.moduleName + "_strips", module_);
  for (const auto *list : {&instr.outputs, &instr.temps})
    for (ValueId value : *list)
      define(value);
  evaluated_.clear();
  Closure closure = closureOf(instr);
  LValue *turns = i64(1);
  for (Ref count : instr.counts)
    turns = b_.CreateMul(turns, evaluate(count));
  LValue *words = makeClosure(closure);
  beginNode(instr);
  auto *type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, slot, slot}, false);
  b_.CreateCall(type, field(frame_.api, offsetof(bycc_exec_api, parallel_for)),
                {frame_.exec, task, words, turns, i64(1)});
  endNode(instr);

  strips_ = std::make_unique<OpenStrips>();
  strips_->caller = frame_;
  strips_->place = b_.saveIP();
  evaluated_.clear();
  beginFunction(task, true);
  strips_->thread = task->getArg(3);
  openClosure(closure, task->getArg(0));
  strips_->memory = memoryOfThread(instr);
  auto *before = b_.GetInsertBlock();
  strips_->head = llvm::BasicBlock::Create(llvm_, "turn", task);
  b_.CreateBr(strips_->head);
  b_.SetInsertPoint(strips_->head);
  strips_->turn = b_.CreatePHI(slot, 2);
  strips_->turn->addIncoming(task->getArg(1), before);
  findParts(instr);
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
  evaluated_.clear();
}

EntryEmitter::LValue *EntryEmitter::stripOf(LValue *whole, const Instr &instr, size_t argument) {
  LValue *begin = whole;
  for (size_t level = 0; level < instr.steps.size(); ++level)
    if (Ref step = instr.steps[level][argument]; p_.exprs.constant(step) != 0)
      begin =
          b_.CreateGEP(b_.getInt8Ty(), begin, b_.CreateMul(strips_->parts[level], evaluate(step)));
  return begin;
}

} // namespace bycc::codegen
