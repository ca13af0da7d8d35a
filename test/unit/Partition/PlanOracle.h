// What plans are compared with: rules and prices written from the description of
// PlanProblem alone, and complete enumerations of plans.
#pragma once

#include "../../../lib/Partition/PlanProblem.h"

namespace bycc::cases {

// The rules as they stand, without any care for speed. A price is asked of plans
// that cover each item and mix no vendors in a region.
bool keepsRules(const PlanProblem &problem, const PlanAnswer &plan);
double priceOf(const PlanProblem &problem, const PlanAnswer &plan, bool raw = false);

// The least price of all legal plans; infinity when there are none. Every plan is
// looked at: up to 6 items.
double tryAllPlans(const PlanProblem &problem);
// The same, leaving out only what costs no less than the best plan so far, or breaks
// a rule, whatever the other items do: milliseconds for 12 items, up to 16. `best`:
// such a plan.
double bruteForce(const PlanProblem &problem, PlanAnswer *best = nullptr);

} // namespace bycc::cases
