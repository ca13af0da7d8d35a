#include "PlanSolver.h"

#include "PlanAnnealing.h"
#include "PlanGrouping.h"
#include "PlanRelaxation.h"
#include "PlanSearch.h"
#include "PlanSweep.h"
#include "PlanWindow.h"
#include "RegionMoves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace bycc {

namespace {

constexpr uint32_t sweepPasses = 8;
constexpr uint32_t manyTogether = 160; // fewer are searched through at once
constexpr uint32_t rootSweeps = 400, chainSweeps = 32, nodeSweeps = 24, lastSweeps = 4000;
constexpr double usualGain = 1e-4, lastGain = 2e-6;         // of the bound, by a few sweeps
constexpr double chainShares[] = {0.5, 1, 0.2, 0.8};        // of launches, counted by chains
constexpr uint32_t windowSizes[] = {10, 18, 30};            // items
constexpr uint64_t leastPerItem = 300, mostPerItem = 37500; // steps for a window
constexpr uint64_t windowCost = 500;                        // of making one
// What is left to gain in large problems, as a part of the bound: from where on windows are
// searched quickly only, what may be left for branch and bound, and what is enough.
constexpr double near = 0.01, almost = 0.005, enough = 0.0005;
constexpr uint64_t branchPart = 8;         // of the steps of large problems, at most
constexpr uint64_t nearPart = 5;           // ... of small ones, where the gap is small
constexpr double leastGain = 0.01;         // of a round of windows, of what is left to gain
constexpr double annealShare = 0.75;       // of the steps that are left
constexpr double annealSmallShare = 0.125; // where the gap is small, or the problem is
constexpr uint64_t moveCost = 4;           // of moving regions, per item
constexpr uint64_t smallSteps = 400000;    // at least, to look through all plans of few items
constexpr uint64_t groupingSteps = 20000;  // of one leaf

class Solver {
public:
  // `steps` are counted down: one is an item looked at in a factor of the relaxation, or
  // one that is grouped, somewhat below a microsecond each.
  // `leastSearch`: that a small problem may take to look through all plans, whatever `steps`.
  Solver(const PlanProblem &problem, uint64_t &steps, uint64_t leastSearch)
      : problem_(problem), steps_(steps), leastSearch_(leastSearch), sweep_(problem) {}

  PlanSolution run(const std::vector<PlanAnswer> &known) {
    for (const PlanAnswer &plan : known)
      offer(plan);
    startFromSweeps();
    moveRegions();
    PlanSolution solution;
    if (problem_.size() <= maxSearchedItems && searchAll()) {
      solution.bound = bestTime_;
    } else if (problem_.size() <= manyItems) {
      solution.bound = relaxAndSearch();
    } else {
      solution.bound = leastOfEach(problem_);
    }
    solution.plan = std::move(best_);
    solution.time = bestTime_;
    solution.bound = std::min(solution.bound, bestTime_);
    return solution;
  }

private:
  // --- plans that are found

  bool offer(const PlanAnswer &plan) {
    double time = timeOf(problem_, plan).total();
    if (!best_.tile.empty() && time >= bestTime_)
      return false;
    best_ = plan;
    bestTime_ = time;
    return true;
  }

  bool offerTiles(std::vector<uint32_t> tile, GroupingEffort effort) {
    if (!isCover(tile))
      return false;
    spend(4 * problem_.size());
    std::optional<PlanAnswer> plan = groupWithinLimits(problem_, std::move(tile), effort);
    return plan && offer(*plan);
  }

  // Has every item a tile, and every composite all of its items?
  bool isCover(const std::vector<uint32_t> &tile) const {
    for (uint32_t item = 0; item < tile.size(); ++item)
      for (uint32_t member : problem_.membersOf(tile[item]))
        if (tile[member] != tile[item])
          return false;
    return tile.size() == problem_.size();
  }

  bool spend(uint64_t steps) {
    bool had = steps_ >= steps;
    steps_ -= std::min(steps_, steps);
    return had;
  }

  // --- starts

  void startFromSweeps() {
    uint32_t numVendors = static_cast<uint32_t>(problem_.vendors.size());
    bool isLarge = problem_.size() > manyItems;
    GroupingEffort effort = isLarge ? GroupingEffort::Quick : GroupingEffort::Careful;
    std::vector<uint8_t> all(numVendors, 1);
    std::vector<uint32_t> tile = sweep_.choose(all);
    sweep_.improve(tile, all, isLarge ? 1 : sweepPasses);
    offerTiles(std::move(tile), effort);
    std::vector<uint8_t> only(numVendors, 0);
    only[host] = 1;
    offerTiles(hostTiles(), effort);
    for (uint32_t vendor = 1; vendor < numVendors && !isLarge && numVendors > 2; ++vendor) {
      only[vendor] = 1;
      tile = sweep_.choose(only);
      sweep_.improve(tile, only, sweepPasses);
      offerTiles(std::move(tile), effort);
      only[vendor] = 0;
    }
  }

  // On the host whatever can be there.
  std::vector<uint32_t> hostTiles() const {
    std::vector<uint32_t> tile(problem_.size());
    for (uint32_t item = 0; item < problem_.size(); ++item) {
      uint32_t single = problem_.singleOf(item, host);
      tile[item] = single == none ? problem_.tilesOf[item][0] : single;
    }
    return tile;
  }

  // Whole regions to the host, or to another vendor, while that pays.
  void moveRegions() {
    if (problem_.size() > manyItems)
      return;
    RegionMoves moves(problem_);
    while (spend(moveCost * problem_.size())) {
      std::vector<uint32_t> tile = moves.improve(best_);
      if (tile.empty() || !offerTiles(std::move(tile), GroupingEffort::Quick))
        break;
    }
  }

  // --- bounds

  // True when all plans were looked at.
  bool searchAll() {
    bool isComplete = true;
    uint64_t share = std::max(2 * steps_, leastSearch_), left = share;
    if (std::optional<PlanAnswer> plan = searchPlans(problem_, bestTime_, left, isComplete))
      offer(*plan);
    spend((share - left) / 4); // these are short
    return isComplete;
  }

  double relaxAndSearch() {
    bool isLarge = problem_.size() > manyTogether;
    uint64_t steps = steps_;
    PlanRelaxation relaxation(problem_);
    double least = leastOfEach(problem_);
    double bound = std::max(relax(relaxation, rootSweeps, isLarge ? 8 : 3), least);
    if (bound >= bestTime_)
      return bound;
    offerTiles(relaxation.rounded(), GroupingEffort::Careful);
    if (isLarge && gap(bound) <= enough)
      return bound;
    if (bound < bestTime_)
      bound = std::max(bound, relaxChains(relaxation));
    if (bound < bestTime_)
      bound = std::max(bound, relax(relaxation, rootSweeps, 3));
    if (isLarge && gap(bound) > enough) {
      offerTiles(relaxation.rounded(), GroupingEffort::Careful);
      anneal(gap(bound) > near ? annealShare : annealSmallShare);
      improveByWindows(bound);
      bound = std::max(bound, relax(relaxation, lastSweeps, 1, lastGain));
    }
    if (bound >= bestTime_)
      return bound;
    if (!isLarge)
      anneal(annealSmallShare);
    if (isLarge && (gap(bound) > almost || gap(bound) <= enough))
      return bound; // it would not end, or need not begin
    if (isLarge || gap(bound) <= near)
      steps_ = std::min(steps_, steps / (isLarge ? branchPart : nearPart));
    open_ = 0;
    hasOpen_ = false;
    branch(std::move(relaxation), 0);
    return hasOpen_ ? std::max(bound, std::min(open_, bestTime_)) : bestTime_;
  }

  double gap(double bound) const { return (bestTime_ - bound) / bound; }

  // With a part of the steps that are left.
  double relax(PlanRelaxation &relaxation, uint32_t sweeps, uint32_t part,
               double leastGain = usualGain) {
    uint64_t share = std::max<uint64_t>(steps_ / part, 4 * uint64_t{problem_.size()});
    uint64_t left = share;
    double bound = relaxation.run(sweeps, bestTime_, left, leastGain);
    spend(share - left);
    isSettled_ = left > share / 4;
    return bound;
  }

  // Launches counted by chains, too: a part of all vendors' that says more than none,
  // then of each by itself; a few sweeps tell. `best` becomes the relaxation with the
  // highest bound.
  double relaxChains(PlanRelaxation &best) {
    double highest = best.bound();
    std::vector<double> shares(problem_.vendors.size(), 0);
    auto consider = [&](std::vector<double> those) {
      if (those == shares || highest >= bestTime_ || steps_ == 0)
        return;
      PlanRelaxation relaxation(best, those);
      if (double bound = relax(relaxation, chainSweeps, 16); bound > highest) {
        best = std::move(relaxation);
        highest = bound;
        shares = std::move(those);
      }
    };
    if (std::ranges::none_of(problem_.vendors, [](const PlanProblem::Vendor &vendor) {
          return vendor.merges && vendor.launch > 0;
        }))
      return highest;
    for (double share : chainShares)
      consider(std::vector<double>(shares.size(), share));
    for (uint32_t vendor = 1; vendor < shares.size() && shares.size() > 2; ++vendor)
      for (double share : {0.0, 0.5, 0.8, 1.0}) {
        std::vector<double> those = shares;
        those[vendor] = share;
        consider(std::move(those));
      }
    return highest;
  }

  // --- branch and bound: depth first, best tile first

  void leaveOpen(double bound) {
    open_ = hasOpen_ ? std::min(open_, bound) : bound;
    hasOpen_ = true;
  }

  void branch(PlanRelaxation node, uint32_t depth) {
    if (node.isInfeasible())
      return;
    double bound = node.run(depth == 0 ? 1 : nodeSweeps, bestTime_, steps_);
    if (bound >= bestTime_)
      return;
    if (!spend(problem_.size())) {
      leaveOpen(bound);
      return;
    }
    node.excludeAbove(bestTime_ - 1);
    if (node.isInfeasible())
      return;
    offerTiles(node.rounded(), GroupingEffort::Quick);
    if (bound >= bestTime_)
      return;
    uint32_t item = node.mostOpenItem();
    if (item == none) {
      leaf(node.rounded(), bound);
      return;
    }
    std::vector<std::pair<double, uint32_t>> tiles;
    for (uint32_t tile : problem_.tilesOf[item])
      if (node.isUsable(tile))
        tiles.emplace_back(node.reducedCost(item, tile), tile);
    std::ranges::sort(tiles);
    for (auto [cost, tile] : tiles) {
      PlanRelaxation child = node;
      child.fix(item, tile);
      branch(std::move(child), depth + 1);
    }
  }

  void leaf(const std::vector<uint32_t> &tile, double bound) {
    bool isComplete = true;
    uint64_t share = std::min(groupingSteps, std::max<uint64_t>(steps_, 1000)), left = share;
    std::optional<PlanAnswer> plan = searchGroupings(problem_, tile, bestTime_, left, isComplete);
    spend(share - left);
    if (plan)
      offer(*plan);
    if (!isComplete)
      leaveOpen(bound);
  }

  // --- neighbourhoods

  // With a share of the steps that are left.
  void anneal(double part) {
    uint64_t share = static_cast<uint64_t>(static_cast<double>(steps_) * part), left = share;
    std::optional<PlanAnswer> plan = PlanAnnealing(problem_).improve(best_, left);
    spend(share - left);
    if (plan && isLegal(problem_, *plan))
      offer(*plan);
  }

  // Around every item in turn, until a whole round finds little; then larger ones, and
  // all again with more steps for each. None is searched twice as it is.
  void improveByWindows(double bound) {
    PlanWindows windows(problem_);
    windows.look(best_);
    changes_ = 0;
    lastChange_.assign(problem_.size(), 0);
    std::vector<Look> looks[std::size(windowSizes)]; // by item
    uint64_t least = steps_ / (isSettled_ ? 16 : 4); // is left for bounds
    for (uint64_t perItem = leastPerItem; perItem <= mostPerItem; perItem *= 5)
      for (uint32_t i = 0; i < std::size(windowSizes); ++i)
        for (bool changed = true;
             changed && steps_ > least && gap(bound) > (perItem == leastPerItem ? enough : near);) {
          uint32_t size = windowSizes[i];
          double before = bestTime_;
          looks[i].resize(problem_.size());
          for (uint32_t item = 0; item < problem_.size() && steps_ > least && gap(bound) > enough;
               item += size / 3)
            if (isNew(looks[i][item], size * perItem))
              if (std::optional<PlanWindow> window = windows.around(item, size))
                if (improve(*window, size * perItem, looks[i][item]))
                  windows.look(best_);
          changed = bestTime_ < before - leastGain * (bestTime_ - bound);
        }
  }

  // What a window was searched with.
  struct Look {
    std::vector<uint32_t> items;
    uint32_t changes = 0;
    uint64_t steps = 0;
  };

  bool isNew(const Look &look, uint64_t steps) const {
    return look.steps < steps ||
           std::ranges::any_of(
               look.items,
               [&](uint32_t item) { return item != none && lastChange_[item] > look.changes; });
  }

  bool improve(const PlanWindow &window, uint64_t steps, Look &look) {
    spend(windowCost);
    uint64_t share = std::min(steps_, steps), left = share;
    PlanSolution part = Solver(window.problem, left, 0).run({window.current});
    spend(share - left);
    look = {window.item, changes_, part.isProven() ? UINT64_MAX : steps};
    if (part.time >= window.time)
      return false;
    spend(4 * problem_.size());
    std::optional<PlanAnswer> plan = window.applyRegions(best_, part.plan);
    if (!(plan && isLegal(problem_, *plan) && offer(*plan)) &&
        !offerTiles(window.apply(best_.tile, part.plan), GroupingEffort::Quick))
      return false;
    ++changes_;
    for (uint32_t item : window.item)
      if (item != none)
        lastChange_[item] = changes_;
    return true;
  }

  const PlanProblem &problem_;
  uint64_t &steps_;
  uint64_t leastSearch_;
  PlanSweep sweep_;
  PlanAnswer best_;
  double bestTime_ = 0;
  bool isSettled_ = false;           // more sweeps would not raise the bound much
  std::vector<uint32_t> lastChange_; // by item, of its windows
  uint32_t changes_ = 0;
  double open_ = 0; // the least bound of what was left unsearched
  bool hasOpen_ = false;
};

} // namespace

PlanSolution solvePlan(const PlanProblem &problem, const PlanEffort &effort,
                       const std::vector<PlanAnswer> &known) {
  uint64_t steps = effort.steps;
  return Solver(problem, steps, smallSteps).run(known);
}

double leastOfEach(const PlanProblem &problem, bool raw) {
  double bound = 0;
  for (uint32_t item = 0; item < problem.size(); ++item) {
    double least = std::numeric_limits<double>::infinity();
    for (uint32_t tile : problem.tilesOf[item]) {
      const PlanProblem::Tile &t = problem.tiles[tile];
      least = std::min(least, std::floor((raw ? t.raw : t.time) /
                                         static_cast<double>(problem.membersOf(tile).size())));
    }
    bound += least;
  }
  return bound;
}

// A vendor that gets nothing changes nothing: where the best plan is of one vendor, it is the one
// that this vendor alone has got. What the search has found beyond it is within its tolerance.
static void leaveOutUnused(const PlanProblem &problem, PlanChoice &choice) {
  const std::optional<PlanSolution> *least = nullptr;
  for (const std::optional<PlanSolution> &alone : choice.alone)
    if (alone && (!least || alone->time < (*least)->time))
      least = &alone;
  if (!least)
    return;
  auto vendorOf = [&](uint32_t tile) { return problem.tiles[tile].vendor; };
  uint32_t only = static_cast<uint32_t>(least - choice.alone.data());
  bool isAlone = std::ranges::all_of(choice.best.plan.tile, [&](uint32_t tile) {
    return vendorOf(tile) == host || vendorOf(tile) == only;
  });
  if (!isAlone)
    return;
  choice.best.plan = (*least)->plan;
  choice.best.time = (*least)->time;
}

PlanChoice choosePlans(const PlanProblem &problem, const PlanEffort &effort) {
  uint32_t numVendors = static_cast<uint32_t>(problem.vendors.size());
  PlanChoice choice;
  choice.alone.resize(numVendors);
  std::vector<PlanAnswer> known;
  for (uint32_t vendor = 1; vendor < numVendors && numVendors > 2; ++vendor) {
    std::vector<uint8_t> mayUse(numVendors, 0);
    mayUse[host] = mayUse[vendor] = 1;
    RestrictedProblem alone = restrictTo(problem, mayUse);
    if (!isCoverable(alone.problem))
      continue;
    PlanSolution solution = solvePlan(alone.problem, effort);
    solution.plan = alone.toOriginal(std::move(solution.plan));
    known.push_back(solution.plan);
    choice.alone[vendor] = std::move(solution);
  }
  choice.best = solvePlan(problem, effort, known);
  if (numVendors == 2)
    choice.alone[1] = choice.best;
  else
    leaveOutUnused(problem, choice);
  return choice;
}

PlanAnswer RestrictedProblem::toOriginal(PlanAnswer plan) const {
  for (uint32_t &tile : plan.tile)
    tile = tileOf[tile];
  return plan;
}

RestrictedProblem restrictTo(const PlanProblem &problem, const std::vector<uint8_t> &mayUse) {
  RestrictedProblem result{problem, {}};
  PlanProblem &p = result.problem;
  p.tiles.clear();
  p.tileMembers.clear();
  std::vector<uint32_t> next(problem.tiles.size(), none);
  for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile) {
    const PlanProblem::Tile &t = problem.tiles[tile];
    if (!mayUse[t.vendor])
      continue;
    next[tile] = p.addTile(t.vendor, t.time, t.raw, problem.membersOf(tile));
    result.tileOf.push_back(tile);
  }
  p.indexTiles(problem.size());
  p.apart.clear();
  for (auto [a, b] : problem.apart)
    if (next[a] != none && next[b] != none)
      p.apart.emplace_back(next[a], next[b]);
  return result;
}

bool isCoverable(const PlanProblem &problem) {
  for (uint32_t item = 0; item < problem.size(); ++item)
    if (std::ranges::none_of(problem.tilesOf[item],
                             [&](uint32_t tile) { return !problem.isComposite(tile); }))
      return false;
  return true;
}

} // namespace bycc
