// Computes equal values once, by hash consing over blocks.
//
// Every node is looked up by (kind, operator, attributes, payload, operands), with
// operands already replaced by their representatives; the first node of a key is
// its representative. Keys seen in a block are known in the blocks inside it and
// forgotten at its end, since a value of one branch is not visible in the other:
//
//   %0 = exp(%x)                       known in both branches
//   if (%c) { exp(%x) } else { .. }    => %0
//
// Constants with equal type and bytes become one leaf first, so that equal calls
// on equal constants meet. Ifs and functions are not compared.

#include "ConstantView.h"
#include "Scopes.h"
#include "bycc/Support/Hash.h"
#include "bycc/Transforms/Passes.h"

#include <cstring>
#include <unordered_map>

namespace bycc {
namespace {

class ScopedTable {
public:
  explicit ScopedTable(Module &module) : module_(module) {}

  // The first constant node of equal type and bytes.
  NodeId canonicalConstant(NodeId node) {
    const Constant &constant = module_.constant(node);
    auto [begin, end] = constants_.equal_range(constant.hash);
    for (auto it = begin; it != end; ++it)
      if (isEqual(module_.constant(it->second), constant))
        return it->second;
    constants_.emplace(constant.hash, node);
    return node;
  }

  // An equal node that is visible in the block, or `node`, which is then entered.
  NodeId canonical(NodeId node, BlockId block) {
    while (!scopes_.empty() && scopes_.back().block != block && !isInside(block, scopes_.back().block))
      leave();
    if (scopes_.empty() || scopes_.back().block != block)
      scopes_.push_back({block, {}});
    uint64_t key = hash(node);
    auto [begin, end] = nodes_.equal_range(key);
    for (auto it = begin; it != end; ++it)
      if (isEqual(it->second, node))
        return it->second;
    scopes_.back().entries.push_back(nodes_.emplace(key, node));
    return node;
  }

private:
  using Table = std::unordered_multimap<uint64_t, NodeId>;
  struct Scope {
    BlockId block;
    std::vector<Table::iterator> entries;
  };

  bool isInside(BlockId block, BlockId outer) const {
    for (; block; block = module_.block(block).parent)
      if (block == outer)
        return true;
    return false;
  }
  void leave() {
    for (Table::iterator entry : scopes_.back().entries)
      nodes_.erase(entry);
    scopes_.pop_back();
  }

  bool isEqual(const Constant &a, const Constant &b) const {
    return a.type == b.type && a.bytes == b.bytes &&
           (a.data() == b.data() || std::memcmp(a.data(), b.data(), a.bytes) == 0);
  }
  bool isEqual(NodeId a, NodeId b) const {
    const Node &x = module_.node(a), &y = module_.node(b);
    return x.kind == y.kind && x.op == y.op && x.attrs == y.attrs && x.payload == y.payload &&
           x.type == y.type && std::ranges::equal(module_.operands(a), module_.operands(b));
  }
  uint64_t hash(NodeId id) const {
    const Node &node = module_.node(id);
    uint64_t seed = hashCombine(static_cast<uint64_t>(node.kind), node.op.index);
    seed = hashCombine(seed, node.attrs.index);
    seed = hashCombine(seed, node.payload);
    for (NodeId operand : module_.operands(id))
      seed = hashCombine(seed, operand.index);
    return seed;
  }

  Module &module_;
  std::unordered_multimap<uint64_t, NodeId> constants_;
  Table nodes_;
  std::vector<Scope> scopes_;
};

bool isComparable(NodeKind kind) {
  return kind == NodeKind::CallOp || kind == NodeKind::Call || kind == NodeKind::Tuple ||
         kind == NodeKind::Project;
}

} // namespace

Expected<bool> eliminateCommonSubexpr(Module &module, PassContext &) {
  ScopedTable table(module);
  return rewriteOpenBlocks(module, [&](NodeId node, Builder &builder) -> Expected<NodeId> {
    for (NodeId &operand : module.mutableOperands(node))
      if (module.isConstant(operand))
        operand = table.canonicalConstant(operand);
    if (!isComparable(module.node(node).kind) || module.annotation(node))
      return node;
    return table.canonical(node, builder.block());
  });
}

} // namespace bycc
