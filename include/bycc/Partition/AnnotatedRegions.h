// The regions of one block: which nodes could form them, which do, what goes in
// and out, and whether they could run in some order. Items are the block's
// nodes by position. Look-up and merging cost near-constant time.
#pragma once

#include "bycc/IR/Module.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bycc {

struct PassContext;

// A tensor by where it is computed: leaf `index` of the (nested) tuple that
// `base` gives. `base` is never a tuple or projection node.
struct TensorRef {
  NodeId base;
  uint32_t index = 0;
  auto operator<=>(const TensorRef &) const = default;
};

// Tensors behind a value, looking through tuples and projections; appended to
// `out`.
void resolveTensors(const Module &module, NodeId node, std::vector<TensorRef> &out);

// Where each node of host code stands, for all blocks at once.
struct NodePlaces {
  static constexpr uint32_t none = UINT32_MAX;
  explicit NodePlaces(const Module &module);
  std::vector<BlockId> block;     // by node; invalid: a leaf or inside a closed function
  std::vector<uint32_t> position; // in the block's list
};

class AnnotatedRegions {
public:
  // Vendors and regions as the annotations of the nodes say; a node without a
  // chosen region has none. The vendors' rules and costs and the orders about
  // nodes are those of `context`, which may be null: then there are none.
  AnnotatedRegions(const Module &module, const NodePlaces &places, BlockId block,
                   const PassContext *context = nullptr);
  AnnotatedRegions(AnnotatedRegions &&) noexcept;
  ~AnnotatedRegions();

  uint32_t numItems() const;
  NodeId node(uint32_t item) const;
  // Best vendor of the node; of a tuple or projection the one whose values it
  // carries. Invalid: host.
  StringId vendorOf(uint32_t item) const;

  // --- regions; ids are items, stable until merged
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t regionOf(uint32_t item) const; // none: the host's
  uint32_t create(uint32_t item);         // a region of this item alone
  // One region of both; false (and nothing done) when their vendors differ.
  bool merge(uint32_t a, uint32_t b);
  std::vector<uint32_t> regions() const; // by first item
  // These cost what the region and the uses of its values come to, not the block.
  std::vector<uint32_t> items(uint32_t region) const;
  std::vector<TensorRef> inputs(uint32_t region) const;  // each once, constants left out
  std::vector<TensorRef> outputs(uint32_t region) const; // each once, used outside the region
  // Could all regions and host nodes run one after the other?
  bool isAcyclic() const;
  // Why two regions are not one, as a sentence: what lies between them, which
  // rule forbids it. Looks at the whole block: ask for single pairs only.
  std::string whyApart(uint32_t a, uint32_t b) const;

  // Fewest regions that are acyclic; replaces what there is. Small blocks are
  // searched exhaustively; `searchSteps` bounds that over many blocks.
  void regroup(uint64_t &searchSteps);
  // One region per call; replaces what there is.
  void separate();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace bycc

template <> struct std::hash<bycc::TensorRef> {
  size_t operator()(const bycc::TensorRef &tensor) const noexcept {
    return tensor.base.index * size_t{0x9e3779b97f4a7c15} + tensor.index;
  }
};
