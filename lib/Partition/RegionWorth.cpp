#include "RegionWorth.h"

#include "bycc/IR/Op.h"
#include "bycc/Partition/AnnotatedRegions.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

#include "Composites.h"
#include "Scopes.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>
#include <unordered_set>

namespace bycc {

std::string flopCount(double flops) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", flops);
  return text;
}

// Who reads which tensor, through tuples and projections, in host code.
class TensorUses {
public:
  explicit TensorUses(const Module &module) : module_(module) {
    for (BlockId block : hostBlocks(module)) {
      for (NodeId node : module.block(block).nodes) {
        NodeKind kind = module.node(node).kind;
        if (kind != NodeKind::Tuple && kind != NodeKind::Project)
          for (NodeId operand : module.operands(node))
            add(operand, node);
      }
      add(module.block(block).result, NodeId());
    }
  }

  std::vector<double> border(std::span<const NodeId> nodes) const {
    std::unordered_set<NodeId> inside(nodes.begin(), nodes.end());
    std::vector<double> bytes;
    std::unordered_set<TensorRef> seen;
    for (NodeId node : nodes) {
      for (NodeId operand : module_.operands(node))
        for (const TensorRef &tensor : tensorsOf(operand))
          if (!inside.contains(tensor.base) && seen.insert(tensor).second)
            bytes.push_back(bytesOfTensor(tensor));
      uint32_t count = static_cast<uint32_t>(module_.types.flatten(module_.type(node)).size());
      for (uint32_t i = 0; i < count; ++i)
        if (isReadOutside({node, i}, inside))
          bytes.push_back(bytesOfTensor({node, i}));
    }
    return bytes;
  }

private:
  void add(NodeId value, NodeId reader) {
    if (value)
      for (const TensorRef &tensor : tensorsOf(value))
        readers_[tensor].push_back(reader);
  }

  // Constants and functions left out.
  std::vector<TensorRef> tensorsOf(NodeId value) const {
    std::vector<TensorRef> tensors;
    if (module_.node(value).kind == NodeKind::Function)
      return tensors;
    resolveTensors(module_, value, tensors);
    std::erase_if(tensors, [&](const TensorRef &t) { return module_.isConstant(t.base); });
    return tensors;
  }

  double bytesOfTensor(const TensorRef &tensor) const {
    return bytesOf(module_, module_.types.flatten(module_.type(tensor.base))[tensor.index]);
  }

  bool isReadOutside(const TensorRef &tensor, const std::unordered_set<NodeId> &inside) const {
    auto found = readers_.find(tensor);
    return found != readers_.end() && std::ranges::any_of(found->second, [&](NodeId reader) {
             return !inside.contains(reader);
           });
  }

  const Module &module_;
  std::unordered_map<TensorRef, std::vector<NodeId>> readers_;
};

RegionWorth::RegionWorth(Module &module, PassContext &context)
    : module_(module), context_(context) {}
RegionWorth::~RegionWorth() = default;

void RegionWorth::refresh() { uses_.reset(); }

std::vector<RegionContent> RegionWorth::regions() const {
  std::vector<RegionContent> regions;
  std::unordered_map<int32_t, size_t> byNumber;
  for (BlockId block : hostBlocks(module_))
    for (NodeId node : module_.block(block).nodes) {
      const Annotation *annotation = module_.annotation(node);
      if (!annotation || annotation->vendors.empty())
        continue;
      size_t next = regions.size(), at = next;
      if (annotation->region >= 0)
        at = byNumber.try_emplace(annotation->region, next).first->second;
      if (at == next)
        regions.push_back({block, annotation->vendors[0], {}});
      add(regions[at], node);
    }
  return regions;
}

void RegionWorth::add(RegionContent &region, NodeId node) const {
  region.nodes.push_back(node);
  std::string_view vendor = module_.string(region.vendor);
  forEachOperator(module_, node, [&](NodeId call) {
    const OpInfo &info = opInfo(module_.node(call).op);
    ++region.ops;
    region.flops += info.flops ? info.flops(module_, call) : 0;
    region.isPinned |= context_.placement && context_.placement->pinOf(call) == vendor;
  });
}

std::string RegionWorth::whyTooSmall(const RegionContent &region) const {
  std::string name(module_.string(region.vendor));
  const Vendor *vendor = context_.vendors->find(name);
  if (region.isPinned)
    return {};
  if (region.ops < context_.minRegionOps)
    return "below --min-region-ops=" + std::to_string(context_.minRegionOps);
  if (region.flops < context_.minRegionFlops)
    return "below --min-region-flops=" + flopCount(context_.minRegionFlops);
  if (vendor && region.ops < vendor->regionRules.minOps)
    return "below the " + counted(vendor->regionRules.minOps, "op") + " that " + name + " wants";
  if (vendor && region.flops < vendor->regionRules.minFlops)
    return "below the " + flopCount(vendor->regionRules.minFlops) + " FLOPs that " + name + " wants";
  return {};
}

bool RegionWorth::hasCost(StringId name) const {
  const Vendor *vendor = context_.vendors->find(module_.string(name));
  return context_.hostCost && vendor && vendor->cost;
}

EstimatedTimes RegionWorth::timesOf(StringId vendor, std::span<const NodeId> nodes) {
  const CostModel &cost = *context_.vendors->find(module_.string(vendor))->cost;
  VendorTimes &times = vendorTimes(vendor);
  EstimatedTimes result;
  result.here = cost.launchMicroseconds;
  for (NodeId node : nodes) {
    result.here += times.of(node);
    result.onHost += unitMicroseconds(module_, node, *context_.hostCost) +
                     context_.hostCost->launchMicroseconds;
    forEachOperator(module_, node, [&](NodeId call) {
      result.isHeavy |= opInfo(module_.node(call).op).kind == OpKind::OutFusable;
    });
  }
  if (!uses_)
    uses_ = std::make_unique<TensorUses>(module_);
  for (double bytes : uses_->border(nodes))
    result.here += transferMicroseconds(bytes, cost);
  return result;
}

VendorTimes &RegionWorth::vendorTimes(StringId name) {
  const Vendor &vendor = *context_.vendors->find(module_.string(name));
  auto &times = times_[vendor.name()];
  if (!times)
    times = std::make_unique<VendorTimes>(module_, vendor, *context_.target, *context_.hostCost);
  return *times;
}

} // namespace bycc
