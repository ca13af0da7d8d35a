#include "PlanEdits.h"

#include <algorithm>

namespace bycc {

PlanEdits::PlanEdits(const PlanProblem &problem)
    : problem_(problem), linksOf_(transposed(problem.links, problem.size())),
      usersOf_(transposed(problem.needs, problem.size())) {
  uint32_t size = problem.size();
  PlanProblem::Lists touching;
  for (uint32_t t = 0; t < problem.tensors.size(); ++t) {
    bool costs = false;
    for (uint32_t vendor = 1; vendor < problem.vendors.size(); ++vendor)
      costs |= problem.crossing(vendor, t) > 0;
    if (costs) {
      if (uint32_t maker = problem.tensors[t].maker; maker != none)
        touching.add(maker);
      for (uint32_t user : problem.users[t])
        touching.add(user);
    }
    touching.close();
  }
  tensorsOf_ = transposed(touching, size);
  apartBegin_.assign(problem.tiles.size() + 1, 0);
  for (auto [tile, other] : problem.apart)
    ++apartBegin_[tile + 1];
  for (size_t tile = 0; tile < problem.tiles.size(); ++tile)
    apartBegin_[tile + 1] += apartBegin_[tile];
  regionStamp_.assign(numNames(), 0);
  tensorStamp_.assign(problem.tensors.size(), 0);
  itemStamp_.assign(size, 0);
  groupStamp_.assign(numNames() + size, 0);
  vendorStamp_.assign(problem.vendors.size(), 0);
  cutStamp_.assign(size, 0);
  setStamp_.assign(problem.links.size(), 0);
  setFirst_.assign(problem.links.size(), 0);
  number_.assign(size, 0);
}

// --- a plan, and changes

void PlanEdits::start(const PlanAnswer &plan) {
  uint32_t size = problem_.size();
  tile_ = plan.tile;
  region_ = plan.region;
  regions_.assign(numNames(), {});
  for (uint32_t item = 0; item < size; ++item)
    if (uint32_t region = region_[item]; region != none) {
      regions_[region].vendor = vendorOf(item);
      regions_[region].label = problem_.labelOf(item);
      count(region, item, 1);
    }
  unused_.clear();
  for (uint32_t region = numNames(); region-- > 0;)
    if (regions_[region].size == 0)
      unused_.push_back(region);
  // Groups in an order of dependency.
  std::vector<std::vector<uint32_t>> members(numNames() + size);
  std::vector<uint32_t> waiting(numNames() + size, 0), ready;
  for (uint32_t item = 0; item < size; ++item) {
    members[groupOf(item)].push_back(item);
    for (uint32_t need : problem_.needs[item])
      waiting[groupOf(item)] += groupOf(need) != groupOf(item);
  }
  for (uint32_t item = 0; item < size; ++item)
    if (members[groupOf(item)].front() == item && waiting[groupOf(item)] == 0)
      ready.push_back(groupOf(item));
  sequence_.clear();
  placeOf_.assign(size, 0);
  for (size_t i = 0; i < ready.size(); ++i) {
    if (ready[i] < numNames())
      regions_[ready[i]].begin = static_cast<uint32_t>(sequence_.size());
    for (uint32_t item : members[ready[i]]) {
      placeOf_[item] = static_cast<uint32_t>(sequence_.size());
      sequence_.push_back(item);
      for (uint32_t user : usersOf_[item])
        if (groupOf(user) != ready[i] && --waiting[groupOf(user)] == 0)
          ready.push_back(groupOf(user));
    }
  }
}

void PlanEdits::begin() {
  ++transaction_;
  savedItems_.clear();
  savedRegions_.clear();
  savedParts_.clear();
  savedSequence_.clear();
  touched_.clear();
  before_ = tileChange_ = 0;
}

void PlanEdits::undo() {
  for (size_t i = savedItems_.size(); i-- > 0;) {
    tile_[savedItems_[i].item] = savedItems_[i].tile;
    region_[savedItems_[i].item] = savedItems_[i].region;
  }
  for (auto &[region, before] : savedRegions_) {
    if (before.size == 0)
      unused_.push_back(region);
    regions_[region] = before;
  }
  for (size_t i = savedParts_.size(); i-- > 0;) {
    auto [begin, size] = savedParts_[i];
    uint32_t from = static_cast<uint32_t>(savedSequence_.size()) - size;
    for (uint32_t k = 0; k < size; ++k) {
      sequence_[begin + k] = savedSequence_[from + k];
      placeOf_[sequence_[begin + k]] = begin + k;
    }
    savedSequence_.resize(from);
  }
}

void PlanEdits::commit() {
  for (auto &[region, before] : savedRegions_)
    if (regions_[region].size == 0)
      unused_.push_back(region);
}

void PlanEdits::saveItem(uint32_t item) {
  savedItems_.push_back({item, tile_[item], region_[item]});
}

void PlanEdits::saveRegion(uint32_t region) {
  if (regionStamp_[region] != transaction_) {
    regionStamp_[region] = transaction_;
    savedRegions_.emplace_back(region, regions_[region]);
  }
}

void PlanEdits::saveSequence(uint32_t begin, uint32_t end) {
  savedParts_.emplace_back(begin, end - begin);
  savedSequence_.insert(savedSequence_.end(), sequence_.begin() + begin, sequence_.begin() + end);
}

// Before anything that a tensor's price depends on changes.
void PlanEdits::touchTensors(uint32_t item) {
  for (uint32_t t : tensorsOf_[item])
    if (tensorStamp_[t] != transaction_) {
      tensorStamp_[t] = transaction_;
      touched_.push_back(t);
      before_ += timeOfTensor(t);
    }
}

void PlanEdits::setTile(uint32_t item, uint32_t tile) {
  touchTensors(item);
  saveItem(item);
  if (isFirst(item))
    tileChange_ -= problem_.tiles[tile_[item]].time;
  tile_[item] = tile;
  if (isFirst(item))
    tileChange_ += problem_.tiles[tile].time;
}

void PlanEdits::setRegion(uint32_t item, uint32_t region) {
  if (region == none || region_[item] == none ||
      !problem_.vendors[regions_[region].vendor].ownMemory)
    touchTensors(item);
  saveItem(item);
  region_[item] = region;
}

void PlanEdits::count(uint32_t region, uint32_t item, int sign) {
  Region &of = regions_[region];
  of.size += static_cast<uint32_t>(sign);
  of.ops += sign * int64_t{problem_.ops[item]};
  of.flops += sign * problem_.flops[item];
  of.numExempt +=
      static_cast<uint32_t>(!problem_.isExempt.empty() && problem_.isExempt[item] ? sign : 0);
}

void PlanEdits::empty(uint32_t region) {
  regions_[region].size = regions_[region].numExempt = 0;
  regions_[region].ops = 0;
  regions_[region].flops = 0;
}

uint32_t PlanEdits::newRegion(uint32_t vendor, uint32_t label) {
  uint32_t region = unused_.back();
  unused_.pop_back();
  saveRegion(region);
  regions_[region] = {};
  regions_[region].vendor = vendor;
  regions_[region].label = label;
  return region;
}

double PlanEdits::timeOfTensor(uint32_t t) {
  const PlanProblem::Tensor &tensor = problem_.tensors[t];
  uint32_t home = tensor.maker == none ? none : region_[tensor.maker];
  uint32_t owner = home == none ? host : regions_[home].vendor;
  bool leaves = tensor.isUsedOutside;
  double time = 0;
  ++vendors_;
  work_ += 2 + problem_.users[t].size();
  for (uint32_t user : problem_.users[t]) {
    uint32_t region = region_[user];
    if (region == home)
      continue;
    uint32_t vendor = region == none ? host : regions_[region].vendor;
    if (vendor == owner && problem_.vendors[vendor].ownMemory)
      continue;
    leaves = true;
    if (vendor == host || vendorStamp_[vendor] == vendors_)
      continue;
    vendorStamp_[vendor] = vendors_;
    time += problem_.crossing(vendor, t);
  }
  if (owner != host && leaves)
    time += problem_.crossing(owner, t);
  return time;
}

// By how much it misses its vendor's limits, as parts of them; a little more, so that
// the last bit counts.
double PlanEdits::shortfall(const Region &region) const {
  if (region.size == 0 || region.numExempt > 0)
    return 0;
  const PlanProblem::Vendor &vendor = problem_.vendors[region.vendor];
  double missing = 0;
  if (region.ops < vendor.minOps)
    missing += 1.25 - static_cast<double>(region.ops) / static_cast<double>(vendor.minOps);
  if (region.flops < vendor.minFlops)
    missing += 1.25 - region.flops / vendor.minFlops;
  return missing;
}

// Of the time; what is lacking is counted beside it.
double PlanEdits::change() {
  double change = tileChange_ - before_;
  lackChange_ = 0;
  numLackChange_ = 0;
  for (uint32_t t : touched_)
    change += timeOfTensor(t);
  for (auto &[number, before] : savedRegions_) {
    const Region &after = regions_[number];
    if (before.size > 0)
      change -= problem_.vendors[before.vendor].launch;
    if (after.size > 0)
      change += problem_.vendors[after.vendor].launch;
    double less = shortfall(before), more = shortfall(after);
    lackChange_ += more - less;
    numLackChange_ += int(more > 0) - int(less > 0);
  }
  return change;
}

// --- parts of changes

// Do tiles of two regions have to be apart?
bool PlanEdits::isAnyApart(uint32_t region, uint32_t other) const {
  if (problem_.apart.empty())
    return false;
  if (regions_[region].size > regions_[other].size)
    std::swap(region, other);
  const Region &small = regions_[region];
  for (uint32_t k = small.begin; k < small.begin + small.size; ++k) {
    uint32_t item = sequence_[k];
    if (isFirst(item) && isApartIn(tile_[item], other))
      return true;
  }
  return false;
}

bool PlanEdits::isApartIn(uint32_t tile, uint32_t region) const {
  for (uint32_t i = apartBegin_[tile]; i < apartBegin_[tile + 1]; ++i) {
    uint32_t other = problem_.apart[i].second, first = problem_.membersOf(other)[0];
    if (tile_[first] == other && region_[first] == region)
      return true;
  }
  return false;
}

// Gives the items of tiles these, each tile as a region of its own; items that lose a
// composite get a tile alone. False if that is not legal.
bool PlanEdits::put(std::span<const uint32_t> tiles) {
  tiles_.assign(tiles.begin(), tiles.end());
  items_ += 2; // these are taken out; one more: what comes after them
  for (uint32_t tile : tiles_)
    for (uint32_t member : problem_.membersOf(tile))
      itemStamp_[member] = items_;
  for (uint32_t tile : tiles)
    for (uint32_t member : problem_.membersOf(tile))
      if (problem_.isComposite(tile_[member]) && !breakUp(tile_[member]))
        return false;
  for (uint32_t tile : tiles_)
    for (uint32_t member : problem_.membersOf(tile))
      if (region_[member] != none && !takeOut(region_[member]))
        return false;
  for (uint32_t tile : tiles_)
    for (uint32_t member : problem_.membersOf(tile))
      setTile(member, tile);
  return std::ranges::all_of(
      tiles_, [&](uint32_t tile) { return problem_.tiles[tile].vendor == host || form(tile); });
}

// Tiles alone for the items of a composite that stay behind.
bool PlanEdits::breakUp(uint32_t tile) {
  uint32_t vendor = problem_.tiles[tile].vendor;
  for (uint32_t item : problem_.membersOf(tile)) {
    if (itemStamp_[item] == items_)
      continue;
    uint32_t single = problem_.singleOf(item, vendor);
    if (single != none && problem_.vendors[vendor].merges) {
      if (isApartIn(single, region_[item]))
        return false;
      setTile(item, single);
      continue;
    }
    single = problem_.singleOf(item, host);
    if (single == none)
      return false;
    itemStamp_[item] = items_;
    tiles_.push_back(single);
  }
  return true;
}

// Items with the stamp leave their region. What they need there and what needs them is
// not in one region from then on, nor what hangs together through them alone.
bool PlanEdits::takeOut(uint32_t number) {
  saveRegion(number);
  Region region = regions_[number];
  uint32_t end = region.begin + region.size;
  saveSequence(region.begin, end);
  work_ += 4 * region.size;
  part_.assign(sequence_.begin() + region.begin, sequence_.begin() + end);
  std::ranges::sort(part_);
  bool needsRest = false;
  out_.clear(), rest_.clear(), after_.clear();
  for (uint32_t item : part_) {
    bool isOut = itemStamp_[item] == items_, isAfter = false;
    for (uint32_t need : problem_.needs[item])
      if (region_[need] == number) {
        if (isOut && itemStamp_[need] == items_ + 1)
          return false; // it would come before and after
        isAfter |= itemStamp_[need] == items_ || itemStamp_[need] == items_ + 1;
        needsRest |= isOut && itemStamp_[need] != items_;
      }
    if (isOut) {
      out_.push_back(item);
      continue;
    }
    if (isAfter)
      itemStamp_[item] = items_ + 1;
    (isAfter ? after_ : rest_).push_back(item);
  }
  if (!needsRest && !after_.empty()) { // all may stay together
    after_.insert(after_.end(), rest_.begin(), rest_.end());
    rest_.clear();
  } else if (!after_.empty() && isCutThrough(rest_)) {
    return false;
  }
  empty(number);
  uint32_t place = region.begin, name = number;
  layOut(rest_, place, name, region);
  for (uint32_t item : out_) {
    setRegion(item, none);
    placeOf_[item] = place;
    sequence_[place++] = item;
  }
  layOut(after_, place, name, region);
  return true;
}

// Is some composite of the items not all among them?
bool PlanEdits::isCutThrough(std::span<const uint32_t> items) {
  ++cuts_;
  for (uint32_t item : items)
    cutStamp_[item] = cuts_;
  return std::ranges::any_of(items, [&](uint32_t item) {
    return problem_.isComposite(tile_[item]) &&
           !std::ranges::all_of(problem_.membersOf(tile_[item]),
                                [&](uint32_t member) { return cutStamp_[member] == cuts_; });
  });
}

// Of a region, what comes behind an item becomes another one. False if that cuts through a
// composite, or nothing comes behind; else the two are rest_ and after_.
bool PlanEdits::splitBehind(uint32_t pivot) {
  uint32_t number = region_[pivot];
  saveRegion(number);
  Region region = regions_[number];
  uint32_t end = region.begin + region.size;
  saveSequence(region.begin, end);
  part_.assign(sequence_.begin() + region.begin, sequence_.begin() + end);
  std::ranges::sort(part_);
  rest_.clear(), after_.clear();
  for (uint32_t item : part_)
    (item <= pivot ? rest_ : after_).push_back(item);
  if (after_.empty() || isCutThrough(rest_))
    return false;
  empty(number);
  uint32_t place = region.begin, name = number;
  layOut(rest_, place, name, region);
  layOut(after_, place, name, region);
  return true;
}

// Items from a place of the sequence on, one region for each of their linked parts; the
// first gets the name, if it is there still.
void PlanEdits::layOut(std::vector<uint32_t> &items, uint32_t &place, uint32_t &name,
                       const Region &like) {
  if (items.empty())
    return;
  uint32_t size = static_cast<uint32_t>(items.size());
  parts_.restart(size);
  ++sets_;
  for (uint32_t i = 0; i < size; ++i)
    number_[items[i]] = i;
  for (uint32_t i = 0; i < size; ++i) {
    if (problem_.isComposite(tile_[items[i]]))
      parts_.join(i, number_[problem_.membersOf(tile_[items[i]])[0]]);
    for (uint32_t set : linksOf_[items[i]]) {
      if (setStamp_[set] == sets_)
        parts_.join(i, setFirst_[set]);
      setStamp_[set] = sets_;
      setFirst_[set] = i;
    }
  }
  for (uint32_t first = 0; first < size; ++first) {
    if (parts_.find(first) != first)
      continue;
    uint32_t region = name == none ? newRegion(like.vendor, like.label) : name;
    name = none;
    regions_[region].begin = place;
    for (uint32_t i = first; i < size; ++i) {
      if (parts_.find(i) != first)
        continue;
      uint32_t item = items[i];
      if (region_[item] != region)
        setRegion(item, region);
      count(region, item, 1);
      placeOf_[item] = place;
      sequence_[place++] = item;
    }
  }
}

// A region of the items of a tile, which are none's.
bool PlanEdits::form(uint32_t tile) {
  uint32_t region = none;
  for (uint32_t member : problem_.membersOf(tile)) {
    uint32_t own = newRegion(problem_.tiles[tile].vendor, problem_.labelOf(member));
    regions_[own].begin = placeOf_[member];
    setRegion(member, own);
    count(own, member, 1);
    if (region == none)
      region = own;
    else if (regions_[own].label != regions_[region].label || !merge(region, own))
      return false;
    region = region_[member];
  }
  return true;
}

// Two regions become one, if no path leads from the first to the other through others.
// Those between that need the first then come after both.
bool PlanEdits::merge(uint32_t region, uint32_t other) {
  if (regions_[region].begin > regions_[other].begin)
    std::swap(region, other);
  const Region first = regions_[region], second = regions_[other];
  uint32_t begin = first.begin + first.size, end = second.begin + second.size;
  ++groups_;
  groupStamp_[region] = groups_;
  work_ += 8 + (end - first.begin);
  part_.clear(), after_.clear();
  auto isAfter = [&](uint32_t k, uint32_t size) {
    for (uint32_t i = k; i < k + size; ++i)
      for (uint32_t need : problem_.needs[sequence_[i]])
        if (groupStamp_[groupOf(need)] == groups_)
          return true;
    return false;
  };
  for (uint32_t k = begin; k < second.begin;) {
    uint32_t group = groupOf(sequence_[k]);
    uint32_t size = group < numNames() ? regions_[group].size : 1;
    bool waits = isAfter(k, size);
    if (waits)
      groupStamp_[group] = groups_;
    (waits ? after_ : part_)
        .insert((waits ? after_ : part_).end(), sequence_.begin() + k,
                sequence_.begin() + k + size);
    k += size;
  }
  groupStamp_[region] = 0;
  if (isAfter(second.begin, second.size))
    return false;
  saveSequence(first.begin, end);
  saveRegion(region);
  saveRegion(other);
  uint32_t both = first.begin + static_cast<uint32_t>(part_.size());
  part_.insert(part_.end(), sequence_.begin() + first.begin,
               sequence_.begin() + first.begin + first.size);
  part_.insert(part_.end(), sequence_.begin() + second.begin, sequence_.begin() + end);
  part_.insert(part_.end(), after_.begin(), after_.end());
  uint32_t place = first.begin;
  for (uint32_t item : part_) {
    sequence_[place] = item;
    placeOf_[item] = place;
    if (uint32_t its = region_[item];
        its != none && its != region && its != other &&
        (place == first.begin || region_[part_[place - first.begin - 1]] != its)) {
      saveRegion(its);
      regions_[its].begin = place;
    }
    ++place;
  }
  uint32_t kept = first.size >= second.size ? region : other, gone = region + other - kept;
  for (uint32_t k = both; k < both + first.size + second.size; ++k)
    if (region_[sequence_[k]] == gone) {
      count(gone, sequence_[k], -1);
      count(kept, sequence_[k], 1);
      setRegion(sequence_[k], kept);
    }
  regions_[kept].begin = both;
  return true;
}

} // namespace bycc
