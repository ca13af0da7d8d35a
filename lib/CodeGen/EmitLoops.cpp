// Loops of the entry, and rows written into a value.
#include "EntryEmitter.h"

namespace bycc::codegen {

void EntryEmitter::jumpTo(llvm::BasicBlock *block) {
  b_.CreateBr(block);
  b_.SetInsertPoint(llvm::BasicBlock::Create(llvm_, "", frame_.function)); // nothing leads here
}

// Does a turn of the loop ask the runtime for memory?
bool EntryEmitter::allocates(const Instr &loop) const {
  int depth = 0;
  for (const Instr *at = &loop;; ++at) {
    depth += (at->kind == Instr::Kind::Loop) - (at->kind == Instr::Kind::EndLoop);
    if (depth == 0)
      return false;
    if (at == &loop)
      continue;
    for (const auto *list : {&at->outputs, &at->temps})
      for (ValueId id : *list)
        if (const Value &value = p_.values[id];
            !value.isStatic && !value.isBound && value.alias == none && value.spareOf == none)
          return true;
  }
}

void EntryEmitter::beginLoop(const Instr &instr) {
  bindDims(instr.inputs, instr.outputs);
  for (ValueId memory : instr.temps)
    define(memory);
  for (size_t i = 0; i < instr.outputs.size(); ++i) {
    const Value &carried = p_.values[instr.outputs[i]];
    copyBytes(pointer(carried.memory), pointer(instr.inputs[i]), bytesOf(carried));
    b_.CreateStore(pointer(carried.memory), pointerSlot(instr.outputs[i]));
    b_.CreateStore(pointer(carried.spare), pointerSlot(carried.spare));
  }
  OpenLoop open{llvm::BasicBlock::Create(llvm_, "turn", frame_.function),
                llvm::BasicBlock::Create(llvm_, "done", frame_.function),
                nullptr,
                {}};
  if (allocates(instr))
    open.mark = b_.CreateCall(llvm::FunctionType::get(b_.getInt64Ty(), {b_.getPtrTy()}, false),
                              field(frame_.api, offsetof(bycc_exec_api, mark)), {frame_.exec});
  open.outer = mark();
  b_.CreateBr(open.head);
  b_.SetInsertPoint(open.head);
  loops_.push_back(std::move(open));
}

// Everything is written into spare memory before the first exchange: the new
// values may be made of the old ones.
void EntryEmitter::nextTurn(const Instr &instr) {
  std::vector<ValueId> moved;
  for (size_t i = 0; i < instr.outputs.size(); ++i) {
    ValueId carried = instr.outputs[i], source = p_.root(instr.inputs[i]);
    if (source == carried)
      continue;
    moved.push_back(carried);
    if (p_.values[source].spareOf == carried)
      continue;
    LValue *bytes = bytesOf(p_.values[instr.inputs[i]]);
    copyBytes(spareMemory(carried, bytes), pointer(instr.inputs[i]), bytes);
  }
  bindDims(instr.inputs, instr.outputs);
  for (ValueId carried : moved) {
    LValue *here = pointerSlot(carried), *spare = pointerSlot(p_.values[carried].spare);
    LValue *before = b_.CreateLoad(b_.getPtrTy(), here);
    b_.CreateStore(b_.CreateLoad(b_.getPtrTy(), spare), here);
    b_.CreateStore(before, spare);
  }
  const OpenLoop &loop = loops_.back();
  if (loop.mark)
    b_.CreateCall(llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty()}, false),
                  field(frame_.api, offsetof(bycc_exec_api, release_to)), {frame_.exec, loop.mark});
  jumpTo(loop.head);
}

void EntryEmitter::leaveLoop(const Instr &instr) {
  bind(instr);
  jumpTo(loops_.back().exit);
}

void EntryEmitter::endLoop() {
  b_.CreateUnreachable();
  b_.SetInsertPoint(loops_.back().exit);
  restore(loops_.back().outer);
  loops_.pop_back();
}

EntryEmitter::LValue *EntryEmitter::spareMemory(ValueId carried, LValue *bytes) {
  LValue *spare = pointerSlot(p_.values[carried].spare);
  LValue *memory = b_.CreateLoad(b_.getPtrTy(), spare);
  if (p_.values[carried].isStatic)
    return memory;
  auto *type = llvm::FunctionType::get(b_.getPtrTy(),
                                       {b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty()}, false);
  memory = b_.CreateCall(type, field(frame_.api, offsetof(bycc_exec_api, grow)),
                         {frame_.exec, memory, bytes});
  failIfNull(memory);
  b_.CreateStore(memory, spare);
  return memory;
}

void EntryEmitter::copyBytes(LValue *to, LValue *from, LValue *bytes) {
  b_.CreateMemCpy(to, llvm::MaybeAlign(1), from, llvm::MaybeAlign(1), bytes);
}

void EntryEmitter::emitSetRows(const Instr &instr) {
  const Value &x = p_.values[instr.inputs[0]], &v = p_.values[instr.inputs[1]],
              &begin = p_.values[instr.inputs[2]];
  bool isInPlace = p_.values[instr.outputs[0]].alias != none;
  define(instr.outputs[0]);
  beginNode(instr);
  LValue *to = pointer(instr.outputs[0]);
  if (!isInPlace)
    copyBytes(to, pointer(instr.inputs[0]), bytesOf(x));
  llvm::Type *type = b_.getIntNTy(static_cast<unsigned>(sizeInBytes(begin.dtype) * 8));
  LValue *extent = evaluate(x.dims[0]);
  LValue *first = b_.CreateSExt(b_.CreateLoad(type, pointer(instr.inputs[2])), b_.getInt64Ty());
  first = b_.CreateSelect(b_.CreateICmpSLT(first, i64(0)), b_.CreateAdd(first, extent), first);
  first = b_.CreateSelect(b_.CreateICmpSLT(first, i64(0)), i64(0), first);
  LValue *room = b_.CreateSub(extent, evaluate(v.dims[0]));
  failUnless(b_.CreateICmpSLE(first, room), BYCC_ARG, "strided_set: v ends {} rows after the slice",
             {b_.CreateSub(first, room)});
  LValue *row = i64(sizeInBytes(x.dtype));
  for (size_t d = 1; d < x.dims.size(); ++d)
    row = b_.CreateMul(row, evaluate(x.dims[d]));
  copyBytes(b_.CreateGEP(b_.getInt8Ty(), to, b_.CreateMul(first, row)), pointer(instr.inputs[1]),
            bytesOf(v));
  endNode(instr);
}

} // namespace bycc::codegen
