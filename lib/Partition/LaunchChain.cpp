#include "LaunchChain.h"

#include "RelaxationLinks.h"

#include <algorithm>

namespace bycc {

namespace {

// Of the best path to an item.
struct End {
  double value = 0; // of all its stretches, none above a launch
  double gain = 0;  // of the last
  uint32_t before = none;
};

// Whatever tiles of the vendor two items have.
bool areAlwaysApart(const PlanProblem &problem, uint32_t vendor, uint32_t item, uint32_t next) {
  if (problem.apart.empty())
    return false;
  for (uint32_t tile : problem.tilesOf[item])
    if (problem.tiles[tile].vendor == vendor)
      for (uint32_t other : problem.tilesOf[next])
        if (problem.tiles[other].vendor == vendor && canShareRegion(problem, tile, other))
          return false;
  return true;
}

} // namespace

LaunchChain launchChain(const PlanProblem &problem, uint32_t vendor,
                        const std::vector<uint8_t> &isAble, const std::vector<double> &gain,
                        double launch) {
  auto isCut = [&](uint32_t item, uint32_t next) {
    return !isAble[item] || problem.labelOf(item) != problem.labelOf(next) ||
           (isAble[next] && areAlwaysApart(problem, vendor, item, next));
  };
  auto extended = [&](End end, uint32_t before, uint32_t item) {
    end.before = before;
    if (before != none && (!isAble[item] || isCut(before, item)))
      end.gain = 0;
    if (isAble[item]) {
      double more = std::min(end.gain + gain[item], launch);
      end.value += more - end.gain;
      end.gain = more;
    }
    return end;
  };
  std::vector<End> ends(problem.size());
  uint32_t last = none;
  for (uint32_t item = 0; item < problem.size(); ++item) {
    ends[item] = extended({}, none, item);
    for (uint32_t need : problem.needs[item])
      if (End end = extended(ends[need], need, item); end.value > ends[item].value)
        ends[item] = end;
    if (ends[item].value > (last == none ? 0 : ends[last].value))
      last = item;
  }
  LaunchChain chain;
  for (uint32_t item = last; item != none; item = ends[item].before)
    if (isAble[item]) {
      uint32_t before = ends[item].before;
      chain.items.push_back(item);
      chain.isCut.push_back(before != none && isCut(before, item));
    }
  std::ranges::reverse(chain.items);
  std::ranges::reverse(chain.isCut);
  return chain;
}

ApartWays waysOf(const PlanProblem &problem, uint32_t vendor,
                 const std::vector<uint8_t> &isPossible, const LaunchChain &chain) {
  std::vector<uint64_t> neededBy;
  for (size_t i = 0; i < chain.items.size(); ++i)
    neededBy.push_back(i + 1 < chain.items.size() && !chain.isCut[i + 1]);
  return apartWays(problem, vendor, isPossible, chain.items, neededBy);
}

// A layer's nodes stand for how the item before is there: not, or in which way.
PartsDiagram diagramOf(const LaunchChain &chain, const ApartWays &ways) {
  PartsDiagram diagram;
  uint32_t size = static_cast<uint32_t>(chain.items.size());
  uint32_t numWays = ways.tiles.empty() ? 1 : PartsDiagram::maxWays;
  size_t pair = 0; // they ascend
  for (uint32_t i = 0; i < size; ++i) {
    diagram.layers.push_back(static_cast<uint32_t>(diagram.nodes.size()));
    bool goesOn = i + 1 < size && !chain.isCut[i + 1];
    bool isLinked = i > 0 && !chain.isCut[i];
    uint32_t first = diagram.layers.back();
    for (uint32_t before = 0; before <= (isLinked ? numWays : 0); ++before) {
      int32_t count = before == 0;
      diagram.nodes.push_back({{0, goesOn ? 1u : 0u}, {0, count}});
      if (numWays > 1)
        diagram.more.push_back({{goesOn ? 2u : 0u, goesOn ? 3u : 0u}, {count, count}});
    }
    for (; pair < ways.pairs.size() && ways.pairs[pair].later <= i; ++pair) {
      const ApartWays::Pair &apart = ways.pairs[pair];
      uint32_t node = first + 1 + apart.way, way = 1 + apart.laterWay;
      (way < 2 ? diagram.nodes : diagram.more)[node].count[way & 1] = 1;
    }
  }
  diagram.layers.push_back(static_cast<uint32_t>(diagram.nodes.size()));
  diagram.nodes.emplace_back();
  if (numWays > 1)
    diagram.more.emplace_back();
  return diagram;
}

} // namespace bycc
