// The reverse of what merge-composite does: the call's id becomes the root
// operator again, so that its users need no change; inner nodes keep their ids.

#include "Composites.h"

#include "bycc/Target/Placement.h"

#include "Scopes.h"

#include <algorithm>
#include <unordered_set>

namespace bycc {

NodeId rootOperator(const Module &module, NodeId unit) {
  while (std::optional<FunctionId> composite = compositeOf(module, unit))
    unit = module.block(module.function(*composite).body).result;
  return unit;
}

StringId ownerOf(Module &module, NodeId unit) {
  std::optional<FunctionId> composite = compositeOf(module, unit);
  if (!composite)
    return {};
  std::string name = module.functionAttr(*composite, "Composite")->asString();
  return module.intern(vendorOfComposite(name));
}

namespace {

bool canDissolve(const Module &module, const Users &users, NodeId call) {
  NodeId callee = module.operands(call)[0];
  const Function &function = module.function(module.functionOf(callee));
  const std::vector<NodeId> &nodes = module.block(function.body).nodes;
  return users.count(callee) == 1 && !nodes.empty() &&
         module.block(function.body).result == nodes.back();
}

void collectApart(const Module &module, NodeId unit, NodeId id, std::vector<NodeId> &ids) {
  if (module.node(unit).kind == NodeKind::CallOp)
    ids.push_back(id);
  std::optional<FunctionId> composite = compositeOf(module, unit);
  if (!composite)
    return;
  const Block &body = module.block(module.function(*composite).body);
  for (NodeId inner : body.nodes)
    collectApart(module, inner, inner == body.result ? id : inner, ids);
}

} // namespace

bool canTakeApart(const Module &module, const Users &users, NodeId call) {
  std::optional<FunctionId> composite = compositeOf(module, call);
  if (!composite)
    return true;
  return canDissolve(module, users, call) &&
         std::ranges::all_of(module.block(module.function(*composite).body).nodes,
                             [&](NodeId node) { return canTakeApart(module, users, node); });
}

std::vector<NodeId> operatorsApart(const Module &module, NodeId unit) {
  std::vector<NodeId> ids;
  collectApart(module, unit, unit, ids);
  return ids;
}

ApartView::~ApartView() {
  for (const auto &[node, operands] : operands_)
    std::ranges::copy(operands, module_.mutableOperands(node).begin());
}

void ApartView::open(NodeId call) {
  const Function &function = module_.function(*compositeOf(module_, call));
  std::span<const NodeId> arguments = module_.operands(call).subspan(1);
  for (NodeId node : module_.block(function.body).nodes) {
    std::span<NodeId> operands = module_.mutableOperands(node);
    operands_.emplace_back(node, std::vector<NodeId>(operands.begin(), operands.end()));
    for (NodeId &operand : operands)
      if (auto param = std::ranges::find(function.params, operand); param != function.params.end())
        operand = arguments[static_cast<size_t>(param - function.params.begin())];
    if (compositeOf(module_, node))
      open(node);
  }
}

namespace {

// For a plan that is to be saved: which composite there was.
void note(const Module &module, NodeId call, PlacementRules &placement) {
  std::string name = module.functionAttr(*compositeOf(module, call), "Composite")->asString();
  NodeId root = rootOperator(module, call);
  forEachOperator(module, call, [&](NodeId inner) {
    placement.program.dissolved[inner == root ? call : inner] = {name, call};
  });
}

// The nodes that stand for the call now, in order.
std::vector<NodeId> dissolve(Module &module, BlockId block, NodeId call) {
  FunctionId id = module.functionOf(module.operands(call)[0]);
  std::vector<NodeId> arguments(module.operands(call).begin() + 1, module.operands(call).end());
  const std::vector<NodeId> &params = module.function(id).params;
  std::vector<NodeId> nodes = module.block(module.function(id).body).nodes;
  for (NodeId node : nodes) {
    for (NodeId &operand : module.mutableOperands(node))
      if (auto param = std::ranges::find(params, operand); param != params.end())
        operand = arguments[static_cast<size_t>(param - params.begin())];
    if (module.node(node).kind == NodeKind::Function)
      module.block(module.function(module.functionOf(node)).body).parent = block;
  }
  NodeId root = nodes.back();
  std::vector<NodeId> operands(module.operands(root).begin(), module.operands(root).end());
  Node content = module.node(root);
  content.isLet = module.node(call).isLet;
  module.node(call) = content;
  module.node(call).operandCount = 0; // its own from here on
  module.setOperands(call, operands);
  nodes.back() = call;
  return nodes;
}

class Dissolver {
public:
  Dissolver(Module &module, BlockId block, const Users &users, PassContext &context)
      : module_(module), block_(block), users_(users), context_(context) {}

  void run(const std::vector<NodeId> &calls) {
    std::unordered_set<NodeId> chosen;
    for (NodeId call : calls)
      if (canDissolve(module_, users_, call))
        chosen.insert(call);
    std::vector<NodeId> old = std::move(module_.block(block_).nodes);
    for (NodeId node : old) {
      if (!chosen.contains(node)) {
        fresh_.push_back(node);
        continue;
      }
      if (context_.placement && context_.placement->orders.keepProgram)
        note(module_, node, *context_.placement);
      std::vector<NodeId> operators = operatorsApart(module_, node);
      take(node);
      if (const Annotation *annotation = module_.annotation(node))
        annotateAll(operators, *annotation);
    }
    std::erase_if(fresh_, [&](NodeId node) { return gone_.contains(node); });
    module_.block(block_).nodes = std::move(fresh_);
  }

private:
  void annotateAll(const std::vector<NodeId> &operators, Annotation annotation) {
    for (NodeId node : operators) {
      module_.setAnnotation(node, annotation);
      if (annotation.region >= 0 && !context_.vendors->mergeRegions) // each its own
        annotation.region = nextRegion_ =
            nextRegion_ < 0 ? firstFreeRegion(module_) : nextRegion_ + 1;
    }
  }

  // Composites in it come apart as well.
  void take(NodeId call) {
    if (!compositeOf(module_, call) || !canDissolve(module_, users_, call)) {
      fresh_.push_back(call);
      return;
    }
    gone_.insert(module_.operands(call)[0]);
    NodeId root = module_.block(module_.function(*compositeOf(module_, call)).body).nodes.back();
    std::vector<NodeId> nodes = dissolve(module_, block_, call);
    if (context_.refusals)
      context_.refusals->move(root, call);
    if (context_.placement)
      context_.placement->follow(root, call);
    for (NodeId node : nodes)
      take(node);
  }

  Module &module_;
  BlockId block_;
  const Users &users_;
  PassContext &context_;
  int32_t nextRegion_ = -1; // not known yet
  std::vector<NodeId> fresh_;
  std::unordered_set<NodeId> gone_; // functions that nobody calls any more
};

} // namespace

void dissolveComposites(Module &module, BlockId block, const std::vector<NodeId> &calls,
                        const Users &users, PassContext &context) {
  Dissolver(module, block, users, context).run(calls);
}

} // namespace bycc
