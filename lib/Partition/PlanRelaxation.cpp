// Moves costs between items and factors.

#include "PlanRelaxation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace bycc {

namespace {

constexpr uint32_t none = PlanProblem::none;
constexpr double infinity = std::numeric_limits<double>::infinity();
using Kind = RelaxationGraph::Kind;

constexpr uint32_t maxSets = 1u << RelaxationGraph::maxBits;
constexpr uint32_t window = 8;    // sweeps that must together
constexpr double leastGain = 1e-4; // gain so much of the bound

double finite(double value) { return value == infinity ? 0 : value; }
// Of what is not negative, in whole units.
double part(double value, double share) {
  return static_cast<double>(static_cast<int64_t>(value * share));
}

} // namespace

PlanRelaxation::PlanRelaxation(const PlanProblem &problem)
    : problem_(&problem),
      graph_(std::make_shared<const RelaxationGraph>(relaxationOf(problem))),
      isUsable_(problem.tiles.size(), true), numOpen_(problem.size()), own_(graph_->cost),
      given_(graph_->numGiven, 0), usable_(graph_->seats.size(), 0),
      sums_(graph_->numSums, 0) {
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
        sums_[factor.sums + 2 * factor.numSets + set] +=
            (usable_[graph_->seatsOf[i]] & set) == 0;
    sumMakers(factor);
  }
  for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile)
    if (!graph_->isPossible[tile])
      exclude(tile);
}

// For each set of classes, the least that the item gave one in it.
void PlanRelaxation::leastBySet(const Seat &seat, const double *given, uint32_t usable,
                                double *least) const {
  least[0] = infinity;
  for (uint32_t set = 1; set < factorOf(seat).numSets; ++set) {
    uint32_t first = std::countr_zero(set);
    least[set] = least[set & (set - 1)];
    if (usable >> first & 1)
      least[set] = std::min(least[set], given[first]);
  }
}

// The least of a factor for each set of users' classes, as far as its maker goes.
void PlanRelaxation::sumMakers(const Factor &factor) {
  const double *cost = graph_->costs.data() + factor.costs;
  double *makers = sums_.data() + factor.sums + factor.numSets;
  if (!factor.hasMaker) {
    std::copy_n(cost, factor.numSets, makers);
    return;
  }
  uint32_t number = graph_->seatsOf[factor.seatsBegin];
  const Seat &seat = graph_->seats[number];
  std::fill_n(makers, factor.numSets, infinity);
  for (uint32_t i = 0; i < seat.numClasses; ++i, cost += factor.numSets)
    if (usable_[number] >> i & 1)
      for (uint32_t set = 0; set < factor.numSets; ++set)
        makers[set] = std::min(makers[set], given_[seat.given + i] + cost[set]);
}

// The least of a factor for each class of the item in the seat. Sets stand for what
// users may have, not for what they have: costs grow with the set.
void PlanRelaxation::marginsOfUser(const Seat &seat, double *out) const {
  const Factor &factor = factorOf(seat);
  uint32_t usable = usable_[&seat - graph_->seats.data()];
  const double *given = given_.data() + seat.given;
  const double *users = sums_.data() + factor.sums;
  const double *makers = users + factor.numSets, *blocked = makers + factor.numSets;
  if (seat.isMaker) {
    const double *cost = graph_->costs.data() + factor.costs;
    for (uint32_t i = 0; i < seat.numClasses; ++i, cost += factor.numSets) {
      double least = infinity;
      for (uint32_t set = 0; set < factor.numSets; ++set)
        if (blocked[set] == 0)
          least = std::min(least, users[set] + cost[set]);
      out[i] = given[i] + least;
    }
    return;
  }
  double mine[maxSets];
  leastBySet(seat, given, usable, mine);
  std::fill_n(out, seat.numClasses, infinity);
  for (uint32_t set = 1; set < factor.numSets; ++set) {
    if (mine[set] == infinity || blocked[set] != 0)
      continue;
    double rest = users[set] - mine[set] + makers[set];
    for (uint32_t left = set; left; left &= left - 1) {
      uint32_t i = std::countr_zero(left);
      out[i] = std::min(out[i], rest);
    }
  }
  for (uint32_t i = 0; i < seat.numClasses; ++i)
    out[i] += given[i];
}

// The least costs of paths from a diagram's start to a layer's nodes, and from there
// to its end, are kept for the layers that they have been found for since costs
// changed: a sweep goes through a diagram once.
void PlanRelaxation::findPaths(const Factor &factor, uint32_t layer) const {
  const PartsDiagram &diagram = graph_->diagrams[factor.diagram];
  double *before = sums_.data() + factor.sums, *after = before + diagram.nodes.size();
  double cost = graph_->costs[factor.costs];
  Known &known = known_[&factor - graph_->factors.data()];
  auto arc = [&](uint32_t layer, const PartsDiagram::Node &node, uint32_t i) {
    uint32_t number = graph_->seatsOf[factor.seatsBegin + layer];
    if (!(usable_[number] >> i & 1))
      return infinity;
    return given_[graph_->seats[number].given + i] + node.count[i] * cost;
  };
  for (; known.before < layer; ++known.before) {
    uint32_t begin = diagram.layers[known.before], end = diagram.layers[known.before + 1];
    uint32_t last = known.before + 2 < diagram.layers.size()
                        ? diagram.layers[known.before + 2]
                        : static_cast<uint32_t>(diagram.nodes.size());
    std::fill(before + end, before + last, infinity);
    for (uint32_t node = begin; node < end; ++node)
      for (uint32_t i : {0, 1}) {
        double &least = before[end + diagram.nodes[node].to[i]];
        least = std::min(least, before[node] + arc(known.before, diagram.nodes[node], i));
      }
  }
  for (; known.after > layer + 1; --known.after) {
    uint32_t begin = diagram.layers[known.after - 1], end = diagram.layers[known.after];
    for (uint32_t node = begin; node < end; ++node) {
      after[node] = infinity;
      for (uint32_t i : {0, 1})
        after[node] = std::min(after[node], arc(known.after - 1, diagram.nodes[node], i) +
                                                after[end + diagram.nodes[node].to[i]]);
    }
  }
}

void PlanRelaxation::marginsOfParts(const Seat &seat, double *out) const {
  const Factor &factor = factorOf(seat);
  findPaths(factor, seat.place);
  const PartsDiagram &diagram = graph_->diagrams[factor.diagram];
  const double *before = sums_.data() + factor.sums, *after = before + diagram.nodes.size();
  double cost = graph_->costs[factor.costs];
  uint32_t begin = diagram.layers[seat.place], end = diagram.layers[seat.place + 1];
  out[0] = out[1] = infinity;
  for (uint32_t node = begin; node < end; ++node)
    for (uint32_t i : {0, 1})
      out[i] = std::min(out[i], before[node] + diagram.nodes[node].count[i] * cost +
                                    after[end + diagram.nodes[node].to[i]]);
  for (uint32_t i : {0, 1})
    out[i] += given_[seat.given + i];
}

// A launch less what the others would lose by leaving it.
void PlanRelaxation::marginsOfAll(const Seat &seat, double *out) const {
  const Factor &factor = factorOf(seat);
  uint32_t self = static_cast<uint32_t>(&seat - graph_->seats.data());
  double cost = graph_->costs[factor.costs], least = 0;
  for (uint32_t i = factor.seatsBegin; i < factor.seatsEnd && cost > 0; ++i) {
    uint32_t number = graph_->seatsOf[i];
    if (number == self)
      continue;
    const double *given = given_.data() + graph_->seats[number].given;
    if (!(usable_[number] & 2))
      cost = 0;
    else if (usable_[number] & 1)
      cost = std::clamp(given[0] - given[1], 0.0, cost);
  }
  const double *given = given_.data() + seat.given;
  if (usable_[self] == 3)
    least = std::min(given[0], given[1]);
  else
    least = given[usable_[self] >> 1];
  double rest = sums_[factor.sums] - least;
  out[0] = given[0] + rest;
  out[1] = given[1] + rest + cost;
}

void PlanRelaxation::margins(const Seat &seat, double *out) const {
  const Factor &factor = factorOf(seat);
  if (factor.kind == Kind::Vendors)
    marginsOfUser(seat, out);
  else if (factor.kind == Kind::Parts)
    marginsOfParts(seat, out);
  else if (factor.kind == Kind::All)
    marginsOfAll(seat, out);
  else
    std::copy_n(sums_.data() + factor.sums, 2, out);
}

// The cost of each slot of an item once it has back what its factors could do
// without; the least of them.
double PlanRelaxation::gather(uint32_t item, double *slots, double *out) const {
  uint32_t first = firstSlot(item), size = firstSlot(item + 1) - first;
  std::copy_n(own_.data() + first, size, slots);
  for (const Seat &seat : seatsOf(item)) {
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

// What the item in the seat gives, and which classes it has left.
void PlanRelaxation::assign(const Seat &seat, const double *given, uint32_t usable) {
  const Factor &factor = factorOf(seat);
  uint32_t number = static_cast<uint32_t>(&seat - graph_->seats.data());
  double *old = given_.data() + seat.given, *sums = sums_.data() + factor.sums;
  if (factor.kind == Kind::Vendors && !seat.isMaker) {
    double before[maxSets], after[maxSets];
    leastBySet(seat, old, usable_[number], before);
    leastBySet(seat, given, usable, after);
    double *blocked = sums + 2 * factor.numSets;
    for (uint32_t set = 0; set < factor.numSets; ++set) {
      sums[set] += finite(after[set]) - finite(before[set]);
      blocked[set] += double(after[set] == infinity) - double(before[set] == infinity);
    }
  } else if (factor.kind == Kind::Whole) {
    sums[0] += given[0] - old[0], sums[1] += given[1] - old[1];
  } else if (factor.kind == Kind::All) {
    auto least = [](const double *given, uint32_t usable) {
      return usable == 3 ? std::min(given[0], given[1]) : given[usable >> 1];
    };
    sums[0] += least(given, usable) - least(old, usable_[number]);
  }
  if (factor.kind == Kind::Parts) {
    Known &known = known_[seat.factor];
    known.before = std::min(known.before, seat.place);
    known.after = std::max(known.after, seat.place + 1);
  }
  std::copy_n(given, seat.numClasses, old);
  usable_[number] = usable;
  if (seat.isMaker)
    sumMakers(factor);
}

void PlanRelaxation::visit(uint32_t item, Direction direction) {
  uint32_t first = firstSlot(item), size = firstSlot(item + 1) - first;
  double least = gather(item, slots_.data(), margins_.data());
  constant_ += least;
  for (uint32_t i = 0; i < size; ++i)
    own_[first + i] = slots_[i] -= least;
  const double *margin = margins_.data();
  for (const Seat &seat : seatsOf(item)) {
    uint32_t usable = usable_[&seat - graph_->seats.data()];
    const uint8_t *classOf = graph_->classOf.data() + seat.classes;
    double give[32], given[32];
    std::fill_n(give, seat.numClasses, infinity);
    for (uint32_t i = 0; i < size; ++i)
      if (isSlotUsable(first + i))
        give[classOf[i]] = std::min(give[classOf[i]], slots_[i]);
    for (uint32_t i = 0; i < seat.numClasses; ++i) {
      give[i] = usable >> i & 1 ? part(give[i], seat.share[direction]) : 0;
      given[i] = given_[seat.given + i] + (usable >> i & 1 ? give[i] - margin[i] : 0);
    }
    for (uint32_t i = 0; i < size; ++i)
      own_[first + i] -= give[classOf[i]];
    assign(seat, given, usable);
    margin += seat.numClasses;
  }
}

double PlanRelaxation::run(uint32_t maxSweeps, double upper, uint64_t &steps) {
  uint64_t perSweep = 2 * graph_->seats.size();
  double before = constant_;
  for (uint32_t sweep = 0; sweep < maxSweeps && !isInfeasible_ && steps >= perSweep; ++sweep) {
    if (bound() >= upper)
      break;
    if (sweep && sweep % window == 0) {
      if (constant_ - before <= leastGain * std::abs(constant_))
        break;
      before = constant_;
    }
    steps -= perSweep;
    for (uint32_t item = 0; item < problem_->size(); ++item)
      visit(item, Forward);
    for (uint32_t item = problem_->size(); item-- > 0;)
      visit(item, Backward);
  }
  return bound();
}

double PlanRelaxation::bound() const {
  return isInfeasible_ ? infinity : constant_ * graph_->unit;
}

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
