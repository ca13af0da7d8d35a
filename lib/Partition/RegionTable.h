// The regions that annotations speak of, of all blocks of the host, and what
// leaves each: every tensor that somebody else uses, once.
#pragma once

#include "Numbers.h"

#include "bycc/Partition/AnnotatedRegions.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/Vendor.h"

#include <unordered_map>
#include <vector>

namespace bycc {

struct Region {
  BlockId block;
  StringId vendor;
  std::vector<NodeId> nodes;      // calls, in block order
  std::vector<TensorRef> outputs; // by position, each once
};

class RegionTable {
public:
  // Regions numbered from `first` up. Negative: all, and with no region chosen
  // anywhere, each annotated call is one.
  RegionTable(const Module &module, const VendorSet &vendors, int32_t first = -1)
      : module_(module), vendors_(vendors), first_(first), regionOf_(module.numNodes(), none),
        placeOf_(module.numNodes(), none) {}

  // INPUT errors: a vendor that is not in use, a region over two blocks or vendors.
  Expected<> collect();

  bool empty() const { return regions_.empty(); }
  uint32_t size() const { return static_cast<uint32_t>(regions_.size()); }
  // Which of its region's outputs the tensor is.
  uint32_t outputOf(const TensorRef &tensor) const;
  uint32_t of(NodeId node) const {
    return node.index < regionOf_.size() ? regionOf_[node.index] : none;
  }
  const Region &operator[](uint32_t region) const { return regions_[region]; }

private:
  bool hasChosenRegions(const std::vector<BlockId> &blocks) const;
  Expected<> add(NodeId node, BlockId block, const Annotation &annotation, bool isChosen,
                 std::unordered_map<int32_t, uint32_t> &byNumber);
  void markUses(BlockId block);
  void use(NodeId value, uint32_t user);
  void sortOutputs(Region &region);
  std::pair<uint32_t, uint32_t> orderOf(const TensorRef &tensor) const {
    return {placeOf_[tensor.base.index], tensor.index};
  }

  const Module &module_;
  const VendorSet &vendors_;
  int32_t first_;
  std::vector<uint32_t> regionOf_; // by node
  std::vector<uint32_t> placeOf_;  // by node: position among its region's nodes
  std::vector<Region> regions_;
  std::vector<TensorRef> tensors_;
};

} // namespace bycc
