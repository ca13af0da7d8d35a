// Lifted are refusals that a vendor could take back: what it said about an operator
// call by itself. Orders of the user, calls without inputs and what is said about
// composites are left alone.

#include "PriceRefusals.h"

#include "bycc/IR/Op.h"
#include "bycc/Target/RegionView.h"
#include "bycc/Target/Vendor.h"

#include "ApartReasons.h"
#include "AskVendor.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace bycc {

namespace {

constexpr size_t maxGroups = 64; // those of most nodes; each takes as long as the plan did

// The same plan of a problem that has more tiles.
PlanAnswer withTilesOf(const BlockPlan &other, const PlannedBlock &block) {
  PlanAnswer answer = block.solution.plan;
  const PlanProblem &from = block.plan.problem, &to = other.problem;
  for (uint32_t item = 0; item < from.size(); ++item) {
    uint32_t old = answer.tile[item];
    answer.tile[item] = *std::ranges::find_if(to.tilesOf[item], [&](uint32_t tile) {
      return to.tiles[tile].vendor == from.tiles[old].vendor &&
             other.candidates[tile] == block.plan.candidates[old];
    });
  }
  return answer;
}

bool speaksOfRunTime(const std::string &reason) {
  return std::ranges::any_of(
      std::initializer_list<const char *>{"run time", "run-time", "(?)", "static shapes"},
      [&](const char *words) { return reason.find(words) != reason.npos; });
}

// Symbols of a dim, those that an input of main has: they can be bound.
void addSymbols(const Module &module, Dim dim, std::set<std::string> &symbols) {
  if (dim.isConst() || dim.isUnknown())
    return;
  const DimExpr &expr = module.types.expr(dim);
  if (expr.op == DimOp::Symbol) {
    symbols.insert(expr.symbol);
    return;
  }
  addSymbols(module, expr.lhs, symbols);
  addSymbols(module, expr.rhs, symbols);
}

void addSymbols(const Module &module, TypeId type, std::set<std::string> &symbols) {
  for (TypeId tensor : module.types.flatten(type))
    if (module.types.isTensor(tensor))
      for (Dim dim : module.types.shape(tensor))
        addSymbols(module, dim, symbols);
}

} // namespace

std::vector<RefusalPricer::Group>
RefusalPricer::collect(std::span<const PlannedBlock> blocks) const {
  std::vector<Group> groups;
  std::map<std::tuple<StringId, std::string, std::string>, size_t> groupOf;
  for (size_t block = 0; block < blocks.size(); ++block)
    for (uint32_t item = 0; item < blocks[block].plan.items.size(); ++item) {
      NodeId node = blocks[block].plan.items[item];
      if (module_.node(node).kind != NodeKind::CallOp || module_.operands(node).empty())
        continue;
      std::string op(opInfo(module_.node(node).op).name);
      for (const auto &[vendor, reason] : context_.refusals->of(node, false)) {
        const Vendor *known = context_.vendors->find(vendor);
        if (!known || !whyKept(module_, context_.placement, *known, node).empty())
          continue;
        StringId name = module_.intern(vendor);
        auto [found, isNew] = groupOf.try_emplace({name, op, reason}, groups.size());
        if (isNew)
          groups.push_back({name, op, reason});
        groups[found->second].refusals.push_back({block, item});
      }
    }
  return groups;
}

void RefusalPricer::price(std::span<const PlannedBlock> blocks, RefusalPrices &prices) {
  groups_ = collect(blocks);
  std::ranges::stable_sort(groups_, std::ranges::greater(),
                           [](const Group &g) { return g.refusals.size(); });
  prices.numUntried = groups_.size() - std::min(groups_.size(), maxGroups);
  groups_.resize(groups_.size() - prices.numUntried);
  double time = 0;
  firstRegion_ = {0};
  for (const PlannedBlock &block : blocks) {
    time += timeOf(block.plan.problem, block.solution.plan, true).total();
    items_.push_back(block.plan.items);
    regionOf_.push_back(block.solution.plan.region);
    firstRegion_.push_back(firstRegion_.back() + countRegions(block.solution.plan));
  }
  for (Group &group : groups_) {
    group.time = time;
    group.regions = firstRegion_.back();
    lift(blocks, group);
  }
  std::ranges::stable_sort(groups_, {}, &Group::time);
  prices.us = time / 1e6;
  prices.hasVendors = costs_.numVendors() > 1;
  for (const Group &group : groups_) {
    RefusalPrice price{std::string(module_.string(group.vendor)),
                       group.op,
                       group.reason,
                       {},
                       (time - group.time) / 1e6,
                       group.regions};
    for (const Refusal &refusal : group.refusals)
      price.nodes.push_back(nodeName(module_, items_[refusal.block][refusal.item]));
    prices.prices.push_back(std::move(price));
  }
  prices.isKnown = true;
}

void RefusalPricer::lift(std::span<const PlannedBlock> blocks, Group &group) {
  group.regionOf.resize(blocks.size());
  for (size_t i = 0; i < group.refusals.size();) {
    size_t at = group.refusals[i].block;
    const PlannedBlock &block = blocks[at];
    LiftedRefusals lifted;
    for (; i < group.refusals.size() && group.refusals[i].block == at; ++i)
      lifted[block.plan.items[group.refusals[i].item]].push_back(group.vendor);
    BlockPlan plan = planner_.plan(block.plan.block, &lifted);
    PlanSolution solution = solvePlan(plan.problem, block.effort, {withTilesOf(plan, block)});
    group.time += timeOf(plan.problem, solution.plan, true).total() -
                  timeOf(block.plan.problem, block.solution.plan, true).total();
    group.regions +=
        static_cast<int64_t>(countRegions(solution.plan)) - countRegions(block.solution.plan);
    if (plan.items.size() <= longBlock)
      group.regionOf[at] = std::move(solution.plan.region);
  }
}

// --- boundaries

void RefusalPricer::priceBoundaries(RefusalPrices &prices) const {
  for (const ApartRegions &pair : context_.refusals->apart()) {
    uint32_t a = static_cast<uint32_t>(module_.annotation(pair.first)->region);
    uint32_t b = static_cast<uint32_t>(module_.annotation(pair.second)->region);
    size_t block =
        static_cast<size_t>(std::ranges::upper_bound(firstRegion_, a) - firstRegion_.begin()) - 1;
    a -= firstRegion_[block], b -= firstRegion_[block];
    BoundaryPrice boundary{"", "", pair.why, cheapest(block, a, b), {}};
    if (boundary.price && speaksOfRunTime(groups_[*boundary.price].reason))
      boundary.dims = dimsBetween(groups_[*boundary.price], block, a);
    prices.boundaries.push_back(std::move(boundary));
  }
}

// Of those that do, the one of the fewest nodes, then of the most gain.
std::optional<size_t> RefusalPricer::cheapest(size_t block, uint32_t a, uint32_t b) const {
  std::optional<size_t> best;
  for (size_t i = 0; i < groups_.size(); ++i)
    if (isOne(groups_[i], block, a, b) &&
        (!best || groups_[i].refusals.size() < groups_[*best].refusals.size()))
      best = i;
  return best;
}

// Is what both have one region, but for what the vendor no longer has?
bool RefusalPricer::isOne(const Group &group, size_t block, uint32_t a, uint32_t b) const {
  const std::vector<uint32_t> &before = regionOf_[block], &after = group.regionOf[block];
  uint32_t one = none;
  bool hasA = false, hasB = false;
  for (uint32_t item = 0; item < after.size(); ++item) {
    if ((before[item] != a && before[item] != b) || after[item] == none)
      continue;
    if (one != none && after[item] != one)
      return false;
    one = after[item];
    hasA |= before[item] == a;
    hasB |= before[item] == b;
  }
  return hasA && hasB;
}

// Symbols of the group's nodes that came into the region which `a` is in.
std::vector<std::string> RefusalPricer::dimsBetween(const Group &group, size_t block,
                                                    uint32_t a) const {
  const std::vector<uint32_t> &after = group.regionOf[block];
  uint32_t region = none;
  for (uint32_t item = 0; item < after.size(); ++item)
    if (regionOf_[block][item] == a && after[item] != none)
      region = after[item];
  std::set<std::string> symbols, bindable, found;
  for (const Refusal &refusal : group.refusals) {
    if (refusal.block != block || after[refusal.item] != region)
      continue;
    NodeId node = items_[block][refusal.item];
    addSymbols(module_, module_.type(node), symbols);
    for (NodeId operand : module_.operands(node))
      addSymbols(module_, module_.type(operand), symbols);
  }
  if (FunctionId main = module_.main())
    for (NodeId param : module_.function(main).params)
      addSymbols(module_, module_.type(param), bindable);
  std::ranges::set_intersection(symbols, bindable, std::inserter(found, found.end()));
  return {found.begin(), found.end()};
}

} // namespace bycc
