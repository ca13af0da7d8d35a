#include "ApartReasons.h"

#include "bycc/Partition/AnnotatedRegions.h"
#include "bycc/Target/Vendor.h"

#include "Scopes.h"

#include <map>

namespace bycc {

namespace {

constexpr size_t maxPairs = 24;

} // namespace

void keepApartReasons(const Module &module, PassContext &context) {
  if (!context.refusals || !context.vendors->mergeRegions)
    return;
  std::vector<ApartRegions> apart;
  NodePlaces places(module);
  for (BlockId block : hostBlocks(module)) {
    if (module.block(block).nodes.size() > longBlock)
      continue;
    AnnotatedRegions regions(module, places, block, &context);
    std::map<StringId, uint32_t> last; // region of a vendor
    for (uint32_t region : regions.regions()) {
      auto [before, isNew] = last.try_emplace(regions.vendorOf(region), region);
      if (!isNew && apart.size() < maxPairs)
        apart.push_back({regions.node(before->second), regions.node(region),
                         regions.whyApart(before->second, region)});
      before->second = region;
    }
  }
  context.refusals->setApart(std::move(apart));
}

} // namespace bycc
