#include "RestoreOrigins.h"

#include "bycc/IR/Visitor.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace bycc {

namespace {

bool isSame(const Constant &a, const Constant &b) {
  return a.type == b.type && a.hash == b.hash && a.bytes == b.bytes &&
         std::memcmp(a.data(), b.data(), a.bytes) == 0;
}

} // namespace

RestoreOrigins::RestoreOrigins(const Module &module)
    : firstNode_(module.numNodes()), firstBlock_(module.numBlocks()),
      firstFunction_(module.numFunctions()), globals_(module.globals()),
      claimedBy_(module.numNodes()), positions_(module.numNodes()) {
  uint32_t position = 0;
  for (FunctionId function : globals_)
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      positions_[node.index] = ++position;
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
  if (place || claimedBy_[old.index])
    return;
  place = old;
  claimedBy_[old.index] = node;
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
    if (oldOf_[id.index - firstNode_] == old)
      claimOperands(module, id, old);
  }
}

// What has no room for an origin in the text, place by place: constants that are written out,
// tuples and their fields, functions that are called where they are.
void RestoreOrigins::claimOperands(const Module &module, NodeId id, NodeId old) {
  auto operands = module.operands(id), oldOperands = module.operands(old);
  for (size_t i = 0; i < std::min(operands.size(), oldOperands.size()); ++i) {
    NodeId operand = operands[i], was = oldOperands[i];
    if (!isNew(operand) || oldOf_[operand.index - firstNode_] ||
        module.node(operand).kind != module.node(was).kind)
      continue;
    switch (module.node(operand).kind) {
    case NodeKind::Constant:
      if (isSame(module.constant(operand), module.constant(was)))
        oldOf_[operand.index - firstNode_] = was; // as often as it is used
      break;
    case NodeKind::Function:
      claim(operand, was);
      break;
    case NodeKind::Tuple:
      claim(operand, was);
      claimOperands(module, operand, was);
      break;
    default:
      break;
    }
  }
}

void RestoreOrigins::claimParams(const Module &module) {
  for (FunctionId old : globals_) {
    FunctionId function = module.findGlobal(module.string(module.function(old).name));
    if (!function)
      continue;
    std::unordered_map<StringId, NodeId> named;
    for (NodeId was : module.function(old).params)
      named.emplace(module.node(was).name, was);
    for (NodeId param : module.function(function).params) {
      auto was = named.find(module.node(param).name);
      if (was != named.end() && module.type(param) == module.type(was->second))
        claim(param, was->second);
    }
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
    auto found = shapes_.find(shapeOf(module, id));
    if (found == shapes_.end())
      continue;
    NodeId first = claimedBy_[found->second.index]; // text has a projection wherever it is used
    if (first && kind == NodeKind::Project &&
        blockOf_[first.index - firstNode_] == blockOf_[i - firstNode_])
      oldOf_[i - firstNode_] = found->second;
    else
      claim(id, found->second);
  }
}

bool RestoreOrigins::isUnchanged(const Module &module, NodeId id, NodeId old) {
  auto isOne = [&](NodeId a, NodeId b) {
    return a == b || (module.isConstant(a) && module.isConstant(b) &&
                      isSame(module.constant(a), module.constant(b)));
  };
  NodeKind kind = module.node(id).kind;
  return (kind == NodeKind::CallOp || kind == NodeKind::Tuple || kind == NodeKind::Project) &&
         module.node(id).attrs == module.node(old).attrs &&
         std::ranges::equal(module.operands(id), module.operands(old), isOne);
}

// Claimed nodes move to their old places; their new ones are in no list any more.
void RestoreOrigins::replace(Module &module) {
  for (uint32_t i = firstNode_; i < firstNode_ + oldOf_.size(); ++i) {
    NodeId old = oldOf_[i - firstNode_];
    if (!old)
      continue;
    Node node = module.node(NodeId(i));
    if (node.kind == NodeKind::Constant || node.kind == NodeKind::Global)
      continue; // the same one
    const Node &was = module.node(old);
    node.source = was.source;
    node.name = was.name;
    if (isUnchanged(module, NodeId(i), old))
      node.type = was.type; // passes may know more than inference finds again
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
    restoreOrder(module, BlockId(i));
  }
  for (uint32_t i = firstFunction_; i < module.numFunctions(); ++i)
    for (NodeId &param : module.function(FunctionId(i)).params)
      param = now(param);
  for (auto [id, number] : origins_) // the copy of a node, or what took its place
    if (number < firstNode_ && !oldOf_[id.index - firstNode_])
      module.node(id).source = module.node(NodeId(number)).source;
}

// Text has tuples and projections where they are used. Nodes stand where they stood, new
// ones behind what they were written behind, if that is an order at all.
void RestoreOrigins::restoreOrder(Module &module, BlockId id) const {
  std::vector<std::pair<uint32_t, NodeId>> keyed;
  std::unordered_set<NodeId> seen;
  uint32_t last = 0;
  for (NodeId node : module.block(id).nodes) {
    if (!seen.insert(node).second)
      continue;
    last = isNew(node) ? last : positions_[node.index];
    keyed.emplace_back(last, node);
  }
  std::vector<NodeId> written, sorted;
  for (auto [key, node] : keyed)
    written.push_back(node);
  std::ranges::stable_sort(keyed, {}, &std::pair<uint32_t, NodeId>::first);
  std::unordered_set<NodeId> before;
  auto isReady = [&](NodeId operand) {
    return !seen.contains(operand) || before.contains(operand);
  };
  for (auto [key, node] : keyed) {
    if (!innerBlocks(module, node).empty() || !std::ranges::all_of(module.operands(node), isReady))
      break; // what inner blocks use is not looked for
    before.insert(node);
    sorted.push_back(node);
  }
  module.block(id).nodes = sorted.size() == written.size() ? sorted : written;
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

// Functions of the same names are the same functions: what is kept by them, such as compiled
// regions, goes on.
void RestoreOrigins::claimGlobals(Module &module) {
  for (FunctionId old : globals_) {
    FunctionId function = module.findGlobal(module.string(module.function(old).name));
    if (!function)
      continue;
    NodeId fresh = module.globalRef(function), reference = module.globalRef(old);
    module.node(reference).type = module.node(fresh).type;
    oldOf_.resize(module.numNodes() - firstNode_);
    oldOf_[fresh.index - firstNode_] = reference;
  }
}

// They stand where they stood, others behind them.
void RestoreOrigins::orderGlobals(Module &module) {
  std::vector<FunctionId> order;
  for (FunctionId old : globals_)
    if (FunctionId function = module.findGlobal(module.string(module.function(old).name))) {
      module.continueGlobal(old, function);
      order.push_back(old);
    }
  std::unordered_set<FunctionId> placed(order.begin(), order.end());
  for (FunctionId function : module.globals())
    if (!placed.contains(function))
      order.push_back(function);
  module.setGlobalOrder(std::move(order));
}

void RestoreOrigins::run(Module &module) {
  oldOf_.assign(module.numNodes() - firstNode_, NodeId());
  blockOf_.resize(oldOf_.size());
  for (uint32_t i = firstBlock_; i < module.numBlocks(); ++i)
    for (NodeId node : module.block(BlockId(i)).nodes)
      if (isNew(node))
        blockOf_[node.index - firstNode_] = BlockId(i);
  claimGlobals(module);
  blockOf_.resize(oldOf_.size());
  claimCalls(module);
  claimParams(module);
  claimShapes(module);
  replace(module);
  renameOthers(module);
  orderGlobals(module);
}

} // namespace bycc
