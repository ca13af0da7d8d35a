// What the entry tells the runtime about each node: when it begins and ends, and what it has
// read and made.
//
//   node_begin(exec, node)        a function: tells the runtime while profiling
//   ... the kernel or region ...
//   if (exec->profile) {          one test is all that a run pays
//     operands = {inputs, outputs}
//     node_end(exec, node, operands, ...)
//   }
#include "EntryEmitter.h"

#include <algorithm>

namespace bycc::te {

void EntryEmitter::makeBeginMark(const EmitContext &context) {
  llvm::Type *ptr = b_.getPtrTy(), *i32 = b_.getInt32Ty();
  auto *type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, i32}, false);
  beginMark_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                      options_.moduleName + "_node_begin", module_);
  context.setFunctionAttrs(*beginMark_);
  beginMark_->addFnAttr(llvm::Attribute::NoInline);
  auto *check = llvm::BasicBlock::Create(llvm_, "", beginMark_),
       *on = llvm::BasicBlock::Create(llvm_, "", beginMark_),
       *off = llvm::BasicBlock::Create(llvm_, "", beginMark_);
  LValue *exec = beginMark_->getArg(0);
  b_.SetInsertPoint(check);
  b_.CreateCondBr(b_.CreateIsNull(field(exec, abi::execProfile)), off, on);
  b_.SetInsertPoint(on);
  b_.CreateCall(type, field(field(exec, abi::execApi), abi::apiNodeBegin),
                {exec, beginMark_->getArg(1)});
  b_.CreateBr(off);
  b_.SetInsertPoint(off);
  b_.CreateRetVoid();
}

void EntryEmitter::makeEndMark(const EmitContext &context) {
  llvm::Type *ptr = b_.getPtrTy(), *i32 = b_.getInt32Ty();
  auto *type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, i32, ptr, i32, i32}, false);
  endMark_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                    options_.moduleName + "_node_end", module_);
  context.setFunctionAttrs(*endMark_);
  endMark_->addFnAttr(llvm::Attribute::NoInline);
  endMark_->addFnAttr(llvm::Attribute::Cold);
  auto *begin = llvm::BasicBlock::Create(llvm_, "", endMark_),
       *values = llvm::BasicBlock::Create(llvm_, "values", endMark_),
       *done = llvm::BasicBlock::Create(llvm_, "done", endMark_);
  LValue *exec = endMark_->getArg(0), *node = endMark_->getArg(1), *inputs = endMark_->getArg(2),
         *numInputs = endMark_->getArg(3), *numOutputs = endMark_->getArg(4);
  b_.SetInsertPoint(begin);
  LValue *api = field(exec, abi::execApi);
  auto *endType = llvm::FunctionType::get(b_.getVoidTy(), {ptr, i32}, false);
  b_.CreateCall(endType, field(api, abi::apiNodeEnd), {exec, node});
  LValue *size = b_.CreateLoad(i32, api);
  b_.CreateCondBr(b_.CreateICmpUGT(size, b_.getInt32(abi::apiNodeValues)), values, done);
  b_.SetInsertPoint(values);
  LValue *offset =
      b_.CreateMul(b_.CreateZExt(numInputs, b_.getInt64Ty()), i64(sizeof(bycc_operand)));
  LValue *outputs = b_.CreateGEP(b_.getInt8Ty(), inputs, offset);
  auto *valuesType = llvm::FunctionType::get(b_.getVoidTy(), {ptr, i32, ptr, i32, ptr, i32}, false);
  b_.CreateCall(valuesType, field(api, abi::apiNodeValues),
                {exec, node, inputs, numInputs, outputs, numOutputs});
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  b_.CreateRetVoid();
}

void EntryEmitter::beginNode(const Instr &instr) {
  b_.CreateCall(beginMark_, {frame_.exec, b_.getInt32(instr.node)});
}

void EntryEmitter::endNode(const Instr &instr, const std::vector<ValueId> &inputs) {
  auto *on = llvm::BasicBlock::Create(llvm_, "profile", frame_.function),
       *next = llvm::BasicBlock::Create(llvm_, "", frame_.function);
  b_.CreateCondBr(b_.CreateIsNull(field(frame_.exec, abi::execProfile)), next, on);
  b_.SetInsertPoint(on);
  auto isReal = [&](ValueId value) { return isFloat(p_.values[value].dtype); };
  std::vector<ValueId> values;
  std::ranges::copy_if(inputs, std::back_inserter(values), isReal);
  size_t numInputs = values.size();
  std::ranges::copy_if(instr.outputs, std::back_inserter(values), isReal);
  evaluated_.clear();
  b_.CreateCall(endMark_, {frame_.exec, b_.getInt32(instr.node), watchedOperands(values),
                           b_.getInt32(static_cast<uint32_t>(numInputs)),
                           b_.getInt32(static_cast<uint32_t>(values.size() - numInputs))});
  evaluated_.clear(); // what was made in this block is not known after it
  overflow_ = nullptr;
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
}

// An array of bycc_operand, and open extents behind it, in memory that all nodes share.
EntryEmitter::LValue *EntryEmitter::watchedOperands(const std::vector<ValueId> &values) {
  constexpr uint64_t words = sizeof(bycc_operand) / 8;
  if (!frame_.watched) {
    llvm::IRBuilder<> top(frame_.allocas, frame_.allocas->begin());
    frame_.watched = top.CreateAlloca(b_.getInt64Ty(), i64(0));
  }
  uint64_t end = values.size() * words;
  for (size_t i = 0; i < values.size(); ++i) {
    const Value &value = p_.values[values[i]];
    LValue *row = at(frame_.watched, static_cast<int64_t>(i * sizeof(bycc_operand)));
    LValue *shape = nullptr;
    if (p_.isStatic(value)) {
      shape = shapeOf(value);
    } else {
      shape = at(frame_.watched, static_cast<int64_t>(end * 8));
      for (Ref dim : value.dims)
        b_.CreateStore(evaluate(dim), at(frame_.watched, static_cast<int64_t>(8 * end++)));
    }
    const Value &root = p_.values[p_.root(values[i])];
    LValue *data =
        root.resident != none ? llvm::ConstantPointerNull::get(b_.getPtrTy()) : pointer(values[i]);
    b_.CreateStore(data, at(row, offsetof(bycc_operand, data)));
    b_.CreateStore(shape, at(row, offsetof(bycc_operand, shape)));
    uint64_t types = static_cast<uint64_t>(value.dtype) | static_cast<uint64_t>(value.dims.size())
                                                              << 32;
    b_.CreateStore(b_.getInt64(types), at(row, offsetof(bycc_operand, dtype)));
    b_.CreateStore(b_.getInt64(value.output), at(row, offsetof(bycc_operand, output)));
  }
  if (end > frame_.watchedWords) {
    frame_.watchedWords = end;
    frame_.watched->setOperand(0, b_.getInt64(end));
  }
  return frame_.watched;
}

} // namespace bycc::te
