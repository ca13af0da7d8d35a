// Finding good regions. In general the problem is NP-hard (with several vendors
// it contains shortest common supersequence), so there are three steps: batches
// from both ends (RegionBatches.cpp) give groups; groups are joined
// (RegionJoiner.cpp), for small problems from single items as well; the best of
// these bounds an exhaustive search of small problems (RegionSearch.cpp).
//
// Everything is deterministic: ties go to what was found first.

#include "RegionSolver.h"

#include "RegionBatches.h"
#include "RegionJoiner.h"
#include "RegionSearch.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace bycc {

namespace {

constexpr uint32_t singlesLimit = 1 << 14;

class Candidates {
public:
  explicit Candidates(const RegionProblem &problem) : problem_(problem) {}

  void consider(const std::vector<uint32_t> &groups, JoinOrder order) {
    RegionAssignment regions = toAssignment(problem_, joinGroups(problem_, groups, order));
    RegionScore score = scoreOf(problem_, regions);
    if (bestScore_ && *bestScore_ <= score)
      return;
    bestScore_ = score;
    best_ = std::move(regions);
  }
  RegionAssignment takeBest() { return std::move(best_); }

private:
  const RegionProblem &problem_;
  std::optional<RegionScore> bestScore_;
  RegionAssignment best_;
};

} // namespace

RegionAssignment solveRegions(const RegionProblem &problem, uint64_t &searchSteps) {
  Candidates candidates(problem);
  for (Direction direction : {Direction::FromInputs, Direction::FromResults})
    candidates.consider(partsOfBatches(problem, direction), JoinOrder::AsGiven);
  std::vector<uint32_t> singles(problem.size());
  std::iota(singles.begin(), singles.end(), 0u);
  if (problem.size() <= singlesLimit)
    candidates.consider(singles, JoinOrder::AsGiven);
  // Large tensors inside regions.
  if (problem.size() <= singlesLimit)
    candidates.consider(singles, JoinOrder::LargestFirst);
  RegionAssignment best = candidates.takeBest();
  if (searchSteps == 0 || !isSmall(problem))
    return best;
  // One hard graph does not take the steps of those to come.
  uint64_t share = std::max(searchSteps / 4, std::min<uint64_t>(searchSteps, 10000)), left = share;
  best = searchRegions(problem, std::move(best), left);
  searchSteps -= share - left;
  return best;
}

} // namespace bycc
