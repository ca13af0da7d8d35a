// Takes nodes from vendors whose regions are below the limits of the command line or
// of their vendor. Nodes that another vendor could have are offered
// to it: grouped again, alone or with what it has already, composites taken apart.
// The rest goes to the host. Every node is told why. A region that holds a pinned node stays.
//
//   %0 [va, vb]  a region of va, too small         %0 [vb]
//   %1 [vb]      a region of vb               =>   %1 [vb]  one region of vb
//
// With costs this is choose-plan, for which limits are a part of the plan.
//
// Each round takes a vendor from some nodes, so there is an end to it; after
// `maxOffers` rounds nodes go to the host directly, which changes no other region.

#include "bycc/Partition/Passes.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

#include "ApartReasons.h"
#include "Composites.h"
#include "Plan.h"
#include "PlanCosts.h"
#include "RegionGrouping.h"
#include "RegionLimits.h"
#include "Scopes.h"

#include <algorithm>
#include <map>
#include <set>

namespace bycc {

namespace {

constexpr int maxOffers = 8;

class Pruner {
public:
  Pruner(Module &module, PassContext &context)
      : module_(module), context_(context), limits_(module, context) {}

  bool run() {
    bool changed = false;
    for (int round = 0;; ++round) {
      mayOffer_ = round < maxOffers;
      regions_ = limits_.regions();
      if (!takeSmall())
        break;
      changed = true;
      takeComposites();
      groupAgain();
    }
    tellWhere();
    return changed;
  }

private:
  struct Verdict {
    const RegionContent *region;
    std::string why, reason;
  };

  bool takeSmall() {
    std::vector<Verdict> small;
    for (const RegionContent &region : regions_)
      if (std::string why = limits_.whyTooSmall(region); !why.empty())
        small.push_back({&region, why, itsRegion(region) + why});
    return takeNext(small);
  }

  // Of regions that are to go, those of one vendor that others could have part of:
  // two that are too small may be neighbours. When there are none, all of them.
  bool takeNext(const std::vector<Verdict> &verdicts) {
    auto first = std::ranges::find_if(
        verdicts, [&](const Verdict &verdict) { return mayOffer_ && canOffer(*verdict.region); });
    for (const Verdict &verdict : verdicts)
      if (first == verdicts.end() ||
          (verdict.region->vendor == first->region->vendor && canOffer(*verdict.region)))
        take(*verdict.region, verdict.region->nodes, verdict.why, verdict.reason);
    return !verdicts.empty();
  }

  bool canOffer(const RegionContent &region) const {
    return std::ranges::any_of(
        region.nodes, [&](NodeId node) { return module_.annotation(node)->vendors.size() > 1; });
  }

  std::string nameOf(const RegionContent &region) const {
    return std::string(module_.string(region.vendor));
  }
  static std::string itsRegion(const RegionContent &region) {
    return "its region of " + counted(region.ops, "op") + " and " + flopCount(region.flops) +
           " FLOPs is ";
  }

  // Takes the nodes from the region's vendor.
  void take(const RegionContent &region, const std::vector<NodeId> &nodes, const std::string &why,
            const std::string &reason) {
    int64_t returned = 0;
    for (NodeId node : nodes) {
      passOver(node, region.vendor, reason);
      Annotation annotation = *module_.annotation(node);
      annotation.vendors.erase(annotation.vendors.begin());
      if (mayOffer_ && !annotation.vendors.empty()) {
        offer(region, node, std::move(annotation), reason);
        continue;
      }
      for (StringId other : annotation.vendors)
        passOver(node, other,
                 nameOf(region) + " was chosen, and the region of " + nameOf(region) + " is " +
                     why);
      module_.setAnnotation(node, {});
      forEachOperator(module_, node, [&](NodeId) { ++returned; });
      if (compositeOf(module_, node))
        apart_[region.block.index].push_back(node);
    }
    if (context_.refusals && returned > 0)
      context_.refusals->addReturned({nameOf(region), why, returned});
  }

  void offer(const RegionContent &region, NodeId node, Annotation annotation,
             const std::string &reason) {
    for (NodeId call : operatorsApart(module_, node)) {
      if (context_.refusals)
        taken_.push_back({call, region.vendor, reason});
    }
    if (compositeOf(module_, node))
      apart_[region.block.index].push_back(node);
    if (annotation.region >= 0)
      regrouped_.insert(region.block.index);
    module_.setAnnotation(node, std::move(annotation));
  }

  void passOver(NodeId node, StringId vendor, const std::string &reason) {
    if (context_.refusals)
      forEachOperator(module_, node, [&](NodeId call) {
        context_.refusals->passOver(call, module_.string(vendor), reason);
      });
  }

  void takeComposites() {
    if (apart_.empty())
      return;
    Users users(module_);
    for (const auto &[block, calls] : apart_)
      dissolveComposites(module_, BlockId(block), calls, users, context_);
    apart_.clear();
  }

  void groupAgain() {
    if (regrouped_.empty() || !context_.vendors->mergeRegions)
      return;
    if (!grouping_)
      grouping_ = std::make_unique<RegionGrouping>(module_, context_, firstFreeRegion(module_));
    grouping_->refresh();
    for (uint32_t block : regrouped_)
      grouping_->group(BlockId(block));
    regrouped_.clear();
  }

  void tellWhere() {
    for (const auto &[node, vendor, reason] : taken_)
      if (const Annotation *annotation = module_.annotation(node);
          annotation && !annotation->vendors.empty())
        passOver(node, vendor,
                 reason + "; placed with " + std::string(module_.string(annotation->vendors[0])));
  }

  struct Taken {
    NodeId node;
    StringId vendor;
    std::string reason;
  };

  Module &module_;
  PassContext &context_;
  RegionLimits limits_;
  std::vector<RegionContent> regions_;
  bool mayOffer_ = true;
  std::vector<Taken> taken_;                      // and offered to another vendor
  std::map<uint32_t, std::vector<NodeId>> apart_; // composites that come apart, by block
  std::set<uint32_t> regrouped_;                  // blocks
  std::unique_ptr<RegionGrouping> grouping_;
};

} // namespace

Expected<bool> pruneRegions(Module &module, PassContext &context) {
  if (!context.vendors || context.vendors->size() == 0)
    return false;
  if (comparesCosts(module, context))
    return choosePlan(module, context);
  bool changed = Pruner(module, context).run();
  keepChosen(module, context.placement);
  keepApartReasons(module, context);
  return changed;
}

} // namespace bycc
