#include "RegionMoves.h"

#include <algorithm>

namespace bycc {

RegionMoves::RegionMoves(const PlanProblem &problem)
    : problem_(problem), tensorsOf_(tensorsByItem(problem)), mark_(problem.tensors.size(), 0) {}

std::vector<uint32_t> RegionMoves::improve(PlanAnswer plan) {
  plan_ = std::move(plan);
  items_.clear();
  for (uint32_t item = 0; item < problem_.size(); ++item)
    if (uint32_t region = plan_.region[item]; region != none) {
      items_.resize(std::max<size_t>(items_.size(), region + 1));
      items_[region].push_back(item);
    }
  bool changed = false;
  for (uint32_t region = 0; region < items_.size(); ++region)
    if (Move move = best(region); move.gain > 0)
      changed |= this->move(region, move.vendor);
  return changed ? std::move(plan_.tile) : std::vector<uint32_t>();
}

RegionMoves::Move RegionMoves::best(uint32_t region) {
  std::vector<uint32_t> tiles;
  for (uint32_t item : items_[region])
    tiles.push_back(plan_.tile[item]);
  uint32_t owner = problem_.tiles[tiles[0]].vendor;
  double before = timeOf(region);
  Move best;
  for (uint32_t vendor = 0; vendor < problem_.vendors.size(); ++vendor) {
    if (vendor == owner)
      continue;
    if (move(region, vendor))
      if (double gain = before - timeOf(region); gain > best.gain)
        best = {gain, vendor};
    for (uint32_t i = 0; i < tiles.size(); ++i) {
      plan_.tile[items_[region][i]] = tiles[i];
      plan_.region[items_[region][i]] = region;
    }
  }
  return best;
}

// Not all items may have a place.
bool RegionMoves::move(uint32_t region, uint32_t vendor) {
  for (uint32_t item : items_[region]) {
    uint32_t next = problem_.singleOf(item, vendor);
    if (next == none)
      next = problem_.singleOf(item, host);
    if (next == none)
      return false;
    plan_.tile[item] = next;
    plan_.region[item] = problem_.tiles[next].vendor == host ? none : region;
  }
  return true;
}

// Of its items and what they touch.
double RegionMoves::timeOf(uint32_t region) {
  ++stamp_;
  double time = 0;
  uint32_t vendor = host;
  for (uint32_t item : items_[region]) {
    const PlanProblem::Tile &tile = problem_.tiles[plan_.tile[item]];
    if (problem_.membersOf(plan_.tile[item])[0] == item)
      time += tile.time;
    vendor = std::max(vendor, tile.vendor);
    for (uint32_t t : tensorsOf_[item])
      if (mark_[t] != stamp_) {
        mark_[t] = stamp_;
        time += timeOfTensor(problem_, plan_, t);
      }
  }
  return vendor == host || (problem_.vendors[vendor].merges && touches(region, vendor))
             ? time
             : time + problem_.vendors[vendor].launch;
}

// Does a value of the region's have to do with another region of the vendor?
bool RegionMoves::touches(uint32_t region, uint32_t vendor) const {
  auto isOther = [&](uint32_t item) {
    return plan_.region[item] != none && plan_.region[item] != region &&
           problem_.tiles[plan_.tile[item]].vendor == vendor;
  };
  for (uint32_t item : items_[region])
    for (uint32_t t : tensorsOf_[item]) {
      uint32_t maker = problem_.tensors[t].maker;
      if ((maker != none && isOther(maker)) || std::ranges::any_of(problem_.users[t], isOther))
        return true;
    }
  return false;
}

} // namespace bycc
