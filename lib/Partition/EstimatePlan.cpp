#include "EstimatePlan.h"

#include "bycc/Partition/EstimatePlan.h"
#include "bycc/Target/Vendor.h"

#include "Composites.h"
#include "PlanSolver.h"
#include "Scopes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace bycc {

namespace {

constexpr uint64_t boundSteps = 2000; // a bound of plans that are made without costs is rough

} // namespace

double wholePicoseconds(double microseconds) { return std::round(microseconds * 1e6) / 1e6; }

void addToEstimate(PlanEstimate &estimate, const BlockPlan &block, const PlanAnswer &plan,
                   const PlanCosts &costs) {
  estimate.hasVendors = costs.numVendors() > 0;
  estimate.parts.resize(std::max<size_t>(estimate.parts.size(), costs.numVendors() + 1));
  estimate.parts[0].name = "host";
  std::vector<PlanTime> times = timesOf(block.problem, plan, true);
  double measured = 0;
  for (uint32_t number = 0; number < times.size(); ++number) {
    PlanEstimate::Part &part = estimate.parts[number];
    if (number > 0)
      part.name = costs.vendor(number).name();
    part.operators += microseconds(times[number].tiles);
    part.launches += microseconds(times[number].launches);
    part.transfers += microseconds(times[number].transfers);
    if (number == 0 ? costs.isHostMeasured() : costs.isMeasured(number))
      measured += microseconds(times[number].total());
  }
  double before = estimate.us, total = 0;
  for (const PlanTime &time : times)
    total += microseconds(time.total());
  estimate.us = wholePicoseconds(before + total);
  if (estimate.us > 0)
    estimate.measuredShare = (estimate.measuredShare * before + measured) / estimate.us;
  double alone = 0; // all on the host
  for (uint32_t item = 0; item < block.items.size(); ++item) {
    // The host's tile, if there is one, comes first.
    const PlanProblem::Tile &first = block.problem.tiles[block.problem.tilesOf[item][0]];
    alone += first.vendor == host ? first.raw : costs.onHost(block.items[item]);
  }
  estimate.hostUs = wholePicoseconds(estimate.hostUs + microseconds(alone));
}

void recordTimes(const Module &module, const BlockPlan &block, const PlanAnswer &plan,
                 RefusalLog &refusals) {
  for (uint32_t item = 0; item < block.items.size(); ++item) {
    NodeId node = block.items[item];
    if (module.node(node).kind != NodeKind::CallOp && !compositeOf(module, node))
      continue; // what a branch takes is not told apart
    double us = microseconds(block.problem.tiles[plan.tile[item]].raw);
    forEachOperator(module, node, [&](NodeId call) { refusals.setTime(call, us); });
  }
}

void estimatePlan(Module &module, PassContext &context) {
  if (context.estimate || !context.hostTimes())
    return;
  PlanCosts costs(module, context);
  BlockPlanner planner(module, context, costs);
  PlanEstimate estimate;
  double trusted = 0, bound = 0;
  for (BlockId block : hostBlocks(module)) {
    BlockPlan plan = planner.plan(block);
    PlanAnswer answer = planOfAnnotations(module, plan, costs);
    addToEstimate(estimate, plan, answer, costs);
    if (context.refusals)
      recordTimes(module, plan, answer, *context.refusals);
    trusted += timeOf(plan.problem, answer).total();
    double least = !plan.hasChoice()                 ? timeOf(plan.problem, answer).total()
                   : plan.problem.size() > manyItems ? leastOfEach(plan.problem)
                                                     : solvePlan(plan.problem, {boundSteps}).bound;
    bound += least;
  }
  estimate.time = microseconds(trusted);
  estimate.bound = microseconds(std::min(bound, trusted));
  estimate.boundUs = std::min(wholePicoseconds(estimate.bound), estimate.us);
  estimate.bestSingleUs = estimate.us;
  context.estimate = std::move(estimate);
}

std::string PlanEstimate::text() const {
  std::string text = "estimated " + timeText(us) + " (host alone " + timeText(hostUs);
  if (hasVendors)
    text += ", best single vendor " + timeText(bestSingleUs);
  char proof[48];
  double gap = time > 0 ? std::max(0.0, 100 * (time - bound) / time) : 0;
  std::snprintf(proof, sizeof proof, "), proven within %.1f %%", gap);
  return text + proof;
}

} // namespace bycc
