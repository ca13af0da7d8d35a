// The entry of a compiled model and its descriptor, as LLVM IR.
#pragma once

#include "Program.h"

#include <llvm/IR/Module.h>

namespace bycc::codegen {

// Offsets in the params file, by value (constants and packed constants).
using Offsets = std::unordered_map<ValueId, uint64_t>;

// int32_t <module>_entry(bycc_exec *): runs the program. `kernels` by index.
llvm::Function *emitEntry(llvm::Module &module, const TargetInfo &target, Program &program,
                          const CodeGenOptions &options,
                          const std::vector<llvm::Function *> &kernels, const Offsets &offsets);

// The bycc_module named <module>_bycc_module.
void emitDescriptor(llvm::Module &module, const TargetInfo &target, const Program &program,
                    const Module &ir, const CodeGenOptions &options,
                    const CodeGenOptions::Artifacts &artifacts, uint64_t scratchBytes,
                    llvm::Function *entry);

} // namespace bycc::codegen
