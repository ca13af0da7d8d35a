// Where values live.
#include "EntryEmitter.h"

namespace bycc::te {

void EntryEmitter::loadInterface() {
  LValue *inputs = field(exec_, abi::execInputs), *shapes = field(exec_, abi::execInputShapes);
  for (uint32_t d = 0; d < p_.dims.size(); ++d) {
    if (p_.dims[d].input == none)
      continue;
    LValue *shape = slot(shapes, p_.dims[d].input);
    dims_[d] = b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), shape, p_.dims[d].axis));
  }
  for (ValueId id = 0; id < p_.values.size(); ++id) {
    const Value &value = p_.values[id];
    if (value.alias != none)
      continue;
    if (value.kind == Value::Kind::Input)
      pointers_[id] = slot(inputs, value.index);
    else if (value.kind == Value::Kind::Buffer && value.output != none && value.isStatic)
      pointers_[id] = outputPointer(value);
  }
}

EntryEmitter::LValue *EntryEmitter::outputPointer(const Value &value) {
  LValue *given = slot(field(exec_, abi::execOutputs), value.output);
  LValue *shape = shapeOf(value);
  auto *from = b_.GetInsertBlock();
  auto *ask = llvm::BasicBlock::Create(llvm_, "ask", function_), *have = llvm::BasicBlock::Create(llvm_, "have", function_);
  b_.CreateCondBr(b_.CreateIsNull(given), ask, have);
  b_.SetInsertPoint(ask);
  LValue *asked = askOutput(value, shape);
  auto *askEnd = b_.GetInsertBlock();
  b_.CreateBr(have);
  b_.SetInsertPoint(have);
  llvm::PHINode *phi = b_.CreatePHI(b_.getPtrTy(), 2);
  phi->addIncoming(given, from);
  phi->addIncoming(asked, askEnd);
  return phi;
}

EntryEmitter::LValue *EntryEmitter::askOutput(const Value &value, LValue *shape) {
  auto *type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy(), b_.getInt32Ty(), b_.getPtrTy()}, false);
  LValue *memory = b_.CreateCall(type, field(api_, abi::apiOutput), {exec_, b_.getInt32(value.output), shape});
  failIfNull(memory);
  return memory;
}

void EntryEmitter::define(ValueId id) {
  const Value &value = p_.values[id];
  if (pointers_.count(id) || value.alias != none)
    return;
  if (value.spareOf != none) {
    pointers_[id] = spareMemory(value.spareOf, bytesOf(value));
  } else if (value.resident != none) {
    auto *type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy(), b_.getInt32Ty(), b_.getInt64Ty()}, false);
    pointers_[id] = b_.CreateCall(type, field(api_, abi::apiRegionAlloc), {exec_, b_.getInt32(value.resident), bytesOf(value)});
    failIfNull(pointers_[id]);
  } else if (value.offset >= 0) {
    pointers_[id] = at(arena_, value.offset);
  } else if (value.output != none) {
    pointers_[id] = outputPointer(value);
  } else {
    auto *type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy(), b_.getInt64Ty()}, false);
    pointers_[id] = b_.CreateCall(type, field(api_, abi::apiAlloc), {exec_, bytesOf(value)});
    failIfNull(pointers_[id]);
  }
}

void EntryEmitter::releaseValue(ValueId id) {
  auto *type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  int64_t service = p_.values[id].resident != none ? abi::apiRegionRelease : abi::apiRelease;
  b_.CreateCall(type, field(api_, service), {exec_, pointers_.at(id)});
}

EntryEmitter::LValue *EntryEmitter::pointer(ValueId id) {
  id = p_.root(id);
  const Value &value = p_.values[id];
  if (value.kind == Value::Kind::Constant || value.kind == Value::Kind::Packed)
    return at(weights_, static_cast<int64_t>(offsets_.at(id)));
  if (value.offset >= 0)
    return at(arena_, value.offset);
  if (value.isBound)
    return b_.CreateLoad(b_.getPtrTy(), pointerSlots_.at(id));
  return pointers_.at(id);
}

} // namespace bycc::te
