// The machinery of the ONNX frontend: values in scope, and what a converter of
// one operator sees (OpContext). The table of operators is OnnxOps.def;
// converters stand in files by family.
#pragma once

#include "OnnxFold.h"
#include "OnnxModel.h"
#include "OnnxTensor.h"

#include "bycc/Frontend/Onnx.h"
#include "bycc/IR/Builder.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

namespace bycc::onnx {

// A sequence of tensors: its elements, or tensors whose rows along the first axis are
// elements each.
struct Sequence {
  struct Part {
    NodeId node;
    bool isStack = false;
  };
  std::vector<Part> parts;
  // In the body of a loop: behind elements that earlier turns appended, nobody knows which.
  bool isCarried = false;
};

// What a name stands for. `ints` is the value of a small integer tensor that is
// known, at least in part, while importing; then `node` is made when somebody
// needs it. A poisoned value comes from a node with an error already reported.
struct Value {
  NodeId node;
  std::shared_ptr<const IntTensor> ints;
  bool isPoisoned = false;
  std::shared_ptr<const Sequence> sequence; // then no node
};

// A weight of which a model has the dequantised form as well: values, and a scale and a zero point
// (none: 0) for each element of `axis`, or for each `block` of them.
struct StoredWeight {
  NodeId values, scale, zero;
  int64_t axis = 0, block = 0; // of the values
  bool isTransposed = false;   // the dequantised form
};

class Importer;

inline std::string_view plainDomain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

// An operator's input may be, or has to be, a sequence (OnnxSequence.cpp).
bool takesSequence(std::string_view opType, size_t input);
bool needsSequence(std::string_view opType, size_t input);

// The decimal number that was meant: 1e-5, not what float32 makes of it.
double decimalOf(float value);

// One node during its conversion: inputs, attributes, and ways to make IR.
class OpContext {
public:
  OpContext(Importer &importer, const Node &proto, int64_t opset, std::string_view relayName,
            SourceId source);

  const Node &proto() const { return proto_; }
  int64_t opset() const { return opset_; }
  // The table's Relay name, for converters that serve several operators.
  std::string_view relayName() const { return relayName_; }
  Module &module();
  TypeTable &types() { return module().types; }
  Importer &importer() { return importer_; }
  SourceId sourceId() const { return source_; }
  ErrorBuilder error(Status status = Status::Input) const;

  // --- inputs; an optional one may be left empty
  size_t numInputs() const { return proto_.inputs.size(); }
  bool has(size_t index) const { return index < numInputs() && !proto_.inputs[index].empty(); }
  NodeId input(size_t index);
  // Value of an input that must be a known integer tensor.
  Expected<std::vector<int64_t>> constInts(size_t index, std::string_view what);
  Expected<int64_t> constInt(size_t index, std::string_view what);
  // The same for a known float (or any numeric) tensor of the model.
  Expected<std::vector<double>> constNumbers(size_t index, std::string_view what);
  const IntTensor *knownInts(size_t index) const;
  // All of input `index` is known, or it is not given.
  bool isKnown(size_t index) const {
    const IntTensor *known = knownInts(index);
    return !has(index) || (known && known->isComplete());
  }
  // Values of a constant node, if it is one (any numeric dtype).
  std::optional<std::vector<double>> numbersOf(NodeId node);

  size_t numOutputs() const { return proto_.outputs.size(); }
  // Rank that the model declares for an output (value_info, graph outputs).
  std::optional<int64_t> declaredRank(size_t output) const;
  bool wantsOutput(size_t index) const {
    return index < numOutputs() && !proto_.outputs[index].empty();
  }
  // What the node does not ask for is dropped.
  void setOutput(size_t index, NodeId node) {
    if (index < outputs_.size())
      outputs_[index].node = node;
  }
  void setOutputInts(size_t index, IntTensor ints) {
    if (index < outputs_.size())
      outputs_[index].ints = std::make_shared<IntTensor>(std::move(ints));
  }
  std::vector<Value> &outputs() { return outputs_; }

  // --- attributes; a wrong type is an error, one nobody asked for too
  Expected<int64_t> intAttr(std::string_view name, int64_t fallback);
  Expected<int64_t> requiredInt(std::string_view name);
  Expected<double> floatAttr(std::string_view name, double fallback);
  Expected<std::string> textAttr(std::string_view name, std::string fallback);
  Expected<std::optional<std::vector<int64_t>>> intsAttr(std::string_view name);
  // Null when absent.
  Expected<const Attribute *> attr(std::string_view name, AttrKind kind);
  void ignoreAttr(std::string_view name) { used_.insert(name); }
  Expected<> checkAllAttrsUsed() const;

  // --- types
  DType dtype(NodeId node);
  std::vector<Dim> shape(NodeId node);
  int64_t rank(NodeId node) { return static_cast<int64_t>(shape(node).size()); }
  bool isStatic(NodeId node);
  // All dims as numbers, or an error that names the input.
  Expected<std::vector<int64_t>> staticShape(NodeId node);
  // Negative axes count from the end; out of range is an error.
  Expected<int64_t> normalAxis(int64_t axis, int64_t rank);
  Expected<std::vector<int64_t>> normalAxes(std::vector<int64_t> axes, int64_t rank);

  // --- IR
  Expected<NodeId> call(std::string_view op, std::span<const NodeId> operands, AttrDict attrs = {});
  Expected<NodeId> call(std::string_view op, std::initializer_list<NodeId> operands,
                        AttrDict attrs = {}) {
    return call(op, std::span<const NodeId>(operands.begin(), operands.size()), std::move(attrs));
  }
  NodeId tuple(std::span<const NodeId> fields);
  Expected<NodeId> project(NodeId tuple, uint32_t index);
  NodeId scalar(DType dtype, double value);
  NodeId ints(std::span<const int64_t> values); // int64 vector
  Expected<NodeId> reshape(NodeId node, std::span<const int64_t> shape);
  Expected<NodeId> transpose(NodeId node, std::span<const int64_t> axes);
  // One axis to another place; the others keep their order.
  Expected<NodeId> moveAxis(NodeId node, int64_t from, int64_t to);
  Expected<NodeId> cast(NodeId node, DType dtype);

private:
  Importer &importer_;
  const Node &proto_;
  int64_t opset_;
  std::string_view relayName_;
  SourceId source_;
  std::vector<Value> outputs_;
  std::set<std::string_view> used_;
};

using Converter = Expected<> (*)(OpContext &op);

using OpVersion = OnnxOperator::Version;

struct OpRow {
  std::string_view name;
  std::string_view versions;  // as in OnnxOps.def
  int minInputs, maxInputs;   // -1: any number
  Converter convert;          // null: the operator is not read
  std::string_view relayName; // for converters of several operators; why an
                              // operator is not read
  std::vector<OpVersion> allVersions() const;
  // The version that an opset has; opset 0 when the operator came later.
  OpVersion versionAt(int64_t opset) const;
};
const OpRow *findOpRow(std::string_view name);
constexpr int64_t minOpset = 1, maxOpset = 28;

class Importer {
public:
  Importer(const Model &model, const std::string &file, TensorReader &tensors,
           const OnnxImportOptions &options);
  Expected<Module> run();

  // --- for converters
  Module &module() { return module_; }
  Builder &builder() { return builder_; }
  const Value *find(std::string_view name) const;
  // What the model declares about a value; null when it does not.
  const ValueInfo *declared(std::string_view name) const;
  // The node of a value, made now if it is only known as integers.
  NodeId materialise(std::string_view name);
  Expected<NodeId> addTensor(const Tensor &tensor, const SourceLocation &location);
  Expected<NodeId> addSparse(const SparseTensor &tensor, const SourceLocation &location);
  NodeId addInts(const IntTensor &ints);
  // A branch of an If: its nodes go to `block`, its outputs are the result.
  Expected<> convertBranch(const Graph &graph, BlockId block, const SourceLocation &location);
  // The graph in place: a branch whose condition is known, or the body of a loop,
  // whose inputs are these nodes.
  Expected<std::vector<Value>> convertInline(const Graph &graph, const SourceLocation &location,
                                             std::span<const Value> inputs = {});
  // What leaves a graph as tensors; a sequence is UNSUP.
  Expected<std::vector<NodeId>> tensorsOf(std::span<const Value> values,
                                          const SourceLocation &location);
  // The body of a loop is converted until the types of its values are settled, loops
  // in it each time: counted, and LIMIT when that gets out of hand.
  Expected<> countLoopBody(const OpContext &op);
  // Options that bind the extents which these are made of: "bind extents: --dim batch=N"; "" for none.
  std::string adviceToBind(std::span<const Dim> dims);
  using NodeNames = std::unordered_map<std::string, int>;
  const NodeNames &nodeNames() const { return nodeNames_; }
  void restoreNodeNames(NodeNames names) { nodeNames_ = std::move(names); }

  // A product of rows that was reshaped to more axes. A bias added to it goes to
  // the rows instead, where the product's consumers find it:
  //   matmul -> reshape -> add [N]   =>   matmul -> bias_add -> reshape
  void noteRowsProduct(NodeId reshaped, NodeId rows) { rowsProducts_[reshaped] = rows; }
  NodeId rowsProductOf(NodeId reshaped) const {
    auto found = rowsProducts_.find(reshaped);
    return found == rowsProducts_.end() ? NodeId() : found->second;
  }

  // Constants of int4 and uint4 stand here in 8 bits: what rounds to their range must know.
  bool isFourBits(NodeId constant) const { return fourBits_.contains(constant); }
  void noteStoredWeight(NodeId dequantised, const StoredWeight &stored) {
    storedWeights_[dequantised] = stored;
  }
  const StoredWeight *storedWeightOf(NodeId dequantised) const {
    auto found = storedWeights_.find(dequantised);
    return found == storedWeights_.end() ? nullptr : &found->second;
  }

private:
  using Scope = std::unordered_map<std::string_view, Value>;
  Expected<int64_t> opsetOf(const std::vector<OpsetImport> &opsets, const std::string &where);
  std::optional<int64_t> versionOf(std::string_view domain) const;
  NodeId addConstant(Constant constant, const SourceLocation &location);
  Expected<> checkDefault(const ValueInfo &info, const Value &value);
  void addInput(const ValueInfo &info, FunctionId main);
  void addNonEmpty(const Graph &graph, FunctionId main);
  Dim symbolOf(const std::string &param);
  Expected<Dim> openDim(const std::string &param, const SourceLocation &location);
  Expected<Dim> boundDim(const ValueInfo &info, size_t index, int64_t wanted,
                         const SourceLocation &location);
  Expected<Dim> inputDim(const ValueInfo &info, size_t index, const std::vector<int64_t> *bound,
                         const SourceLocation &location);
  void nameOpenDims(const Graph &graph);
  Expected<> checkBindings(const Graph &graph);
  Expected<> define(std::string_view name, Value value, const SourceLocation &location);
  void addInitializers(const Graph &graph);
  void addDeclared(const Graph &graph);
  // Conversion order; INPUT when a value is missing, made twice, or on a cycle.
  Expected<std::vector<uint32_t>> orderNodes(const Graph &graph);
  Expected<> convertNodes(const Graph &graph);
  void convertNode(const Node &node);
  Expected<> convertWithRow(OpContext &op, const OpRow &row);
  Expected<std::vector<Value>> graphOutputs(const Graph &graph, const SourceLocation &location);
  void reportDeclared(const SourceLocation &location, const std::string &message);
  void checkDeclared(const ValueInfo &info, const char *what);
  SourceLocation locate(const Node &node);
  SourceLocation locateUnique(const Node &node); // a name used again gets .1, .2, ...
  void report(Error problem);
  Expected<> failIfReported();

  // --- functions of the model (OnnxFunctions.cpp)
  using FunctionKey =
      std::tuple<std::string_view, std::string_view, std::string_view>; // domain, name, overload
  struct CallSize {
    uint64_t nodes = 0;
    uint32_t depth = 0;
  };
  using CallTree = std::unordered_map<const Function *, CallSize>;
  // A call whose body is being converted; it sees the scopes from scopeBase on.
  using Declared = std::unordered_map<std::string_view, const ValueInfo *>;
  struct Frame {
    size_t scopeBase = 0;
    int64_t opset = 0;  // the caller's while the body is converted
    std::string prefix; // of the names of nodes
    std::map<std::string_view, Attribute> attributes;
    std::set<std::string_view> absent; // inputs that the caller left out
    Declared declared;
  };
  Expected<> addFunctions();
  Expected<> checkFunction(const Function &function);
  Expected<CallSize> measureCalls(const Function &function, CallTree &tree, uint32_t depth);
  const Function *functionOf(const Node &node) const;
  Node bindNode(const Node &node) const;
  void convertAnyNode(const Node &node);
  void convertBoundNode(const Node &node);
  NodeId standIn(std::string_view name);
  void poisonOutputs(const Node &node);
  Expected<Frame> frameOf(const Node &call, const Function &function,
                          const SourceLocation &location);
  Expected<> convertCall(const Node &call, const Function &function);
  size_t scopeBase() const { return frames_.empty() ? 0 : frames_.back().scopeBase; }

  const Model &model_;
  std::string file_;
  TensorReader &tensors_;
  const OnnxImportOptions &options_;
  Module module_;
  Builder builder_;
  std::vector<Scope> scopes_;
  std::map<FunctionKey, const Function *> functions_;
  std::vector<Frame> frames_;
  Declared declared_; // of the graph; functions have their own
  NodeNames nodeNames_;
  uint32_t numLoopBodies_ = 0;
  // Of each input, what --dim calls its extents; "" for those that are given.
  std::unordered_map<std::string, std::vector<std::string>> dimNames_;
  std::unordered_map<std::string, int64_t> dimValues_;
  std::map<std::string, int64_t> extentsOfDefaults_; // of inputs with an initializer, by dimension
  std::map<std::string, std::string> symbols_;       // of dimensions, by their names
  std::set<std::string> symbolNames_;
  bool readsNegativeAsOpen_ = false; // an input declared a dim of -1, and the user agreed
  // Constants by type, size and first bytes, to share equal ones.
  std::unordered_map<uint64_t, std::vector<NodeId>> constantsByKey_;
  std::unordered_map<NodeId, NodeId> rowsProducts_;
  std::set<NodeId> fourBits_;
  std::unordered_map<NodeId, StoredWeight> storedWeights_;
  std::vector<Diagnostic> problems_;
  int64_t opset_ = 0;
};

} // namespace bycc::onnx
