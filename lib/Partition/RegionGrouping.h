// Grouping a block's annotated nodes, as merge-compiler-regions does for all blocks.
#pragma once

#include "bycc/Partition/AnnotatedRegions.h"
#include "bycc/Target/PassContext.h"

namespace bycc {

class RegionGrouping {
public:
  // Regions are numbered from `firstNumber` up. All blocks share one budget of search.
  RegionGrouping(Module &module, PassContext &context, int32_t firstNumber)
      : module_(module), context_(context), places_(module), next_(firstNumber) {}

  // Writes the regions of a block into its annotations; true when that changed some.
  bool group(BlockId block);
  // Before the next block, when nodes have moved.
  void refresh() { places_ = NodePlaces(module_); }

private:
  Module &module_;
  PassContext &context_;
  NodePlaces places_;
  int32_t next_;
  uint64_t searchSteps_ = 2000000; // about a second
};

} // namespace bycc
