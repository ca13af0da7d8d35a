// The RegionProblem of one block, with its ties to the IR.
#pragma once

#include "bycc/Partition/AnnotatedRegions.h"

#include "RegionProblem.h"

namespace bycc {

struct BlockProblem {
  RegionProblem problem;
  // Name and label (PlacementRules) behind each vendor number: nodes of two
  // labels are never one region. A vendor that takes every call as a region of its
  // own has a label for each, with ownLabel in it.
  static constexpr uint32_t ownLabel = 0x80000000u;
  std::vector<std::pair<StringId, uint32_t>> vendors;
  std::vector<TensorRef> tensors;     // as problem.tensors; those of one maker stand together
  std::vector<uint32_t> tensorsBegin; // by item: the first of its tensors; one more entry
};

// Cost: the block and everything inside it. `context` may be null.
BlockProblem makeBlockProblem(const Module &module, const NodePlaces &places, BlockId block,
                              const PassContext *context);

} // namespace bycc
