// Groups the annotated nodes of each block into regions, fewest first, and
// writes their numbers into the annotations. The vendor of a node is the best of
// those that could take it; the others stay recorded.
//
// A rules file may ask for no merging: then every call is a region.

#include "bycc/Partition/Passes.h"
#include "bycc/Target/Vendor.h"

#include "RegionGrouping.h"
#include "Scopes.h"

namespace bycc {

Expected<bool> mergeCompilerRegions(Module &module, PassContext &context) {
  bool changed = BYCC_TRY(readAnnotations(module, context));
  if (!context.vendors || context.vendors->size() == 0)
    return changed;
  if (context.isPlanChosen) // with its regions
    return changed;
  RegionGrouping grouping(module, context, 0);
  for (BlockId block : hostBlocks(module))
    changed |= grouping.group(block);
  return changed;
}

} // namespace bycc
