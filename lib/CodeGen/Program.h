// The whole model as what runs: values in memory and a straight list of
// instructions, with If, Else, EndIf, Loop and EndLoop as marks. Functions are
// inlined, tuples are gone, reshapes are other views of the same memory.
//
// A result of an `if` or a loop is *bound*: it has no memory of its own, Bind and
// Leave make it the value of the branch that was taken, pointer and extents. A
// value *carried* by a loop stands in one of two memories; Next fills the other
// and exchanges them:
//
//   Loop    c <- initial     memory of c = initial
//     If (condition)
//       n = f(c)             in the spare memory of c
//       Next  c <- n         exchange, back to the first instruction
//     Else
//       Leave r <- c
//     EndIf
//   EndLoop                  r is visible from here on
//
// What stands between Strips and EndStrips runs on the next part of its operands in each
// turn (RunInStrips.cpp); the turns are tasks of the thread pool. Whether open extents are
// large enough for that is asked as the program runs: the other branch has the whole kernels.
#pragma once

#include "bycc/CodeGen/CodeGen.h"
#include "bycc/IR/LibraryUse.h"
#include "bycc/Loops/Lower.h"
#include "bycc/Loops/Scheduler.h"

namespace bycc::codegen {

using namespace loops; // the language that kernels and extents are written in

using ValueId = uint32_t;
inline constexpr uint32_t none = UINT32_MAX;

// A copy of a constant in panel order, made while compiling.
struct PackedConstant {
  ConstantId source;
  PackSpec spec;
};

struct Value {
  enum class Kind : uint8_t { Input, Constant, Packed, Buffer } kind = Kind::Buffer;
  TypeId type; // of what the model sees; invalid for scratch buffers
  DType dtype = DType::Float32;
  uint32_t index = 0;                           // input, constant id or packed constant
  std::vector<Ref> dims;                        // program expressions
  ValueId alias = none;                         // shares the memory of this value
  std::pair<uint32_t, uint32_t> entry{none, 0}; // in the graph report
  uint32_t output = none;                       // written straight into this output of the model
  bool isAsked = false;        // the runtime is asked for it, and has not made it before the run
  uint32_t resident = none;    // in the memory of this region's vendor,
  uint32_t residentOutput = 0; // whose output it is
  bool isBound = false;        // pointer and unknown extents are set by Bind, Leave, Loop and Next
  ValueId memory = none, spare = none; // of a carried value: its two memories
  bool isUpdate = false;               // alias: with other content than that had
  ValueId spareOf = none; // written straight into the spare memory of this carried value
  // Memory plan:
  bool isStatic = true;
  int64_t bytes = 0, offset = -1;     // in the arena
  uint32_t firstUse = 0, lastUse = 0; // instructions, if it is there
  Ref stripOffset = noRef;            // bytes, in the memory that each thread has for strips
  int32_t storage = -1;
};

struct Instr {
  // SetRows: inputs are x, v and the first row; the output is x with the rows of v.
  // Bind, Loop, Next, Leave: outputs[i] becomes inputs[i].
  // clang-format off
  enum class Kind : uint8_t {
    Kernel, Region, Copy, Library, SetRows, SetDim, Require,
    If, Else, EndIf, Bind, Loop, Next, Leave, EndLoop, Strips, EndStrips, // marks
  } kind = Kind::Kernel;
  // clang-format on
  uint32_t callee = 0; // kernel, region or library call; SetDim: the dim
  std::vector<ValueId> inputs, outputs, temps;
  std::vector<ValueId> arguments; // kernels: in order of the loops' arguments
  // Kernels: program expressions. SetDim: the value. Require: the condition, then
  // the values that the message names. If: the condition, where it has no input; what both
  // branches write is in its outputs.
  std::vector<Ref> dims;
  uint32_t node = none;               // profiled node
  std::vector<ValueId> released = {}; // resident and allocated values that end here
  // Require; SetDim of an extent, which must not be negative. Each {} is a value.
  std::string message = {};
  // Strips: how often each cut divides the operands, the first one first. Kernels in them:
  // for each cut the bytes from part to part of each argument. Program expressions.
  // The memory of all threads is the first of `temps`, with the threads and the bytes of
  // each as its extents; without one it is in the scratch.
  std::vector<Ref> counts = {};
  std::vector<std::vector<Ref>> steps = {};
  // Strips: the last cut takes `most` of `all` rows, or what is left of them; `dim` says how
  // many in a turn.
  struct Rows {
    Ref dim = noRef, most = noRef, all = noRef;
  } rows = {};
};

struct RegionCode {
  FunctionId function;
  std::string symbol, vendor;
  CodeRegion code;
  bool ownsMemory = false;                                        // BYCC_VENDOR_OWN_MEMORY
  bool hasHostCode = false;                                       // the entry does without it
  std::vector<uint8_t> residentInputs = {}, residentOutputs = {}; // 0 or 1 each; empty: none is
};

struct LibraryCode {
  LibraryKernel kernel;
  std::vector<int64_t> attributes;
  std::vector<bool> isTold; // per result: the kernel tells its extents
};

struct ProfiledNode {
  std::string name, source;
  double flops = 0; // NaN: not known before extents are

  // Operators that one node of the model became are listed once.
  void addSource(const std::string &node) {
    if (source != node && !source.ends_with("," + node))
      source += (source.empty() ? "" : ",") + node;
  }
};

struct Program {
  Exprs exprs; // Dim i = run-time extent i; Load = an element of the value with that id
  struct DimSource {
    uint32_t input = none, axis = 0; // else an instruction gives it,
    bool isThreads = false;          // ... or it is how many threads there are
    bool isGiven() const { return input != none || isThreads; }
  };
  std::vector<DimSource> dims;
  std::vector<int64_t> likelyDims; // what they likely are
  std::vector<Value> values;
  std::vector<Instr> instrs;
  std::vector<KernelCode> kernels;
  std::vector<RegionCode> regions;
  std::vector<LibraryCode> libraryCalls;
  std::vector<PackedConstant> packed;
  std::vector<ProfiledNode> nodes;
  std::vector<CodeGraphNode> graph;
  std::vector<ValueId> outputs;
  uint64_t arenaBytes = 0;
  uint64_t stripBytes = 0;   // at the end of each thread's scratch
  uint64_t scratchBytes = 0; // of each thread

  bool isStatic(const Value &value) const {
    for (Ref dim : value.dims)
      if (!exprs.constant(dim))
        return false;
    return true;
  }
  Ref addDim(DimSource source, int64_t likely, bool isSigned = false) {
    dims.push_back(source);
    likelyDims.push_back(likely);
    return exprs.dim(static_cast<uint32_t>(dims.size() - 1), isSigned);
  }
  int64_t likely(Ref ref) const { return exprs.likely(ref, likelyDims); }
  ValueId root(ValueId value) const {
    while (values[value].alias != none)
      value = values[value].alias;
    return value;
  }
};

// UNSUP errors for values of host code in a layout or on a device.
Expected<> checkTypes(const Module &module, const CodeGenOptions &options);

// Rewrites operators with very many operands or results.
Expected<> splitWide(Module &module, const CodeGenOptions &options);

Expected<Program> buildProgram(Module &module, const TargetInfo &target,
                               const CodeGenOptions &options, Scheduler &scheduler);
// Finds what stays in vendors' own memory, before memory is planned.
void findResidentValues(Program &program);
// SetRows writes into its first input where that is not needed any more, and what
// a loop carries on is made in the carried value's spare memory.
void updateInPlace(Program &program);
// Lets chains of kernels with large values between them work on a part at a time; the
// kernels that may be in one are those that had to keep their source.
bool mayRunInStrips(const Kernel &kernel, const TargetInfo &target);
Expected<> runInStrips(Program &program, const TargetInfo &target, Scheduler &scheduler);
// Gives buffers their place in the arena; ids of storages.
Expected<> planMemory(Program &program);

} // namespace bycc::codegen
