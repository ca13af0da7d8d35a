// An edit that takes a node out of a region can leave parts that need each other's
// results by way of that node:
//
//   %0 [va 3]                     %0 [va 3]
//   %1 [va 3]  -> host   =>       %1 [host]
//   %2 [va 3]                     %2 [va 4]
//
// UnitOrder finds a ring; the nodes of its region are told apart by how often a
// path from one to the other leaves the region.

#include "SplitRegions.h"

#include "bycc/IR/Visitor.h"
#include "bycc/Target/RegionView.h"
#include "bycc/Target/Vendor.h"

#include "RegionTable.h"
#include "Scopes.h"
#include "UnitOrder.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace bycc {

namespace {

class Splitter {
public:
  Splitter(Module &module, PassContext &context)
      : module_(module), context_(context), places_(module), blocks_(hostBlocks(module)) {
    for (BlockId block : blocks_)
      for (NodeId node : module.block(block).nodes)
        if (const Annotation *annotation = module.annotation(node))
          nextNumber_ = std::max(nextNumber_, annotation->region + 1);
  }

  Expected<> run() {
    for (;;) {
      RegionTable regions(module_, *context_.vendors);
      BYCC_TRY(regions.collect());
      bool changed = false;
      for (BlockId block : blocks_)
        changed |= splitIn(block, regions);
      if (!changed)
        return {};
    }
  }

private:
  bool splitIn(BlockId block, const RegionTable &regions) {
    UnitOrder order(module_, places_, regions, block);
    if (module_.block(block).nodes.empty() || !order.sort().empty())
      return false;
    std::vector<UnitOrder::Unit> ring = order.cycle();
    std::optional<uint32_t> region;
    for (const UnitOrder::Unit &unit : ring) {
      if (unit.region == none || regions[unit.region].nodes.size() == 1)
        continue;
      if (region && *region != unit.region)
        return false;
      region = unit.region;
    }
    if (!region)
      return false;
    warn(regions, *region, ring);
    cut(block, regions, *region);
    return true;
  }

  void warn(const RegionTable &regions, uint32_t region, const std::vector<UnitOrder::Unit> &ring) {
    NodeId between;
    for (const UnitOrder::Unit &unit : ring)
      if (unit.region != region)
        between = unit.region == none ? unit.node : regions[unit.region].nodes[0];
    context_.warn(module_.source(between), "--partition-plan: the region of " +
                                               nodeName(module_, regions[region].nodes[0]) +
                                               " is split: " + nodeName(module_, between) +
                                               " stands between its nodes and is not in it");
  }

  // How often a path from the region's first nodes to here has left the region.
  struct State {
    int level;
    bool isInside;
  };

  void cut(BlockId block, const RegionTable &regions, uint32_t region) {
    std::unordered_map<NodeId, State> states; // of nodes that the region leads to
    std::unordered_map<int, int32_t> numbers; // of levels above 0
    for (NodeId node : module_.block(block).nodes) {
      NodeKind kind = module_.node(node).kind;
      if (kind == NodeKind::Tuple || kind == NodeKind::Project)
        continue; // looked through
      bool isInside = regions.of(node) == region;
      int level = isInside ? 0 : -1;
      auto raise = [&](NodeId need) {
        if (auto found = states.find(need); found != states.end())
          level = std::max(level, found->second.level + (isInside && !found->second.isInside));
      };
      forEachUsedValue(module_, node, [&](NodeId value) { visitMakers(value, raise); });
      if (level < 0)
        continue;
      states[node] = {level, isInside};
      if (!isInside || level == 0)
        continue;
      auto [number, isNew] = numbers.try_emplace(level, nextNumber_);
      nextNumber_ += isNew;
      Annotation annotation = *module_.annotation(node);
      annotation.region = number->second;
      module_.setAnnotation(node, std::move(annotation));
    }
  }

  // A value, and what computes its tensors.
  template <typename Visit> void visitMakers(NodeId value, Visit &&visit) const {
    visit(value);
    std::vector<TensorRef> tensors;
    resolveTensors(module_, value, tensors);
    for (const TensorRef &tensor : tensors)
      visit(tensor.base);
  }

  Module &module_;
  PassContext &context_;
  NodePlaces places_;
  std::vector<BlockId> blocks_;
  int32_t nextNumber_ = 0;
};

} // namespace

Expected<> splitBrokenRegions(Module &module, PassContext &context) {
  return Splitter(module, context).run();
}

} // namespace bycc
