// LLVM as a back end: from a module of IR to optimised object code, assembly or
// text. Nothing here depends on the machine it runs on.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/Target/TargetInfo.h"

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace bycc::codegen {

// What LLVM may choose instructions from: this CPU and the features that the object
// records, which a machine is asked for before the code runs ("avx2,fma", or "+avx2,+fma" with a sign). Host code
// has no tiles, and vendors fall back without them: AMX is left out. The CPU that was
// asked for only tunes.
inline constexpr const char *baselineCpu = "x86-64";
std::string codeFeatures(const TargetInfo &target, const std::string &sign = "");
Expected<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const TargetInfo &target,
                                                                 int optLevel);
// Sets triple and data layout.
void prepareModule(llvm::Module &module, llvm::TargetMachine &machine);
// A short pipeline: loops are already vector loops, so what is left is promotion
// to registers, redundancy, invariants and address arithmetic.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, int optLevel);
Expected<> verify(const llvm::Module &module);
Expected<std::vector<uint8_t>> emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                                        bool asText);

} // namespace bycc::codegen
