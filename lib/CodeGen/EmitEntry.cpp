// One function that runs the whole program: pointers of all values are known at
// its top or when their extents are, then one call per instruction. It returns
// a bycc_status; whatever fails has been recorded by the runtime before.
#include "EmitEntry.h"

#include "Emit.h"
#include "bycc/abi.h"

namespace bycc::te {
namespace {

class EntryEmitter {
public:
  using LValue = llvm::Value;
  EntryEmitter(llvm::Module &module, const TargetInfo &target, Program &program, const CodeGenOptions &options,
               const std::vector<llvm::Function *> &kernels, const Offsets &offsets)
      : module_(module), target_(target), p_(program), options_(options), kernels_(kernels), offsets_(offsets),
        llvm_(module.getContext()), b_(llvm_) {}

  llvm::Function *run() {
    auto *type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, options_.moduleName + "_entry", module_);
    EmitContext context{module_, target_, nullptr};
    context.setFunctionAttrs(*function_);
    exec_ = function_->getArg(0);
    makeMarks(context);
    b_.SetInsertPoint(llvm::BasicBlock::Create(llvm_, "entry", function_));
    allocas_ = b_.GetInsertBlock();
    b_.SetInsertPoint(llvm::BasicBlock::Create(llvm_, "start", function_));
    llvm::BasicBlock *start = b_.GetInsertBlock();
    fail_ = llvm::BasicBlock::Create(llvm_, "fail", function_);
    arena_ = field(exec_, abi::execArena);
    weights_ = field(exec_, abi::execWeights);
    api_ = field(exec_, abi::execApi);
    loadInterface();
    for (const Instr &instr : p_.instrs) {
      emitInstr(instr);
      for (ValueId value : instr.released)
        releaseResident(value);
    }
    b_.CreateRet(b_.getInt32(BYCC_OK));
    b_.SetInsertPoint(fail_);
    b_.CreateRet(b_.getInt32(BYCC_LIMIT));
    b_.SetInsertPoint(allocas_);
    b_.CreateBr(start);
    return function_;
  }

private:
  LValue *i64(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  LValue *at(LValue *base, int64_t bytes) { return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(bytes)); }
  LValue *field(LValue *base, int64_t offset) { return b_.CreateLoad(b_.getPtrTy(), at(base, offset)); }
  LValue *slot(LValue *array, uint64_t index) { return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), array, index)); }
  LValue *newAlloca(llvm::Type *type) {
    llvm::IRBuilder<> top(allocas_, allocas_->begin());
    return top.CreateAlloca(type);
  }

  // void mark(exec, node): calls node_begin / node_end while profiling.
  void makeMarks(const EmitContext &context) {
    const int64_t offsets[] = {abi::apiNodeBegin, abi::apiNodeEnd};
    for (int m = 0; m < 2; ++m) {
      auto *type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt32Ty()}, false);
      auto *mark = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, options_.moduleName + (m ? "_node_end" : "_node_begin"), module_);
      context.setFunctionAttrs(*mark);
      mark->addFnAttr(llvm::Attribute::NoInline);
      auto *check = llvm::BasicBlock::Create(llvm_, "", mark), *on = llvm::BasicBlock::Create(llvm_, "", mark), *off = llvm::BasicBlock::Create(llvm_, "", mark);
      b_.SetInsertPoint(check);
      b_.CreateCondBr(b_.CreateIsNull(field(mark->getArg(0), abi::execProfile)), off, on);
      b_.SetInsertPoint(on);
      LValue *callee = field(field(mark->getArg(0), abi::execApi), offsets[m]);
      b_.CreateCall(type, callee, {mark->getArg(0), mark->getArg(1)});
      b_.CreateBr(off);
      b_.SetInsertPoint(off);
      b_.CreateRetVoid();
      marks_[m] = mark;
    }
  }

  void failIfNull(LValue *pointer) {
    auto *next = llvm::BasicBlock::Create(llvm_, "", function_);
    b_.CreateCondBr(b_.CreateIsNull(pointer), fail_, next);
    b_.SetInsertPoint(next);
  }

  // --- extents

  LValue *evaluate(Ref ref) {
    const Expr &e = p_.exprs[ref];
    switch (e.op) {
    case Op::Const: return i64(e.i);
    case Op::Dim: return dims_.at(static_cast<uint32_t>(e.i));
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

  LValue *bytesOf(const Value &value) {
    LValue *bytes = i64(sizeInBytes(value.dtype));
    for (Ref dim : value.dims)
      bytes = b_.CreateMul(bytes, evaluate(dim));
    return bytes;
  }

  LValue *shapeOf(const Value &value) {
    LValue *shape = newAlloca(llvm::ArrayType::get(b_.getInt64Ty(), std::max<size_t>(value.dims.size(), 1)));
    for (size_t d = 0; d < value.dims.size(); ++d)
      b_.CreateStore(evaluate(value.dims[d]), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), shape, d));
    return shape;
  }

  // --- memory

  void loadInterface() {
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

  // The caller's memory, else the runtime's.
  LValue *outputPointer(const Value &value) {
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

  LValue *askOutput(const Value &value) {
    auto *type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy(), b_.getInt32Ty(), b_.getPtrTy()}, false);
    LValue *memory = b_.CreateCall(type, field(api_, abi::apiOutput), {exec_, b_.getInt32(value.output), shapeOf(value)});
    failIfNull(memory);
    return memory;
  }

  // Memory of a value that is about to be written.
  void define(ValueId id) {
    const Value &value = p_.values[id];
    if (pointers_.count(id) || value.alias != none)
      return;
    if (value.resident != none) {
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

  void releaseResident(ValueId id) {
    auto *type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
    b_.CreateCall(type, field(api_, abi::apiRegionRelease), {exec_, pointers_.at(id)});
  }

  LValue *pointer(ValueId id) {
    id = p_.root(id);
    const Value &value = p_.values[id];
    if (value.kind == Value::Kind::Constant || value.kind == Value::Kind::Packed)
      return at(weights_, static_cast<int64_t>(offsets_.at(id)));
    if (value.offset >= 0)
      return at(arena_, value.offset);
    return pointers_.at(id);
  }

  // --- instructions

  void emitInstr(const Instr &instr) {
    switch (instr.kind) {
    case Instr::Kind::If: return beginIf(instr);
    case Instr::Kind::Else: return beginElse();
    case Instr::Kind::EndIf: return endIf();
    case Instr::Kind::ArgWhere: return emitArgWhere(instr);
    case Instr::Kind::Copy: return emitCopy(instr);
    default: break;
    }
    for (ValueId value : instr.outputs)
      define(value);
    for (ValueId value : instr.temps)
      define(value);
    b_.CreateCall(marks_[0], {exec_, b_.getInt32(instr.node)});
    if (instr.kind == Instr::Kind::Kernel)
      callKernel(instr);
    else
      callRegion(instr);
    b_.CreateCall(marks_[1], {exec_, b_.getInt32(instr.node)});
  }

  void callKernel(const Instr &instr) {
    std::vector<LValue *> arguments{exec_};
    for (ValueId value : instr.arguments)
      arguments.push_back(pointer(value));
    for (Ref dim : instr.dims)
      arguments.push_back(evaluate(dim));
    b_.CreateCall(kernels_[instr.callee], arguments);
  }

  void callRegion(const Instr &instr) {
    auto arrays = [&](const std::vector<ValueId> &values) {
      LValue *list = newAlloca(llvm::ArrayType::get(b_.getPtrTy(), std::max<size_t>(values.size(), 1) * 2));
      for (size_t i = 0; i < values.size(); ++i) {
        b_.CreateStore(pointer(values[i]), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), list, 2 * i));
        b_.CreateStore(shapeOf(p_.values[values[i]]), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), list, 2 * i + 1));
      }
      return list;
    };
    auto *type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getInt32Ty(), b_.getPtrTy(), b_.getPtrTy()}, false);
    LValue *status = b_.CreateCall(type, field(api_, abi::apiCallRegion),
                                   {exec_, b_.getInt32(instr.callee), arrays(instr.inputs), arrays(instr.outputs)});
    auto *failed = llvm::BasicBlock::Create(llvm_, "failed", function_), *next = llvm::BasicBlock::Create(llvm_, "", function_);
    b_.CreateCondBr(b_.CreateICmpNE(status, b_.getInt32(0)), failed, next);
    b_.SetInsertPoint(failed);
    b_.CreateRet(status);
    b_.SetInsertPoint(next);
  }

  void emitCopy(const Instr &instr) {
    define(instr.outputs[0]);
    LValue *bytes = bytesOf(p_.values[instr.outputs[0]]);
    b_.CreateMemCpy(pointer(instr.outputs[0]), llvm::MaybeAlign(1), pointer(instr.inputs[0]), llvm::MaybeAlign(1), bytes);
  }

  struct OpenIf {
    llvm::BasicBlock *otherwise, *join;
    std::unordered_map<ValueId, LValue *> outer;
  };

  void beginIf(const Instr &instr) {
    // Results of the branches get their memory before them.
    int depth = 0;
    for (const Instr *at = &instr;; ++at) {
      depth += at->kind == Instr::Kind::If;
      depth -= at->kind == Instr::Kind::EndIf;
      if (at->kind == Instr::Kind::Copy && depth == 1)
        define(at->outputs[0]);
      if (depth == 0)
        break;
    }
    LValue *condition = b_.CreateICmpNE(b_.CreateLoad(b_.getInt8Ty(), pointer(instr.inputs[0])), b_.getInt8(0));
    auto *then = llvm::BasicBlock::Create(llvm_, "then", function_);
    OpenIf open{llvm::BasicBlock::Create(llvm_, "else", function_), llvm::BasicBlock::Create(llvm_, "join", function_), pointers_};
    b_.CreateCondBr(condition, then, open.otherwise);
    b_.SetInsertPoint(then);
    ifs_.push_back(std::move(open));
  }
  void beginElse() {
    b_.CreateBr(ifs_.back().join);
    b_.SetInsertPoint(ifs_.back().otherwise);
    pointers_ = ifs_.back().outer;
  }
  void endIf() {
    b_.CreateBr(ifs_.back().join);
    b_.SetInsertPoint(ifs_.back().join);
    pointers_ = ifs_.back().outer;
    ifs_.pop_back();
  }

  void loop(LValue *count, const std::function<void(LValue *)> &body) {
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

  LValue *isNonZero(const Value &value, LValue *base, LValue *index) {
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

  // Counts, asks for memory of that many rows, then writes the coordinates.
  void emitArgWhere(const Instr &instr) {
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

  llvm::Module &module_;
  const TargetInfo &target_;
  Program &p_;
  const CodeGenOptions &options_;
  const std::vector<llvm::Function *> &kernels_;
  const Offsets &offsets_;
  llvm::LLVMContext &llvm_;
  llvm::IRBuilder<> b_;
  llvm::Function *function_ = nullptr, *marks_[2] = {};
  llvm::BasicBlock *allocas_ = nullptr, *fail_ = nullptr;
  LValue *exec_ = nullptr, *arena_ = nullptr, *weights_ = nullptr, *api_ = nullptr;
  std::unordered_map<ValueId, LValue *> pointers_;
  std::unordered_map<uint32_t, LValue *> dims_;
  std::vector<OpenIf> ifs_;
};

// Constant data of the descriptor, in the layout of the C structs.
class DescriptorEmitter {
public:
  DescriptorEmitter(llvm::Module &module, const std::string &prefix) : module_(module), b_(module.getContext()), prefix_(prefix) {}

  llvm::Constant *global(llvm::Constant *value, const char *name) {
    auto *variable = new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, prefix_ + "_" + name);
    return variable;
  }
  llvm::Constant *text(const std::string &string) {
    auto *&known = strings_[string];
    if (!known) {
      known = global(llvm::ConstantDataArray::getString(module_.getContext(), string), "text");
      llvm::cast<llvm::GlobalVariable>(known)->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    }
    return known;
  }
  llvm::Constant *bytes(llvm::StringRef data, const char *name, unsigned align) {
    auto *variable = llvm::cast<llvm::GlobalVariable>(global(llvm::ConstantDataArray::getRaw(data, data.size(), b_.getInt8Ty()), name));
    variable->setAlignment(llvm::Align(align));
    return variable;
  }
  llvm::Constant *record(std::vector<llvm::Constant *> fields) { return llvm::ConstantStruct::getAnon(module_.getContext(), fields); }
  llvm::Constant *table(const std::vector<llvm::Constant *> &rows, const char *name) {
    if (rows.empty())
      return null();
    return global(llvm::ConstantArray::get(llvm::ArrayType::get(rows[0]->getType(), rows.size()), rows), name);
  }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(b_.getPtrTy()); }
  llvm::Constant *i32(uint32_t value) { return b_.getInt32(value); }
  llvm::Constant *i64(uint64_t value) { return b_.getInt64(value); }
  llvm::Constant *real(double value) { return llvm::ConstantFP::get(b_.getDoubleTy(), value); }

private:
  llvm::Module &module_;
  llvm::IRBuilder<> b_;
  std::string prefix_;
  std::map<std::string, llvm::Constant *> strings_;
};

llvm::Constant *tensorTable(DescriptorEmitter &d, const Module &ir, const std::vector<CodeTensor> &tensors, const char *name) {
  std::vector<llvm::Constant *> rows;
  for (const CodeTensor &tensor : tensors) {
    std::vector<llvm::Constant *> dims;
    for (Dim dim : ir.types.shape(tensor.type))
      dims.push_back(d.record({d.i64(static_cast<uint64_t>(dim.isConst() ? dim.value() : -1)), dim.isConst() ? d.null() : d.text(ir.types.str(dim))}));
    rows.push_back(d.record({d.text(tensor.name), d.text(tensor.file), d.i32(static_cast<uint32_t>(ir.types.dtype(tensor.type))),
                             d.i32(static_cast<uint32_t>(dims.size())), d.table(dims, "dims")}));
  }
  return d.table(rows, name);
}

llvm::Constant *residentFlags(DescriptorEmitter &d, const std::vector<uint8_t> &flags) {
  if (std::find(flags.begin(), flags.end(), 1) == flags.end())
    return d.null();
  return d.bytes({reinterpret_cast<const char *>(flags.data()), flags.size()}, "resident", 1);
}

} // namespace

llvm::Function *emitEntry(llvm::Module &module, const TargetInfo &target, Program &program,
                          const CodeGenOptions &options, const std::vector<llvm::Function *> &kernels, const Offsets &offsets) {
  return EntryEmitter(module, target, program, options, kernels, offsets).run();
}

void emitDescriptor(llvm::Module &module, const TargetInfo &target, const Program &program, const Module &ir,
                    const CodeGenOptions &options, const CodeGenOptions::Artifacts &artifacts, uint64_t scratchBytes,
                    llvm::Function *entry) {
  DescriptorEmitter d(module, options.moduleName);
  std::string features;
  for (const std::string &feature : target.features)
    features += (features.empty() ? "" : ",") + feature;
  std::vector<llvm::Constant *> regions, nodes;
  for (const RegionCode &region : program.regions) {
    // Shapes come with each call; counts are those of the first.
    uint32_t inputs = 0, outputs = 0;
    for (const Instr &instr : program.instrs)
      if (instr.kind == Instr::Kind::Region && &program.regions[instr.callee] == &region)
        inputs = static_cast<uint32_t>(instr.inputs.size()), outputs = static_cast<uint32_t>(instr.outputs.size());
    llvm::StringRef blob(reinterpret_cast<const char *>(region.blob.data()), region.blob.size());
    regions.push_back(d.record({d.text(region.symbol), d.text(region.vendor), blob.empty() ? d.null() : d.bytes(blob, "blob", 16),
                                d.i64(blob.size()), d.i32(inputs), d.i32(outputs), residentFlags(d, region.residentInputs),
                                residentFlags(d, region.residentOutputs)}));
  }
  for (const ProfiledNode &node : program.nodes)
    nodes.push_back(d.record({d.text(node.name), d.text(node.source), d.real(node.flops)}));
  llvm::IRBuilder<> b(module.getContext());
  llvm::Constant *setId = llvm::ConstantDataArray::get(module.getContext(), llvm::ArrayRef<uint8_t>(artifacts.setId.data(), artifacts.setId.size()));
  llvm::StringRef embedded(artifacts.embeddedParams.data(), artifacts.embeddedParams.size());
  auto count = [&](size_t n) { return d.i32(static_cast<uint32_t>(n)); };
  llvm::Constant *descriptor = d.record({
      d.i32(BYCC_MODULE_MAGIC), d.i32(BYCC_ABI_VERSION), d.text(options.moduleName), d.text(options.compilerVersion),
      d.text(target.triple), d.text(target.cpu), d.text(features), setId, d.i64(artifacts.paramsBytes),
      embedded.empty() ? d.null() : d.bytes(embedded, "params", 64), d.i64(program.arenaBytes), d.i64(scratchBytes),
      d.i32(static_cast<uint32_t>(options.defaultThreads)), count(options.inputs.size()), count(options.outputs.size()),
      count(program.regions.size()), count(program.nodes.size()), tensorTable(d, ir, options.inputs, "inputs"),
      tensorTable(d, ir, options.outputs, "outputs"), d.table(regions, "regions"), d.table(nodes, "nodes"), entry});
  new llvm::GlobalVariable(module, descriptor->getType(), true, llvm::GlobalValue::ExternalLinkage, descriptor,
                           options.moduleName + "_bycc_module");
}

} // namespace bycc::te
