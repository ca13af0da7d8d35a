// Judging a plan: what it takes, and whether it is legal.

#include "PlanProblem.h"

#include "UnionFind.h"

#include <algorithm>
#include <cmath>

namespace bycc {

bool PlanProblem::areApart(uint32_t tile, uint32_t other) const {
  return !apart.empty() && std::ranges::binary_search(apart, std::pair(tile, other));
}

uint32_t PlanProblem::addTile(uint32_t vendor, double time, double raw,
                              std::span<const uint32_t> members) {
  Tile tile{vendor, time, raw, static_cast<uint32_t>(tileMembers.size()), 0};
  tileMembers.insert(tileMembers.end(), members.begin(), members.end());
  tile.membersEnd = static_cast<uint32_t>(tileMembers.size());
  tiles.push_back(tile);
  return static_cast<uint32_t>(tiles.size() - 1);
}

uint32_t PlanProblem::singleOf(uint32_t item, uint32_t vendor) const {
  for (uint32_t tile : tilesOf[item])
    if (tiles[tile].vendor == vendor && !isComposite(tile))
      return tile;
  return none;
}

void PlanProblem::indexTiles(uint32_t numItems) {
  tilesOf.begin.assign(numItems + 1, 0);
  for (uint32_t member : tileMembers)
    ++tilesOf.begin[member + 1];
  for (uint32_t item = 0; item < numItems; ++item)
    tilesOf.begin[item + 1] += tilesOf.begin[item];
  tilesOf.flat.resize(tileMembers.size());
  std::vector<uint32_t> next(tilesOf.begin.begin(), tilesOf.begin.end() - 1);
  for (uint32_t tile = 0; tile < tiles.size(); ++tile)
    for (uint32_t member : membersOf(tile))
      tilesOf.flat[next[member]++] = tile;
}

PlanProblem::Lists transposed(const PlanProblem::Lists &sets, uint32_t numItems) {
  PlanProblem::Lists setsOf;
  setsOf.begin.assign(numItems + 1, 0);
  for (uint32_t item : sets.flat)
    ++setsOf.begin[item + 1];
  for (uint32_t item = 0; item < numItems; ++item)
    setsOf.begin[item + 1] += setsOf.begin[item];
  setsOf.flat.resize(sets.flat.size());
  std::vector<uint32_t> next(setsOf.begin.begin(), setsOf.begin.end() - 1);
  for (uint32_t set = 0; set < sets.size(); ++set)
    for (uint32_t item : sets[set])
      setsOf.flat[next[item]++] = set;
  return setsOf;
}

PlanProblem::Lists tensorsByItem(const PlanProblem &problem) {
  PlanProblem::Lists touching;
  for (uint32_t t = 0; t < problem.tensors.size(); ++t) {
    if (uint32_t maker = problem.tensors[t].maker; maker != none)
      touching.add(maker);
    for (uint32_t user : problem.users[t])
      touching.add(user);
    touching.close();
  }
  return transposed(touching, problem.size());
}

void renumber(PlanAnswer &plan) {
  std::vector<uint32_t> number;
  uint32_t next = 0;
  for (uint32_t &region : plan.region) {
    if (region == none)
      continue;
    if (region >= number.size())
      number.resize(region + 1, none);
    if (number[region] == none)
      number[region] = next++;
    region = number[region];
  }
}

uint32_t countRegions(const PlanAnswer &plan) {
  uint32_t count = 0;
  for (uint32_t region : plan.region)
    if (region != none)
      count = std::max(count, region + 1);
  return count;
}

namespace {

// Vendor of each region; `none` where a region is empty.
std::vector<uint32_t> ownersOf(const PlanProblem &problem, const PlanAnswer &plan) {
  std::vector<uint32_t> owner(countRegions(plan), none);
  for (uint32_t item = 0; item < problem.size(); ++item)
    if (plan.region[item] != none)
      owner[plan.region[item]] = problem.tiles[plan.tile[item]].vendor;
  return owner;
}

} // namespace

namespace {

// Calls its last argument with each vendor whose border the tensor crosses. `vendorOf`: by
// item; `seen`: by vendor, the last tensor that it took in.
template <typename VendorOf, typename Visit>
void forEachCrossing(const PlanProblem &problem, const PlanAnswer &plan, uint32_t t,
                     VendorOf &&vendorOf, std::vector<uint32_t> &seen, Visit &&visit) {
  const PlanProblem::Tensor &tensor = problem.tensors[t];
  uint32_t home = tensor.maker == none ? none : plan.region[tensor.maker];
  uint32_t owner = home == none ? host : vendorOf(tensor.maker);
  bool leaves = tensor.isUsedOutside;
  for (uint32_t user : problem.users[t]) {
    uint32_t region = plan.region[user];
    if (region == home)
      continue;
    uint32_t vendor = region == none ? host : vendorOf(user);
    if (vendor == owner && problem.vendors[vendor].ownMemory)
      continue; // it stays where it is
    leaves = true;
    if (vendor == host || seen[vendor] == t)
      continue;
    seen[vendor] = t;
    visit(vendor);
  }
  if (owner != host && leaves)
    visit(owner);
}

// Calls its argument with a vendor, the term it belongs to and a time, for each part.
template <typename Visit>
void forEachTerm(const PlanProblem &problem, const PlanAnswer &plan, bool raw, Visit &&visit) {
  auto scaled = [&](uint32_t vendor, double value) {
    return raw ? std::round(value / problem.vendors[vendor].trust) : value;
  };
  std::vector<uint32_t> vendors(problem.size()); // asked for in any order, so they stand together
  for (uint32_t item = 0; item < problem.size(); ++item) {
    const PlanProblem::Tile &tile = problem.tiles[plan.tile[item]];
    vendors[item] = tile.vendor;
    if (problem.tileMembers[tile.membersBegin] == item)
      visit(tile.vendor, &PlanTime::tiles, raw ? tile.raw : tile.time);
  }
  for (uint32_t vendor : ownersOf(problem, plan))
    if (vendor != none)
      visit(vendor, &PlanTime::launches, scaled(vendor, problem.vendors[vendor].launch));
  auto vendorOf = [&](uint32_t item) { return vendors[item]; };
  std::vector<uint32_t> seen(problem.vendors.size(), none);
  for (uint32_t t = 0; t < problem.tensors.size(); ++t)
    forEachCrossing(problem, plan, t, vendorOf, seen, [&](uint32_t vendor) {
      visit(vendor, &PlanTime::transfers, scaled(vendor, problem.crossing(vendor, t)));
    });
}

} // namespace

PlanTime timeOf(const PlanProblem &problem, const PlanAnswer &plan, bool raw) {
  PlanTime time;
  forEachTerm(problem, plan, raw,
              [&](uint32_t, double PlanTime::*term, double value) { time.*term += value; });
  return time;
}

double timeOfTensor(const PlanProblem &problem, const PlanAnswer &plan, uint32_t tensor) {
  std::vector<uint32_t> seen(problem.vendors.size(), none);
  double time = 0;
  auto vendorOf = [&](uint32_t item) { return problem.tiles[plan.tile[item]].vendor; };
  forEachCrossing(problem, plan, tensor, vendorOf, seen,
                  [&](uint32_t vendor) { time += problem.crossing(vendor, tensor); });
  return time;
}

std::vector<PlanTime> timesOf(const PlanProblem &problem, const PlanAnswer &plan, bool raw) {
  std::vector<PlanTime> times(problem.vendors.size());
  forEachTerm(problem, plan, raw, [&](uint32_t vendor, double PlanTime::*term, double value) {
    times[vendor].*term += value;
  });
  return times;
}

namespace {

bool isCovered(const PlanProblem &problem, const PlanAnswer &plan) {
  for (uint32_t item = 0; item < problem.size(); ++item) {
    uint32_t tile = plan.tile[item];
    bool isHost = problem.tiles[tile].vendor == host;
    if (isHost != (plan.region[item] == none))
      return false;
    bool isMember = false;
    for (uint32_t member : problem.membersOf(tile)) {
      isMember |= member == item;
      if (plan.tile[member] != tile || plan.region[member] != plan.region[item])
        return false;
    }
    if (!isMember)
      return false;
  }
  return true;
}

// What each region is made of.
struct Content {
  uint32_t vendor = none, label = 0, tiles = 0, first = none;
  int64_t ops = 0;
  double flops = 0;
  bool isExempt = false, isMixed = false;
};

std::vector<Content> contentsOf(const PlanProblem &problem, const PlanAnswer &plan) {
  std::vector<Content> contents(countRegions(plan));
  for (uint32_t item = 0; item < problem.size(); ++item) {
    if (plan.region[item] == none)
      continue;
    Content &content = contents[plan.region[item]];
    uint32_t vendor = problem.tiles[plan.tile[item]].vendor;
    if (content.vendor == none) {
      content.vendor = vendor;
      content.label = problem.labelOf(item);
      content.first = item;
    }
    content.isMixed |= content.vendor != vendor || content.label != problem.labelOf(item);
    content.tiles += problem.membersOf(plan.tile[item])[0] == item;
    content.ops += problem.ops[item];
    content.flops += problem.flops[item];
    content.isExempt |= !problem.isExempt.empty() && problem.isExempt[item];
  }
  return contents;
}

bool isWithinLimits(const PlanProblem &problem, const Content &content) {
  const PlanProblem::Vendor &vendor = problem.vendors[content.vendor];
  if (content.isMixed || (!vendor.merges && content.tiles > 1))
    return false;
  return content.isExempt || (content.ops >= vendor.minOps && content.flops >= vendor.minFlops);
}

bool isLinked(const PlanProblem &problem, const PlanAnswer &plan,
              const std::vector<Content> &contents) {
  UnionFind parts(problem.size());
  std::vector<uint32_t> last(contents.size(), none); // member of a region in the set at hand
  for (uint32_t set = 0; set < problem.links.size(); ++set) {
    for (uint32_t item : problem.links[set])
      if (uint32_t region = plan.region[item]; region != none) {
        if (last[region] != none)
          parts.join(item, last[region]);
        last[region] = item;
      }
    for (uint32_t item : problem.links[set])
      if (plan.region[item] != none)
        last[plan.region[item]] = none;
  }
  for (uint32_t item = 0; item < problem.size(); ++item) {
    if (plan.region[item] == none)
      continue;
    parts.join(item, problem.membersOf(plan.tile[item])[0]);
  }
  for (uint32_t item = 0; item < problem.size(); ++item)
    if (uint32_t region = plan.region[item]; region != none)
      if (parts.find(item) != parts.find(contents[region].first))
        return false;
  return true;
}

bool isApart(const PlanProblem &problem, const PlanAnswer &plan) {
  return std::ranges::none_of(problem.apart, [&](const auto &pair) {
    uint32_t a = problem.membersOf(pair.first)[0], b = problem.membersOf(pair.second)[0];
    return plan.tile[a] == pair.first && plan.tile[b] == pair.second &&
           plan.region[a] == plan.region[b];
  });
}

// Kahn's algorithm on the regions and, one by one, the host's items.
bool isAcyclic(const PlanProblem &problem, const PlanAnswer &plan) {
  uint32_t size = countRegions(plan);
  std::vector<uint32_t> group(problem.size());
  for (uint32_t item = 0; item < problem.size(); ++item)
    group[item] = plan.region[item] == none ? size++ : plan.region[item];
  std::vector<uint32_t> begin(size + 1, 0), waiting(size, 0);
  auto forEachEdge = [&](auto &&visit) {
    for (uint32_t item = 0; item < problem.size(); ++item)
      for (uint32_t need : problem.needs[item])
        if (group[need] != group[item])
          visit(group[need], group[item]);
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

bool isLegal(const PlanProblem &problem, const PlanAnswer &plan) {
  if (!isCovered(problem, plan))
    return false;
  std::vector<Content> contents = contentsOf(problem, plan);
  return std::ranges::all_of(contents,
                             [&](const Content &content) {
                               return content.vendor == none || isWithinLimits(problem, content);
                             }) &&
         isLinked(problem, plan, contents) && isApart(problem, plan) && isAcyclic(problem, plan);
}

} // namespace bycc
