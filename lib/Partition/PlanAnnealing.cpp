#include "PlanAnnealing.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace bycc {

namespace {

constexpr uint32_t none = PlanProblem::none;
constexpr uint32_t host = PlanProblem::host;
constexpr uint32_t manyTouch = 32;    // of items linked by one value, those looked at
constexpr uint32_t largeRegion = 200; // is not given away as a whole
constexpr uint32_t numLevels = 64;    // of the temperature, each the next times `cooling`
constexpr double hot = 0.5;           // of what an item takes
constexpr double cooling = 0.93;
constexpr double lackPrice = 2;      // of a limit, times what an item takes; more as it cools
constexpr uint32_t lastLevels = 8;   // start without regions that miss limits
constexpr uint64_t workPerStep = 16; // about a microsecond's quarter

} // namespace

PlanAnnealing::PlanAnnealing(const PlanProblem &problem)
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
  for (uint32_t item = 0; item < size; ++item)
    if (problem.tilesOf[item].size() > 1)
      open_.push_back(item);
  regionStamp_.assign(numNames(), 0);
  tried_.assign(numNames(), 0);
  tensorStamp_.assign(problem.tensors.size(), 0);
  itemStamp_.assign(size, 0);
  groupStamp_.assign(numNames() + size, 0);
  vendorStamp_.assign(problem.vendors.size(), 0);
  cutStamp_.assign(size, 0);
  setStamp_.assign(problem.links.size(), 0);
  setFirst_.assign(problem.links.size(), 0);
  number_.assign(size, 0);
}

// --- draws

uint32_t PlanAnnealing::draw(uint32_t count) { // splitmix64
  uint64_t x = random_ += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  last_ = x ^ x >> 31;
  return static_cast<uint32_t>((last_ >> 32) * count >> 32);
}

// How many halvings a fraction stands for, straight lines between: no logarithm, which
// machines round in ways of their own.
double PlanAnnealing::drawLevel() {
  draw(1);
  uint64_t bits = last_ | 1;
  int zeros = std::countl_zero(bits);
  uint64_t fraction = bits << zeros >> 47 & 0xffff;
  return (zeros + (65536 - static_cast<double>(fraction)) / 65536) * 0.6931;
}

// --- a plan, and changes

void PlanAnnealing::start(const PlanAnswer &plan) {
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
  time_ = timeOf(problem_, plan).total();
  numLacking_ = 0;
}

void PlanAnnealing::begin() {
  ++transaction_;
  savedItems_.clear();
  savedRegions_.clear();
  savedParts_.clear();
  savedSequence_.clear();
  touched_.clear();
  before_ = tileChange_ = 0;
}

void PlanAnnealing::undo() {
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

void PlanAnnealing::commit() {
  for (auto &[region, before] : savedRegions_)
    if (regions_[region].size == 0)
      unused_.push_back(region);
}

void PlanAnnealing::saveItem(uint32_t item) {
  savedItems_.push_back({item, tile_[item], region_[item]});
}

void PlanAnnealing::saveRegion(uint32_t region) {
  if (regionStamp_[region] != transaction_) {
    regionStamp_[region] = transaction_;
    savedRegions_.emplace_back(region, regions_[region]);
  }
}

void PlanAnnealing::saveSequence(uint32_t begin, uint32_t end) {
  savedParts_.emplace_back(begin, end - begin);
  savedSequence_.insert(savedSequence_.end(), sequence_.begin() + begin, sequence_.begin() + end);
}

// Before anything that a tensor's price depends on changes.
void PlanAnnealing::touchTensors(uint32_t item) {
  for (uint32_t t : tensorsOf_[item])
    if (tensorStamp_[t] != transaction_) {
      tensorStamp_[t] = transaction_;
      touched_.push_back(t);
      before_ += timeOfTensor(t);
    }
}

void PlanAnnealing::setTile(uint32_t item, uint32_t tile) {
  touchTensors(item);
  saveItem(item);
  if (isFirst(item))
    tileChange_ -= problem_.tiles[tile_[item]].time;
  tile_[item] = tile;
  if (isFirst(item))
    tileChange_ += problem_.tiles[tile].time;
}

void PlanAnnealing::setRegion(uint32_t item, uint32_t region) {
  if (region == none || region_[item] == none ||
      !problem_.vendors[regions_[region].vendor].ownMemory)
    touchTensors(item);
  saveItem(item);
  region_[item] = region;
}

void PlanAnnealing::count(uint32_t region, uint32_t item, int sign) {
  Region &of = regions_[region];
  of.size += static_cast<uint32_t>(sign);
  of.ops += sign * int64_t{problem_.ops[item]};
  of.flops += sign * problem_.flops[item];
  of.numExempt +=
      static_cast<uint32_t>(!problem_.isExempt.empty() && problem_.isExempt[item] ? sign : 0);
}

void PlanAnnealing::empty(uint32_t region) {
  regions_[region].size = regions_[region].numExempt = 0;
  regions_[region].ops = 0;
  regions_[region].flops = 0;
}

uint32_t PlanAnnealing::newRegion(uint32_t vendor, uint32_t label) {
  uint32_t region = unused_.back();
  unused_.pop_back();
  saveRegion(region);
  regions_[region] = {};
  regions_[region].vendor = vendor;
  regions_[region].label = label;
  return region;
}

double PlanAnnealing::timeOfTensor(uint32_t t) {
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
double PlanAnnealing::shortfall(const Region &region) const {
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
double PlanAnnealing::change() {
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
bool PlanAnnealing::isAnyApart(uint32_t region, uint32_t other) const {
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

bool PlanAnnealing::isApartIn(uint32_t tile, uint32_t region) const {
  for (uint32_t i = apartBegin_[tile]; i < apartBegin_[tile + 1]; ++i) {
    uint32_t other = problem_.apart[i].second, first = problem_.membersOf(other)[0];
    if (tile_[first] == other && region_[first] == region)
      return true;
  }
  return false;
}

// Gives the items of tiles these, each tile as a region of its own; items that lose a
// composite get a tile alone. False if that is not legal.
bool PlanAnnealing::put(std::span<const uint32_t> tiles) {
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
bool PlanAnnealing::breakUp(uint32_t tile) {
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
bool PlanAnnealing::takeOut(uint32_t number) {
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
bool PlanAnnealing::isCutThrough(std::span<const uint32_t> items) {
  ++cuts_;
  for (uint32_t item : items)
    cutStamp_[item] = cuts_;
  return std::ranges::any_of(items, [&](uint32_t item) {
    return problem_.isComposite(tile_[item]) &&
           !std::ranges::all_of(problem_.membersOf(tile_[item]),
                                [&](uint32_t member) { return cutStamp_[member] == cuts_; });
  });
}

// Items from a place of the sequence on, one region for each of their linked parts; the
// first gets the name, if it is there still.
void PlanAnnealing::layOut(std::vector<uint32_t> &items, uint32_t &place, uint32_t &name,
                           const Region &like) {
  if (items.empty())
    return;
  uint32_t size = static_cast<uint32_t>(items.size());
  parts_.resize(size);
  std::iota(parts_.begin(), parts_.end(), 0u);
  auto find = [&](uint32_t i) {
    while (parts_[i] != i)
      i = parts_[i] = parts_[parts_[i]];
    return i;
  };
  auto join = [&](uint32_t a, uint32_t b) {
    a = find(a), b = find(b);
    if (a != b)
      parts_[std::max(a, b)] = std::min(a, b);
  };
  ++sets_;
  for (uint32_t i = 0; i < size; ++i)
    number_[items[i]] = i;
  for (uint32_t i = 0; i < size; ++i) {
    if (problem_.isComposite(tile_[items[i]]))
      join(i, number_[problem_.membersOf(tile_[items[i]])[0]]);
    for (uint32_t set : linksOf_[items[i]]) {
      if (setStamp_[set] == sets_)
        join(i, setFirst_[set]);
      setStamp_[set] = sets_;
      setFirst_[set] = i;
    }
  }
  for (uint32_t first = 0; first < size; ++first) {
    if (find(first) != first)
      continue;
    uint32_t region = name == none ? newRegion(like.vendor, like.label) : name;
    name = none;
    regions_[region].begin = place;
    for (uint32_t i = first; i < size; ++i) {
      if (find(i) != first)
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
bool PlanAnnealing::form(uint32_t tile) {
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
bool PlanAnnealing::merge(uint32_t region, uint32_t other) {
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

// With regions that their items are linked to.
void PlanAnnealing::mergeAround(std::span<const uint32_t> tiles) {
  for (uint32_t tile : tiles) {
    uint32_t vendor = problem_.tiles[tile].vendor;
    if (vendor == host || !problem_.vendors[vendor].merges)
      continue;
    auto members = problem_.membersOf(tile);
    uint32_t size = static_cast<uint32_t>(members.size()), turn = draw(size);
    for (uint32_t i = 0; i < size; ++i) {
      uint32_t item = members[(i + turn) % size];
      auto sets = linksOf_[item];
      uint32_t numSets = static_cast<uint32_t>(sets.size()), from = draw(std::max(numSets, 1u));
      for (uint32_t j = 0; j < numSets; ++j) {
        auto others = problem_.links[sets[(j + from) % numSets]];
        uint32_t numOthers = static_cast<uint32_t>(others.size()), start = draw(numOthers);
        for (uint32_t k = 0; k < std::min(numOthers, manyTouch); ++k) {
          uint32_t other = region_[others[(k + start) % numOthers]], own = region_[item];
          if (other == none || other == own || tried_[other] == transaction_ ||
              regions_[other].vendor != vendor || regions_[other].label != regions_[own].label)
            continue;
          tried_[other] = transaction_;
          if (!isAnyApart(own, other))
            merge(own, other);
        }
      }
    }
  }
}

// --- kinds of changes

// Keeps a change that is not dearer than the level.
bool PlanAnnealing::settle(bool isLegal, double level) {
  double more = isLegal ? change() : 0;
  if (!isLegal || more + lackChange_ * lackPrice_ > level) {
    undo();
    return false;
  }
  commit();
  time_ += more;
  numLacking_ += numLackChange_;
  return true;
}

bool PlanAnnealing::changeItem(double level) {
  uint32_t item = open_[draw(static_cast<uint32_t>(open_.size()))];
  auto tiles = problem_.tilesOf[item];
  uint32_t tile = tiles[draw(static_cast<uint32_t>(tiles.size()))];
  if (tile == tile_[item] && problem_.tiles[tile].vendor == host)
    return false;
  begin();
  bool isLegal = put({&tile, 1});
  if (isLegal)
    mergeAround({&tile, 1});
  return settle(isLegal, level);
}

// All of a region to the host, or to another vendor.
bool PlanAnnealing::changeRegion(double level) {
  uint32_t number = region_[open_[draw(static_cast<uint32_t>(open_.size()))]];
  uint32_t vendor = draw(static_cast<uint32_t>(problem_.vendors.size()));
  if (number == none || regions_[number].size > largeRegion || regions_[number].vendor == vendor)
    return false;
  return giveRegion(number, vendor, level);
}

bool PlanAnnealing::giveRegion(uint32_t number, uint32_t vendor, double level) {
  const Region &region = regions_[number];
  std::vector<uint32_t> &tiles = chosen_;
  tiles.assign(sequence_.begin() + region.begin, sequence_.begin() + region.begin + region.size);
  std::ranges::sort(tiles);
  for (uint32_t &tile : tiles) {
    uint32_t single = problem_.singleOf(tile, vendor);
    tile = single == none ? problem_.singleOf(tile, host) : single;
    if (tile == none)
      return false;
  }
  begin();
  bool isLegal = put(tiles);
  if (isLegal)
    mergeAround(tiles);
  return settle(isLegal, level);
}

// Of a region, what comes behind some item may go to another.
bool PlanAnnealing::splitRegion(double level) {
  uint32_t pivot = open_[draw(static_cast<uint32_t>(open_.size()))], number = region_[pivot];
  if (number == none || regions_[number].size < 2)
    return false;
  begin();
  items_ += 2;
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
    return settle(false, level);
  empty(number);
  uint32_t place = region.begin, name = number;
  layOut(rest_, place, name, region);
  layOut(after_, place, name, region);
  bool isFront = draw(2);
  chosen_.clear();
  for (uint32_t item : isFront ? rest_ : after_)
    chosen_.push_back(tile_[item]);
  for (uint32_t item : isFront ? after_ : rest_)
    tried_[region_[item]] = transaction_;
  mergeAround(chosen_);
  return settle(true, level);
}

bool PlanAnnealing::mergeTwo(double level) {
  uint32_t item = open_[draw(static_cast<uint32_t>(open_.size()))];
  if (region_[item] == none)
    return false;
  begin();
  uint32_t tile = tile_[item];
  mergeAround({&tile, 1});
  return settle(true, level);
}

// Regions that miss limits go to the host.
void PlanAnnealing::dropLacking() {
  for (uint32_t item = 0; item < problem_.size() && numLacking_ > 0; ++item)
    if (uint32_t number = region_[item]; number != none && shortfall(regions_[number]) > 0)
      giveRegion(number, host, std::numeric_limits<double>::infinity());
}

std::optional<PlanAnswer> PlanAnnealing::improve(const PlanAnswer &plan, uint64_t &steps) {
  std::optional<PlanAnswer> best;
  if (open_.empty() || !isLegal(problem_, plan))
    return best; // of a window, regions may need each other through what is beyond
  random_ = 0;
  start(plan);
  double bestTime = time_, each = std::floor(time_ / problem_.size());
  double warmth = hot * each;
  lackPrice_ = lackPrice * each;
  uint64_t perLevel = steps / numLevels * workPerStep;
  for (uint32_t level = 0; level < numLevels; ++level) {
    work_ = 0;
    if (level + lastLevels >= numLevels)
      dropLacking();
    while (work_ < perLevel) {
      work_ += 32;
      uint32_t kind = draw(32);
      double dearer = warmth * drawLevel();
      bool changed = kind == 0   ? changeRegion(dearer)
                     : kind == 1 ? splitRegion(dearer)
                     : kind == 2 ? mergeTwo(dearer)
                                 : changeItem(dearer);
      if (changed && numLacking_ == 0 && time_ < bestTime) {
        bestTime = time_;
        best = PlanAnswer{tile_, region_};
        work_ += problem_.size() / 4;
      }
    }
    warmth *= cooling;
    lackPrice_ /= cooling;
  }
  steps = 0;
  if (best)
    renumber(*best);
  return best;
}

} // namespace bycc
