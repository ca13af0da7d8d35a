// Evaluates what can be known while compiling:
//
//   op(constants)          => constant, by the plain loops of Eval
//   reshape(constant)      => the same bytes under another shape, not a copy
//   shape_of(x), ndarray_size(x) of static x => constant
//   if (constant) {a} else {b} => the branch, moved to where the if stood
//
// A fold must not blow the program up or take long: a result more than
// `max-bytes` (16 MiB) larger than its inputs stays an operator, and so does a
// call of more than 2 * 10^8 FLOPs. Small steps do not add up either: in a chain
// of `concat(t, t)` each result is no larger than its inputs, but the last is of
// any size. So all folds of a module together, however often the pass runs, make
// at most twice `max-bytes` and four times the constants that the module came
// with. Weights are copied only where a fold computes new ones, and what was computed is released
// when the last of its readers has been computed, too.

#include "ConstantView.h"
#include "Scopes.h"
#include "SimplifyRules.h"
#include "bycc/Eval/Eval.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace bycc {
namespace {

constexpr int64_t defaultMaxBytes = int64_t{16} << 20;
constexpr double maxFlops = 2e8;
constexpr int64_t maxCopies = 4; // of what the module came with

class ConstantFolder {
public:
  ConstantFolder(Module &module, int64_t maxBytes)
      : module_(module), maxBytes_(maxBytes), users_(module) {
    // Views of the same bytes count once.
    int64_t bytes = 0;
    std::set<const uint8_t *> seen;
    for (const Constant &constant : module.constants)
      if (!constant.storage || seen.insert(constant.data()).second)
        bytes += static_cast<int64_t>(constant.bytes);
    maxFolded_ = 2 * maxBytes + maxCopies * std::max(bytes - module.foldedBytes, int64_t{0});
  }

  Expected<NodeId> visit(NodeId node, Builder &builder) {
    switch (module_.node(node).kind) {
    case NodeKind::CallOp:
      return foldCall(node, builder);
    case NodeKind::Project:
      return foldProject(node);
    default:
      return node;
    }
  }

private:
  NodeId foldProject(NodeId node) {
    NodeId tuple = module_.operands(node)[0];
    if (module_.node(tuple).kind != NodeKind::Tuple)
      return node;
    NodeId field = module_.operands(tuple)[module_.node(node).payload];
    if (!module_.isConstant(field))
      return node;
    readers_.erase(field); // it has those of the projection, too
    return field;
  }

  Expected<NodeId> foldCall(NodeId call, Builder &builder) {
    if (NodeId known = shapeQuestion(call); known != call)
      return known;
    if (isView(module_, call) && module_.isConstant(module_.operands(call)[0]))
      return view(call);
    if (!isWorthFolding(call))
      return call;
    std::vector<Constant> inputs;
    for (NodeId operand : module_.operands(call))
      appendConstants(operand, inputs);
    NodeId result = replace(call, BYCC_TRY(evaluateCall(module_, call, inputs)), builder);
    inputs.clear();
    for (NodeId operand : module_.operands(call))
      dropReader(operand);
    return result;
  }

  NodeId view(NodeId call) {
    NodeId source = module_.operands(call)[0];
    NodeId result = reshapeConstant(module_, source, module_.types.shape(module_.type(call)));
    if (result == source) {
      readers_.erase(source); // it has those of the call, too
      return result;
    }
    readers_[result] = {users_.count(call), true};
    dropReader(source);
    return result;
  }

  // A call that reads a constant made here has become one itself.
  void dropReader(NodeId constant) {
    auto at = readers_.find(constant);
    if (at == readers_.end() || --at->second.left > 0)
      return;
    Constant &unused = module_.constants[module_.node(constant).payload];
    unused.storage = nullptr;
    if (at->second.isView)
      unused.bytes = 0; // they count once
    readers_.erase(at);
  }

  // shape_of and ndarray_size ask about the type only.
  NodeId shapeQuestion(NodeId call) {
    bool isShape = module_.isOp(call, ops::shape_of);
    if (!isShape && !module_.isOp(call, ops::ndarray_size))
      return call;
    TypeId input = module_.type(module_.operands(call)[0]);
    DType dtype = module_.types.dtype(module_.type(call));
    auto count = module_.types.isStatic(input) ? module_.types.numElements(input) : std::nullopt;
    if (!count || (dtype != DType::Int32 && dtype != DType::Int64))
      return call;
    if (!isShape)
      return module_.addScalar(dtype, static_cast<double>(*count));
    std::vector<int64_t> dims;
    for (Dim dim : module_.types.shape(input))
      dims.push_back(dim.value());
    std::vector<int32_t> narrow(dims.begin(), dims.end());
    Dim rank(static_cast<int64_t>(dims.size()));
    return dtype == DType::Int64
               ? module_.addConstant(dtype, {&rank, 1}, dims.data(), dims.size() * 8)
               : module_.addConstant(dtype, {&rank, 1}, narrow.data(), narrow.size() * 4);
  }

  // A constant, or a tuple of constants (not of tuples).
  bool isConstantValue(NodeId node) const {
    if (module_.node(node).kind != NodeKind::Tuple)
      return module_.isConstant(node);
    return std::ranges::all_of(module_.operands(node),
                               [&](NodeId field) { return module_.isConstant(field); });
  }
  void appendConstants(NodeId node, std::vector<Constant> &result) const {
    if (module_.isConstant(node))
      return result.push_back(module_.constant(node));
    for (NodeId field : module_.operands(node))
      result.push_back(module_.constant(field));
  }
  int64_t totalBytes(NodeId node) const {
    int64_t total = 0;
    for (TypeId tensor : module_.types.flatten(module_.type(node)))
      if (__builtin_add_overflow(total, module_.types.sizeBytes(tensor).value_or(INT64_MAX),
                                 &total))
        return INT64_MAX;
    return total;
  }

  bool isWorthFolding(NodeId call) const {
    const OpInfo &info = opInfo(module_.node(call).op);
    if (info.has(OpTrait::Annotation) || !hasDefinition(module_.node(call).op) ||
        !module_.types.isStatic(module_.type(call)))
      return false;
    std::vector<Constant> inputs;
    for (NodeId operand : module_.operands(call)) {
      if (!isConstantValue(operand) || !module_.types.placeText(module_.type(operand)).empty())
        return false;
      appendConstants(operand, inputs);
    }
    int64_t inputBytes = 0;
    std::set<const uint8_t *> seen; // an input that is used twice is there once
    for (const Constant &input : inputs)
      if (seen.insert(input.data()).second)
        inputBytes += static_cast<int64_t>(input.bytes);
    int64_t outputBytes = totalBytes(call);
    return outputBytes <= maxBytes_ + inputBytes &&
           outputBytes <= maxFolded_ - module_.foldedBytes && info.flops(module_, call) <= maxFlops;
  }

  NodeId replace(NodeId call, std::vector<Constant> results, Builder &builder) {
    SourceId source = module_.node(call).source;
    std::vector<NodeId> nodes;
    for (Constant &result : results) {
      module_.foldedBytes += static_cast<int64_t>(result.bytes);
      nodes.push_back(module_.addConstant(std::move(result), source));
    }
    if (module_.types.isTuple(module_.type(call)))
      return builder.tuple(nodes);
    readers_[nodes.at(0)] = {users_.count(call), false};
    return nodes[0];
  }

  struct Readers {
    size_t left = 0;
    bool isView = false;
  };

  Module &module_;
  int64_t maxBytes_;
  int64_t maxFolded_ = 0;                       // of module_.foldedBytes
  Users users_;                                 // before anything is folded
  std::unordered_map<NodeId, Readers> readers_; // of constants made here, not yet folded
};

// Puts the taken branch of every decided `if` in place of the `if`.
class BranchInliner {
public:
  explicit BranchInliner(Module &module) : module_(module) {}

  bool run(FunctionId function) {
    ClosedBlocks closed(module_, function);
    changed_ = false;
    visit(module_.function(function).body, closed);
    return changed_;
  }

private:
  void visit(BlockId block, const ClosedBlocks &closed) {
    std::vector<NodeId> fresh;
    for (NodeId node : std::vector<NodeId>(std::move(module_.block(block).nodes))) {
      for (NodeId &operand : module_.mutableOperands(node))
        operand = forwarded(operand);
      for (BlockId inner : innerBlocks(module_, node))
        visit(inner, closed);
      bool isOpen = !closed.contains(block);
      if (isOpen && module_.node(node).kind == NodeKind::If &&
          module_.isConstant(module_.operands(node)[0]))
        take(node, block, fresh);
      else
        fresh.push_back(node);
    }
    module_.block(block).nodes = std::move(fresh);
    NodeId &result = module_.block(block).result;
    result = forwarded(result);
  }

  void take(NodeId decided, BlockId parent, std::vector<NodeId> &fresh) {
    bool condition = elementAt(module_, module_.constant(module_.operands(decided)[0]), 0) != 0;
    BlockId branch = condition ? module_.thenBlock(decided) : module_.elseBlock(decided);
    for (NodeId node : module_.block(branch).nodes) {
      for (BlockId inner : innerBlocks(module_, node))
        module_.block(inner).parent = parent;
      fresh.push_back(node);
    }
    forward_[decided] = module_.block(branch).result;
    module_.block(branch).nodes.clear();
    changed_ = true;
  }

  NodeId forwarded(NodeId node) const {
    auto it = forward_.find(node);
    return it == forward_.end() ? node : it->second;
  }

  Module &module_;
  std::unordered_map<NodeId, NodeId> forward_;
  bool changed_ = false;
};

} // namespace

Expected<bool> foldConstants(Module &module, PassContext &context) {
  std::string text = context.option("max-bytes", std::to_string(defaultMaxBytes));
  auto maxBytes = parseInt(text);
  if (!maxBytes || *maxBytes < 0 || *maxBytes > int64_t{1} << 50)
    return error(Status::Usage).as(MessageId::PassOption)
           << "pass 'fold-constants': max-bytes is '" << escaped(text)
           << "', not a number of bytes";
  ConstantFolder folder(module, *maxBytes);
  bool changed = BYCC_TRY(rewriteOpenBlocks(
      module, [&](NodeId node, Builder &builder) { return folder.visit(node, builder); }));
  for (FunctionId function : optimizableFunctions(module))
    changed |= BranchInliner(module).run(function);
  return changed;
}

} // namespace bycc
