// Judging an assignment: what it costs and whether it is legal.

#include "RegionProblem.h"

#include "UnionFind.h"

#include <algorithm>

namespace bycc {

uint32_t countRegions(const RegionAssignment &regions) {
  int32_t most = -1;
  for (int32_t region : regions)
    most = std::max(most, region);
  return static_cast<uint32_t>(most + 1);
}

RegionScore scoreOf(const RegionProblem &problem, const RegionAssignment &regions) {
  RegionScore score{countRegions(regions), 0};
  std::vector<uint32_t> enteredBy(score.first, none); // the last tensor that entered a region
  for (uint32_t tensor = 0; tensor < problem.numTensors(); ++tensor) {
    const RegionProblem::Tensor &t = problem.tensors[tensor];
    int32_t home = t.maker == none ? -1 : regions[t.maker];
    bool leaves = t.isUsedOutside;
    for (uint32_t user : problem.usersOf(tensor)) {
      int32_t region = regions[user];
      leaves |= region != home;
      if (region < 0 || region == home || enteredBy[static_cast<size_t>(region)] == tensor)
        continue;
      enteredBy[static_cast<size_t>(region)] = tensor;
      score += scoreOfCrossing(problem, tensor);
    }
    if (home >= 0 && leaves)
      score += scoreOfCrossing(problem, tensor);
  }
  return score;
}

namespace {

bool isOneVendorEach(const RegionProblem &problem, const RegionAssignment &regions) {
  std::vector<int32_t> owner(countRegions(regions), RegionProblem::host);
  for (uint32_t item = 0; item < problem.size(); ++item) {
    if (regions[item] < 0)
      continue;
    int32_t &mine = owner[static_cast<size_t>(regions[item])];
    if (mine != RegionProblem::host && mine != problem.vendor[item])
      return false;
    mine = problem.vendor[item];
  }
  return true;
}

bool isApart(const RegionProblem &problem, const RegionAssignment &regions) {
  for (uint32_t item = 0; item < problem.size(); ++item)
    for (uint32_t other : problem.apartFrom(item))
      if (regions[item] >= 0 && regions[item] == regions[other])
        return false;
  return true;
}

// Kahn's algorithm on the regions and, one by one, the host's items. `edges` calls
// its argument with all pairs of a needed item and one that needs it.
template <typename Edges>
bool isAcyclic(const RegionProblem &problem, const RegionAssignment &regions, Edges &&edges) {
  uint32_t size = countRegions(regions);
  std::vector<uint32_t> group(problem.size());
  for (uint32_t item = 0; item < problem.size(); ++item)
    group[item] = regions[item] < 0 ? size++ : static_cast<uint32_t>(regions[item]);
  std::vector<uint32_t> begin(size + 1, 0), waiting(size, 0);
  auto forEachEdge = [&](auto &&visit) {
    edges([&](uint32_t need, uint32_t item) {
      if (group[need] != group[item])
        visit(group[need], group[item]);
    });
  };
  forEachEdge([&](uint32_t from, uint32_t to) { ++begin[from + 1], ++waiting[to]; });
  for (uint32_t i = 0; i < size; ++i)
    begin[i + 1] += begin[i];
  std::vector<uint32_t> after(begin[size]), next(begin.begin(), begin.end() - 1), ready;
  forEachEdge([&](uint32_t from, uint32_t to) { after[next[from]++] = to; });
  for (uint32_t i = 0; i < size; ++i)
    if (waiting[i] == 0)
      ready.push_back(i);
  for (size_t done = 0; done < ready.size(); ++done)
    for (uint32_t edge = begin[ready[done]]; edge < begin[ready[done] + 1]; ++edge)
      if (--waiting[after[edge]] == 0)
        ready.push_back(after[edge]);
  return ready.size() == size;
}

} // namespace

bool isLegal(const RegionProblem &problem, const RegionAssignment &regions) {
  auto needs = [&](auto &&visit) {
    for (uint32_t item = 0; item < problem.size(); ++item)
      for (uint32_t need : problem.needsOf(item))
        visit(need, item);
  };
  return isOneVendorEach(problem, regions) && isApart(problem, regions) &&
         isAcyclic(problem, regions, needs);
}

bool canRun(const RegionProblem &problem, const RegionAssignment &regions) {
  return isAcyclic(problem, regions, [&](auto &&visit) {
    for (uint32_t item = 0; item < problem.size(); ++item)
      for (uint32_t need : problem.needsOf(item))
        if (!problem.isWire[item] && !problem.isWire[need])
          visit(need, item);
    for (uint32_t tensor = 0; tensor < problem.numTensors(); ++tensor)
      if (uint32_t maker = problem.tensors[tensor].maker; maker != none)
        for (uint32_t user : problem.usersOf(tensor))
          visit(maker, user);
  });
}

RegionAssignment toAssignment(const RegionProblem &problem, const std::vector<uint32_t> &groups) {
  std::vector<uint8_t> hasCall(problem.size(), 0);
  for (uint32_t item = 0; item < problem.size(); ++item)
    if (problem.isCall(item))
      hasCall[groups[item]] = 1;
  std::vector<int32_t> number(problem.size(), -1);
  RegionAssignment result(problem.size(), -1);
  int32_t next = 0;
  for (uint32_t item = 0; item < problem.size(); ++item) {
    uint32_t group = groups[item];
    if (problem.vendor[item] == RegionProblem::host || !hasCall[group])
      continue;
    if (number[group] < 0)
      number[group] = next++;
    result[item] = number[group];
  }
  return result;
}

std::vector<uint32_t> linkedParts(const RegionProblem &problem,
                                  const std::vector<uint32_t> &classes) {
  UnionFind parts(problem.size());
  std::vector<std::pair<uint32_t, uint32_t>> members; // (class, item) of one share
  for (uint32_t share = 0; share < problem.numShares(); ++share) {
    members.clear();
    for (uint32_t item : problem.share(share))
      if (problem.vendor[item] != RegionProblem::host)
        members.emplace_back(classes[item], item);
    std::ranges::sort(members);
    for (size_t i = 1; i < members.size(); ++i)
      if (members[i].first == members[i - 1].first)
        parts.join(members[i].second, members[i - 1].second);
  }
  std::vector<uint32_t> result(problem.size());
  for (uint32_t item = 0; item < problem.size(); ++item)
    result[item] = parts.find(item);
  return result;
}

} // namespace bycc
