// Where values live, and extents that are known at run time.
#include "EntryEmitter.h"

namespace bycc::te {

EntryEmitter::LValue *EntryEmitter::evaluate(Ref ref) {
  const Expr &e = p_.exprs[ref];
  switch (e.op) {
  case Op::Const: return i64(e.i);
  case Op::Dim:
    if (auto slot = dimSlots_.find(static_cast<uint32_t>(e.i)); slot != dimSlots_.end())
      return b_.CreateLoad(b_.getInt64Ty(), slot->second);
    return dims_.at(static_cast<uint32_t>(e.i));
  default: break;
  }
  LValue *a = evaluate(e.a), *b = evaluate(e.b);
  switch (e.op) {
  case Op::Add: return b_.CreateAdd(a, b);
  case Op::Sub: return b_.CreateSub(a, b);
  case Op::Mul: return b_.CreateMul(a, b);
  case Op::FloorDiv: return b_.CreateSDiv(a, b); // extents are not negative, divisors positive
  case Op::FloorMod: return b_.CreateSRem(a, b);
  case Op::Eq: return b_.CreateICmpEQ(a, b);
  case Op::Select: return b_.CreateSelect(a, b, evaluate(e.c));
  case Op::Min: return b_.CreateSelect(b_.CreateICmpSLT(a, b), a, b);
  default: return b_.CreateSelect(b_.CreateICmpSGT(a, b), a, b);
  }
}

EntryEmitter::LValue *EntryEmitter::bytesOf(const Value &value) {
  LValue *bytes = i64(sizeInBytes(value.dtype));
  for (Ref dim : value.dims)
    bytes = b_.CreateMul(bytes, evaluate(dim));
  return bytes;
}

EntryEmitter::LValue *EntryEmitter::shapeOf(const Value &value) {
  LValue *shape = newAlloca(llvm::ArrayType::get(b_.getInt64Ty(), std::max<size_t>(value.dims.size(), 1)));
  for (size_t d = 0; d < value.dims.size(); ++d)
    b_.CreateStore(evaluate(value.dims[d]), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), shape, d));
  return shape;
}

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
  auto *from = b_.GetInsertBlock();
  auto *ask = llvm::BasicBlock::Create(llvm_, "ask", function_), *have = llvm::BasicBlock::Create(llvm_, "have", function_);
  b_.CreateCondBr(b_.CreateIsNull(given), ask, have);
  b_.SetInsertPoint(ask);
  LValue *asked = askOutput(value);
  auto *askEnd = b_.GetInsertBlock();
  b_.CreateBr(have);
  b_.SetInsertPoint(have);
  llvm::PHINode *phi = b_.CreatePHI(b_.getPtrTy(), 2);
  phi->addIncoming(given, from);
  phi->addIncoming(asked, askEnd);
  return phi;
}

EntryEmitter::LValue *EntryEmitter::askOutput(const Value &value) {
  auto *type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy(), b_.getInt32Ty(), b_.getPtrTy()}, false);
  LValue *memory = b_.CreateCall(type, field(api_, abi::apiOutput), {exec_, b_.getInt32(value.output), shapeOf(value)});
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

void EntryEmitter::releaseResident(ValueId id) {
  auto *type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  b_.CreateCall(type, field(api_, abi::apiRegionRelease), {exec_, pointers_.at(id)});
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
