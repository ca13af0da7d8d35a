#include "RegionTable.h"

#include "Scopes.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {

Expected<> RegionTable::collect() {
  std::vector<BlockId> blocks = hostBlocks(module_);
  bool isChosen = first_ >= 0 || hasChosenRegions(blocks);
  std::unordered_map<int32_t, uint32_t> byNumber;
  for (BlockId block : blocks)
    for (NodeId node : module_.block(block).nodes)
      if (const Annotation *annotation = module_.annotation(node))
        BYCC_TRY(add(node, block, *annotation, isChosen, byNumber));
  for (BlockId block : blocks)
    markUses(block);
  for (Region &region : regions_)
    sortOutputs(region);
  return {};
}

bool RegionTable::hasChosenRegions(const std::vector<BlockId> &blocks) const {
  for (BlockId block : blocks)
    for (NodeId node : module_.block(block).nodes)
      if (const Annotation *annotation = module_.annotation(node);
          annotation && annotation->region >= 0)
        return true;
  return false;
}

Expected<> RegionTable::add(NodeId node, BlockId block, const Annotation &annotation, bool isChosen,
                            std::unordered_map<int32_t, uint32_t> &byNumber) {
  bool isCall = module_.node(node).kind == NodeKind::CallOp || compositeOf(module_, node);
  if (!isCall || annotation.vendors.empty() ||
      (isChosen && annotation.region < std::max(first_, 0)))
    return {};
  uint32_t next = static_cast<uint32_t>(regions_.size()), region = next;
  if (isChosen)
    region = byNumber.try_emplace(annotation.region, next).first->second;
  if (region == next) {
    if (std::string_view name = module_.string(annotation.vendors[0]); !vendors_.find(name))
      return error(Status::Input, module_.source(node))
             << "annotation.vendors: vendor '" << escaped(name) << "' is not in use";
    regions_.push_back({block, annotation.vendors[0], {}, {}});
  }
  if (regions_[region].block != block)
    return error(Status::Input, module_.source(node))
           << "region " << annotation.region << " reaches into another branch or function";
  if (regions_[region].vendor != annotation.vendors[0])
    return error(Status::Input, module_.source(node))
           << "region " << annotation.region << " has two vendors, '"
           << module_.string(regions_[region].vendor) << "' and '"
           << module_.string(annotation.vendors[0]) << "'";
  placeOf_[node.index] = static_cast<uint32_t>(regions_[region].nodes.size());
  regions_[region].nodes.push_back(node);
  regionOf_[node.index] = region;
  return {};
}

void RegionTable::markUses(BlockId block) {
  for (NodeId node : module_.block(block).nodes) {
    NodeKind kind = module_.node(node).kind;
    if (kind == NodeKind::Tuple || kind == NodeKind::Project)
      continue;
    for (NodeId operand : module_.operands(node))
      use(operand, of(node));
  }
  use(module_.block(block).result, none);
}

void RegionTable::use(NodeId value, uint32_t user) {
  tensors_.clear();
  resolveTensors(module_, value, tensors_);
  for (const TensorRef &tensor : tensors_)
    if (uint32_t region = of(tensor.base); region != none && region != user)
      regions_[region].outputs.push_back(tensor);
}

uint32_t RegionTable::outputOf(const TensorRef &tensor) const {
  const std::vector<TensorRef> &outputs = regions_[of(tensor.base)].outputs;
  auto found = std::ranges::lower_bound(outputs, orderOf(tensor), {},
                                        [&](const TensorRef &t) { return orderOf(t); });
  return static_cast<uint32_t>(found - outputs.begin());
}

void RegionTable::sortOutputs(Region &region) {
  std::ranges::sort(region.outputs, {}, [&](const TensorRef &t) { return orderOf(t); });
  region.outputs.erase(std::unique(region.outputs.begin(), region.outputs.end()),
                       region.outputs.end());
}

} // namespace bycc
