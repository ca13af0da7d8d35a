# The headers that are installed: what programs use that compile (Compiler.h, compiler.h) and run
# (runtime.h) models, vendors (vendor.h), and those who write passes and frontends. All others
# in include/bycc are for bycc alone. A new function in one of these is shown by a line in
# lib/bycc.map; the tests library-exports and e2e-public_headers hold the three together.
set(BYCC_PUBLIC_HEADERS
  bycc/Compiler.h
  bycc/Compiler/CompileRequest.h
  bycc/Compiler/CompiledModel.h
  bycc/Compiler/Extensions.h
  bycc/Compiler/OutputForms.h
  bycc/Compiler/RequestOptions.h
  bycc/Compiler/TimeTrace.h
  bycc/Compiler/WriteModel.h
  bycc/IR/Attributes.h
  bycc/IR/Builder.h
  bycc/IR/Constant.h
  bycc/IR/Functions.h
  bycc/IR/Ids.h
  bycc/IR/Infer.h
  bycc/IR/LikelyExtents.h
  bycc/IR/Module.h
  bycc/IR/Op.h
  bycc/IR/Ops.def
  bycc/IR/Printer.h
  bycc/IR/Type.h
  bycc/IR/Verifier.h
  bycc/IR/Visitor.h
  bycc/Parser/Relay.h
  bycc/Partition/OffloadReport.h
  bycc/Support/DType.h
  bycc/Support/Error.h
  bycc/Support/File.h
  bycc/Support/MappedFiles.h
  bycc/Support/OptionInfo.h
  bycc/Support/ParamsFile.h
  bycc/Support/SourceLocation.h
  bycc/Support/StringTable.h
  bycc/Target/PassContext.h
  bycc/Target/RefusalLog.h
  bycc/Target/TargetInfo.h
  bycc/Transforms/PassManager.h
  bycc/Transforms/PassRegistry.h
  bycc/Transforms/Pipeline.h
  bycc/abi.h
  bycc/compiler.h
  bycc/runtime.h
  bycc/vendor.h
)
