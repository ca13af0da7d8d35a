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
#include "bycc/IR/ConstantPool.h"
#include "bycc/Support/Hash.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace bycc {
namespace {

// Nodes by hash, open addressing, of a fixed size. What was entered last is
// dropped first (scopes end in the order of a stack), so that emptying a slot
// never cuts a run of slots that an older entry needs.
class NodeTable {
public:
  explicit NodeTable(size_t maxEntries)
      : slots_(std::bit_ceil(2 * maxEntries + 2)), mask_(slots_.size() - 1) {}

  // The entry for which isEqual holds; else `node` is entered and returned.
  template <typename IsEqual> NodeId findOrAdd(uint64_t hash, NodeId node, IsEqual isEqual) {
    size_t at = hash & mask_;
    for (; slots_[at].node; at = (at + 1) & mask_)
      if (slots_[at].hash == hash && isEqual(slots_[at].node))
        return slots_[at].node;
    slots_[at] = {hash, node};
    entered_.push_back(at);
    return node;
  }
  size_t size() const { return entered_.size(); }
  void shrink(size_t size) {
    for (; entered_.size() > size; entered_.pop_back())
      slots_[entered_.back()].node = NodeId();
  }

private:
  struct Slot {
    uint64_t hash = 0;
    NodeId node;
  };
  std::vector<Slot> slots_;
  size_t mask_;
  std::vector<size_t> entered_;
};

class ScopedTable {
public:
  explicit ScopedTable(Module &module)
      : module_(module), constants_(module.numNodes()), nodes_(module.numNodes()) {}

  // The first constant node of equal type and bytes.
  NodeId canonicalConstant(NodeId node) {
    const Constant &constant = module_.constant(node);
    return constants_.findOrAdd(constant.hash, node, [&](NodeId other) {
      return other == node || bycc::isEqual(module_.constant(other), constant);
    });
  }

  // An equal node that is visible in the block, or `node`, which is then entered.
  NodeId canonical(NodeId node, BlockId block) {
    while (!scopes_.empty() && !isInside(block, scopes_.back().block))
      leave();
    if (scopes_.empty() || scopes_.back().block != block)
      scopes_.push_back({block, nodes_.size()});
    return nodes_.findOrAdd(hash(node), node, [&](NodeId other) { return isEqual(other, node); });
  }

private:
  struct Scope {
    BlockId block;
    size_t outerEntries;
  };

  bool isInside(BlockId block, BlockId outer) const {
    for (; block; block = module_.block(block).parent)
      if (block == outer)
        return true;
    return false;
  }
  void leave() {
    nodes_.shrink(scopes_.back().outerEntries);
    scopes_.pop_back();
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
  NodeTable constants_, nodes_;
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
