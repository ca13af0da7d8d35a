// Regions from a schedule of batches, each of one vendor; linear.
#pragma once

#include "RegionProblem.h"

namespace bycc {

enum class Direction : uint8_t { FromInputs, FromResults };

// Linked parts of the batches: the lowest member of its part for each item.
std::vector<uint32_t> partsOfBatches(const RegionProblem &problem, Direction direction);

} // namespace bycc
