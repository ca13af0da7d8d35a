// Chooses what goes where. With costs: the plan of least time (PlanSolver.h) over
// operators, composites that could be formed, vendors and the host; its winners are
// made real: composites are formed, annotations have the vendor in front and the
// region. Without: the first vendor in the order of --annotate that takes a node has
// it, regions are as few as possible, and those below a limit go on to the next
// vendor or the host.
//
// Vendors are numbered by name, so the plan does not depend on the order in which
// they are given; that order decides between plans that take exactly the same time.

#include "bycc/IR/Op.h"
#include "bycc/Partition/EstimatePlan.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

#include "ApartReasons.h"
#include "BlockPlan.h"
#include "Composites.h"
#include "EstimatePlan.h"
#include "Plan.h"
#include "PlanGrouping.h"
#include "PlanPins.h"
#include "PlanSolver.h"
#include "PlanSweep.h"
#include "PriceRefusals.h"
#include "Scopes.h"

#include <algorithm>
#include <cmath>

namespace bycc {

namespace {

constexpr uint64_t fewSteps = 2000; // that any block gets

class PlanChooser {
public:
  PlanChooser(Module &module, PassContext &context)
      : module_(module), context_(context), costs_(module, context),
        planner_(module, context, costs_), pricer_(module, context, planner_, costs_) {}

  void run() {
    for (BlockId block : hostBlocks(module_))
      parts_.push_back({planner_.plan(block), {}, {}});
    for (Part &part : parts_)
      numItems_ += part.plan.problem.size();
    for (Part &part : parts_)
      part.effort = effortFor(part.plan.problem);
    solve();
    preferTyped();
    estimate();
    tell();
    if (context_.prices)
      pricer_.price(parts_, *context_.prices);
    apply();
  }

  // When regions that are apart are known.
  void priceBoundaries() const { pricer_.priceBoundaries(*context_.prices); }

private:
  using Part = PlannedBlock;

  PlanEffort effortFor(const PlanProblem &problem) const {
    return {std::max(fewSteps, context_.search.of(problem.size(), numItems_))};
  }

  // --- solving

  void solve() {
    std::vector<std::optional<double>> alone(costs_.numVendors() + 1, 0.0);
    for (Part &part : parts_) {
      const PlanProblem &problem = part.plan.problem;
      if (problem.size() > manyItems) {
        part.solution = solvePlan(problem, effortFor(problem));
        alone.assign(alone.size(), std::nullopt);
        continue;
      }
      PlanChoice choice = choosePlans(problem, effortFor(problem));
      for (uint32_t number = 1; number <= costs_.numVendors(); ++number)
        if (alone[number] && choice.alone[number])
          *alone[number] += timeOf(problem, choice.alone[number]->plan, true).total();
        else
          alone[number].reset();
      part.solution = std::move(choice.best);
    }
    for (uint32_t number = 1; number <= costs_.numVendors(); ++number)
      if (alone[number] && (!bestSingle_ || *alone[number] < *bestSingle_))
        bestSingle_ = alone[number];
  }

  // Of plans of exactly the same time: whole regions to the vendor that was named first.
  void preferTyped() {
    if (costs_.numVendors() < 2 || numItems_ > manyItems)
      return;
    for (Part &part : parts_)
      for (size_t typed = 0; typed < context_.vendors->size(); ++typed) {
        uint32_t number = costs_.numberOf(module_.intern((*context_.vendors)[typed].name()));
        uint32_t count = countRegions(part.solution.plan); // a move may change it
        for (uint32_t region = 0; region < count; ++region)
          moveIfEqual(part, region, number, typed);
      }
  }

  void moveIfEqual(Part &part, uint32_t region, uint32_t number, size_t typed) {
    const PlanProblem &problem = part.plan.problem;
    PlanAnswer other = part.solution.plan;
    for (uint32_t item = 0; item < problem.size(); ++item) {
      if (other.region[item] != region)
        continue;
      if (orderOf(problem.tiles[other.tile[item]].vendor) <= typed)
        return;
      uint32_t next = none;
      for (uint32_t tile : problem.tilesOf[item])
        if (problem.tiles[tile].vendor == number &&
            std::ranges::equal(problem.membersOf(tile), problem.membersOf(other.tile[item])))
          next = tile;
      if (next == none)
        return;
      other.tile[item] = next;
    }
    if (timeOf(problem, other).total() == part.solution.time && isLegal(problem, other))
      part.solution.plan = std::move(other);
  }

  size_t orderOf(uint32_t number) const {
    for (size_t i = 0; i < context_.vendors->size(); ++i)
      if (&(*context_.vendors)[i] == &costs_.vendor(number))
        return i;
    return context_.vendors->size();
  }

  // --- what is said

  void estimate() {
    PlanEstimate estimate;
    for (const Part &part : parts_) {
      addToEstimate(estimate, part.plan, part.solution.plan, costs_);
      if (context_.refusals)
        recordTimes(module_, part.plan, part.solution.plan, *context_.refusals);
      estimate.time += microseconds(part.solution.time);
      estimate.bound += microseconds(part.solution.bound);
      estimate.boundUs += microseconds(rawBound(part));
    }
    estimate.boundUs = wholePicoseconds(estimate.boundUs);
    estimate.bestSingleUs =
        bestSingle_ ? wholePicoseconds(microseconds(*bestSingle_)) : estimate.us;
    context_.estimate = std::move(estimate);
  }

  // No plan is faster in raw time; another problem where vendors are not trusted as they are.
  double rawBound(const Part &part) const {
    if (part.plan.problem.size() > manyItems)
      return leastOfEach(part.plan.problem, true);
    PlanProblem raw = part.plan.problem;
    bool differs = false;
    for (PlanProblem::Tile &tile : raw.tiles) {
      differs |= tile.time != tile.raw;
      tile.time = tile.raw;
    }
    for (PlanProblem::Vendor &vendor : raw.vendors) {
      differs |= vendor.trust != 1;
      vendor.launch = std::round(vendor.launch / vendor.trust);
      vendor.transfer = std::round(vendor.transfer / vendor.trust);
      vendor.perByte /= vendor.trust;
      vendor.perLaidOutByte /= vendor.trust;
      vendor.trust = 1;
    }
    if (!differs)
      return part.solution.bound;
    PlanEffort effort = effortFor(raw);
    constexpr uint32_t few = 160;             // that one search goes through
    effort.steps /= raw.size() > few ? 8 : 4; // no plan depends on it
    return solvePlan(raw, effort, {part.solution.plan}).bound;
  }

  // Every vendor that would take a node and does not have it is told why.
  void tell() {
    if (!context_.refusals)
      return;
    for (Part &part : parts_) {
      if (part.plan.hasChoice())
        tellDifferences(part);
      for (uint32_t item = 0; item < part.plan.items.size(); ++item) {
        const CompositeCandidate *candidate = part.plan.candidates[part.solution.plan.tile[item]];
        if (candidate)
          context_.refusals->accept(part.plan.items[item], candidate->vendor->name());
      }
    }
    tellIdleVendors();
  }

  void tellDifferences(Part &part) {
    const PlanProblem &problem = part.plan.problem;
    const std::vector<uint32_t> &chosen = part.solution.plan.tile;
    std::vector<std::string> whyChosen; // by vendor that has a node
    for (uint32_t number = 0; number <= costs_.numVendors(); ++number)
      whyChosen.push_back(placeText(number) + " has it, as the plan of least estimated time wants");
    std::optional<PlanSweep> sweep;
    if (problem.size() <= manyItems) {
      sweep.emplace(problem);
      sweep->start(chosen);
    }
    for (uint32_t item = 0; item < problem.size(); ++item)
      for (uint32_t tile : problem.tilesOf[item]) {
        uint32_t vendor = problem.tiles[tile].vendor, has = problem.tiles[chosen[item]].vendor;
        bool isComposite = problem.isComposite(tile);
        if (vendor == host || vendor == has || (isComposite && problem.membersOf(tile)[0] != item))
          continue;
        double more = 0;
        if (sweep) {
          more = sweep->move(tile);
          sweep->undo();
        }
        std::string dear;
        if (more > 1000)
          dear = placeText(has) + " has it, moving it would cost " + timeText(microseconds(more)) +
                 " more (estimated)";
        const std::string &why = dear.empty() ? whyChosen[has] : dear;
        if (isComposite)
          tellMembers(*part.plan.candidates[tile], why);
        else
          forEachOperator(module_, part.plan.items[item], [&](NodeId call) {
            context_.refusals->passOver(call, module_.string(costs_.nameOf(vendor)), why);
          });
      }
  }

  // Of operators that the vendor refuses alone.
  void tellMembers(const CompositeCandidate &candidate, const std::string &why) {
    for (NodeId call : candidate.operators)
      context_.refusals->setPattern(call, candidate.vendor->name(),
                                    candidate.name() + " would take it: " + why);
  }

  std::string placeText(uint32_t vendor) const {
    return vendor == host ? "the host" : std::string(module_.string(costs_.nameOf(vendor)));
  }

  // A vendor that could have something and gets nothing at all.
  void tellIdleVendors() {
    for (uint32_t number = 1; number <= costs_.numVendors(); ++number) {
      if (isUsed(number) || !couldBeUsed(number))
        continue;
      double alone = 0;
      for (const Part &part : parts_)
        alone += timeWithAll(part.plan.problem, number);
      const PlanEstimate &estimate = *context_.estimate;
      std::string where = estimate.us < estimate.hostUs ? "elsewhere" : "on the host";
      context_.refusals->setIdle(std::string(module_.string(costs_.nameOf(number))),
                                 "all faster " + where + ": " + timeText(estimate.us) +
                                     " against " + timeText(microseconds(alone)) +
                                     "; --cost-model=none offloads");
    }
  }

  bool isUsed(uint32_t number) const {
    return std::ranges::any_of(parts_, [&](const Part &part) {
      return std::ranges::any_of(part.solution.plan.tile, [&](uint32_t tile) {
        return part.plan.problem.tiles[tile].vendor == number;
      });
    });
  }

  bool couldBeUsed(uint32_t number) const {
    return std::ranges::any_of(parts_, [&](const Part &part) {
      return std::ranges::any_of(part.plan.problem.tiles, [&](const PlanProblem::Tile &tile) {
        return tile.vendor == number;
      });
    });
  }

  // With all that the vendor could have.
  static double timeWithAll(const PlanProblem &problem, uint32_t number) {
    std::vector<uint32_t> tile(problem.size());
    for (uint32_t item = 0; item < problem.size(); ++item) {
      tile[item] = problem.tilesOf[item][0];
      for (uint32_t each : problem.tilesOf[item])
        if (problem.tiles[each].vendor == number && !problem.isComposite(each))
          tile[item] = each;
    }
    for (uint32_t each = 0; each < problem.tiles.size(); ++each)
      if (problem.tiles[each].vendor == number && problem.isComposite(each) &&
          std::ranges::none_of(problem.membersOf(each),
                               [&](uint32_t member) { return problem.isComposite(tile[member]); }))
        for (uint32_t member : problem.membersOf(each))
          tile[member] = each;
    return timeOf(problem, groupTiles(problem, std::move(tile), GroupingEffort::Quick), true)
        .total();
  }

  // --- making it real

  void apply() {
    CompositeFormer former(module_, context_);
    std::vector<std::pair<BlockId, std::vector<NodeId>>> apart; // formed before, not wanted
    int32_t firstRegion = 0;
    for (Part &part : parts_) {
      apart.push_back({part.plan.block, {}});
      int32_t count = 0;
      for (uint32_t item = 0; item < part.plan.items.size(); ++item) {
        uint32_t region = part.solution.plan.region[item];
        if (region != none)
          count = std::max(count, static_cast<int32_t>(region) + 1);
        place(part, item, region == none ? -1 : firstRegion + static_cast<int32_t>(region),
              apart.back().second);
      }
      firstRegion += count;
    }
    for (const Part &part : parts_)
      for (uint32_t item = 0; item < part.plan.items.size(); ++item) {
        uint32_t tile = part.solution.plan.tile[item];
        const CompositeCandidate *candidate = part.plan.candidates[tile];
        if (candidate && part.plan.problem.membersOf(tile)[0] == item)
          former.claim(*candidate);
      }
    former.finish();
    std::erase_if(apart, [](const auto &entry) { return entry.second.empty(); });
    if (!apart.empty()) {
      Users users(module_);
      for (const auto &[block, calls] : apart)
        dissolveComposites(module_, block, calls, users, context_);
    }
    context_.composites.reset();
  }

  void place(const Part &part, uint32_t item, int32_t region, std::vector<NodeId> &apart) {
    NodeId node = part.plan.items[item];
    const PlanProblem &problem = part.plan.problem;
    uint32_t tile = part.solution.plan.tile[item], vendor = problem.tiles[tile].vendor;
    const Annotation *old = module_.annotation(node);
    Annotation annotation;
    const CompositeCandidate *candidate = part.plan.candidates[tile];
    bool isInner = candidate && candidate->root() != node;
    if (vendor != host && !isInner) {
      annotation.vendors.push_back(costs_.nameOf(vendor));
      annotation.region = region;
      if (old && !candidate)
        for (StringId other : old->vendors)
          if (other != annotation.vendors[0])
            annotation.vendors.push_back(other);
    }
    if (StringId owner = ownerOf(module_, node);
        owner && (vendor == host || owner != costs_.nameOf(vendor))) {
      std::erase(annotation.vendors, owner);
      apart.push_back(node);
    }
    if (old || !annotation.vendors.empty())
      module_.setAnnotation(node, std::move(annotation));
  }

  Module &module_;
  PassContext &context_;
  PlanCosts costs_;
  BlockPlanner planner_;
  RefusalPricer pricer_;
  std::vector<Part> parts_;
  uint64_t numItems_ = 0;
  std::optional<double> bestSingle_; // raw picoseconds
};

} // namespace

Expected<bool> choosePlan(Module &module, PassContext &context) {
  if (!context.vendors || context.vendors->size() == 0 || context.isPlanChosen)
    return false;
  if (!comparesCosts(module, context)) {
    bool changed = BYCC_TRY(chooseVendors(module, context));
    if (context.vendors->mergeRegions)
      changed |= BYCC_TRY(mergeCompilerRegions(module, context));
    changed |= BYCC_TRY(pruneRegions(module, context));
    estimatePlan(module, context);
    return changed;
  }
  BYCC_TRY(checkPins(module, context));
  PlanChooser chooser(module, context);
  chooser.run();
  context.isPlanChosen = true;
  keepChosen(module, context.placement);
  keepApartReasons(module, context);
  if (context.prices)
    chooser.priceBoundaries();
  return true;
}

} // namespace bycc
