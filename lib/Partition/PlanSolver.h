// The plan of least time (PlanProblem.h), and how far from it any other can be.
//
// Starts (everything on the host, each vendor alone, all vendors together, from
// PlanSweep) give a first plan. A relaxation (PlanRelaxation) gives a bound that no
// plan is below; where the two do not meet, branch and bound over tiles, and, for
// problems that it cannot close, searches of small neighbourhoods one after the
// other. All of it is counted in steps, so the same problem gives the same plan on
// any machine. What is found depends on the order of vendors in the problem only:
// give them in an order of their own, not in that of a command line.
#pragma once

#include "PlanProblem.h"

#include <optional>
#include <vector>

namespace bycc {

// Larger problems get a rough plan and a rough bound: there are no more than a few
// looks at every item.
constexpr uint32_t manyItems = 20000;

struct PlanEffort {
  uint64_t steps = 100000;
};

struct PlanSolution {
  PlanAnswer plan;
  double time = 0;  // of the plan, timeOf(..).total()
  double bound = 0; // no legal plan takes less
  bool isProven() const { return bound >= time; }
};

// `known`: plans that are legal, to start from; the solution is never above one.
PlanSolution solvePlan(const PlanProblem &problem, const PlanEffort &effort,
                       const std::vector<PlanAnswer> &known = {});

// Of every item the least that a tile takes: no plan is below it. `raw`: as the
// vendors' numbers say, without trust.
double leastOfEach(const PlanProblem &problem, bool raw = false);

// The best plan of all vendors, and those of each vendor with the host alone, by
// number; none for [0], and where something can go to another vendor only. The first
// is never above any of the others, at this effort.
struct PlanChoice {
  PlanSolution best;
  std::vector<std::optional<PlanSolution>> alone;
};
PlanChoice choosePlans(const PlanProblem &problem, const PlanEffort &effort);

// The problem with the host and the vendors `mayUse` (by number) alone. Items and
// tensors keep their numbers; tiles get new ones, `tileOf` says which they were.
struct RestrictedProblem {
  PlanProblem problem;
  std::vector<uint32_t> tileOf;
  PlanAnswer toOriginal(PlanAnswer plan) const;
};
RestrictedProblem restrictTo(const PlanProblem &problem, const std::vector<uint8_t> &mayUse);
// Can every item be covered so?
bool isCoverable(const PlanProblem &problem);

} // namespace bycc
