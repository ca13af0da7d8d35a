// Takes nodes from vendors whose regions are not worth their transfers: those below
// the limits of the command line or of their vendor, and those that the cost model
// thinks faster on the host (launch, operators, and every tensor across the border,
// against operators of the host). Nodes that another vendor could have are offered
// to it: grouped again, alone or with what it has already, composites taken apart.
// The rest goes to the host. Every node is told why. A region that holds a pinned node stays.
//
//   %0 [va, vb]  a region of va, too small         %0 [vb]
//   %1 [vb]      a region of vb               =>   %1 [vb]  one region of vb
//
// Where costs are compared, nodes that came to a region in this way have to pay for
// themselves there. And a user who asks for a vendor gets it: of a program whose
// regions would all go, the best one stays.
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
#include "RegionGrouping.h"
#include "RegionWorth.h"
#include "Scopes.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

namespace bycc {

namespace {

constexpr int maxOffers = 8;
constexpr const char *fasterOnHost = "estimated faster on the host";

class Pruner {
public:
  Pruner(Module &module, PassContext &context)
      : module_(module), context_(context), worth_(module, context) {}

  bool run() {
    bool changed = false;
    for (int round = 0;; ++round) {
      mayOffer_ = round < maxOffers;
      regions_ = worth_.regions();
      if (!takeSmall() && !takeUnpaidOffers() && !takeSlow())
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
      if (std::string why = worth_.whyTooSmall(region); !why.empty())
        small.push_back({&region, why, itsRegion(region) + why});
    return takeNext(small);
  }

  // The time of a region with and without what was offered to its vendor.
  bool takeUnpaidOffers() {
    bool found = false;
    for (const RegionContent &region : regions_) {
      if (!worth_.hasCost(region.vendor))
        continue;
      std::vector<NodeId> offered, rest;
      for (NodeId node : region.nodes)
        (offered_.contains(node) ? offered : rest).push_back(node);
      if (offered.empty() || rest.empty())
        continue;
      EstimatedTimes times = worth_.timesOf(region.vendor, offered);
      times.here = worth_.timesOf(region.vendor, region.nodes).here -
                   worth_.timesOf(region.vendor, rest).here;
      if (!times.isFasterOnHost())
        continue;
      take(region, offered, fasterOnHost,
           "in the region of " + nameOf(region) + " it would be slower than on the host: " +
               timeText(times.here) + " against " + timeText(times.onHost) + " (estimated)");
      found = true;
    }
    return found;
  }

  bool takeSlow() {
    struct Slow {
      const RegionContent *region;
      EstimatedTimes times;
    };
    std::vector<Slow> slow;
    for (const RegionContent &region : regions_)
      if (worth_.hasCost(region.vendor) && !region.isPinned)
        if (EstimatedTimes times = worth_.timesOf(region.vendor, region.nodes);
            times.isFasterOnHost())
          slow.push_back({&region, times});
    if (!slow.empty() && slow.size() == regions_.size())
      slow.erase(std::ranges::min_element(slow, {}, [](const Slow &each) {
        return each.times.here / each.times.onHost;
      }));
    std::vector<Verdict> verdicts;
    for (const auto &[region, times] : slow)
      verdicts.push_back({region, fasterOnHost,
                          itsRegion(*region) + fasterOnHost + ": " + timeText(times.onHost) +
                              " against " + timeText(times.here)});
    return takeNext(verdicts);
  }

  // Of regions that are to go, those of one vendor that others could have part of:
  // two that are too small may be neighbours. When there are none, all of them.
  bool takeNext(const std::vector<Verdict> &verdicts) {
    auto first = std::ranges::find_if(
        verdicts, [&](const Verdict &verdict) { return mayOffer_ && canOffer(*verdict.region); });
    for (const Verdict &verdict : verdicts)
      if (first == verdicts.end() || (verdict.region->vendor == first->region->vendor &&
                                      canOffer(*verdict.region)))
        take(*verdict.region, verdict.region->nodes, verdict.why, verdict.reason);
    return !verdicts.empty();
  }

  bool canOffer(const RegionContent &region) const {
    return std::ranges::any_of(region.nodes, [&](NodeId node) {
      return module_.annotation(node)->vendors.size() > 1;
    });
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
                 nameOf(region) + " was chosen, and the region of " + nameOf(region) + " is " + why);
      module_.setAnnotation(node, {});
      offered_.erase(node);
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
      offered_.insert(call);
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
    worth_.refresh();
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
  RegionWorth worth_;
  std::vector<RegionContent> regions_;
  bool mayOffer_ = true;
  std::unordered_set<NodeId> offered_; // have another vendor than at first
  std::vector<Taken> taken_;           // and offered to another vendor
  std::map<uint32_t, std::vector<NodeId>> apart_; // composites that come apart, by block
  std::set<uint32_t> regrouped_;                  // blocks
  std::unique_ptr<RegionGrouping> grouping_;
};

} // namespace

Expected<bool> pruneRegions(Module &module, PassContext &context) {
  if (!context.vendors || context.vendors->size() == 0)
    return false;
  bool changed = Pruner(module, context).run();
  keepChosen(module, context.placement);
  keepApartReasons(module, context);
  return changed;
}

} // namespace bycc
