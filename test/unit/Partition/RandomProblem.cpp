#include "RandomProblem.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace bycc::cases {

namespace {

class Writer {
public:
  Writer(uint32_t seed, const ProblemShape &shape) : shape_(shape), random_(seed) {
    size_ = 3 + pick(shape.maxItems - 2);
    hostShare_ = pick(3);
    touches_.resize(size_ + 3);
  }

  RegionProblem write() {
    for (uint32_t item = 0; item < size_; ++item)
      addItem(item);
    for (uint32_t value = 0; value < touches_.size(); ++value)
      addValue(value);
    if (shape_.hasApart)
      addApart();
    return std::move(problem_);
  }

private:
  uint32_t pick(uint32_t count) { return static_cast<uint32_t>(random_() % count); }

  void addItem(uint32_t item) {
    bool isHost = pick(4) < hostShare_;
    problem_.vendor.push_back(isHost ? RegionProblem::host
                                     : static_cast<int32_t>(pick(shape_.vendors)));
    problem_.isWire.push_back(0);
    std::set<uint32_t> needs;
    for (uint32_t operand = 0, count = 1 + pick(2); operand < count; ++operand) {
      bool isInput = pick(4) == 0 || item == 0;
      uint32_t value = isInput ? size_ + pick(3) : item - 1 - pick(std::min(item, 5u));
      touches_[value].insert(item);
      if (!isInput)
        needs.insert(value);
    }
    problem_.needs.insert(problem_.needs.end(), needs.begin(), needs.end());
    problem_.needsBegin.push_back(static_cast<uint32_t>(problem_.needs.size()));
  }

  void addValue(uint32_t value) {
    RegionProblem::Tensor tensor;
    tensor.maker = value < size_ ? value : none;
    tensor.isUsedOutside = touches_[value].empty() || pick(8) == 0;
    tensor.bytes = shape_.hasSizes ? uint64_t{1} << (pick(4) ? pick(4) : 10) : 0;
    problem_.tensors.push_back(tensor);
    problem_.users.insert(problem_.users.end(), touches_[value].begin(), touches_[value].end());
    problem_.usersBegin.push_back(static_cast<uint32_t>(problem_.users.size()));
    std::set<uint32_t> share = touches_[value];
    if (value < size_)
      share.insert(value);
    std::erase_if(share, [&](uint32_t i) { return problem_.vendor[i] == RegionProblem::host; });
    if (share.size() < 2)
      return;
    problem_.shares.insert(problem_.shares.end(), share.begin(), share.end());
    problem_.sharesBegin.push_back(static_cast<uint32_t>(problem_.shares.size()));
    problem_.shareBytes.push_back(tensor.bytes);
  }

  void addApart() {
    std::vector<std::set<uint32_t>> apart(size_);
    for (uint32_t item = 0; item < size_; ++item)
      for (uint32_t need : problem_.needsOf(item))
        if (problem_.vendor[item] != RegionProblem::host &&
            problem_.vendor[item] == problem_.vendor[need] && pick(4) == 0) {
          apart[item].insert(need);
          apart[need].insert(item);
        }
    problem_.apartBegin.push_back(0);
    for (const std::set<uint32_t> &others : apart) {
      problem_.apart.insert(problem_.apart.end(), others.begin(), others.end());
      problem_.apartBegin.push_back(static_cast<uint32_t>(problem_.apart.size()));
    }
  }

  ProblemShape shape_;
  std::mt19937 random_;
  uint32_t size_, hostShare_;
  std::vector<std::set<uint32_t>> touches_; // users of values: items, then inputs
  RegionProblem problem_;
};

uint32_t rootOf(std::vector<uint32_t> &parent, uint32_t item) {
  while (parent[item] != item)
    item = parent[item];
  return item;
}

} // namespace

RegionProblem randomProblem(uint32_t seed, const ProblemShape &shape) {
  return Writer(seed, shape).write();
}

bool isLinked(const RegionProblem &problem, const RegionAssignment &regions) {
  std::vector<uint32_t> parent(problem.size());
  std::iota(parent.begin(), parent.end(), 0u);
  for (uint32_t share = 0; share < problem.numShares(); ++share)
    for (uint32_t a : problem.share(share))
      for (uint32_t b : problem.share(share))
        if (regions[a] >= 0 && regions[a] == regions[b])
          parent[rootOf(parent, a)] = rootOf(parent, b);
  std::map<int32_t, uint32_t> part;
  for (uint32_t i = 0; i < problem.size(); ++i)
    if (regions[i] >= 0 &&
        part.try_emplace(regions[i], rootOf(parent, i)).first->second != rootOf(parent, i))
      return false;
  return true;
}

namespace {

// Assigns items one by one; the graph that regions and host items make is
// searched for a cycle after each.
class Enumeration {
public:
  Enumeration(const RegionProblem &problem, RegionScore score)
      : problem_(problem), goal_(score), current_(problem.size(), -1) {}
  Found run() {
    bool found = place(0);
    return found ? Found::Yes : steps_ > maxSteps ? Found::CutShort : Found::No;
  }

private:
  static constexpr uint64_t maxSteps = 2000000;

  bool place(uint32_t item) {
    if (++steps_ > maxSteps || floorOfScore() >= goal_)
      return false;
    if (item == problem_.size())
      return isLinked(problem_, current_) && scoreOf(problem_, current_) < goal_;
    if (problem_.vendor[item] == RegionProblem::host)
      return place(item + 1);
    for (int32_t region = 0; region <= static_cast<int32_t>(owner_.size()); ++region) {
      bool isNew = region == static_cast<int32_t>(owner_.size());
      if (!isNew && owner_[static_cast<size_t>(region)] != problem_.vendor[item])
        continue;
      current_[item] = region;
      if (isNew)
        owner_.push_back(problem_.vendor[item]);
      bool found = !isApartFromRegion(item) && !isInCycle(item) && place(item + 1);
      if (isNew)
        owner_.pop_back();
      if (found)
        return true;
      current_[item] = -1;
    }
    return false;
  }

  RegionScore floorOfScore() const { return {owner_.size(), 0}; }

  bool isApartFromRegion(uint32_t item) const {
    return std::ranges::any_of(problem_.apartFrom(item),
                               [&](uint32_t other) { return current_[other] == current_[item]; });
  }

  // Does the item's region need itself through items up to here?
  bool isInCycle(uint32_t last) const {
    std::vector<uint8_t> isSeen(problem_.size(), 0);
    std::vector<uint32_t> open;
    auto visit = [&](uint32_t item) {
      if (!isSeen[item]) {
        isSeen[item] = 1;
        open.push_back(item);
      }
    };
    int32_t region = current_[last];
    for (uint32_t item = 0; item <= last; ++item)
      if (current_[item] == region)
        for (uint32_t need : problem_.needsOf(item))
          if (current_[need] != region)
            visit(need);
    for (size_t i = 0; i < open.size(); ++i)
      for (uint32_t mate = 0; mate <= last; ++mate)
        if (mate == open[i] || (current_[mate] >= 0 && current_[mate] == current_[open[i]]))
          for (uint32_t need : problem_.needsOf(mate)) {
            if (current_[need] == region)
              return true;
            visit(need);
          }
    return false;
  }

  const RegionProblem &problem_;
  RegionScore goal_;
  RegionAssignment current_;
  std::vector<int32_t> owner_;
  uint64_t steps_ = 0;
};

} // namespace

Found findBetter(const RegionProblem &problem, RegionScore score) {
  return Enumeration(problem, score).run();
}

RegionAssignment mergeAsRelay(const RegionProblem &problem) {
  uint32_t size = problem.size();
  std::vector<uint32_t> region(size);
  std::vector<std::set<uint32_t>> restricted(size);
  std::iota(region.begin(), region.end(), 0u);
  auto mustBeApart = [&](uint32_t a, uint32_t b) {
    for (uint32_t item = 0; item < size; ++item)
      for (uint32_t other : problem.apartFrom(item))
        if (region[item] == a && region[other] == b)
          return true;
    return false;
  };
  for (uint32_t item = 0; item < size; ++item) {
    std::set<uint32_t> parents;
    for (uint32_t need : problem.needsOf(item))
      parents.insert(region[need]);
    for (uint32_t parent : parents)
      restricted[item].insert(restricted[parent].begin(), restricted[parent].end());
    for (uint32_t parent : parents) {
      if (problem.vendor[parent] != problem.vendor[item] || mustBeApart(parent, item)) {
        restricted[item].insert(parent);
        continue;
      }
      if (restricted[item].contains(parent))
        continue;
      std::ranges::replace(region, parent, item);
      for (std::set<uint32_t> &set : restricted)
        if (set.erase(parent))
          set.insert(item);
    }
  }
  std::map<uint32_t, int32_t> number;
  RegionAssignment result(size, -1);
  for (uint32_t item = 0; item < size; ++item)
    if (problem.vendor[item] != RegionProblem::host)
      result[item] =
          number.try_emplace(region[item], static_cast<int32_t>(number.size())).first->second;
  return result;
}

} // namespace bycc::cases
