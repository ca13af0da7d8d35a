// Walks @main and makes the program: calls of plain functions are inlined,
// Primitive functions and lone operators become kernels (equal ones share
// code), vendor functions become region calls, tuples and reshapes cost nothing.
#pragma once

#include "Program.h"

#include <functional>

namespace bycc::codegen {

// Names visible in a function body or block; outer ones through `parent`.
struct Env {
  std::unordered_map<uint32_t, std::vector<ValueId>> values;
  std::unordered_map<uint32_t, std::pair<FunctionId, const Env *>> functions;
  const Env *parent = nullptr;

  // Null when nothing around has it.
  const std::vector<ValueId> *find(NodeId node) const;
};

class ProgramBuilder {
public:
  ProgramBuilder(Module &module, const TargetInfo &target, const CodeGenOptions &options,
                 Scheduler &scheduler)
      : m_(module), target_(target), options_(options), scheduler_(scheduler) {}
  Expected<Program> run();

private:
  // --- values (BuildProgram.cpp)
  ValueId addValue(Value value);
  std::vector<ValueId> addInput(NodeId param);
  Ref inputDim(Dim dim, uint32_t axis);
  uint32_t addGraphNode(CodeGraphNode node);
  std::vector<Ref> staticDims(TypeId type);
  ValueId constantValue(NodeId node);
  // A constant is in the report once something reads it as it is, a view once anything
  // reads it: before that nothing keeps what it shows.
  std::pair<uint32_t, uint32_t> entryOf(ValueId value);
  Expected<std::vector<ValueId>> valuesOf(NodeId node, const Env &env);
  std::vector<ValueId> newBuffers(TypeId type, uint32_t graphNode);
  // A buffer that is a result once is written in place; anything else is copied.
  void addOutput(ValueId value);

  // --- extents (BuildExtents.cpp)
  class Outside;
  // A new dim that holds the expression from here on; an extent when `what` is not empty.
  Ref defineDim(Ref expression, const std::string &what);
  Ref multipleOfDim(Ref expression);
  Expected<Ref> elementOf(NodeId node, int64_t element, const Env &env);
  std::optional<Ref> extentOf(Dim dim);
  // Symbols in the type of a value stand for its extents from here on.
  void bindSymbols(TypeId type, ValueId value);
  void addNonEmptyChecks();
  void bindParamSymbols(NodeId param, const std::vector<ValueId> &values);
  Expected<> addRequirements(const Group &group, NodeId node);
  // Dims that instructions of one branch define are not known after it.
  void forgetDims();

  // --- blocks and nodes (BuildBlocks.cpp)
  Expected<> checkDepth(BlockId block, int depth);
  Expected<> addBlock(BlockId block, Env &env, int depth);
  Expected<> addNode(NodeId id, Env &env, int depth);
  Expected<> addProject(NodeId id, Env &env);
  Expected<> addIf(NodeId id, Env &env, int depth);
  using Branch = std::function<Expected<std::vector<ValueId>>()>; // adds it; its results
  Expected<std::vector<ValueId>> addBranches(Instr begin, TypeId type, const std::string &name,
                                             const Branch &then, const Branch &otherwise);
  Expected<std::vector<ValueId>> addBody(FunctionId function, const Env *outer,
                                         const std::vector<NodeId> &operands, const Env &env,
                                         int depth);
  // Values without memory of their own; each unknown extent becomes a dim of the program.
  std::vector<ValueId> newBound(TypeId type);
  // The bound values as results of one node of the report.
  void reportBound(const std::string &name, const char *what, const std::vector<ValueId> &inputs,
                   const std::vector<ValueId> &bound);
  // The function behind a callee, and where its outer names are.
  std::optional<std::pair<FunctionId, const Env *>> resolve(NodeId callee, const Env &env);
  Expected<> addCall(NodeId id, Env &env, int depth);
  bool isTrue(FunctionId function, const char *key);
  Expected<Env> bindParams(FunctionId function, const Env *outer,
                           const std::vector<NodeId> &operands, const Env &env);

  // --- loops (BuildLoops.cpp): functions that call themselves as their last step
  struct OpenLoop {
    FunctionId function;
    std::vector<bool> isCarried;           // by parameter
    std::vector<ValueId> carried, results; // flattened
    std::vector<ValueId> left;             // what Leave brings, for the report
    bool isLeft = false;
  };
  bool isCallOf(NodeId node, FunctionId function) const;
  // Somewhere in the blocks of the node, or in the node itself.
  bool hasCallOf(NodeId node, FunctionId function) const;
  bool callsItself(FunctionId function) const;
  std::string calledName(NodeId call) const;
  Expected<> addLoop(NodeId call, FunctionId function, const Env *outer,
                     const std::vector<NodeId> &operands, Env &env, int depth);
  Expected<> addCarried(NodeId call, OpenLoop &loop, Env &inner,
                        const std::vector<NodeId> &operands, const Env &env);
  // A block whose result is the result of the loop's function.
  Expected<> addTail(BlockId block, Env &env, OpenLoop &loop, int depth);
  Expected<> addTailNode(NodeId node, Env &env, OpenLoop &loop, int depth);
  Expected<> addNext(NodeId call, const Env &env, OpenLoop &loop);

  // --- kernels (BuildKernels.cpp)
  Expected<> addPrimitive(NodeId call, FunctionId function, const std::vector<NodeId> &operands,
                          Env &env);
  Expected<> addCallOp(NodeId id, Env &env);
  // A kernel; a view of `viewed` where that is given.
  Expected<> addGroup(NodeId node, Group group, const std::vector<NodeId> &sources, ValueId viewed,
                      Env &env, const Env &inner);
  ValueId addView(NodeId node, ValueId base, const std::vector<NodeId> &sources,
                  std::vector<Ref> dims);
  const Constant *constantIn(NodeId node, const Env &env);
  std::string kernelName(const std::vector<NodeId> &sources);
  Expected<uint32_t> findKernel(Kernel kernel, const std::vector<NodeId> &sources);
  // In the report it is called as its last source, with `suffix` behind that.
  Expected<std::vector<ValueId>> addKernel(Group group, const std::vector<NodeId> &sources,
                                           TypeId resultType, const Env &env,
                                           const char *suffix = "");
  // A buffer of the kernel alone, or panels made of a constant.
  ValueId addScratch(const Loops &loops, uint32_t buffer,
                     const std::unordered_map<uint32_t, ValueId> &ofBuffer, Instr &instr);
  // Whole rows, copied: false when the call is not that simple.
  Expected<bool> addSetRows(NodeId id, Env &env);

  // --- indices that must be in range (CheckIndices.cpp)
  // Of a call that checksIndices(): the run ends before it when one is not.
  Expected<> addIndexCheck(NodeId call, const Env &env);
  Expected<> checkConstantIndices(NodeId call, const Constant &indices,
                                  const std::vector<Ref> &extents);
  Expected<> checkIndicesAtRun(NodeId call, NodeId indices, const std::vector<Ref> &extents,
                               const Env &env);
  Expected<std::vector<Ref>> indexedExtents(NodeId call, const Env &env);
  Expected<size_t> coordinatesOf(NodeId call);
  void requireIndex(NodeId call, Ref condition, Ref index, Ref extent);

  // --- library kernels (BuildLibrary.cpp)
  Expected<> addLibrary(NodeId id, Env &env);
  // Extents of a result that are known before the kernel runs: as the type says,
  // else as those of `like`; the others become new dims. True when there are such.
  bool addDims(Value &value, ValueId like);

  // --- regions (BuildRegions.cpp)
  Expected<uint32_t> regionOf(FunctionId function);
  Expected<> addRegion(NodeId call, FunctionId function, const std::vector<NodeId> &operands,
                       Env &env, int depth);
  Expected<> addRegionCall(NodeId call, FunctionId function, const std::vector<NodeId> &operands,
                           Env &env);
  Expected<> setResultDims(NodeId call, const std::string &region, ValueId id);
  void addRegionChecks(FunctionId function, const Instr &region);
  double flopsOf(NodeId call) const; // NaN: not known before extents are
  void collectRegion(FunctionId function, ProfiledNode &profiled, std::vector<NodeId> &sources);

  Module &m_;
  const TargetInfo &target_;
  const CodeGenOptions &options_;
  Scheduler &scheduler_;
  Program p_;
  uint32_t numInputs_ = 0, numCalls_ = 0;
  std::vector<FunctionId> open_;             // being inlined
  std::unordered_map<int64_t, Ref> symbols_; // by Dim::raw
  std::unordered_map<Ref, Ref> definedDims_; // expression -> dim, since the last mark
  size_t numSeenInstrs_ = 0;                 // of those that forgetDims() has looked at
  std::unordered_map<std::string, int> graphNames_;
  std::unordered_map<uint32_t, ValueId> constants_;
  std::unordered_map<ValueId, CodeGraphNode> unreadViews_;
  std::unordered_map<std::string, uint32_t> kernelIds_, packedIds_;
  std::unordered_map<uint32_t, uint32_t> regionIds_;
};

} // namespace bycc::codegen
