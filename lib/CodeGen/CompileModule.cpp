// compileModule: the program, its memory plan, its constants' places, then one
// LLVM module with kernels, entry and descriptor, and the report.
#include "bycc/CodeGen/CodeGen.h"

#include "Emit.h"
#include "EmitEntry.h"
#include "Object.h"
#include "PrintProgram.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

namespace bycc {
namespace codegen {
namespace {

class ModuleCompiler {
public:
  ModuleCompiler(Module &module, const TargetInfo &target, const CodeGenOptions &options)
      : ir_(module), target_(target), options_(options), scheduler_(target) {}

  Expected<CompiledModule> run() {
    BYCC_TRY(plan());
    placeConstants();
    CodeGenOptions::Artifacts artifacts;
    if (options_.finishArtifacts)
      artifacts = options_.finishArtifacts();
    machine_ = BYCC_TRY(makeTargetMachine(target_, options_.level));
    BYCC_TRY(emitModule(artifacts));
    report();
    return std::move(result_);
  }

  Expected<CompiledModule> runPlan() {
    BYCC_TRY(plan());
    report();
    return std::move(result_);
  }

private:
  Expected<> plan() {
    if (options_.schedules)
      BYCC_TRY(scheduler_.readFile(options_.schedulesName, *options_.schedules));
    program_ = BYCC_TRY(buildProgram(ir_, target_, options_, scheduler_));
    findResidentValues(program_);
    updateInPlace(program_);
    if (options_.level > 0)
      BYCC_TRY(runInStrips(program_, target_, scheduler_));
    result_.warnings = BYCC_TRY(scheduler_.check(program_.kernels, printStrips(program_)));
    return planMemory(program_);
  }

  // Constants that code reads, in program order.
  void placeConstants() {
    for (const Instr &instr : program_.instrs)
      for (const auto *list : {&instr.inputs, &instr.arguments})
        for (ValueId value : *list)
          place(program_.root(value));
  }

  void place(ValueId id) {
    const Value &value = program_.values[id];
    if (offsets_.count(id) || value.kind == Value::Kind::Input || value.kind == Value::Kind::Buffer)
      return;
    CodeConstant constant;
    constant.dtype = value.dtype;
    for (Ref dim : value.dims)
      constant.dims.push_back(*program_.exprs.constant(dim));
    if (value.kind == Value::Kind::Constant) {
      const Constant &source = ir_.constants[value.index];
      constant.name = source.name;
      constant.storage = source.storage;
      constant.begin = source.offset;
      constant.bytes = source.bytes;
    } else {
      const PackedConstant &packed = program_.packed[value.index];
      const Constant &source = ir_.constants[packed.source.index];
      constant.name = source.name.empty() ? "const.packed" : source.name + ".packed";
      constant.storage = Storage::own(packPanels(source.data(), packed.spec));
      constant.bytes = constant.storage->size();
    }
    offsets_[id] = options_.placeConstant ? options_.placeConstant(constant) : 0;
  }

  CodeCounts counts() const {
    using Kind = Instr::Kind;
    auto count = [&](Kind kind) -> int64_t {
      return std::ranges::count(program_.instrs, kind, &Instr::kind);
    };
    return {static_cast<int64_t>(program_.kernels.size()),
            count(Kind::Kernel),
            count(Kind::Library),
            count(Kind::Region),
            count(Kind::Copy),
            count(Kind::Strips)};
  }

  Expected<> emitModule(const CodeGenOptions::Artifacts &artifacts) {
    llvm::LLVMContext context;
    llvm::Module module(options_.moduleName, context);
    prepareModule(module, *machine_);
    uint64_t scratch = 0;
    for (const KernelCode &kernel : program_.kernels)
      scratch = std::max(scratch, static_cast<uint64_t>(kernel.loops.scratchBytes));
    if (program_.stripBytes > 0)
      scratch = (scratch + 63) / 64 * 64 + program_.stripBytes;
    program_.scratchBytes = scratch;
    EmitContext emit{module, target_, nullptr};
    llvm::Type *i64 = llvm::Type::getInt64Ty(context);
    emit.scratchBytes = new llvm::GlobalVariable(
        module, i64, true, llvm::GlobalValue::InternalLinkage, llvm::ConstantInt::get(i64, scratch),
        options_.moduleName + "_scratch_bytes");
    std::vector<llvm::Function *> kernels;
    for (const KernelCode &kernel : program_.kernels) {
      BYCC_TRY(proceed(kernel.name));
      kernels.push_back(KernelEmitter(emit, kernel.loops, kernel.name).run(kernel.isOfStrips));
    }
    llvm::Function *entry = emitEntry(module, target_, program_, options_, kernels, offsets_);
    emitDescriptor(module, target_, program_, ir_, options_, artifacts, scratch, entry);
    BYCC_TRY(verify(module));
    BYCC_TRY(proceed(""));
    optimize(module, *machine_, options_.level);
    result_.scratchBytes = scratch;
    result_.counts = counts();
    for (CodeForm form : options_.forms) {
      if (form == CodeForm::Loops)
        result_.loops = printProgram(program_, target_);
      if (form == CodeForm::LlvmText) {
        llvm::raw_string_ostream stream(result_.llvmText);
        module.print(stream, nullptr);
      }
    }
    for (CodeForm form : options_.forms) {
      if (form == CodeForm::LlvmText || form == CodeForm::Loops)
        continue;
      bool isText = form == CodeForm::Assembly;
      BYCC_TRY(proceed(""));
      std::vector<uint8_t> bytes = BYCC_TRY(emitCode(module, *machine_, isText));
      (isText ? result_.assembly : result_.object).assign(bytes.begin(), bytes.end());
    }
    return {};
  }

  Expected<> proceed(const std::string &kernel) {
    size_t count = program_.kernels.size();
    if (!options_.proceed || options_.proceed(kernel, std::min(numKernels_, count), count)) {
      ++numKernels_;
      return {};
    }
    return cancelledError();
  }

  void report() {
    result_.arenaBytes = program_.arenaBytes;
    result_.graph = std::move(program_.graph);
    for (CodeGraphNode &node : result_.graph)
      node.storageIds.assign(node.outputs.size(), -1);
    for (const Value &value : program_.values)
      if (value.entry.first != none && value.storage >= 0)
        result_.graph[value.entry.first].storageIds[value.entry.second] = value.storage;
    for (ValueId output : program_.outputs)
      result_.heads.push_back(program_.values[output].entry);
    reportArena();
  }

  // Marks of branches, loops and strips are no steps; what they are the first or last use
  // of is there from the next step, or to the one before.
  void reportArena() {
    std::vector<uint32_t> stepOf; // the number of steps before each instruction
    for (const Instr &instr : program_.instrs) {
      stepOf.push_back(static_cast<uint32_t>(result_.arena.steps.size()));
      if (isStep(instr))
        result_.arena.steps.push_back(nodeOf(instr));
    }
    for (const Value &value : program_.values) {
      if (value.offset < 0 || result_.arena.steps.empty())
        continue;
      uint32_t last = static_cast<uint32_t>(result_.arena.steps.size() - 1);
      uint32_t first = std::min(stepOf[value.firstUse], last);
      uint32_t end = stepOf[value.lastUse] -
                     (isStep(program_.instrs[value.lastUse]) || stepOf[value.lastUse] == 0 ? 0 : 1);
      result_.arena.buffers.push_back({value.entry.first, value.offset, value.bytes, first,
                                       std::max(first, std::min(end, last))});
    }
    std::ranges::stable_sort(result_.arena.buffers, {}, &CodeArena::Buffer::first);
  }

  static bool isStep(const Instr &instr) {
    using Kind = Instr::Kind;
    return instr.kind == Kind::Kernel || instr.kind == Kind::Region || instr.kind == Kind::Copy ||
           instr.kind == Kind::Library || instr.kind == Kind::SetRows;
  }

  uint32_t nodeOf(const Instr &instr) const {
    for (ValueId output : instr.outputs)
      if (program_.values[output].entry.first != none)
        return program_.values[output].entry.first;
    return UINT32_MAX;
  }

  Module &ir_;
  const TargetInfo &target_;
  const CodeGenOptions &options_;
  Scheduler scheduler_;
  Program program_;
  Offsets offsets_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  CompiledModule result_;
  size_t numKernels_ = 0; // proceed() was asked about
};

} // namespace
} // namespace codegen

bool hasHostCode(OpId op) { return loops::hasLowering(op) || hasLibraryUse(op); }

Expected<> checkHostCode(Module &module, const TargetInfo &target, CodeGenOptions options) {
  options.compileRegion = [](FunctionId) { return Expected<CodeRegion>(CodeRegion()); };
  loops::Scheduler scheduler(target);
  BYCC_TRY(codegen::buildProgram(module, target, options, scheduler));
  return {};
}

Expected<CompiledModule> planModule(Module &module, const TargetInfo &target,
                                    CodeGenOptions options) {
  options.compileRegion = [](FunctionId) { return Expected<CodeRegion>(CodeRegion()); };
  return codegen::ModuleCompiler(module, target, options).runPlan();
}

Expected<CompiledModule> compileModule(Module &module, const TargetInfo &target,
                                       const CodeGenOptions &options) {
  return codegen::ModuleCompiler(module, target, options).run();
}

} // namespace bycc
