#include "RegionLimits.h"

#include "bycc/IR/Op.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

#include "Composites.h"
#include "Scopes.h"

#include <cstdio>
#include <unordered_map>

namespace bycc {

std::string flopCount(double flops) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", flops);
  return text;
}

std::vector<RegionContent> RegionLimits::regions() const {
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

void RegionLimits::add(RegionContent &region, NodeId node) const {
  region.nodes.push_back(node);
  std::string_view vendor = module_.string(region.vendor);
  forEachOperator(module_, node, [&](NodeId call) {
    const OpInfo &info = opInfo(module_.node(call).op);
    ++region.ops;
    region.flops += info.flops ? info.flops(module_, call) : 0;
    region.isPinned |= context_.placement && context_.placement->pinOf(call) == vendor;
  });
}

std::string RegionLimits::whyTooSmall(const RegionContent &region) const {
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
    return "below the " + flopCount(vendor->regionRules.minFlops) + " FLOPs that " + name +
           " wants";
  return {};
}

} // namespace bycc
