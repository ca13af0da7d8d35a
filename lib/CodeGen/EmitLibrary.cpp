// Calls of library kernels: structs of bycc/abi.h on the stack.
#include "EntryEmitter.h"

namespace bycc::codegen {

EntryEmitter::LValue *EntryEmitter::operands(const std::vector<ValueId> &values,
                                             const std::vector<bool> &isTold) {
  LValue *list = newAlloca(llvm::ArrayType::get(
      b_.getInt64Ty(), std::max<size_t>(values.size(), 1) * sizeof(bycc_operand) / 8));
  for (size_t i = 0; i < values.size(); ++i) {
    const Value &value = p_.values[values[i]];
    LValue *row = at(list, static_cast<int64_t>(i * sizeof(bycc_operand)));
    bool makesOwn = i < isTold.size() && isTold[i];
    LValue *null = llvm::ConstantPointerNull::get(b_.getPtrTy());
    LValue *shape = makesOwn ? newAlloca(llvm::ArrayType::get(
                                   b_.getInt64Ty(), std::max<size_t>(value.dims.size(), 1)))
                             : shapeOf(value);
    int32_t output = makesOwn && value.output != none ? static_cast<int32_t>(value.output) : -1;
    b_.CreateStore(makesOwn ? null : pointer(values[i]), at(row, offsetof(bycc_operand, data)));
    b_.CreateStore(shape, at(row, offsetof(bycc_operand, shape)));
    b_.CreateStore(b_.getInt32(static_cast<uint32_t>(value.dtype)),
                   at(row, offsetof(bycc_operand, dtype)));
    b_.CreateStore(b_.getInt32(static_cast<uint32_t>(value.dims.size())),
                   at(row, offsetof(bycc_operand, rank)));
    b_.CreateStore(b_.getInt32(static_cast<uint32_t>(output)),
                   at(row, offsetof(bycc_operand, output)));
  }
  return list;
}

void EntryEmitter::callLibrary(const Instr &instr) {
  const LibraryCode &code = p_.libraryCalls[instr.callee];
  for (size_t i = 0; i < instr.outputs.size(); ++i)
    if (!code.isTold[i])
      define(instr.outputs[i]);
  std::vector<uint64_t> numbers(code.attributes.begin(), code.attributes.end());
  llvm::Constant *data = llvm::ConstantDataArray::get(llvm_, numbers);
  auto *attributes =
      new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage,
                               data, options_.moduleName + "_attributes");
  LValue *results = operands(instr.outputs, code.isTold);
  LValue *call = newAlloca(llvm::ArrayType::get(b_.getInt64Ty(), sizeof(bycc_library_call) / 8));
  b_.CreateStore(b_.getInt32(static_cast<uint32_t>(code.kernel)),
                 at(call, offsetof(bycc_library_call, kernel)));
  b_.CreateStore(b_.getInt32(static_cast<uint32_t>(numbers.size())),
                 at(call, offsetof(bycc_library_call, num_attributes)));
  b_.CreateStore(b_.getInt32(static_cast<uint32_t>(instr.inputs.size())),
                 at(call, offsetof(bycc_library_call, num_inputs)));
  b_.CreateStore(b_.getInt32(static_cast<uint32_t>(instr.outputs.size())),
                 at(call, offsetof(bycc_library_call, num_results)));
  b_.CreateStore(attributes, at(call, offsetof(bycc_library_call, attributes)));
  b_.CreateStore(operands(instr.inputs, {}), at(call, offsetof(bycc_library_call, inputs)));
  b_.CreateStore(results, at(call, offsetof(bycc_library_call, results)));
  beginNode(instr);
  auto *type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  LValue *status = b_.CreateCall(type, field(frame_.api, offsetof(bycc_exec_api, call_library)),
                                 {frame_.exec, call});
  returnIfFailed(status);
  for (size_t i = 0; i < instr.outputs.size(); ++i)
    if (code.isTold[i])
      takeTold(instr.outputs[i], at(results, static_cast<int64_t>(i * sizeof(bycc_operand))));
  endNode(instr);
}

void EntryEmitter::takeTold(ValueId id, LValue *operand) {
  setPointer(id, field(operand, offsetof(bycc_operand, data)));
  LValue *shape = field(operand, offsetof(bycc_operand, shape));
  const Value &value = p_.values[id];
  for (size_t d = 0; d < value.dims.size(); ++d) {
    const Expr &dim = p_.exprs[value.dims[d]];
    if (dim.op == Op::Dim && !dims_.find(static_cast<uint32_t>(dim.i)))
      setDimValue(
          static_cast<uint32_t>(dim.i),
          b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), shape, d)));
  }
}

} // namespace bycc::codegen
