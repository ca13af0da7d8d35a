// Makes fewer groups of a legal grouping by joining pairs; effort is bounded.
#pragma once

#include "RegionProblem.h"

namespace bycc {

// Shared values are looked at in the problem's order, or the largest first.
enum class JoinOrder : uint8_t { AsGiven, LargestFirst };

// Groups by their lowest member.
std::vector<uint32_t> joinGroups(const RegionProblem &problem, const std::vector<uint32_t> &groups,
                                 JoinOrder order);

} // namespace bycc
