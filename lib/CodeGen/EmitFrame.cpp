// The frame of a kernel: its function and arguments, the tasks that the thread pool
// runs, loops and branches.
#include "Emit.h"

#include "Object.h"
#include "bycc/abi.h"

#include <llvm/IR/MDBuilder.h>

namespace bycc::codegen {

void EmitContext::setFunctionAttrs(llvm::Function &function) const {
  function.addFnAttr("target-cpu", baselineCpu);
  function.addFnAttr("tune-cpu", target.cpu);
  if (std::string features = codeFeatures(target, "+"); !features.empty())
    function.addFnAttr("target-features", features);
  std::string bits = std::to_string(target.vectorBits);
  function.addFnAttr("prefer-vector-width", bits);
  function.addFnAttr("min-legal-vector-width", bits);
  function.setDoesNotThrow();
}

KernelEmitter::KernelEmitter(EmitContext &context, const Loops &loops, std::string name)
    : context_(context), loops_(loops), x_(loops.kernel.exprs), name_(std::move(name)),
      llvm_(context.module.getContext()), b_(llvm_) {
  llvm::FastMathFlags flags;
  flags.setAllowContract();
  b_.setFastMathFlags(flags);
  for (const Nest &nest : loops.nests)
    for (const NestStage &inner : nest.stages)
      if (inner.isLocal && !inner.isRegister)
        locals_[inner.stage.buffer] = &inner;
  llvm::MDBuilder metadata(llvm_);
  auto *domain = metadata.createAnonymousAliasScopeDomain(name_);
  std::vector<llvm::Metadata *> all;
  uint32_t count = static_cast<uint32_t>(loops.kernel.buffers.size());
  for (uint32_t b = 0; b < count; ++b)
    all.push_back(metadata.createAnonymousAliasScope(domain));
  for (uint32_t b = 0; b < count; ++b) {
    aliasScopes_[b] = llvm::MDNode::get(llvm_, {all[b]});
    // Inputs may be the same memory as each other, but nobody writes them.
    std::vector<llvm::Metadata *> others;
    for (uint32_t o = 0; o < count; ++o)
      if (o != b)
        others.push_back(all[o]);
    noAlias_[b] = llvm::MDNode::get(llvm_, others);
  }
}

llvm::Function *KernelEmitter::run(bool isOfStrips) {
  llvm::Type *ptr = b_.getPtrTy();
  std::vector<llvm::Type *> params(1 + loops_.arguments.size(), ptr);
  params.insert(params.end(), loops_.kernel.numDims, b_.getInt64Ty());
  if (isOfStrips)
    params.push_back(b_.getInt32Ty());
  auto *type = llvm::FunctionType::get(b_.getVoidTy(), params, false);
  auto *kernel =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name_, context_.module);
  context_.setFunctionAttrs(*kernel);
  kernel->addFnAttr(llvm::Attribute::NoInline);
  function_ = kernel;
  b_.SetInsertPoint(llvm::BasicBlock::Create(llvm_, "entry", kernel));
  frame_.exec = kernel->getArg(0);
  for (size_t a = 0; a < loops_.arguments.size(); ++a)
    frame_.pointers[loops_.arguments[a]] = kernel->getArg(static_cast<unsigned>(a + 1));
  for (uint32_t d = 0; d < loops_.kernel.numDims; ++d)
    frame_.dims.push_back(kernel->getArg(static_cast<unsigned>(1 + loops_.arguments.size() + d)));
  if (isOfStrips)
    frame_.thread = kernel->getArg(static_cast<unsigned>(params.size() - 1));
  Scope scope(*this);
  for (size_t n = 0; n < loops_.nests.size(); ++n) {
    Scope inner(*this);
    const Nest &nest = loops_.nests[n];
    if (nest.contraction)
      emitContraction(*nest.contraction, loops_.schedule.nests[n]);
    else
      emitNest(nest, loops_.schedule.nests[n]);
  }
  b_.CreateRetVoid();
  return kernel;
}

llvm::Value *KernelEmitter::entryAlloca(llvm::Type *type) {
  llvm::BasicBlock &entry = function_->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  return at.CreateAlloca(type);
}

void KernelEmitter::forLoop(Value *begin, Value *end, int64_t step,
                            const std::function<void(Value *)> &body) {
  auto *constantBegin = llvm::dyn_cast<llvm::ConstantInt>(begin);
  auto *constantEnd = llvm::dyn_cast<llvm::ConstantInt>(end);
  bool isKnown = constantBegin && constantEnd;
  if (isKnown && constantBegin->getSExtValue() >= constantEnd->getSExtValue())
    return;
  if (isKnown && constantBegin->getSExtValue() + step >= constantEnd->getSExtValue()) {
    Scope scope(*this);
    body(begin);
    return;
  }
  auto *before = b_.GetInsertBlock();
  auto *loop = llvm::BasicBlock::Create(llvm_, "loop", function_);
  auto *done = llvm::BasicBlock::Create(llvm_, "done", function_);
  if (isKnown)
    b_.CreateBr(loop);
  else
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), loop, done);
  b_.SetInsertPoint(loop);
  llvm::PHINode *index = b_.CreatePHI(b_.getInt64Ty(), 2);
  index->addIncoming(begin, before);
  {
    Scope scope(*this);
    body(index);
  }
  Value *next = b_.CreateNSWAdd(index, i64(step));
  index->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), loop, done);
  b_.SetInsertPoint(done);
}

void KernelEmitter::ifThen(Value *condition, const std::function<void()> &then,
                           const std::function<void()> &otherwise) {
  if (auto *known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    Scope scope(*this);
    if (known->isOne())
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  auto *thenBlock = llvm::BasicBlock::Create(llvm_, "then", function_);
  auto *elseBlock = otherwise ? llvm::BasicBlock::Create(llvm_, "else", function_) : nullptr;
  auto *join = llvm::BasicBlock::Create(llvm_, "join", function_);
  b_.CreateCondBr(condition, thenBlock, elseBlock ? elseBlock : join);
  b_.SetInsertPoint(thenBlock);
  {
    Scope scope(*this);
    then();
  }
  b_.CreateBr(join);
  if (elseBlock) {
    b_.SetInsertPoint(elseBlock);
    Scope scope(*this);
    otherwise();
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
}

llvm::Value *KernelEmitter::scratchOf(Value *thread) {
  Value *all = loadField(frame_.exec, offsetof(bycc_exec, scratch), b_.getPtrTy());
  Value *size = b_.CreateLoad(b_.getInt64Ty(), context_.scratchBytes);
  return b_.CreateGEP(b_.getInt8Ty(), all,
                      b_.CreateMul(b_.CreateZExt(thread, b_.getInt64Ty()), size));
}

// Runs body(begin, end) over [0, count): as a task of the pool, each thread taking `grain` at
// least, else (0) in place, as in strips. The task finds everything in a closure of 8-byte slots.
void KernelEmitter::emitTask(Value *count, int64_t grain, bool needsScratch, const TaskBody &body) {
  if (frame_.thread || (grain == 0 && !needsScratch)) {
    if (frame_.thread && needsScratch)
      frame_.scratch = scratchOf(frame_.thread);
    Scope scope(*this);
    body(i64(0), count);
    return;
  }
  llvm::Type *slot = b_.getInt64Ty(), *ptr = b_.getPtrTy();
  Value *closure = makeClosure();
  auto *taskType =
      llvm::FunctionType::get(b_.getVoidTy(), {ptr, slot, slot, b_.getInt32Ty()}, false);
  auto *task =
      llvm::Function::Create(taskType, llvm::GlobalValue::InternalLinkage,
                             name_ + ".task" + std::to_string(numTasks_++), context_.module);
  context_.setFunctionAttrs(*task);
  if (grain > 0) {
    Value *api = loadField(frame_.exec, offsetof(bycc_exec, api), ptr);
    Value *parallelFor = loadField(api, offsetof(bycc_exec_api, parallel_for), ptr);
    auto *type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, slot, slot}, false);
    b_.CreateCall(type, parallelFor, {frame_.exec, task, closure, count, i64(grain)});
  } else {
    b_.CreateCall(task, {closure, i64(0), count, b_.getInt32(0)});
  }
  emitTaskBody(*task, needsScratch, body);
}

// What a task finds in its closure: exec, the arguments, the dims.
llvm::Value *KernelEmitter::makeClosure() {
  llvm::Type *slot = b_.getInt64Ty();
  std::vector<Value *> captured{frame_.exec};
  for (uint32_t buffer : loops_.arguments)
    captured.push_back(frame_.pointers.at(buffer));
  captured.insert(captured.end(), frame_.dims.begin(), frame_.dims.end());
  Value *closure = entryAlloca(llvm::ArrayType::get(slot, captured.size()));
  for (size_t i = 0; i < captured.size(); ++i)
    b_.CreateStore(captured[i], b_.CreateConstInBoundsGEP1_64(slot, closure, i));
  return closure;
}

void KernelEmitter::emitTaskBody(llvm::Function &task, bool needsScratch, const TaskBody &body) {
  auto savedPoint = b_.saveIP();
  Frame savedFrame = frame_;
  llvm::Function *savedFunction = function_;
  auto savedScopes = std::move(scopes_);
  auto savedAxes = axes_;
  scopes_.clear();
  function_ = &task;
  b_.SetInsertPoint(llvm::BasicBlock::Create(llvm_, "entry", &task));
  llvm::Type *slot = b_.getInt64Ty(), *ptr = b_.getPtrTy();
  size_t next = 0;
  auto take = [&](llvm::Type *type) {
    return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(slot, task.getArg(0), next++));
  };
  frame_.exec = take(ptr);
  for (uint32_t buffer : loops_.arguments)
    frame_.pointers[buffer] = take(ptr);
  for (Value *&dim : frame_.dims)
    dim = take(slot);
  if (needsScratch)
    frame_.scratch = scratchOf(task.getArg(3));
  {
    Scope scope(*this);
    body(task.getArg(1), task.getArg(2));
  }
  b_.CreateRetVoid();
  scopes_ = std::move(savedScopes);
  axes_ = std::move(savedAxes);
  function_ = savedFunction;
  frame_ = savedFrame;
  b_.restoreIP(savedPoint);
}

} // namespace bycc::codegen
