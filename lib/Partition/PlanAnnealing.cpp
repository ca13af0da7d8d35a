#include "PlanAnnealing.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace bycc {

namespace {

constexpr uint32_t manyTouch = 32;    // of items linked by one value, those looked at
constexpr uint32_t largeRegion = 200; // is not given away as a whole
constexpr uint32_t numLevels = 64;    // of the temperature, each the next times `cooling`
constexpr double hot = 0.5;           // of what an item takes
constexpr double cooling = 0.93;
constexpr double lackPrice = 2;      // of a limit, times what an item takes; more as it cools
constexpr uint32_t lastLevels = 8;   // start without regions that miss limits
constexpr uint64_t workPerStep = 16; // about a microsecond's quarter
// Of so many changes three are of one region or two, some of a ball, and the rest of an item.
constexpr uint32_t numKinds = 32, numBalls = 6;
constexpr uint32_t ballDoublings = 3; // of what a ball may have beyond two items, from two on

} // namespace

PlanAnnealing::PlanAnnealing(const PlanProblem &problem) : PlanEdits(problem) {
  for (uint32_t item = 0; item < problem.size(); ++item)
    if (problem.tilesOf[item].size() > 1)
      open_.push_back(item);
  tried_.assign(numNames(), 0);
  seen_.assign(problem.size(), 0);
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

// Items that hang together go to a vendor, around a centre and in any direction: where launches
// are dear one item alone only makes a region more, and a few together pay.
bool PlanAnnealing::changeBall(double level) {
  uint32_t centre = open_[draw(static_cast<uint32_t>(open_.size()))];
  uint32_t vendor = draw(static_cast<uint32_t>(problem_.vendors.size()));
  uint32_t size = 2 + draw(2u << draw(ballDoublings));
  ++balls_;
  chosen_.clear();
  edge_.assign(1, centre);
  seen_[centre] = balls_;
  for (uint32_t looks = 0; !edge_.empty() && chosen_.size() < size && looks < 4 * size; ++looks) {
    uint32_t pick = draw(static_cast<uint32_t>(edge_.size())), item = edge_[pick];
    edge_[pick] = edge_.back();
    edge_.pop_back();
    uint32_t single = problem_.singleOf(item, vendor);
    if (single == none)
      continue;
    if (problem_.tiles[tile_[item]].vendor != vendor)
      chosen_.push_back(single);
    for (uint32_t set : linksOf_[item])
      if (auto others = problem_.links[set]; others.size() <= manyTouch)
        for (uint32_t other : others)
          if (seen_[other] != balls_) {
            seen_[other] = balls_;
            edge_.push_back(other);
          }
  }
  work_ += 4 * size;
  if (chosen_.empty())
    return false;
  begin();
  bool isLegal = put(chosen_);
  if (isLegal)
    mergeAround(chosen_);
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
  if (!splitBehind(pivot))
    return settle(false, level);
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
  time_ = timeOf(problem_, plan).total();
  numLacking_ = 0;
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
      uint32_t kind = draw(numKinds);
      double dearer = warmth * drawLevel();
      bool changed = kind == 0             ? changeRegion(dearer)
                     : kind == 1           ? splitRegion(dearer)
                     : kind == 2           ? mergeTwo(dearer)
                     : kind < 3 + numBalls ? changeBall(dearer)
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
