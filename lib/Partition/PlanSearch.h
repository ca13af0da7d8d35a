// Looks through all plans of a small problem.
#pragma once

#include "PlanProblem.h"

#include <optional>

namespace bycc {

// More items are not searched.
constexpr uint32_t maxSearchedItems = 20;

// The plan of least time, if that is below `upper`. One of `steps` is taken off for
// each place that an item is tried in; `isComplete` says whether they were enough.
std::optional<PlanAnswer> searchPlans(const PlanProblem &problem, double upper, uint64_t &steps,
                                      bool &isComplete);

} // namespace bycc
