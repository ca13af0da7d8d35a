#include "PlanSweep.h"

#include <algorithm>
#include <limits>

namespace bycc {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr size_t manyUsers = 16; // more are not seen as siblings

} // namespace

PlanSweep::PlanSweep(const PlanProblem &problem)
    : problem_(problem), numVendors_(static_cast<uint32_t>(problem.vendors.size())) {
  reads_ = transposed(problem.users, problem.size());
  PlanProblem::Lists makers;
  for (const PlanProblem::Tensor &tensor : problem.tensors) {
    if (tensor.maker != none)
      makers.add(tensor.maker);
    makers.close();
  }
  makes_ = transposed(makers, problem.size());
  itemMark_.assign(problem.size(), 0);
  tensorMark_.assign(problem.tensors.size(), 0);
}

// --- one state

uint32_t PlanSweep::bestAlone(uint32_t item, uint32_t vendor) const {
  uint32_t best = none;
  bool isPreferred = false;
  for (uint32_t tile : problem_.tilesOf[item]) {
    if (problem_.isComposite(tile))
      continue;
    const PlanProblem::Tile &t = problem_.tiles[tile];
    bool preferred = t.vendor == vendor;
    if (best == none || preferred > isPreferred ||
        (preferred == isPreferred && t.time < problem_.tiles[best].time)) {
      best = tile;
      isPreferred = preferred;
    }
  }
  return best;
}

void PlanSweep::start(std::vector<uint32_t> tile) {
  tile_ = std::move(tile);
  vendor_.resize(tile_.size());
  for (uint32_t item = 0; item < tile_.size(); ++item)
    vendor_[item] = problem_.tiles[tile_[item]].vendor;
  state_.assign(problem_.tensors.size() * (Counts + numVendors_), 0);
  for (uint32_t t = 0; t < problem_.tensors.size(); ++t) {
    const PlanProblem::Tensor &tensor = problem_.tensors[t];
    uint32_t *state = stateOf(t);
    state[Owner] = tensor.maker == none ? host : vendor_[tensor.maker];
    state[NumUsers] = static_cast<uint32_t>(problem_.users[t].size());
    state[IsUsedOutside] = tensor.isUsedOutside;
    for (uint32_t user : problem_.users[t])
      ++state[Counts + vendor_[user]];
  }
}

// Of an item with a vendor.
bool PlanSweep::startsRegion(uint32_t item) const {
  uint32_t vendor = vendor_[item];
  if (!problem_.vendors[vendor].merges)
    return problem_.membersOf(tile_[item]).back() == item;
  for (uint32_t t : reads_[item])
    if (stateOf(t)[Owner] == vendor)
      return false;
  for (uint32_t t : reads_[item])
    if (stateOf(t)[Counts + vendor] > 1 && stateOf(t)[NumUsers] <= manyUsers)
      for (uint32_t user : problem_.users[t]) {
        if (user >= item)
          break;
        if (vendor_[user] == vendor)
          return false;
      }
  return problem_.membersOf(tile_[item])[0] == item;
}

double PlanSweep::timeOfTensor(uint32_t tensor) const {
  const uint32_t *state = stateOf(tensor);
  uint32_t owner = state[Owner];
  double time = 0;
  bool leaves = state[IsUsedOutside] || state[Counts + owner] < state[NumUsers];
  if (owner != host && leaves)
    time += problem_.crossing(owner, tensor);
  for (uint32_t vendor = 1; vendor < numVendors_; ++vendor)
    if (vendor != owner && state[Counts + vendor] > 0)
      time += problem_.crossing(vendor, tensor);
  return time;
}

void PlanSweep::set(uint32_t item, uint32_t tile) {
  uint32_t before = vendor_[item], after = problem_.tiles[tile].vendor;
  if (before != after) {
    for (uint32_t t : reads_[item]) {
      --stateOf(t)[Counts + before];
      ++stateOf(t)[Counts + after];
    }
    for (uint32_t t : makes_[item])
      stateOf(t)[Owner] = after;
  }
  tile_[item] = tile;
  vendor_[item] = after;
}

// What changes of `changes_` can touch.
void PlanSweep::collectTouched() {
  ++stamp_;
  items_.clear();
  tensors_.clear();
  auto touchItem = [&](uint32_t item) {
    if (itemMark_[item] != stamp_) {
      itemMark_[item] = stamp_;
      items_.push_back(item);
    }
  };
  auto touchTensor = [&](uint32_t t) {
    if (tensorMark_[t] == stamp_)
      return;
    tensorMark_[t] = stamp_;
    tensors_.push_back(t);
    if (stateOf(t)[NumUsers] <= manyUsers)
      for (uint32_t user : problem_.users[t])
        touchItem(user);
  };
  for (auto [item, before] : changes_) {
    touchItem(item);
    for (uint32_t member : problem_.membersOf(before))
      touchItem(member);
    for (uint32_t t : reads_[item])
      touchTensor(t);
    for (uint32_t t : makes_[item])
      touchTensor(t);
  }
}

// Of what `changes_` can touch. Times are whole numbers: leaving out tiles that stay
// does not change a difference.
double PlanSweep::touchedTime() const {
  double time = 0;
  for (uint32_t item : items_)
    if (vendor_[item] != host && startsRegion(item))
      time += problem_.vendors[vendor_[item]].launch;
  for (auto [item, before] : changes_)
    if (problem_.membersOf(tile_[item])[0] == item)
      time += problem_.tiles[tile_[item]].time;
  for (uint32_t t : tensors_)
    time += timeOfTensor(t);
  return time;
}

double PlanSweep::move(uint32_t next) {
  changes_.clear();
  for (uint32_t member : problem_.membersOf(next))
    if (tile_[member] != next)
      changes_.emplace_back(member, tile_[member]);
  // Those that lose a composite of which only a part is taken.
  size_t taken = changes_.size();
  for (size_t i = 0; i < taken; ++i)
    if (problem_.isComposite(changes_[i].second))
      for (uint32_t member : problem_.membersOf(changes_[i].second))
        if (std::ranges::find(changes_, member, &std::pair<uint32_t, uint32_t>::first) ==
            changes_.end())
          changes_.emplace_back(member, tile_[member]);
  collectTouched();
  double before = touchedTime();
  for (size_t i = 0; i < changes_.size(); ++i) {
    auto [item, old] = changes_[i];
    set(item, i < taken ? next : bestAlone(item, problem_.tiles[old].vendor));
  }
  return touchedTime() - before;
}

void PlanSweep::undo() {
  for (auto [item, before] : changes_)
    set(item, before);
}

// Has all that an item touches its vendor? Then a tile that takes no less by itself
// takes no less with it. Sooner known than what a move changes.
bool PlanSweep::isInside(uint32_t item) const {
  uint32_t vendor = vendor_[item];
  auto isAllOf = [&](uint32_t t) {
    const uint32_t *state = stateOf(t);
    return state[Owner] == vendor && state[Counts + vendor] == state[NumUsers];
  };
  return !problem_.isComposite(tile_[item]) && problem_.vendors[vendor].merges &&
         std::ranges::all_of(reads_[item], isAllOf) && (vendor == host || !reads_[item].empty()) &&
         std::ranges::all_of(makes_[item], [&](uint32_t t) {
           return isAllOf(t) && (vendor == host || stateOf(t)[IsUsedOutside] == 0);
         });
}

// The best tile for one item that stays alone: what each would change is
// seen on the same neighbours.
bool PlanSweep::improveAlone(uint32_t item, const std::vector<uint8_t> &mayUse) {
  double dear = isInside(item) ? problem_.tiles[tile_[item]].time : never;
  bool isKnown = false, changed = false;
  double nearby = 0;
  for (uint32_t next : problem_.tilesOf[item]) {
    const PlanProblem::Tile &tile = problem_.tiles[next];
    if (next == tile_[item] || !mayUse[tile.vendor] || problem_.isComposite(next) ||
        tile.time >= dear)
      continue;
    if (!isKnown) {
      changes_.assign(1, {item, tile_[item]});
      collectTouched();
      nearby = touchedTime();
      isKnown = true;
    }
    uint32_t before = tile_[item];
    set(item, next);
    if (double time = touchedTime(); time < nearby) {
      nearby = time;
      changed = true;
    } else {
      set(item, before);
    }
  }
  return changed;
}

// Asks memory for what improve() will look at some items from now: of a large graph, what is
// read may be anywhere in it. Each step needs what the one before it asked for.
// (Loops are written out: of calls that do nothing else, compilers think they do nothing.)
void PlanSweep::fetchAhead(uint32_t item) const {
  constexpr uint32_t step = 4;
  uint32_t size = problem_.size();
  auto usersOf = [&](uint32_t t) {
    auto users = problem_.users[t];
    return users.size() <= manyUsers ? users : std::span<const uint32_t>();
  };
  if (item + 5 * step < size)
    for (uint32_t t : reads_[item + 5 * step]) {
      __builtin_prefetch(stateOf(t));
      __builtin_prefetch(&tensorMark_[t]);
      __builtin_prefetch(&problem_.tensors[t]);
      __builtin_prefetch(&problem_.users.begin[t]);
    }
  if (item + 4 * step < size)
    for (uint32_t t : reads_[item + 4 * step])
      __builtin_prefetch(problem_.users.flat.data() + problem_.users.begin[t]);
  if (item + 3 * step < size)
    for (uint32_t t : reads_[item + 3 * step])
      for (uint32_t user : usersOf(t)) {
        __builtin_prefetch(&vendor_[user]);
        __builtin_prefetch(&itemMark_[user]);
        __builtin_prefetch(&reads_.begin[user]);
      }
  if (item + 2 * step < size)
    for (uint32_t t : reads_[item + 2 * step])
      for (uint32_t user : usersOf(t))
        __builtin_prefetch(reads_.flat.data() + reads_.begin[user]);
  if (item + step < size)
    for (uint32_t t : reads_[item + step])
      for (uint32_t user : usersOf(t))
        if (vendor_[user] != host)
          for (uint32_t other : reads_[user])
            __builtin_prefetch(stateOf(other));
}

void PlanSweep::improve(std::vector<uint32_t> &tile, const std::vector<uint8_t> &mayUse,
                        uint32_t passes) {
  start(std::move(tile));
  for (uint32_t pass = 0; pass < passes; ++pass) {
    bool changed = false;
    for (uint32_t item = 0; item < problem_.size(); ++item) {
      fetchAhead(item);
      if (problem_.tilesOf[item].size() == 1)
        continue;
      if (!problem_.isComposite(tile_[item]))
        changed |= improveAlone(item, mayUse);
      for (uint32_t next : problem_.tilesOf[item]) {
        if (next == tile_[item] || !mayUse[problem_.tiles[next].vendor] ||
            problem_.membersOf(next).back() != item ||
            !(problem_.isComposite(next) || problem_.isComposite(tile_[item])))
          continue;
        if (move(next) < 0)
          changed = true;
        else
          undo();
      }
    }
    if (!changed)
      break;
  }
  tile = tile_;
}

// --- from nothing

// Composites that save most over their items alone; no two overlap.
void PlanSweep::takeComposites(const std::vector<uint8_t> &mayUse) {
  chosen_.assign(problem_.size(), none);
  std::vector<std::pair<double, uint32_t>> gains;
  for (uint32_t tile = 0; tile < problem_.tiles.size(); ++tile) {
    const PlanProblem::Tile &t = problem_.tiles[tile];
    if (!problem_.isComposite(tile) || !mayUse[t.vendor])
      continue;
    double apart = 0;
    for (uint32_t member : problem_.membersOf(tile)) {
      double least = never;
      for (uint32_t single : problem_.tilesOf[member])
        if (!problem_.isComposite(single) && mayUse[problem_.tiles[single].vendor])
          least = std::min(least, problem_.tiles[single].time);
      apart += least;
    }
    if (apart > t.time)
      gains.emplace_back(t.time - apart, tile);
  }
  std::ranges::sort(gains);
  for (auto [gain, tile] : gains)
    if (std::ranges::all_of(problem_.membersOf(tile),
                            [&](uint32_t member) { return chosen_[member] == none; }))
      for (uint32_t member : problem_.membersOf(tile))
        chosen_[member] = tile;
}

// until_[item][v]: the item with v, its part of what comes before, and what brings
// the values here. A maker with several readers is split between them.
void PlanSweep::passForward(const std::vector<uint8_t> &mayUse) {
  until_.assign(size_t{problem_.size()} * numVendors_, never);
  for (uint32_t item = 0; item < problem_.size(); ++item) {
    if (uint32_t ahead = item + 16; ahead < problem_.size()) // as in fetchAhead()
      for (uint32_t t : reads_[ahead]) {
        __builtin_prefetch(&problem_.tensors[t]);
        __builtin_prefetch(&problem_.users.begin[t]);
      }
    if (uint32_t ahead = item + 8; ahead < problem_.size())
      for (uint32_t t : reads_[ahead])
        if (uint32_t maker = problem_.tensors[t].maker; maker != none)
          __builtin_prefetch(&until_[size_t{maker} * numVendors_]);
    double *mine = &until_[size_t{item} * numVendors_];
    if (chosen_[item] != none) {
      const PlanProblem::Tile &tile = problem_.tiles[chosen_[item]];
      mine[tile.vendor] = tile.time / static_cast<double>(problem_.membersOf(chosen_[item]).size());
    } else {
      for (uint32_t tile : problem_.tilesOf[item])
        if (const PlanProblem::Tile &t = problem_.tiles[tile];
            !problem_.isComposite(tile) && mayUse[t.vendor])
          mine[t.vendor] = std::min(mine[t.vendor], t.time);
    }
    for (uint32_t vendor = 0; vendor < numVendors_; ++vendor) {
      if (mine[vendor] == never)
        continue;
      bool isStart = vendor != host;
      for (uint32_t t : reads_[item]) {
        double share = 1 / static_cast<double>(problem_.users[t].size());
        uint32_t maker = problem_.tensors[t].maker;
        if (maker == none) {
          mine[vendor] += vendor == host ? 0 : problem_.crossing(vendor, t) * share;
          continue;
        }
        const double *theirs = &until_[size_t{maker} * numVendors_];
        double least = never;
        bool isSame = false;
        for (uint32_t other = 0; other < numVendors_; ++other) {
          if (theirs[other] == never)
            continue;
          double time = theirs[other] * share;
          if (other != vendor)
            time += (other == host ? 0 : problem_.crossing(other, t) * share) +
                    (vendor == host ? 0 : problem_.crossing(vendor, t)) +
                    problem_.vendors[vendor].launch * share;
          if (time < least) {
            least = time;
            isSame = other == vendor;
          }
        }
        if (least < never)
          mine[vendor] += least;
        isStart &= !isSame;
      }
      if (isStart && reads_[item].empty())
        mine[vendor] += problem_.vendors[vendor].launch;
    }
  }
}

void PlanSweep::passBack(const std::vector<uint8_t> &mayUse) {
  std::vector<uint32_t> tile(problem_.size(), none);
  std::vector<uint32_t> vendor(problem_.size(), none);
  for (uint32_t item = problem_.size(); item-- > 0;) {
    if (chosen_[item] != none) {
      tile[item] = chosen_[item];
      vendor[item] = problem_.tiles[chosen_[item]].vendor;
      continue;
    }
    uint32_t best = none;
    double least = never;
    for (uint32_t each : problem_.tilesOf[item]) {
      const PlanProblem::Tile &t = problem_.tiles[each];
      if (problem_.isComposite(each) || !mayUse[t.vendor])
        continue;
      double time = until_[size_t{item} * numVendors_ + t.vendor];
      for (uint32_t made : makes_[item]) {
        bool leaves = problem_.tensors[made].isUsedOutside;
        uint32_t last = t.vendor;
        for (uint32_t user : problem_.users[made])
          if (vendor[user] != t.vendor) {
            leaves = true;
            if (vendor[user] != host && vendor[user] != last) {
              last = vendor[user];
              time += problem_.crossing(vendor[user], made) + problem_.vendors[vendor[user]].launch;
            }
          }
        if (leaves && t.vendor != host)
          time += problem_.crossing(t.vendor, made);
      }
      if (time < least) {
        least = time;
        best = each;
      }
    }
    tile[item] = best != none ? best : bestAlone(item, host);
    if (tile[item] == none) // in composites only
      tile[item] = problem_.tilesOf[item][0];
    vendor[item] = problem_.tiles[tile[item]].vendor;
  }
  tile_ = std::move(tile);
}

std::vector<uint32_t> PlanSweep::choose(const std::vector<uint8_t> &mayUse) {
  takeComposites(mayUse);
  passForward(mayUse);
  passBack(mayUse);
  return tile_;
}

} // namespace bycc
