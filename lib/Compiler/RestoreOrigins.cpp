#include "RestoreOrigins.h"

#include "bycc/IR/Visitor.h"

#include <algorithm>
#include <unordered_set>

namespace bycc {

RestoreOrigins::RestoreOrigins(const Module &module)
    : firstNode_(module.numNodes()), firstBlock_(module.numBlocks()),
      firstFunction_(module.numFunctions()), globals_(module.globals()),
      isClaimed_(module.numNodes()) {
  for (FunctionId function : globals_)
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      NodeKind kind = module.node(node).kind;
      if (kind == NodeKind::Tuple || kind == NodeKind::Project || kind == NodeKind::If)
        shapes_.emplace(shapeOf(module, node), node);
    });
}

RestoreOrigins::Shape RestoreOrigins::shapeOf(const Module &module, NodeId id) {
  const Node &node = module.node(id);
  auto operands = module.operands(id);
  uint32_t field = node.kind == NodeKind::Project ? node.payload : 0;
  return {{static_cast<uint8_t>(node.kind), field}, {operands.begin(), operands.end()}};
}

NodeId RestoreOrigins::now(NodeId node) const {
  if (!node || !isNew(node))
    return node;
  NodeId old = oldOf_[node.index - firstNode_];
  return old ? old : node;
}

void RestoreOrigins::claim(NodeId node, NodeId old) {
  NodeId &place = oldOf_[node.index - firstNode_];
  if (place || isClaimed_[old.index])
    return;
  place = old;
  isClaimed_[old.index] = 1;
}

// A call that became one of another operator, or stands there twice, is a new one.
void RestoreOrigins::claimCalls(const Module &module) {
  for (auto [id, number] : origins_) {
    NodeId old(number);
    if (number >= firstNode_)
      continue;
    const Node &node = module.node(id), &was = module.node(old);
    if (node.kind != was.kind || (node.kind == NodeKind::CallOp && node.op != was.op))
      continue;
    claim(id, old);
    if (node.kind != NodeKind::Call)
      continue;
    NodeId callee = module.operands(id)[0], oldCallee = module.operands(old)[0];
    if (isNew(callee) && module.node(callee).kind == NodeKind::Function &&
        module.node(oldCallee).kind == NodeKind::Function)
      claim(callee, oldCallee);
  }
}

void RestoreOrigins::claimParams(const Module &module) {
  for (FunctionId old : globals_) {
    FunctionId function = module.findGlobal(module.string(module.function(old).name));
    if (!function)
      continue;
    for (NodeId param : module.function(function).params)
      for (NodeId was : module.function(old).params)
        if (module.node(param).name == module.node(was).name && module.type(param) == module.type(was))
          claim(param, was);
  }
}

// Parsers make operands before what uses them, so one walk in the order of ids does.
void RestoreOrigins::claimShapes(Module &module) {
  for (uint32_t i = firstNode_; i < module.numNodes(); ++i) {
    NodeId id(i);
    for (NodeId &operand : module.mutableOperands(id))
      operand = now(operand);
    NodeKind kind = module.node(id).kind;
    if (kind != NodeKind::Tuple && kind != NodeKind::Project && kind != NodeKind::If)
      continue;
    if (auto found = shapes_.find(shapeOf(module, id)); found != shapes_.end())
      claim(id, found->second);
  }
}

// Claimed nodes move to their old places; their new ones are in no list any more.
void RestoreOrigins::replace(Module &module) {
  for (uint32_t i = firstNode_; i < firstNode_ + oldOf_.size(); ++i) {
    NodeId old = oldOf_[i - firstNode_];
    if (!old)
      continue;
    Node node = module.node(NodeId(i));
    const Node &was = module.node(old);
    node.source = was.source;
    node.name = was.name;
    module.node(old) = node;
    if (const Annotation *annotation = module.annotation(NodeId(i)))
      module.setAnnotation(old, Annotation(*annotation));
  }
  for (uint32_t i = firstNode_; i < module.numNodes(); ++i) // a function may use itself
    for (NodeId &operand : module.mutableOperands(NodeId(i)))
      operand = now(operand);
  for (uint32_t i = firstBlock_; i < module.numBlocks(); ++i) {
    Block &block = module.block(BlockId(i));
    for (NodeId &node : block.nodes)
      node = now(node);
    block.result = now(block.result);
  }
  for (uint32_t i = firstFunction_; i < module.numFunctions(); ++i)
    for (NodeId &param : module.function(FunctionId(i)).params)
      param = now(param);
  for (auto [id, number] : origins_) // the copy of a node, or what took its place
    if (number < firstNode_ && !oldOf_[id.index - firstNode_])
      module.node(id).source = module.node(NodeId(number)).source;
}

// New nodes are called by their numbers in the text, which old ones may have as names.
void RestoreOrigins::renameOthers(Module &module) {
  std::unordered_set<StringId> taken;
  std::vector<NodeId> others;
  for (FunctionId function : module.globals())
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      if (isNew(node))
        others.push_back(node);
      else
        taken.insert(module.node(node).name);
    });
  for (NodeId id : others) {
    std::string base(module.string(module.node(id).name));
    if (base.empty() || base[0] != '%')
      continue;
    std::string name = base;
    for (int i = 1; !taken.insert(module.intern(name)).second; ++i)
      name = base + "_" + std::to_string(i);
    module.node(id).name = module.intern(name);
  }
}

// Functions of the same names where they were, others behind them.
void RestoreOrigins::orderGlobals(Module &module) {
  std::vector<FunctionId> order;
  for (FunctionId old : globals_)
    if (FunctionId function = module.findGlobal(module.string(module.function(old).name))) {
      order.push_back(function);
      module.function(function).source = module.function(old).source;
    }
  for (FunctionId function : module.globals())
    if (std::ranges::find(order, function) == order.end())
      order.push_back(function);
  module.setGlobalOrder(std::move(order));
}

void RestoreOrigins::run(Module &module) {
  oldOf_.assign(module.numNodes() - firstNode_, NodeId());
  claimCalls(module);
  claimParams(module);
  claimShapes(module);
  replace(module);
  renameOthers(module);
  orderGlobals(module);
}

} // namespace bycc
