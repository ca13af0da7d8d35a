// Takes the place of choose-vendors, merge-compiler-regions and prune-regions when
// a plan says where every node goes: the vendor of the plan to the front, the
// region of the plan, and back to the host what the plan has there. Regions that
// an edit left in pieces are split; whether all of them can run one after the other
// is found out by partition-graph.
//
// A vendor that failed on a node earlier in this compilation does not get it again,
// whatever the plan says, and regions cut for its sake stay cut.

#include "bycc/IR/Op.h"
#include "bycc/Partition/EstimatePlan.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/PartitionPlan.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/RegionView.h"
#include "bycc/Target/Vendor.h"

#include "ApartReasons.h"
#include "Composites.h"
#include "Plan.h"
#include "Scopes.h"
#include "SplitRegions.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace bycc {

namespace {

class Replayer {
public:
  Replayer(Module &module, PassContext &context)
      : module_(module), context_(context), rules_(*context.placement) {}

  Expected<bool> run() {
    for (BlockId block : hostBlocks(module_)) {
      std::vector<NodeId> composites; // that go to the host or another vendor
      for (NodeId node : module_.block(block).nodes)
        if (const PlanNode *row = rowOf(node))
          place(node, *row, composites);
      if (!composites.empty())
        dissolved_.emplace_back(block, std::move(composites));
    }
    if (!found_.empty())
      return Error(std::move(found_));
    if (!dissolved_.empty()) {
      Users users(module_);
      for (const auto &[block, calls] : dissolved_)
        dissolveComposites(module_, block, calls, users, context_);
    }
    BYCC_TRY(splitBrokenRegions(module_, context_));
    return changed_;
  }

private:
  // A composite's operators have rows that agree: it was formed so.
  const PlanNode *rowOf(NodeId node) const {
    const PlanNode *row = nullptr;
    forEachOperator(module_, node, [&](NodeId call) { row = rules_.plannedFor(call); });
    return row;
  }

  void place(NodeId node, const PlanNode &row, std::vector<NodeId> &composites) {
    const Annotation *old = module_.annotation(node);
    Annotation annotation = old ? *old : Annotation{};
    bool isLost = row.place != "host" && rules_.whyNot(node, row.place);
    if (row.place == "host" || isLost) {
      passOver(node, row, annotation, "the partition plan places it on the host");
      module_.setAnnotation(node, {});
      if (compositeOf(module_, node))
        composites.push_back(node);
      changed_ |= old != nullptr;
      return;
    }
    auto chosen = std::ranges::find(annotation.vendors, module_.intern(row.place));
    if (chosen == annotation.vendors.end()) {
      complain(node, row);
      return;
    }
    std::rotate(annotation.vendors.begin(), chosen, chosen + 1);
    annotation.region =
        numbers_
            .try_emplace({row.region, rules_.labelOf(node)}, static_cast<int32_t>(numbers_.size()))
            .first->second;
    passOver(node, row, annotation, "the partition plan places it in " + row.place);
    if (StringId owner = ownerOf(module_, node); owner && owner != annotation.vendors[0]) {
      std::erase(annotation.vendors, owner);
      composites.push_back(node);
    }
    changed_ = true;
    module_.setAnnotation(node, std::move(annotation));
  }

  void passOver(NodeId node, const PlanNode &row, const Annotation &annotation,
                const std::string &otherwise) {
    for (StringId id : annotation.vendors) {
      std::string vendor(module_.string(id));
      if (vendor == row.place || !context_.refusals)
        continue;
      forEachOperator(module_, node, [&](NodeId call) {
        const PlanNode *mine = rules_.plannedFor(call);
        auto why =
            std::ranges::find(mine->why, vendor, &std::pair<std::string, std::string>::first);
        context_.refusals->passOver(call, vendor, why == mine->why.end() ? otherwise : why->second);
      });
    }
  }

  void complain(NodeId node, const PlanNode &row) {
    if (found_.size() == maxDiagnostics)
      return;
    std::string reason;
    forEachOperator(module_, node, [&](NodeId call) {
      if (context_.refusals)
        for (const auto &[vendor, text] : context_.refusals->of(call))
          if (vendor == row.place && reason.empty())
            reason = ": " + text;
    });
    Diagnostic diagnostic;
    diagnostic.status = Status::Arg;
    diagnostic.location = module_.source(node);
    diagnostic.message = "--partition-plan: " + escaped(row.name) + " (" + escaped(row.op) +
                         ") is to go to " + escaped(row.place) + ", which refuses it" + reason;
    found_.push_back(std::move(diagnostic));
  }

  Module &module_;
  PassContext &context_;
  const PlacementRules &rules_;
  std::map<std::pair<int64_t, uint32_t>, int32_t> numbers_; // (region of the plan, label)
  std::vector<std::pair<BlockId, std::vector<NodeId>>> dissolved_;
  std::vector<Diagnostic> found_;
  bool changed_ = false;
};

// A plan that takes what it took when it was saved was chosen then: its bound, and
// what the best vendor alone takes, hold still.
void takeProof(PassContext &context) {
  const std::optional<PlanTotals> &totals = context.placement->orders.plan->totals;
  if (!context.estimate || !totals || !totals->estimate ||
      std::abs(totals->estimate->us - context.estimate->us) > 1e-6)
    return;
  PlanEstimate &estimate = *context.estimate;
  estimate.bestSingleUs = totals->estimate->bestSingleUs;
  estimate.boundUs = std::min(totals->estimate->boundUs, estimate.us);
  if (estimate.us > 0)
    estimate.bound = std::max(estimate.bound, estimate.time * estimate.boundUs / estimate.us);
}

} // namespace

Expected<bool> replayPlan(Module &module, PassContext &context) {
  if (!context.vendors || context.vendors->size() == 0)
    return false;
  if (!context.placement || !context.placement->orders.plan)
    return error(Status::Usage) << "replay-plan: there is no --partition-plan";
  bool changed = BYCC_TRY(Replayer(module, context).run());
  estimatePlan(module, context);
  takeProof(context);
  keepChosen(module, context.placement);
  keepApartReasons(module, context);
  return changed;
}

} // namespace bycc
