// argwhere: counts, asks for memory, writes.
#include "EntryEmitter.h"

namespace bycc::te {

void EntryEmitter::loop(LValue *count, const std::function<void(LValue *)> &body) {
  auto *before = b_.GetInsertBlock();
  auto *head = llvm::BasicBlock::Create(llvm_, "head", function_), *inside = llvm::BasicBlock::Create(llvm_, "body", function_),
       *done = llvm::BasicBlock::Create(llvm_, "done", function_);
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  llvm::PHINode *index = b_.CreatePHI(b_.getInt64Ty(), 2);
  index->addIncoming(i64(0), before);
  b_.CreateCondBr(b_.CreateICmpSLT(index, count), inside, done);
  b_.SetInsertPoint(inside);
  body(index);
  index->addIncoming(b_.CreateAdd(index, i64(1)), b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(done);
}

EntryEmitter::LValue *EntryEmitter::isNonZero(const Value &value, LValue *base, LValue *index) {
  switch (value.dtype) {
  case DType::Float32: return b_.CreateFCmpUNE(b_.CreateLoad(b_.getFloatTy(), b_.CreateGEP(b_.getFloatTy(), base, index)), llvm::ConstantFP::get(b_.getFloatTy(), 0));
  case DType::Float64: return b_.CreateFCmpUNE(b_.CreateLoad(b_.getDoubleTy(), b_.CreateGEP(b_.getDoubleTy(), base, index)), llvm::ConstantFP::get(b_.getDoubleTy(), 0));
  default: break;
  }
  llvm::Type *type = b_.getIntNTy(static_cast<unsigned>(sizeInBytes(value.dtype) * 8));
  LValue *bits = b_.CreateLoad(type, b_.CreateGEP(type, base, index));
  if (isFloat(value.dtype)) // 16-bit floats: -0 is zero too
    bits = b_.CreateAnd(bits, llvm::ConstantInt::get(type, 0x7fff));
  return b_.CreateICmpNE(bits, llvm::ConstantInt::get(type, 0));
}

void EntryEmitter::emitArgWhere(const Instr &instr) {
  const Value &input = p_.values[p_.root(instr.inputs[0])];
  const Value &shaped = p_.values[instr.inputs[0]];
  LValue *base = pointer(instr.inputs[0]);
  LValue *elements = i64(1);
  for (Ref dim : shaped.dims)
    elements = b_.CreateMul(elements, evaluate(dim));
  b_.CreateCall(marks_[0], {exec_, b_.getInt32(instr.node)});
  LValue *counter = newAlloca(b_.getInt64Ty());
  b_.CreateStore(i64(0), counter);
  loop(elements, [&](LValue *index) {
    LValue *hit = b_.CreateZExt(isNonZero(input, base, index), b_.getInt64Ty());
    b_.CreateStore(b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), counter), hit), counter);
  });
  dims_[instr.callee] = b_.CreateLoad(b_.getInt64Ty(), counter);
  define(instr.outputs[0]);
  LValue *out = pointer(instr.outputs[0]);
  llvm::Type *type = b_.getIntNTy(static_cast<unsigned>(sizeInBytes(p_.values[instr.outputs[0]].dtype) * 8));
  b_.CreateStore(i64(0), counter);
  loop(elements, [&](LValue *index) {
    auto *hit = llvm::BasicBlock::Create(llvm_, "hit", function_), *next = llvm::BasicBlock::Create(llvm_, "next", function_);
    b_.CreateCondBr(isNonZero(input, base, index), hit, next);
    b_.SetInsertPoint(hit);
    LValue *row = b_.CreateLoad(b_.getInt64Ty(), counter), *rest = index;
    int64_t rank = static_cast<int64_t>(shaped.dims.size());
    for (int64_t d = rank; d-- > 0;) {
      LValue *extent = evaluate(shaped.dims[static_cast<size_t>(d)]);
      LValue *place = b_.CreateAdd(b_.CreateMul(row, i64(rank)), i64(d));
      b_.CreateStore(b_.CreateTrunc(b_.CreateURem(rest, extent), type), b_.CreateGEP(type, out, place));
      rest = b_.CreateUDiv(rest, extent);
    }
    b_.CreateStore(b_.CreateAdd(row, i64(1)), counter);
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
  });
  b_.CreateCall(marks_[1], {exec_, b_.getInt32(instr.node)});
}

} // namespace bycc::te
