// Ifs of the entry.
#include "EntryEmitter.h"

namespace bycc::codegen {

void EntryEmitter::beginIf(const Instr &instr) {
  for (ValueId value : instr.outputs)
    define(value);
  LValue *condition = conditionOf(instr);
  auto *then = llvm::BasicBlock::Create(llvm_, "then", frame_.function);
  OpenIf open{llvm::BasicBlock::Create(llvm_, "else", frame_.function),
              llvm::BasicBlock::Create(llvm_, "join", frame_.function), mark()};
  b_.CreateCondBr(condition, then, open.otherwise);
  b_.SetInsertPoint(then);
  ifs_.push_back(std::move(open));
}

EntryEmitter::LValue *EntryEmitter::conditionOf(const Instr &instr) {
  if (!instr.dims.empty())
    return evaluate(instr.dims[0]);
  if (instr.inputs.empty())
    return hasRegion(instr.callee);
  return b_.CreateICmpNE(b_.CreateLoad(b_.getInt8Ty(), pointer(instr.inputs[0])), b_.getInt8(0));
}

// A runtime that cannot say has it: it loads no model without all regions.
EntryEmitter::LValue *EntryEmitter::hasRegion(uint32_t region) {
  auto *before = b_.GetInsertBlock();
  auto *ask = llvm::BasicBlock::Create(llvm_, "ask", frame_.function),
       *known = llvm::BasicBlock::Create(llvm_, "known", frame_.function);
  constexpr uint32_t wanted =
      offsetof(bycc_exec_api, has_region) + sizeof(bycc_exec_api::has_region);
  LValue *size = b_.CreateLoad(b_.getInt32Ty(), frame_.api);
  b_.CreateCondBr(b_.CreateICmpUGE(size, b_.getInt32(wanted)), ask, known);
  b_.SetInsertPoint(ask);
  auto *type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getInt32Ty()}, false);
  LValue *answer = b_.CreateCall(type, field(frame_.api, offsetof(bycc_exec_api, has_region)),
                                 {frame_.exec, b_.getInt32(region)});
  LValue *isThere = b_.CreateICmpNE(answer, b_.getInt32(0));
  b_.CreateBr(known);
  b_.SetInsertPoint(known);
  llvm::PHINode *condition = b_.CreatePHI(b_.getInt1Ty(), 2);
  condition->addIncoming(b_.getTrue(), before);
  condition->addIncoming(isThere, ask);
  return condition;
}

void EntryEmitter::beginElse() {
  b_.CreateBr(ifs_.back().join);
  b_.SetInsertPoint(ifs_.back().otherwise);
  restore(ifs_.back().outer);
}

void EntryEmitter::endIf() {
  b_.CreateBr(ifs_.back().join);
  b_.SetInsertPoint(ifs_.back().join);
  restore(ifs_.back().outer);
  ifs_.pop_back();
}

void EntryEmitter::restore(const Known &known) {
  pointers_.restore(known.pointers);
  dims_.restore(known.dims);
}

// Of 8 bytes. The places of a large entry are elements of one array: LLVM looks at every
// pair of separate ones.
EntryEmitter::Slot EntryEmitter::newSlot(llvm::Type *type) {
  return isLarge_ ? Slot{nullptr, numSlots_++} : Slot{newAlloca(type), 0};
}

EntryEmitter::LValue *EntryEmitter::placeOf(const Slot &slot) {
  return slot.own ? slot.own
                  : b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), frame_.slots, slot.number);
}

EntryEmitter::LValue *EntryEmitter::pointerSlot(ValueId id) {
  if (!pointerSlots_.count(id))
    pointerSlots_[id] = newSlot(b_.getPtrTy());
  return placeOf(pointerSlots_[id]);
}

EntryEmitter::LValue *EntryEmitter::dimSlot(uint32_t dim) {
  if (!dimSlots_.count(dim))
    dimSlots_[dim] = newSlot(b_.getInt64Ty());
  return placeOf(dimSlots_[dim]);
}

// Sources are read before the first is written: they may be each other's.
void EntryEmitter::bindDims(const std::vector<ValueId> &from, const std::vector<ValueId> &to) {
  std::vector<std::pair<uint32_t, LValue *>> stores;
  for (size_t i = 0; i < from.size(); ++i) {
    const Value &source = p_.values[from[i]], &target = p_.values[to[i]];
    for (size_t d = 0; d < target.dims.size(); ++d) {
      if (source.dims[d] == target.dims[d])
        continue;
      LValue *extent = evaluate(source.dims[d]);
      if (auto wanted = p_.exprs.constant(target.dims[d]))
        failUnless(b_.CreateICmpEQ(extent, i64(*wanted)), BYCC_ARG,
                   "a value of a branch or loop has another extent than its type says, which is " +
                       std::to_string(*wanted),
                   {});
      else
        stores.emplace_back(static_cast<uint32_t>(p_.exprs[target.dims[d]].i), extent);
    }
  }
  for (auto [dim, extent] : stores)
    b_.CreateStore(extent, dimSlot(dim));
}

void EntryEmitter::bind(const Instr &instr) {
  bindDims(instr.inputs, instr.outputs);
  for (size_t i = 0; i < instr.inputs.size(); ++i)
    b_.CreateStore(pointer(instr.inputs[i]), pointerSlot(instr.outputs[i]));
}

} // namespace bycc::codegen
