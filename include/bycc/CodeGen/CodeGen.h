// Host code for a whole module: kernels, one entry that runs the program, the
// descriptor of bycc/abi.h, and a report of what was planned. The driver writes
// the files.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/TargetInfo.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

enum class CodeForm : uint8_t { Object, Assembly, LlvmText, Loops };

// A tensor of the model's interface, as the descriptor records it.
struct CodeTensor {
  std::string name, file;
  TypeId type;
};

// Bytes that must stand in the params file; `offset` is where (from its start).
struct CodeConstant {
  std::string name;
  DType dtype;
  std::vector<int64_t> dims;
  std::shared_ptr<const Storage> storage;
  uint64_t begin = 0, bytes = 0;
};

// What a vendor made of a region. Weights of its own, if its run half reads no others,
// lie in the params file.
struct CodeRegion {
  std::vector<uint8_t> blob;
  std::string version, library; // of the vendor
  // Per input and output 1 when its vendor was told that it is to be resident; empty: none is.
  std::vector<uint8_t> residentInputs, residentOutputs;
  bool ownsWeights = false;
  uint64_t weightsOffset = 0, weightsBytes = 0;
};

struct CodeGenOptions {
  std::string moduleName; // prefix of every symbol
  std::string compilerVersion;
  int level = 2; // LLVM optimisation level
  int jobs = 1;
  int32_t defaultThreads = 0;
  std::vector<CodeForm> forms = {CodeForm::Object};
  // --schedules: the text of a file, and its name; null: schedules are chosen.
  std::shared_ptr<const std::string> schedules;
  std::string schedulesName;
  std::vector<CodeTensor> inputs, outputs; // flattened, of @main
  // Gives a constant its place in the params file and returns the offset.
  std::function<uint64_t(const CodeConstant &)> placeConstant;
  // Called once per external function of a vendor that is not emulated; an error
  // ends the compilation.
  std::function<Expected<CodeRegion>(FunctionId)> compileRegion;
  // Whether the vendor of an external function keeps values in memory of its own.
  std::function<bool(FunctionId)> ownsMemory;
  // External functions whose vendor is emulated are host code.
  std::function<bool(FunctionId)> isEmulated;
  // Known after all constants are placed: size of the params file (0 = none) and
  // the id of this set of files; called once, before the descriptor is emitted.
  struct Artifacts {
    uint64_t paramsBytes = 0;
    std::array<uint8_t, 16> setId = {};
    std::string_view embeddedParams; // non-empty: goes into the object
  };
  std::function<Artifacts()> finishArtifacts;
  // Asked before each kernel, and before what LLVM does to all of them ("" as its name);
  // false: the compilation ends with Status::Cancelled.
  std::function<bool(const std::string &kernel, size_t index, size_t count)> proceed;
};

// The report behind the graph JSON. Entries are (node, output) pairs.
struct CodeGraphNode {
  enum class Kind : uint8_t { Argument, Constant, Kernel, Region, Alias } kind;
  std::string name;                                  // unique
  std::string symbol;                                // of the kernel or region; "" otherwise
  std::vector<NodeId> sources;                       // operator nodes it stands for
  std::vector<std::pair<uint32_t, uint32_t>> inputs; // node, output
  std::vector<TypeId> outputs;                       // one tensor type per output
  std::vector<int32_t> storageIds;                   // one per output
};

// What lies where in the arena and when: a buffer is there from the first to the last of its
// steps.
struct CodeArena {
  struct Buffer {
    uint32_t node = UINT32_MAX; // of the graph whose value it is; none: a kernel's own
    int64_t offset = 0, bytes = 0;
    uint32_t first = 0, last = 0;
  };
  std::vector<uint32_t> steps; // the node of the graph that runs, or UINT32_MAX
  std::vector<Buffer> buffers; // by first step
};

// For --stats.
struct CodeCounts {
  int64_t kernels = 0;                                                    // equal ones are one
  int64_t kernelCalls = 0, libraryCalls = 0, regionCalls = 0, copies = 0; // that the entry has
  int64_t strips = 0; // chains of kernels that run a part at a time
};

struct CompiledModule {
  std::string object, assembly, llvmText, loops; // as asked for
  std::vector<Diagnostic> warnings;
  std::vector<CodeGraphNode> graph; // in program order; branches after one another
  std::vector<std::pair<uint32_t, uint32_t>> heads;
  uint64_t arenaBytes = 0, scratchBytes = 0;
  CodeArena arena;
  CodeCounts counts;
};

// Whether host code for the operator exists at all.
bool hasHostCode(OpId op);

// The first reason why there cannot be host code for the program, or none. Makes no
// code and asks for no regions; `options` as for compileModule().
Expected<> checkHostCode(Module &module, const TargetInfo &target, CodeGenOptions options);

// What would be compiled, without code: graph, heads and arena, with regions of vendors
// as they are compiled or not. May rewrite operators.
Expected<CompiledModule> planModule(Module &module, const TargetInfo &target,
                                    CodeGenOptions options);

// UNSUP errors name the node that has no host code.
Expected<CompiledModule> compileModule(Module &module, const TargetInfo &target,
                                       const CodeGenOptions &options);

// Has LLVM call `die` where it would end the process by itself: with its reason, or with
// null when there is no memory left. It must not return. For programs; for all of the
// process.
void setLlvmFatalHandler(void (*die)(const char *reason));

} // namespace bycc
