// What the entry tells the runtime about each node: when it begins and ends, and what it has
// read and made. Off, it is two calls that test exec->profile.
//
//   node_begin(exec, node)
//   ... the kernel or region ...
//   node_end(exec, node, values, ...)    values: a constant table
//
// Where a value has no fixed place or open extents, the table is made behind a test of its own:
//
//   if (exec->profile)
//     node_end(exec, node, values, ...)
#include "EntryEmitter.h"

#include <algorithm>

namespace bycc::codegen {

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
  b_.CreateCondBr(b_.CreateIsNull(field(exec, offsetof(bycc_exec, profile))), off, on);
  b_.SetInsertPoint(on);
  b_.CreateCall(type,
                field(field(exec, offsetof(bycc_exec, api)), offsetof(bycc_exec_api, node_begin)),
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
  auto *check = llvm::BasicBlock::Create(llvm_, "", endMark_),
       *on = llvm::BasicBlock::Create(llvm_, "", endMark_),
       *values = llvm::BasicBlock::Create(llvm_, "values", endMark_),
       *off = llvm::BasicBlock::Create(llvm_, "", endMark_);
  LValue *exec = endMark_->getArg(0), *node = endMark_->getArg(1);
  b_.SetInsertPoint(check);
  b_.CreateCondBr(b_.CreateIsNull(field(exec, offsetof(bycc_exec, profile))), off, on);
  b_.SetInsertPoint(on);
  LValue *api = field(exec, offsetof(bycc_exec, api));
  auto *endType = llvm::FunctionType::get(b_.getVoidTy(), {ptr, i32}, false);
  b_.CreateCall(endType, field(api, offsetof(bycc_exec_api, node_end)), {exec, node});
  LValue *size = b_.CreateLoad(i32, api);
  b_.CreateCondBr(b_.CreateICmpUGT(size, b_.getInt32(offsetof(bycc_exec_api, node_values))), values,
                  off);
  b_.SetInsertPoint(values);
  b_.CreateCall(type, field(api, offsetof(bycc_exec_api, node_values)),
                {exec, node, endMark_->getArg(2), endMark_->getArg(3), endMark_->getArg(4)});
  b_.CreateBr(off);
  b_.SetInsertPoint(off);
  b_.CreateRetVoid();
}

void EntryEmitter::beginNode(const Instr &instr) {
  b_.CreateCall(beginMark_, {frame_.exec, b_.getInt32(instr.node)});
}

void EntryEmitter::endNode(const Instr &instr, const std::vector<ValueId> &inputs) {
  auto isReal = [&](ValueId value) { return isFloat(p_.values[value].dtype); };
  std::vector<ValueId> values;
  std::ranges::copy_if(inputs, std::back_inserter(values), isReal);
  size_t numInputs = values.size();
  std::ranges::copy_if(instr.outputs, std::back_inserter(values), isReal);
  auto call = [&](LValue *table) {
    b_.CreateCall(endMark_, {frame_.exec, b_.getInt32(instr.node), table,
                             b_.getInt32(static_cast<uint32_t>(numInputs)),
                             b_.getInt32(static_cast<uint32_t>(values.size() - numInputs))});
  };
  std::vector<uint64_t> words;
  for (ValueId value : values) {
    std::vector<uint64_t> own = fixedPlace(value);
    if (own.empty()) {
      auto *on = llvm::BasicBlock::Create(llvm_, "profile", frame_.function),
           *next = llvm::BasicBlock::Create(llvm_, "", frame_.function);
      b_.CreateCondBr(b_.CreateIsNull(field(frame_.exec, offsetof(bycc_exec, profile))), next, on);
      b_.SetInsertPoint(on);
      call(watchedValues(values));
      b_.CreateBr(next);
      b_.SetInsertPoint(next);
      return;
    }
    words.insert(words.end(), own.begin(), own.end());
  }
  llvm::Constant *data = llvm::ConstantDataArray::get(llvm_, words);
  call(new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                data, options_.moduleName + "_values"));
}

namespace {

// The first two words of a bycc_place.
std::vector<uint64_t> headOf(const Value &value, bycc_base base) {
  return {static_cast<uint64_t>(value.dtype) | static_cast<uint64_t>(value.dims.size()) << 32,
          static_cast<uint64_t>(base) | static_cast<uint64_t>(value.output) << 32};
}

} // namespace

std::vector<uint64_t> EntryEmitter::fixedPlace(ValueId id) const {
  const Value &value = p_.values[id];
  ValueId rootId = p_.root(id);
  const Value &root = p_.values[rootId];
  if (!p_.isStatic(value))
    return {};
  bycc_base base = BYCC_AT_ADDRESS;
  uint64_t offset = 0;
  if (root.resident != none) {
    base = BYCC_AT_VENDOR;
  } else if (root.kind == Value::Kind::Constant || root.kind == Value::Kind::Packed) {
    base = BYCC_AT_WEIGHTS;
    offset = offsets_.at(rootId);
  } else if (root.offset >= 0) {
    base = BYCC_AT_ARENA;
    offset = static_cast<uint64_t>(root.offset);
  } else if (root.kind == Value::Kind::Input) {
    base = BYCC_AT_INPUT;
    offset = root.index;
  } else if (root.output != none && root.isStatic && !root.isAsked) {
    base = BYCC_AT_OUTPUT;
    offset = root.output;
  } else {
    return {};
  }
  std::vector<uint64_t> words = headOf(value, base);
  words.push_back(offset);
  for (Ref dim : value.dims)
    words.push_back(static_cast<uint64_t>(*p_.exprs.constant(dim)));
  return words;
}

// The same for any values, in memory that all nodes share.
EntryEmitter::LValue *EntryEmitter::watchedValues(const std::vector<ValueId> &values) {
  if (!frame_.watched) {
    llvm::IRBuilder<> top(frame_.allocas, frame_.allocas->begin());
    frame_.watched = top.CreateAlloca(b_.getInt64Ty(), i64(0));
  }
  evaluated_.clear();
  uint64_t count = 0;
  auto add = [&](LValue *word) {
    b_.CreateStore(word, at(frame_.watched, static_cast<int64_t>(8 * count++)));
  };
  for (ValueId id : values) {
    const Value &value = p_.values[id];
    bool isHidden = p_.values[p_.root(id)].resident != none;
    for (uint64_t word : headOf(value, isHidden ? BYCC_AT_VENDOR : BYCC_AT_ADDRESS))
      add(b_.getInt64(word));
    add(isHidden ? i64(0) : b_.CreatePtrToInt(pointer(id), b_.getInt64Ty()));
    for (Ref dim : value.dims)
      add(evaluate(dim));
  }
  evaluated_.clear(); // what was made in this block is not known after it
  overflow_ = nullptr;
  if (count > frame_.watchedWords) {
    frame_.watchedWords = count;
    frame_.watched->setOperand(0, b_.getInt64(count));
  }
  return frame_.watched;
}

} // namespace bycc::codegen
