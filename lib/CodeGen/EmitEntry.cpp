// The body of the entry: one call per instruction.
#include "EntryEmitter.h"

namespace bycc::codegen {
namespace {

// Instructions by their weight, inputs and outputs of an entry that LLVM optimises: some
// of its passes take time quadratic in the size of a function or in the length of a
// value's life. A larger one is emitted in parts, and nothing lives in a register from one
// instruction to the next. What takes time when a model runs is in the kernels.
constexpr size_t mostOptimized = 1000;

} // namespace

llvm::Function *EntryEmitter::run() {
  EmitContext context{module_, target_, nullptr};
  size_t weight = options_.inputs.size() + p_.outputs.size();
  for (const Instr &instr : p_.instrs)
    weight += weightOf(instr);
  isLarge_ = weight > mostOptimized;
  auto *type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy()}, false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                       options_.moduleName + "_entry", module_);
  makeBeginMark(context);
  makeEndMark(context);
  makeOutputFunction(context);
  beginFunction(entry);
  if (isLarge_) {
    emitInParts();
  } else {
    loadDims();
    emitAll(0, static_cast<uint32_t>(p_.instrs.size()));
  }
  endFunction();
  return entry;
}

void EntryEmitter::beginFunction(llvm::Function *function, bool isTask) {
  EmitContext{module_, target_, nullptr}.setFunctionAttrs(*function);
  if (isLarge_) {
    function->addFnAttr(llvm::Attribute::OptimizeNone);
    function->addFnAttr(llvm::Attribute::NoInline);
  }
  frame_.function = function;
  frame_.allocas = llvm::BasicBlock::Create(llvm_, "entry", function);
  frame_.start = llvm::BasicBlock::Create(llvm_, "start", function);
  frame_.fail = llvm::BasicBlock::Create(llvm_, "fail", function);
  b_.SetInsertPoint(frame_.start);
  frame_.exec = isTask ? field(function->getArg(0), 0) : function->getArg(0);
  if (isLarge_) {
    frame_.execSlot = newAlloca(b_.getPtrTy());
    b_.CreateStore(frame_.exec, frame_.execSlot);
  }
  loadFrame();
}

void EntryEmitter::endFunction() {
  b_.CreateRet(b_.getInt32(BYCC_OK));
  b_.SetInsertPoint(frame_.fail);
  b_.CreateRet(b_.getInt32(BYCC_LIMIT));
  b_.SetInsertPoint(frame_.allocas);
  b_.CreateBr(frame_.start);
}

void EntryEmitter::emitAll(uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; ++i) {
    const Instr &instr = p_.instrs[i];
    emitInstr(instr);
    if (isLarge_ && !instr.released.empty())
      loadFrame(); // what was loaded may stand in a block that has ended
    for (ValueId value : instr.released)
      releaseValue(value);
  }
}

void EntryEmitter::loadFrame() {
  if (isLarge_)
    frame_.exec = b_.CreateLoad(b_.getPtrTy(), frame_.execSlot);
  frame_.arena = field(frame_.exec, offsetof(bycc_exec, arena));
  frame_.weights = field(frame_.exec, offsetof(bycc_exec, weights));
  frame_.api = field(frame_.exec, offsetof(bycc_exec, api));
}

llvm::AllocaInst *EntryEmitter::newAlloca(llvm::Type *type) {
  llvm::IRBuilder<> top(frame_.allocas, frame_.allocas->begin());
  return top.CreateAlloca(type);
}

void EntryEmitter::failIfNull(LValue *pointer) {
  auto *next = llvm::BasicBlock::Create(llvm_, "", frame_.function);
  b_.CreateCondBr(b_.CreateIsNull(pointer), frame_.fail, next);
  b_.SetInsertPoint(next);
}

void EntryEmitter::emitInstr(const Instr &instr) {
  evaluated_.clear();
  if (isLarge_)
    loadFrame();
  switch (instr.kind) {
  case Instr::Kind::If:
    return beginIf(instr);
  case Instr::Kind::Else:
    return beginElse();
  case Instr::Kind::EndIf:
    return endIf();
  case Instr::Kind::Library:
    return callLibrary(instr);
  case Instr::Kind::Bind:
    return bind(instr);
  case Instr::Kind::Loop:
    return beginLoop(instr);
  case Instr::Kind::Next:
    return nextTurn(instr);
  case Instr::Kind::Leave:
    return leaveLoop(instr);
  case Instr::Kind::EndLoop:
    return endLoop();
  case Instr::Kind::Strips:
    return beginStrips(instr);
  case Instr::Kind::EndStrips:
    return endStrips();
  case Instr::Kind::SetRows:
    return emitSetRows(instr);
  case Instr::Kind::Copy:
    return emitCopy(instr);
  case Instr::Kind::SetDim:
    return setDim(instr);
  case Instr::Kind::Require:
    return emitRequire(instr);
  default:
    break;
  }
  for (ValueId value : instr.outputs)
    define(value);
  for (ValueId value : instr.temps)
    define(value);
  if (strips_)
    return callKernel(instr); // profiled as a whole
  beginNode(instr);
  if (instr.kind == Instr::Kind::Region) {
    callRegion(instr);
    return endNode(instr);
  }
  callKernel(instr);
  // Others only give extents, and may have no memory.
  std::vector<ValueId> read;
  std::ranges::copy_if(instr.inputs, std::back_inserter(read), [&](ValueId value) {
    return std::ranges::find(instr.arguments, value) != instr.arguments.end();
  });
  endNode(instr, read);
}

void EntryEmitter::callKernel(const Instr &instr) {
  std::vector<LValue *> arguments{frame_.exec};
  for (size_t a = 0; a < instr.arguments.size(); ++a)
    arguments.push_back(stripOf(pointer(instr.arguments[a]), instr, a));
  for (Ref dim : instr.dims)
    arguments.push_back(evaluate(dim));
  if (strips_)
    arguments.push_back(strips_->thread);
  b_.CreateCall(kernels_[instr.callee], arguments);
}

void EntryEmitter::callRegion(const Instr &instr) {
  auto arrays = [&](const std::vector<ValueId> &values) {
    LValue *list =
        newAlloca(llvm::ArrayType::get(b_.getPtrTy(), std::max<size_t>(values.size(), 1) * 2));
    for (size_t i = 0; i < values.size(); ++i) {
      b_.CreateStore(pointer(values[i]), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), list, 2 * i));
      b_.CreateStore(shapeOf(p_.values[values[i]]),
                     b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), list, 2 * i + 1));
    }
    return list;
  };
  auto *type = llvm::FunctionType::get(
      b_.getInt32Ty(), {b_.getPtrTy(), b_.getInt32Ty(), b_.getPtrTy(), b_.getPtrTy()}, false);
  LValue *status = b_.CreateCall(
      type, field(frame_.api, offsetof(bycc_exec_api, call_region)),
      {frame_.exec, b_.getInt32(instr.callee), arrays(instr.inputs), arrays(instr.outputs)});
  returnIfFailed(status);
}

void EntryEmitter::returnIfFailed(LValue *status) {
  auto *failed = llvm::BasicBlock::Create(llvm_, "failed", frame_.function),
       *next = llvm::BasicBlock::Create(llvm_, "", frame_.function);
  b_.CreateCondBr(b_.CreateICmpNE(status, b_.getInt32(0)), failed, next);
  b_.SetInsertPoint(failed);
  b_.CreateRet(status);
  b_.SetInsertPoint(next);
}

void EntryEmitter::emitCopy(const Instr &instr) {
  define(instr.outputs[0]);
  copyBytes(pointer(instr.outputs[0]), pointer(instr.inputs[0]),
            bytesOf(p_.values[instr.outputs[0]]));
}

llvm::Function *emitEntry(llvm::Module &module, const TargetInfo &target, Program &program,
                          const CodeGenOptions &options,
                          const std::vector<llvm::Function *> &kernels, const Offsets &offsets) {
  return EntryEmitter(module, target, program, options, kernels, offsets).run();
}

} // namespace bycc::codegen
