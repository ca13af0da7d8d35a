// Where values live.
#include "EntryEmitter.h"

namespace bycc::codegen {

// Extents of inputs that are open, and the number of threads.
void EntryEmitter::loadDims() {
  for (uint32_t d = 0; d < p_.dims.size(); ++d)
    if (p_.dims[d].isGiven())
      dims_.set(d, loadGivenDim(d));
}

EntryEmitter::LValue *EntryEmitter::loadGivenDim(uint32_t dim) {
  if (p_.dims[dim].isThreads)
    return b_.CreateZExt(
        b_.CreateLoad(b_.getInt32Ty(), at(frame_.exec, offsetof(bycc_exec, threads))),
        b_.getInt64Ty());
  LValue *shape = slot(field(frame_.exec, offsetof(bycc_exec, input_shapes)), p_.dims[dim].input);
  return b_.CreateLoad(b_.getInt64Ty(),
                       b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), shape, p_.dims[dim].axis));
}

// ptr output(exec, index, shape): the caller's memory, else the runtime's, of an output
// whose extents are open.
void EntryEmitter::makeOutputFunction(const EmitContext &context) {
  llvm::Type *ptr = b_.getPtrTy(), *i32 = b_.getInt32Ty();
  auto *type = llvm::FunctionType::get(ptr, {ptr, i32, ptr}, false);
  output_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                   options_.moduleName + "_output", module_);
  context.setFunctionAttrs(*output_);
  output_->addFnAttr(llvm::Attribute::NoInline);
  auto *check = llvm::BasicBlock::Create(llvm_, "", output_),
       *ask = llvm::BasicBlock::Create(llvm_, "ask", output_),
       *have = llvm::BasicBlock::Create(llvm_, "have", output_);
  LValue *exec = output_->getArg(0), *index = output_->getArg(1);
  b_.SetInsertPoint(check);
  LValue *given = b_.CreateLoad(ptr, b_.CreateGEP(ptr, field(exec, offsetof(bycc_exec, outputs)),
                                                  b_.CreateZExt(index, b_.getInt64Ty())));
  b_.CreateCondBr(b_.CreateIsNull(given), ask, have);
  b_.SetInsertPoint(have);
  b_.CreateRet(given);
  b_.SetInsertPoint(ask);
  b_.CreateRet(b_.CreateCall(
      type, field(field(exec, offsetof(bycc_exec, api)), offsetof(bycc_exec_api, output)),
      {exec, index, output_->getArg(2)}));
}

EntryEmitter::LValue *EntryEmitter::outputPointer(const Value &value) {
  LValue *memory = b_.CreateCall(output_, {frame_.exec, b_.getInt32(value.output), shapeOf(value)});
  failIfNull(memory);
  return memory;
}

void EntryEmitter::define(ValueId id) {
  const Value &value = p_.values[id];
  bool isGiven =
      value.output != none && value.isStatic && !value.isAsked; // the runtime has made it
  if (pointers_.find(id) || value.alias != none || isGiven)
    return;
  LValue *memory = nullptr;
  if (value.spareOf != none) {
    memory = spareMemory(value.spareOf, bytesOf(value));
  } else if (value.resident != none) {
    auto *type = llvm::FunctionType::get(
        b_.getPtrTy(), {b_.getPtrTy(), b_.getInt32Ty(), b_.getInt32Ty(), b_.getPtrTy()}, false);
    memory = b_.CreateCall(type, field(frame_.api, offsetof(bycc_exec_api, region_alloc)),
                           {frame_.exec, b_.getInt32(value.resident),
                            b_.getInt32(value.residentOutput), shapeOf(value)});
    failIfNull(memory);
  } else if (value.offset >= 0 || value.stripOffset != noRef) {
    return; // pointer() knows
  } else if (value.output != none) {
    memory = outputPointer(value);
  } else {
    auto *type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy(), b_.getInt64Ty()}, false);
    memory = b_.CreateCall(type, field(frame_.api, offsetof(bycc_exec_api, alloc)),
                           {frame_.exec, bytesOf(value)});
    failIfNull(memory);
  }
  setPointer(id, memory);
}

void EntryEmitter::setPointer(ValueId id, LValue *memory) {
  pointers_.set(id, memory);
  if (isLarge_)
    b_.CreateStore(memory, pointerSlot(id));
}

void EntryEmitter::releaseValue(ValueId id) {
  auto *type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  bool isResident = p_.values[id].resident != none;
  auto service =
      isResident ? offsetof(bycc_exec_api, region_release) : offsetof(bycc_exec_api, release);
  b_.CreateCall(type, field(frame_.api, static_cast<int64_t>(service)), {frame_.exec, pointer(id)});
}

EntryEmitter::LValue *EntryEmitter::pointer(ValueId id) {
  id = p_.root(id);
  const Value &value = p_.values[id];
  if (value.stripOffset != noRef)
    return b_.CreateGEP(b_.getInt8Ty(), strips_->memory, evaluate(value.stripOffset));
  if (strips_)
    return strips_->pointers.at(id);
  if (value.kind == Value::Kind::Constant || value.kind == Value::Kind::Packed)
    return at(frame_.weights, static_cast<int64_t>(offsets_.at(id)));
  if (value.offset >= 0)
    return at(frame_.arena, value.offset);
  if (value.kind == Value::Kind::Input)
    return slot(field(frame_.exec, offsetof(bycc_exec, inputs)), value.index);
  if (value.output != none && value.isStatic && !value.isAsked)
    return slot(field(frame_.exec, offsetof(bycc_exec, outputs)), value.output);
  return value.isBound || isLarge_ ? b_.CreateLoad(b_.getPtrTy(), pointerSlot(id))
                                   : pointers_.at(id);
}

} // namespace bycc::codegen
