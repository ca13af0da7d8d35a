// How regions are found is told in RegionSolver.cpp; here the result is checked
// once more as a whole.

#include "RegionGrouping.h"

#include "bycc/Target/Vendor.h"

namespace bycc {

bool RegionGrouping::group(BlockId block) {
  AnnotatedRegions regions(module_, places_, block, &context_);
  if (context_.vendors->mergeRegions)
    regions.regroup(searchSteps_);
  else
    regions.separate();
  BYCC_ASSERT(regions.isAcyclic(), "regions can run one after the other");
  bool changed = false;
  std::vector<int32_t> number(regions.numItems(), -1);
  for (uint32_t item = 0; item < regions.numItems(); ++item) {
    uint32_t region = regions.regionOf(item);
    if (region == AnnotatedRegions::none)
      continue;
    if (number[region] < 0)
      number[region] = next_++;
    const Annotation *old = module_.annotation(regions.node(item));
    if (!old)
      continue; // a tuple or projection: it follows what it carries
    Annotation annotation = *old;
    changed |= annotation.region != number[region];
    annotation.region = number[region];
    module_.setAnnotation(regions.node(item), std::move(annotation));
  }
  return changed;
}

} // namespace bycc
