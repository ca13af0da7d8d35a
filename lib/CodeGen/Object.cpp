// See Object.h. The pass pipeline is ours instead of O2's: no vectoriser, no
// inliner heuristics, about a third of the compile time.
#include "Object.h"

#include "bycc/CodeGen/CodeGen.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/StandardInstrumentations.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>

namespace bycc::codegen {

std::string codeFeatures(const TargetInfo &target, const std::string &sign) {
  std::string features;
  for (const std::string &feature : target.features)
    if (!feature.starts_with("amx-"))
      features += (features.empty() ? "" : ",") + sign + feature;
  return features;
}

Expected<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const TargetInfo &target,
                                                                 int optLevel) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string message;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(target.triple, message);
  if (!found)
    return error(Status::Unsup) << "no code generator for target '" << target.triple << "'";
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  auto level = optLevel <= 0 ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(target.triple, baselineCpu, codeFeatures(target, "+"), options,
                                 llvm::Reloc::PIC_, llvm::CodeModel::Small, level));
  if (!machine)
    return error(Status::Unsup) << "no code generator for target '" << target.triple << "'";
  return machine;
}

void prepareModule(llvm::Module &module, llvm::TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine, int optLevel) {
  if (optLevel <= 0)
    return;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassInstrumentationCallbacks callbacks; // functions that say optnone are passed over
  llvm::OptNoneInstrumentation optNone(false);
  optNone.registerCallbacks(callbacks);
  llvm::PassBuilder builder(&machine, llvm::PipelineTuningOptions(), std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  const char *pipeline =
      "function(sroa,early-cse<memssa>,instcombine<max-iterations=1;no-verify-fixpoint>,"
      "simplifycfg,"
      "loop-mssa(licm<allowspeculation>),gvn,instcombine<max-iterations=1;no-verify-fixpoint>,"
      "simplifycfg,adce),globaldce";
  if (llvm::Error failure = builder.parsePassPipeline(passes, pipeline))
    internalError(__FILE__, __LINE__, "pass pipeline", llvm::toString(std::move(failure)));
  passes.run(module, modules);
}

Expected<> verify(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::verifyModule(module, &stream))
    return error(Status::CodeGen) << "malformed code: " << stream.str();
  return {};
}

Expected<std::vector<uint8_t>> emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                                        bool asText) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  auto kind = asText ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, kind))
    return error(Status::Unsup) << "target '" << machine.getTargetTriple().str()
                                << "' cannot write object files";
  passes.run(module);
  return std::vector<uint8_t>(buffer.begin(), buffer.end());
}

} // namespace bycc::codegen

namespace bycc {

void setLlvmFatalHandler(void (*die)(const char *reason)) {
  static void (*ours)(const char *);
  ours = die;
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) { ours(reason); });
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { ours(nullptr); });
}

} // namespace bycc
