// Branch and bound: items are placed in order, each into a group of its vendor or
// a new one, as long as no group needs itself through another and the groups so
// far cost less than the best that is known. Sets of items and groups are bit
// masks; each group knows all groups that it needs, directly or through others.
//
// The fewest regions are looked for first; the bytes across their borders, on which
// the bound prunes badly, only with a few steps after that.

#include "RegionSearch.h"

#include "bycc/Support/Error.h"

#include <algorithm>
#include <array>

namespace bycc {

namespace {

constexpr uint32_t maxItems = 64;
constexpr uint32_t maxVendorItems = 20;
constexpr uint64_t stepsForBytes = 5000;

class RegionSearch {
public:
  RegionSearch(const RegionProblem &problem, RegionAssignment best, uint64_t &steps)
      : problem_(problem), steps_(steps), best_(std::move(best)), current_(problem.size(), none),
        uses_(problem.size()), made_(problem.size()), isOut_(problem.numTensors(), 0) {
    for (uint32_t item = 0; item < problem.size(); ++item) {
      apartMask_.push_back(maskOf(problem.apartFrom(item)));
    }
    for (uint32_t tensor = 0; tensor < problem.numTensors(); ++tensor) {
      userMask_.push_back(maskOf(problem.usersOf(tensor)));
      for (uint32_t user : problem.usersOf(tensor))
        uses_[user].push_back(tensor);
      if (uint32_t maker = problem.tensors[tensor].maker; maker != none)
        made_[maker].push_back(tensor);
    }
  }

  // `weighs`: borders count as well as regions. `enough`: a first score that
  // cannot be beaten.
  void run(bool weighs, uint64_t enough) {
    weighs_ = weighs;
    enough_ = enough;
    bestScore_ = weigh(best_);
    assign(0);
  }

  RegionAssignment takeBest() { return std::move(best_); }
  RegionScore weigh(const RegionAssignment &regions) const {
    return weighs_ ? scoreOf(problem_, regions) : RegionScore{countRegions(regions), 0};
  }

private:
  struct Group {
    uint64_t members = 0;
    int32_t vendor = RegionProblem::host;
    uint32_t numCalls = 0;
  };

  static uint64_t maskOf(std::span<const uint32_t> items) {
    uint64_t mask = 0;
    for (uint32_t item : items)
      mask |= uint64_t{1} << item;
    return mask;
  }

  bool isDone() const { return bestScore_.first <= enough_ || steps_ == 0; }

  void assign(uint32_t item) {
    if (isDone() || score_ >= bestScore_)
      return;
    --steps_;
    if (item == problem_.size())
      return finish();
    if (problem_.vendor[item] != RegionProblem::host)
      for (uint32_t group = 0; group < groups_.size(); ++group)
        if (groups_[group].vendor == problem_.vendor[item] &&
            !(groups_[group].members & apartMask_[item]))
          place(item, group);
    needs_[groups_.size()] = 0;
    groups_.push_back({0, problem_.vendor[item], 0});
    place(item, static_cast<uint32_t>(groups_.size() - 1));
    groups_.pop_back();
  }

  void place(uint32_t item, uint32_t group) {
    uint64_t needed = groupsNeededBy(item, group);
    if (needed >> group & 1)
      return; // the group would need itself
    RegionScore before = score_;
    std::array<uint64_t, maxItems> needsBefore = needs_;
    size_t out = out_.size();
    current_[item] = group;
    addNeeds(group, needed);
    if (weighs_)
      addCrossings(item, groups_[group]);
    if (problem_.isCall(item) && groups_[group].numCalls++ == 0)
      score_ += {1, 0};
    groups_[group].members |= uint64_t{1} << item;
    assign(item + 1);
    groups_[group].members &= ~(uint64_t{1} << item);
    groups_[group].numCalls -= problem_.isCall(item);
    current_[item] = none;
    for (; out_.size() > out; out_.pop_back())
      isOut_[out_.back()] = 0;
    score_ = before;
    needs_ = needsBefore;
  }

  uint64_t groupsNeededBy(uint32_t item, uint32_t group) const {
    uint64_t needed = 0;
    for (uint32_t need : problem_.needsOf(item))
      if (uint32_t other = current_[need]; other != group)
        needed |= uint64_t{1} << other | needs_[other];
    return needed;
  }

  void addNeeds(uint32_t group, uint64_t needed) {
    needs_[group] |= needed;
    for (uint32_t other = 0; other < groups_.size(); ++other)
      if (needs_[other] >> group & 1)
        needs_[other] |= needs_[group];
  }

  // Tensors that now cross a border for certain.
  void addCrossings(uint32_t item, const Group &group) {
    for (uint32_t tensor : uses_[item]) {
      uint32_t maker = problem_.tensors[tensor].maker;
      bool isInside = maker != none && current_[maker] == current_[item];
      if (isInside)
        continue;
      if (group.vendor != RegionProblem::host && !(userMask_[tensor] & group.members))
        score_ += scoreOfCrossing(problem_, tensor);
      if (maker != none)
        addOutput(maker, tensor);
    }
    for (uint32_t tensor : made_[item])
      if (problem_.tensors[tensor].isUsedOutside)
        addOutput(item, tensor);
  }

  void addOutput(uint32_t maker, uint32_t tensor) {
    if (problem_.vendor[maker] == RegionProblem::host || isOut_[tensor])
      return;
    isOut_[tensor] = 1;
    out_.push_back(tensor);
    score_ += scoreOfCrossing(problem_, tensor);
  }

  // A group that is not linked is as many regions as it has linked parts.
  void finish() {
    RegionAssignment result = toAssignment(problem_, linkedParts(problem_, current_));
    if (RegionScore score = weigh(result); score < bestScore_) {
      bestScore_ = score;
      best_ = std::move(result);
    }
  }

  const RegionProblem &problem_;
  uint64_t &steps_;
  bool weighs_ = false;
  uint64_t enough_ = 0;
  RegionAssignment best_;
  RegionScore bestScore_, score_;
  std::vector<uint32_t> current_; // group by item
  std::vector<Group> groups_;
  std::array<uint64_t, maxItems> needs_{};         // by group: groups that it needs
  std::vector<uint64_t> apartMask_;                // by item
  std::vector<std::vector<uint32_t>> uses_, made_; // tensors by item
  std::vector<uint64_t> userMask_;                 // by tensor
  std::vector<uint8_t> isOut_;                     // by tensor: known to leave its maker's group
  std::vector<uint32_t> out_;                      // the same, in order
};

// How often a path can enter the part, up to a call.
uint32_t mostEntries(const RegionProblem &problem, const std::vector<uint32_t> &part,
                     uint32_t which) {
  uint32_t most = 0;
  std::vector<uint32_t> entries(problem.size(), 0);
  for (uint32_t item = which; item < problem.size(); ++item) {
    bool isMember = part[item] == which && problem.vendor[item] != RegionProblem::host;
    entries[item] = isMember;
    for (uint32_t need : problem.needsOf(item)) {
      bool enters = isMember && part[need] != which;
      entries[item] = std::max(entries[item], entries[need] + enters);
    }
    for (uint32_t other : problem.apartFrom(item))
      if (other < item && isMember && part[other] == which)
        entries[item] = std::max(entries[item], entries[other] + 1);
    if (isMember && !problem.isWire[item])
      most = std::max(most, entries[item]);
  }
  return most;
}

// Items that no chain of shared values links never share a region; of the rest
// of a vendor's items, a path that leaves and comes back n times needs n regions,
// and so does one along which n values may not pass inside.
uint32_t fewestPossible(const RegionProblem &problem) {
  std::vector<uint32_t> vendorOf(problem.size());
  for (uint32_t item = 0; item < problem.size(); ++item)
    vendorOf[item] = static_cast<uint32_t>(problem.vendor[item] + 1);
  std::vector<uint32_t> part = linkedParts(problem, vendorOf);
  uint32_t sum = 0;
  for (uint32_t item = 0; item < problem.size(); ++item)
    if (part[item] == item && problem.vendor[item] != RegionProblem::host)
      sum += mostEntries(problem, part, item);
  return sum;
}

} // namespace

bool isSmall(const RegionProblem &problem) {
  auto isVendor = [](int32_t vendor) { return vendor != RegionProblem::host; };
  return problem.size() <= maxItems &&
         std::ranges::count_if(problem.vendor, isVendor) <= maxVendorItems;
}

RegionAssignment searchRegions(const RegionProblem &problem, RegionAssignment best,
                               uint64_t &steps) {
  BYCC_ASSERT(isSmall(problem), "what is searched exhaustively is small");
  if (uint32_t fewest = fewestPossible(problem); countRegions(best) > fewest) {
    RegionSearch search(problem, std::move(best), steps);
    search.run(false, fewest);
    best = search.takeBest();
  }
  uint64_t share = std::min(steps, stepsForBytes), left = share;
  RegionSearch search(problem, std::move(best), left);
  search.run(true, 0);
  steps -= share - left;
  return search.takeBest();
}

} // namespace bycc
