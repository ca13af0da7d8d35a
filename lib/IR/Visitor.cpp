// Walks, users, dead-code removal and the forward rewrite that most passes use.

#include "bycc/IR/Visitor.h"

#include "bycc/IR/Builder.h"
#include "bycc/IR/Functions.h"

#include <algorithm>
#include <queue>

namespace bycc {

std::vector<BlockId> innerBlocks(const Module &module, NodeId node) {
  switch (module.node(node).kind) {
  case NodeKind::If:
    return {module.thenBlock(node), module.elseBlock(node)};
  case NodeKind::Function:
    return {module.function(module.functionOf(node)).body};
  default:
    return {};
  }
}

namespace {

bool hasInnerBlocks(const Module &module, NodeId node) {
  NodeKind kind = module.node(node).kind;
  return kind == NodeKind::If || kind == NodeKind::Function;
}

} // namespace

void forEachNode(const Module &module, BlockId block, const std::function<void(NodeId)> &visit) {
  for (NodeId node : module.block(block).nodes) {
    if (hasInnerBlocks(module, node))
      for (BlockId inner : innerBlocks(module, node))
        forEachNode(module, inner, visit);
    visit(node);
  }
}

namespace {

void forEachBlockIn(const Module &module, BlockId block,
                    const std::function<void(BlockId)> &visit) {
  for (NodeId node : module.block(block).nodes)
    if (hasInnerBlocks(module, node))
      for (BlockId inner : innerBlocks(module, node))
        forEachBlockIn(module, inner, visit);
  visit(block);
}

} // namespace

void forEachBlock(const Module &module, FunctionId function,
                  const std::function<void(BlockId)> &visit) {
  forEachBlockIn(module, module.function(function).body, visit);
}

std::vector<FunctionId> functionsWithHostCode(const Module &module) {
  std::vector<FunctionId> result = module.globals();
  for (FunctionId id : module.globals())
    if (FunctionId host = module.function(id).hostCode)
      result.push_back(host);
  return result;
}

std::vector<FunctionId> optimizableFunctions(const Module &module) {
  std::vector<FunctionId> result;
  for (FunctionId id : functionsWithHostCode(module))
    if (!hasAnyAttr(module, id, {"Compiler", "Extern", "SkipOptimization"}))
      result.push_back(id);
  return result;
}

Users::Users(const Module &module)
    : begin_(module.numNodes() + 1, 0), results_(module.numNodes(), 0) {
  auto forAll = [&](auto &&visit) {
    for (FunctionId function : functionsWithHostCode(module))
      forEachNode(module, module.function(function).body, visit);
  };
  forAll([&](NodeId node) {
    for (NodeId operand : module.operands(node))
      ++begin_[operand.index + 1];
  });
  for (uint32_t i = 1; i < begin_.size(); ++i)
    begin_[i] += begin_[i - 1];
  users_.resize(begin_.back());
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  forAll([&](NodeId node) {
    for (NodeId operand : module.operands(node))
      users_[next[operand.index]++] = node;
  });
  for (FunctionId function : functionsWithHostCode(module))
    forEachBlock(module, function, [&](BlockId block) {
      if (NodeId result = module.block(block).result)
        ++results_[result.index];
    });
}

namespace {

// State of one rewriteFunction: where each replaced node went.
class Rewriter {
public:
  Rewriter(Module &module, const RewriteFn &rewrite) : module_(module), rewrite_(rewrite) {}

  Expected<> run(BlockId block) {
    std::vector<NodeId> old = std::move(module_.block(block).nodes);
    std::vector<NodeId> fresh;
    fresh.reserve(old.size());
    Builder builder(module_, block);
    builder.setList(&fresh);
    for (NodeId node : old) {
      if (hasInnerBlocks(module_, node))
        for (BlockId inner : innerBlocks(module_, node))
          BYCC_TRY(run(inner));
      BYCC_TRY(rewriteNode(node, builder, fresh));
    }
    module_.block(block).nodes = std::move(fresh);
    NodeId &result = module_.block(block).result;
    result = forwarded(result);
    return {};
  }
  bool changed() const { return changed_; }

private:
  NodeId forwarded(NodeId node) {
    return node.index < forward_.size() && forward_[node.index] ? forward_[node.index] : node;
  }

  Expected<> rewriteNode(NodeId node, Builder &builder, std::vector<NodeId> &fresh) {
    for (NodeId &operand : module_.mutableOperands(node))
      if (NodeId to = forwarded(operand); to != operand)
        operand = to;
    if (module_.node(node).kind == NodeKind::If || module_.node(node).kind == NodeKind::Function)
      BYCC_TRY(inferNode(module_, node)); // inner blocks may have changed
    builder.setSource(module_.node(node).source);
    size_t before = fresh.size();
    NodeId to = BYCC_TRY(rewrite_(node, builder));
    if (to == node) {
      fresh.push_back(node);
      changed_ |= fresh.size() != before + 1;
      return {};
    }
    changed_ = true;
    if (module_.node(node).isLet && std::ranges::find(fresh.begin() + static_cast<long>(before),
                                                      fresh.end(), to) != fresh.end()) {
      module_.node(to).isLet = true;
      module_.node(to).name = module_.node(node).name;
    }
    if (forward_.size() <= node.index)
      forward_.resize(std::max<size_t>(module_.numNodes(), node.index + 1));
    forward_[node.index] = to;
    return {};
  }

  Module &module_;
  const RewriteFn &rewrite_;
  std::vector<NodeId> forward_;
  bool changed_ = false;
};

} // namespace

Expected<bool> rewriteFunction(Module &module, FunctionId function, const RewriteFn &rewrite) {
  Rewriter rewriter(module, rewrite);
  BYCC_TRY(rewriter.run(module.function(function).body));
  return rewriter.changed();
}

bool removeDeadNodes(Module &module, FunctionId function, bool dropLets) {
  // Backwards over the block: a node is needed by a needed node, or as a result.
  // What stands in an inner block is judged when its owner is known to be needed.
  std::vector<bool> live(module.numNodes(), false);
  bool changed = false;
  auto sweep = [&](auto &&self, BlockId block) -> void {
    Block &b = module.block(block);
    if (b.result)
      live[b.result.index] = true;
    for (size_t i = b.nodes.size(); i-- > 0;) {
      NodeId node = b.nodes[i];
      if (module.node(node).isLet && !dropLets)
        live[node.index] = true;
      if (!live[node.index])
        continue;
      for (NodeId operand : module.operands(node))
        live[operand.index] = true;
      for (BlockId inner : innerBlocks(module, node))
        self(self, inner);
    }
    changed |= std::erase_if(b.nodes, [&](NodeId node) { return !live[node.index]; }) != 0;
  };
  sweep(sweep, module.function(function).body);
  return changed;
}

std::vector<NodeId> topologicalOrder(const Module &module, std::span<const NodeId> nodes) {
  std::vector<uint32_t> position(module.numNodes(), UINT32_MAX);
  for (uint32_t i = 0; i < nodes.size(); ++i)
    position[nodes[i].index] = i;
  // What a node needs inside `nodes`: its operands, and what its inner blocks use.
  std::vector<std::vector<uint32_t>> users(nodes.size());
  std::vector<uint32_t> missing(nodes.size(), 0);
  auto need = [&](uint32_t user, NodeId used) {
    uint32_t at = position[used.index];
    if (at != UINT32_MAX && at != user) {
      users[at].push_back(user);
      ++missing[user];
    }
  };
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    for (NodeId operand : module.operands(nodes[i]))
      need(i, operand);
    for (BlockId inner : innerBlocks(module, nodes[i])) {
      forEachNode(module, inner, [&](NodeId node) {
        for (NodeId operand : module.operands(node))
          need(i, operand);
        for (BlockId block : innerBlocks(module, node))
          need(i, module.block(block).result);
      });
      need(i, module.block(inner).result);
    }
  }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (!missing[i])
      ready.push(i);
  std::vector<NodeId> order;
  while (!ready.empty()) {
    uint32_t at = ready.top();
    ready.pop();
    order.push_back(nodes[at]);
    for (uint32_t user : users[at])
      if (--missing[user] == 0)
        ready.push(user);
  }
  if (order.size() != nodes.size())
    order.clear();
  return order;
}

} // namespace bycc
