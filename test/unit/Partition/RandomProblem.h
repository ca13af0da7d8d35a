// Seeded random grouping problems, and what they are compared with: a plain
// exhaustive search and Relay's greedy merging, both written from the merging
// rule alone.
#pragma once

#include "../../../lib/Partition/RegionProblem.h"

namespace bycc::cases {

struct ProblemShape {
  uint32_t maxItems = 14;
  uint32_t vendors = 1;
  bool hasApart = false; // some values may not pass inside a region
  bool hasSizes = false; // tensors of 1 to 1024 bytes
};
// Operators that each read one or two earlier values or one of three inputs.
RegionProblem randomProblem(uint32_t seed, const ProblemShape &shape);

// Only what shared values link is in one region.
bool isLinked(const RegionProblem &problem, const RegionAssignment &regions);

// Is there a legal assignment that scores less? Every one is looked at, leaving
// out only those whose part so far is illegal or scores no less.
enum class Found : uint8_t { Yes, No, CutShort };
Found findBetter(const RegionProblem &problem, RegionScore score);

// Regions of Relay's MergeCompilerRegions: each region absorbs those of its
// inputs, in order of their number, unless a path leads back from it through
// something it cannot contain (nor may it contain calls that must be apart). The
// host's regions merge too.
RegionAssignment mergeAsRelay(const RegionProblem &problem);

} // namespace bycc::cases
