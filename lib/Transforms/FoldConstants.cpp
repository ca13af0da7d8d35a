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

#include "ConstantFolder.h"
#include "ConstantView.h"
#include "Scopes.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"
#include "bycc/Transforms/Passes.h"

#include <unordered_map>

namespace bycc {
namespace {

constexpr int64_t defaultMaxBytes = int64_t{16} << 20;

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
