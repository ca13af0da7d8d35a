// Regions for tiles that are chosen already. Joining two regions of a vendor never
// costs: it saves a launch, and transfers if anything. What is left to find is which
// joins exclude each other; RegionJoiner.h and RegionBatches.h find good ones, and
// small problems are searched through.
#pragma once

#include "PlanProblem.h"

#include <optional>

namespace bycc {

enum class GroupingEffort : uint8_t { Quick, Careful };

// Regions that are legal but for limits.
PlanAnswer groupTiles(const PlanProblem &problem, std::vector<uint32_t> tile,
                      GroupingEffort effort);

// The same, with items of regions below their limits given to the host until every
// region keeps them; none when some of these items have no tile there.
std::optional<PlanAnswer> groupWithinLimits(const PlanProblem &problem, std::vector<uint32_t> tile,
                                            GroupingEffort effort);

// The legal grouping of least time, if that is below `upper`. Looks through all of
// them; `isComplete` becomes false when there are too many tiles or `steps`, which is
// counted down, runs out.
std::optional<PlanAnswer> searchGroupings(const PlanProblem &problem,
                                          const std::vector<uint32_t> &tile, double upper,
                                          uint64_t &steps, bool &isComplete);

} // namespace bycc
