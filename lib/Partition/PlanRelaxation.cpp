// Moves costs between items and factors.

#include "PlanRelaxation.h"

#include <algorithm>
#include <cmath>

namespace bycc {

namespace {

using Kind = RelaxationGraph::Kind;

constexpr uint32_t window = 8; // sweeps that must together gain something

// Of what is not negative, in whole units.
double part(double value, double share) {
  return static_cast<double>(static_cast<int64_t>(value * share));
}

} // namespace

PlanRelaxation::PlanRelaxation(const PlanProblem &problem, RelaxationGraph graph)
    : problem_(&problem), graph_(std::make_shared<const RelaxationGraph>(std::move(graph))),
      isUsable_(problem.tiles.size(), true), numOpen_(problem.size()), own_(graph_->cost),
      given_(graph_->numGiven, 0), usable_(graph_->seats.size(), 0), sums_(graph_->numSums, 0) {
  size_t most = 0, mostSlots = 0;
  for (uint32_t item = 0; item < problem.size(); ++item) {
    numOpen_[item] = static_cast<uint32_t>(problem.tilesOf[item].size());
    mostSlots = std::max<size_t>(mostSlots, numOpen_[item]);
    size_t classes = 0;
    for (const Seat &seat : seatsOf(item)) {
      for (uint32_t i = 0; i < numOpen_[item]; ++i)
        usable_[&seat - graph_->seats.data()] |= 1u << graph_->classOf[seat.classes + i];
      classes += seat.numClasses;
    }
    most = std::max(most, classes);
    double least = *std::min_element(own_.begin() + firstSlot(item),
                                     own_.begin() + firstSlot(item) + numOpen_[item]);
    constant_ += least;
    for (uint32_t i = 0; i < numOpen_[item]; ++i)
      own_[firstSlot(item) + i] -= least;
  }
  slots_.resize(mostSlots);
  margins_.resize(most);
  for (const Factor &factor : graph_->factors) {
    known_.push_back({0, factor.seatsEnd - factor.seatsBegin});
    if (factor.kind != Kind::Vendors)
      continue;
    for (uint32_t i = factor.seatsBegin + factor.hasMaker; i < factor.seatsEnd; ++i)
      for (uint32_t set = 0; set < factor.numSets; ++set)
        sums_[factor.sums + 2 * factor.numSets + set] += (usable_[graph_->seatsOf[i]] & set) == 0;
    sumMakers(factor);
  }
  for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile)
    if (!graph_->basis->isPossible[tile])
      exclude(tile);
}

// The cost of each slot of an item once it has back what its factors could do
// without; the least of them.
double PlanRelaxation::gather(uint32_t item, double *slots, double *out) const {
  uint32_t first = firstSlot(item), size = firstSlot(item + 1) - first;
  std::copy_n(own_.data() + first, size, slots);
  for (const Seat &seat : seatsOf(item)) {
    if (isLeftOut(seat)) {
      std::fill_n(out, seat.numClasses, 0);
      out += seat.numClasses;
      continue;
    }
    margins(seat, out);
    const uint8_t *classOf = graph_->classOf.data() + seat.classes;
    for (uint32_t i = 0; i < size; ++i)
      slots[i] += out[classOf[i]];
    out += seat.numClasses;
  }
  double least = infinity;
  for (uint32_t i = 0; i < size; ++i)
    if (isSlotUsable(first + i))
      least = std::min(least, slots[i]);
  return least;
}

void PlanRelaxation::visit(uint32_t item, Direction direction, uint32_t kind) {
  uint32_t first = firstSlot(item), size = firstSlot(item + 1) - first;
  double least = gather(item, slots_.data(), margins_.data());
  constant_ += least;
  for (uint32_t i = 0; i < size; ++i)
    own_[first + i] = slots_[i] -= least;
  const double *margin = margins_.data();
  for (const Seat &seat : seatsOf(item)) {
    uint32_t usable = usable_[&seat - graph_->seats.data()];
    const uint8_t *classOf = graph_->classOf.data() + seat.classes;
    if (isLeftOut(seat)) {
      margin += seat.numClasses;
      continue;
    }
    double share = seat.isPassedOn[direction] ? seat.share[withCompany_][kind] : 0;
    double give[32], given[32];
    std::fill_n(give, seat.numClasses, infinity);
    for (uint32_t i = 0; i < size; ++i)
      if (isSlotUsable(first + i))
        give[classOf[i]] = std::min(give[classOf[i]], slots_[i]);
    for (uint32_t i = 0; i < seat.numClasses; ++i) {
      give[i] = usable >> i & 1 ? part(give[i], share) : 0;
      given[i] = given_[seat.given + i] + (usable >> i & 1 ? give[i] - margin[i] : 0);
    }
    for (uint32_t i = 0; i < size; ++i)
      own_[first + i] -= give[classOf[i]];
    assign(seat, given, usable);
    margin += seat.numClasses;
  }
}

// Whether all sums of whole numbers are still whole.
bool PlanRelaxation::isExact() const {
  return std::ranges::all_of(given_,
                             [&](double given) { return std::abs(given) <= graph_->mostGiven; });
}

double PlanRelaxation::run(uint32_t maxSweeps, double upper, uint64_t &steps, double leastGain) {
  double before = constant_;
  for (uint32_t sweep = 0, since = 0; sweep < maxSweeps && !isInfeasible_; ++sweep, ++since) {
    if (bound() >= upper || !isExact())
      break;
    if (since == window) {
      if (constant_ - before <= leastGain * std::abs(constant_)) {
        if (withCompany_ || graph_->work[0] == graph_->work[1])
          break;
        withCompany_ = true;
      }
      before = constant_;
      since = 0;
    }
    uint64_t perSweep = 1 + graph_->work[withCompany_] / 8; // both ways
    if (steps < perSweep)
      break;
    steps -= perSweep;
    for (uint32_t item = 0; item < problem_->size(); ++item)
      visit(item, Forward, numSweeps_ % 2);
    for (uint32_t item = problem_->size(); item-- > 0;)
      visit(item, Backward, numSweeps_ % 2);
    ++numSweeps_;
  }
  return bound();
}

double PlanRelaxation::bound() const { return isInfeasible_ ? infinity : constant_ * graph_->unit; }

double PlanRelaxation::reducedCost(uint32_t item, uint32_t tile) const {
  if (isInfeasible_ || !isUsable_[tile])
    return infinity;
  std::vector<double> slots(slots_.size()), margins(margins_.size());
  gather(item, slots.data(), margins.data());
  auto tiles = problem_->tilesOf[item];
  return slots[std::ranges::find(tiles, tile) - tiles.begin()] * graph_->unit;
}

uint32_t PlanRelaxation::excludeAbove(double upper) {
  uint32_t count = 0;
  for (uint32_t item = 0; item < problem_->size() && !isInfeasible_; ++item) {
    if (numOpen_[item] < 2)
      continue;
    gather(item, slots_.data(), margins_.data());
    auto tiles = problem_->tilesOf[item];
    for (uint32_t i = 0; i < tiles.size(); ++i)
      if (isUsable_[tiles[i]] && (constant_ + slots_[i]) * graph_->unit > upper) {
        exclude(tiles[i]);
        ++count;
      }
  }
  return count;
}

// Without what follows from it.
void PlanRelaxation::drop(uint32_t tile) {
  isUsable_[tile] = false;
  for (uint32_t item : problem_->membersOf(tile)) {
    auto tiles = problem_->tilesOf[item];
    for (const Seat &seat : seatsOf(item)) {
      uint32_t usable = 0;
      for (uint32_t i = 0; i < tiles.size(); ++i)
        usable |= uint32_t(isUsable_[tiles[i]]) << graph_->classOf[seat.classes + i];
      if (usable && usable != usable_[&seat - graph_->seats.data()]) {
        double given[32];
        std::copy_n(given_.data() + seat.given, seat.numClasses, given);
        assign(seat, given, usable);
      }
    }
    isInfeasible_ |= --numOpen_[item] == 0;
  }
}

void PlanRelaxation::exclude(uint32_t tile) {
  toDrop_.assign(1, tile);
  while (!toDrop_.empty()) {
    tile = toDrop_.back();
    toDrop_.pop_back();
    if (!isUsable_[tile])
      continue;
    drop(tile);
    for (uint32_t item : problem_->membersOf(tile)) {
      if (numOpen_[item] != 1)
        continue;
      auto tiles = problem_->tilesOf[item];
      uint32_t last = *std::ranges::find_if(tiles, [&](uint32_t t) { return isUsable_[t]; });
      for (uint32_t member : problem_->membersOf(last))
        for (uint32_t other : problem_->tilesOf[member])
          if (other != last && isUsable_[other])
            toDrop_.push_back(other);
    }
  }
}

void PlanRelaxation::fix(uint32_t item, uint32_t tile) {
  for (uint32_t other : problem_->tilesOf[item])
    if (other != tile)
      exclude(other);
}

uint32_t PlanRelaxation::mostOpenItem() const {
  std::vector<double> slots(slots_.size()), margins(margins_.size());
  uint32_t best = none;
  double most = -1;
  for (uint32_t item = 0; item < problem_->size(); ++item) {
    if (numOpen_[item] < 2)
      continue;
    double least = gather(item, slots.data(), margins.data()), second = infinity;
    bool isFirst = true;
    auto tiles = problem_->tilesOf[item];
    for (uint32_t i = 0; i < tiles.size(); ++i) {
      if (!isUsable_[tiles[i]])
        continue;
      if (isFirst && slots[i] == least)
        isFirst = false;
      else
        second = std::min(second, slots[i]);
    }
    if (second - least > most)
      most = second - least, best = item;
  }
  return best;
}

std::vector<uint32_t> PlanRelaxation::rounded() const {
  PlanRelaxation rest(*this);
  std::vector<uint32_t> chosen(problem_->size());
  for (uint32_t item = 0; item < problem_->size(); ++item) {
    if (rest.isInfeasible_)
      return {};
    auto tiles = problem_->tilesOf[item];
    if (rest.numOpen_[item] > 1)
      rest.gather(item, rest.slots_.data(), rest.margins_.data());
    uint32_t best = none;
    for (uint32_t i = 0; i < tiles.size(); ++i)
      if (rest.isUsable_[tiles[i]] && (best == none || rest.slots_[i] < rest.slots_[best]))
        best = i;
    chosen[item] = tiles[best];
    rest.fix(item, chosen[item]);
  }
  return chosen;
}

} // namespace bycc
