// Groups the annotated nodes of each block into regions, fewest first, and
// writes their numbers into the annotations. The vendor of a node is the best of
// those that could take it; the others stay recorded. How regions are found is
// told in RegionSolver.cpp; here the result is checked once more as a whole.
//
// A rules file may ask for no merging: then every call is a region.

#include "bycc/Partition/AnnotatedRegions.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Target/Vendor.h"

#include "Scopes.h"

namespace bycc {

Expected<bool> mergeCompilerRegions(Module &module, PassContext &context) {
  bool changed = BYCC_TRY(readAnnotations(module, context));
  if (!context.vendors || context.vendors->size() == 0)
    return changed;
  int32_t numRegions = 0;
  uint64_t searchSteps = 2000000; // of all blocks together, about a second
  NodePlaces places(module);
  for (BlockId block : hostBlocks(module)) {
    AnnotatedRegions regions(module, places, block, &context);
    if (context.vendors->mergeRegions)
      regions.regroup(searchSteps);
    else
      regions.separate();
    BYCC_ASSERT(regions.isAcyclic(), "regions can run one after the other");
    std::vector<int32_t> number(regions.numItems(), -1);
    for (uint32_t item = 0; item < regions.numItems(); ++item) {
      uint32_t region = regions.regionOf(item);
      if (region == AnnotatedRegions::none)
        continue;
      if (number[region] < 0)
        number[region] = numRegions++;
      const Annotation *old = module.annotation(regions.node(item));
      Annotation annotation = old ? *old : Annotation{};
      if (!old)
        continue; // a tuple or projection: it follows what it carries
      changed |= annotation.region != number[region];
      annotation.region = number[region];
      module.setAnnotation(regions.node(item), std::move(annotation));
    }
  }
  return changed;
}

} // namespace bycc
