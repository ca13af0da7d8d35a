// The intermediate representation. A Module owns everything in flat tables with
// dense ids: nodes, blocks, functions, constants, types, attributes, strings,
// sources.
//
// A program is a set of global functions. A function has parameters and a body
// block; a block is an ordered list of nodes and one result node. The list is
// in dependency order: a node's operands come before it in its block, or belong
// to an enclosing block, or are leaves (parameters, constants, global
// references), which are in no list. Both of Relay's bindings are nodes in the
// list: a graph binding (`%0 = e`) is a plain node, a let (`let %x = e`) is a node
// with `isLet` set, which keeps it even if unused until to-graph-normal-form
// drops the mark. Lists instead of nested expressions keep every traversal a
// loop, so chains a million deep are safe; only blocks nest (at most 64).
//
//   def @main(%x: ...) {          function main: params [n0], body b0
//     %0 = abs(%x);               b0.nodes = [n1: Call abs(n0), n2: If(..)]
//     if (%c) { .. } else { .. }  n2 has blocks b1, b2 whose parent is b0
//   }
//
// Nodes are never deleted, only left out of lists; `compact()` drops them.
// Threads: const functions only read, also those of `types`, `attributes` and the other
// tables: any number of threads may call them at once. Making a type, a dim, an attribute
// dictionary or a string is a write, though it may find one that is there (interning), and
// so is whatever takes a `Module &`, such as inference: one thread, and nobody reads
// meanwhile. Spans and references into tables last until the next write. Different modules
// share nothing.
#pragma once

#include "bycc/IR/Attributes.h"
#include "bycc/IR/Constant.h"
#include "bycc/IR/Ids.h"
#include "bycc/IR/Op.h"
#include "bycc/IR/Type.h"
#include "bycc/Support/SourceLocation.h"
#include "bycc/Support/StringTable.h"

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

enum class NodeKind : uint8_t {
  Param,    // leaf; name
  Constant, // leaf; payload = ConstantId
  Global,   // leaf; reference to a global function; payload = FunctionId
  CallOp,   // op(operands, attrs)
  Call,     // operands[0] is the callee (Global, Function or a value of function
            // type), the rest are the arguments
  Function, // local function; payload = FunctionId; may use nodes of outer blocks
            // and, for recursion, itself
  Tuple,    // operands are the fields
  Project,  // operands[0].payload
  If,       // operands[0] is the condition; payload = BlockId of "then",
            // payload + 1 = BlockId of "else"
};

struct Node {
  NodeKind kind = NodeKind::Param;
  bool isLet = false;
  OpId op;          // CallOp only
  AttrsId attrs{0}; // CallOp (function attributes live in Function)
  TypeId type{0};   // Incomplete until inferred
  uint32_t operandBegin = 0;
  uint32_t operandCount = 0;
  SourceId source{0};
  StringId name{0}; // name hint: parameter or let name without '%', or ""
  uint32_t payload = 0;
};

struct Block {
  std::vector<NodeId> nodes; // dependency order, no leaves
  NodeId result;             // any visible node, leaves included
  BlockId parent;            // none for bodies of global functions
};

struct Function {
  StringId name{0}; // global name without '@'; 0 for local functions
  std::vector<NodeId> params;
  BlockId body;
  TypeId resultType; // as declared, invalid when not
  AttrsId attrs{0};  // Primitive, Compiler, Composite, global_symbol, ...
  SourceId source{0};
  // Of an external one, with --host-fallback: the same operators for the host. No text has it.
  FunctionId hostCode = {};
};

// How a partitioner sees a node; printed as call attributes
// annotation.vendors=["a", "b"], annotation.region=3.
struct Annotation {
  std::vector<StringId> vendors; // all that could take it, best first
  int32_t region = -1;           // chosen region, -1 none yet
  bool operator==(const Annotation &) const = default;
};

class Module {
public:
  Module();
  Module(Module &&) noexcept = default;
  Module &operator=(Module &&) noexcept = default;

  // --- tables
  TypeTable types;
  AttrTable attributes;
  std::vector<Constant> constants;
  int64_t foldedBytes = 0; // of constants, those that fold-constants has computed
  AttrDict moduleAttrs;    // e.g. mod_name

  StringId intern(std::string_view text) { return StringId(strings_.intern(text)); }
  std::string_view string(StringId id) const { return strings_[id.index]; }

  SourceId addSource(const SourceLocation &location);
  SourceLocation source(SourceId id) const;
  SourceLocation source(NodeId id) const { return source(node(id).source); }

  // --- nodes
  Node &node(NodeId id) { return nodes_[id.index]; }
  const Node &node(NodeId id) const { return nodes_[id.index]; }
  uint32_t numNodes() const { return static_cast<uint32_t>(nodes_.size()); }
  std::span<const NodeId> operands(NodeId id) const {
    const Node &n = nodes_[id.index];
    return {operands_.data() + n.operandBegin, n.operandCount};
  }
  std::span<NodeId> mutableOperands(NodeId id) {
    const Node &n = nodes_[id.index];
    return {operands_.data() + n.operandBegin, n.operandCount};
  }
  void setOperands(NodeId id, std::span<const NodeId> operands); // any count
  TypeId type(NodeId id) const { return node(id).type; }
  bool isLeaf(NodeId id) const { return node(id).kind <= NodeKind::Global; }
  bool isOp(NodeId id, OpId op) const {
    return node(id).kind == NodeKind::CallOp && node(id).op == op;
  }
  bool isConstant(NodeId id) const { return node(id).kind == NodeKind::Constant; }
  const Constant &constant(NodeId id) const { return constants[node(id).payload]; }
  // Attribute of an operator call: stored value, else the operator's default,
  // else null.
  const AttrValue *attr(NodeId call, std::string_view key) const;

  // Raw creation; types are not inferred and nothing is put into a block (see
  // Builder for the usual way).
  NodeId addNode(Node node, std::span<const NodeId> operands = {});
  NodeId addParam(std::string_view name, TypeId type, SourceId source = SourceId(0));
  // Adds the constant (computing its hash) and a node for it.
  NodeId addConstant(Constant constant, SourceId source = SourceId(0));
  NodeId addConstantNode(ConstantId constant, SourceId source = SourceId(0));
  // Row-major data copied into fresh storage.
  NodeId addConstant(DType dtype, std::span<const Dim> shape, const void *data, uint64_t bytes);
  NodeId addScalar(DType dtype, double value);

  // --- blocks and functions
  Block &block(BlockId id) { return blocks_[id.index]; }
  const Block &block(BlockId id) const { return blocks_[id.index]; }
  uint32_t numBlocks() const { return static_cast<uint32_t>(blocks_.size()); }
  BlockId addBlock(BlockId parent = {});
  BlockId thenBlock(NodeId ifNode) const { return BlockId(node(ifNode).payload); }
  BlockId elseBlock(NodeId ifNode) const { return BlockId(node(ifNode).payload + 1); }
  // Two consecutive ids, for an If.
  BlockId addIfBlocks(BlockId parent);

  Function &function(FunctionId id) { return functions_[id.index]; }
  const Function &function(FunctionId id) const { return functions_[id.index]; }
  FunctionId functionOf(NodeId functionOrGlobal) const {
    return FunctionId(node(functionOrGlobal).payload);
  }
  uint32_t numFunctions() const { return static_cast<uint32_t>(functions_.size()); }
  // A function with an empty body block. Local ones get a Function node by the caller.
  FunctionId addFunction(std::string_view globalName = {}, BlockId parent = {});
  TypeId functionType(FunctionId id); // fn(params) -> result, from the nodes' types
  const AttrValue *functionAttr(FunctionId id, std::string_view key) const {
    return attributes.find(function(id).attrs, key);
  }
  void setFunctionAttr(FunctionId id, std::string_view key, AttrValue value) {
    function(id).attrs = attributes.with(function(id).attrs, key, std::move(value));
  }

  // Global functions in definition order. `main` is the entry.
  const std::vector<FunctionId> &globals() const { return globals_; }
  FunctionId findGlobal(std::string_view name) const; // invalid when absent
  FunctionId main() const { return findGlobal("main"); }
  // By FunctionId. True when some went.
  bool removeGlobalsIf(const std::vector<uint8_t> &isGone);
  bool removeGlobalsExcept(const std::vector<uint8_t> &isKept);
  void setGlobalOrder(std::vector<FunctionId> order); // the same ones
  // `old`, which is no global function any more, is one again, with the name, parameters, body
  // and attributes of `fresh`, which is none from then on. References are the caller's.
  void continueGlobal(FunctionId old, FunctionId fresh);
  NodeId globalRef(FunctionId id); // one Global leaf per function

  // --- annotations of the partitioner: none for most nodes
  // Null when there is none; valid until the annotations are cleared.
  const Annotation *annotation(NodeId id) const {
    bool hasOne = id.index < annotationOf_.size() && annotationOf_[id.index] != noAnnotation;
    return hasOne ? &annotations_[annotationOf_[id.index]] : nullptr;
  }
  void setAnnotation(NodeId id, Annotation annotation);
  // Both kinds.
  void clearAnnotations();

  // --- vendors that the program names for operators: no other is asked about them.
  // Told by source, so that it holds for what passes make of an operator, too;
  // printed as call attribute annotation.asked="v"
  SourceId addAskedSource(SourceId place, StringId vendor); // the place once more
  // "" (0) for most nodes.
  StringId askedVendor(NodeId id) const {
    uint32_t source = node(id).source.index;
    return source < askedOf_.size() ? askedOf_[source] : StringId(0);
  }

private:
  static constexpr uint32_t noAnnotation = UINT32_MAX;
  struct Place { // a SourceLocation
    StringId file{0}, node{0}, nodeOp{0};
    uint32_t line = 0, column = 0;
  };

  std::vector<Node> nodes_;
  std::vector<NodeId> operands_;
  std::vector<Block> blocks_;
  std::vector<Function> functions_;
  std::vector<FunctionId> globals_;
  std::vector<FunctionId> globalOfName_; // by StringId
  std::vector<NodeId> globalRefs_;       // by FunctionId
  std::vector<Place> sources_;
  StringTable strings_;
  std::vector<uint32_t> annotationOf_; // by node: in annotations_, or noAnnotation
  std::deque<Annotation> annotations_;
  std::vector<StringId> askedOf_; // by source, as far as there are any
};

} // namespace bycc
