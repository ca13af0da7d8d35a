// What a factor costs at least, given the class of one of its items.

#include "PlanRelaxation.h"

#include <algorithm>
#include <bit>

namespace bycc {

namespace {

using Kind = RelaxationGraph::Kind;

constexpr uint32_t maxSeats = 120; // of a company
constexpr uint32_t maxSets = 1u << RelaxationGraph::maxBits;

double finite(double value) { return value == infinity ? 0 : value; }

// Of an item that has two classes at most, `usable` not none.
double leastOf(const double *given, uint32_t usable) {
  return usable == 3 ? std::min(given[0], given[1]) : given[usable >> 1];
}

} // namespace

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
  const PartsDiagram &diagram = *graph_->diagrams[factor.diagram];
  double *before = sums_.data() + factor.sums, *after = before + diagram.nodes.size();
  double cost = graph_->costs[factor.costs];
  Known &known = known_[&factor - graph_->factors.data()];
  auto classesOf = [&](uint32_t layer) {
    return graph_->seats[graph_->seatsOf[factor.seatsBegin + layer]].numClasses;
  };
  auto arc = [&](uint32_t layer, const PartsDiagram::Node &node, uint32_t i) {
    uint32_t number = graph_->seatsOf[factor.seatsBegin + layer];
    if (!(usable_[number] >> i & 1))
      return infinity;
    return given_[graph_->seats[number].given + i] + node.count[i & 1] * cost;
  };
  for (; known.before < layer; ++known.before) {
    uint32_t begin = diagram.layers[known.before], end = diagram.layers[known.before + 1];
    uint32_t last = known.before + 2 < diagram.layers.size()
                        ? diagram.layers[known.before + 2]
                        : static_cast<uint32_t>(diagram.nodes.size());
    std::fill(before + end, before + last, infinity);
    for (uint32_t node = begin; node < end; ++node)
      for (uint32_t i = 0; i < classesOf(known.before); ++i) {
        const PartsDiagram::Node &arcs = diagram.arcsOf(node, i);
        double &least = before[end + arcs.to[i & 1]];
        least = std::min(least, before[node] + arc(known.before, arcs, i));
      }
  }
  for (; known.after > layer + 1; --known.after) {
    uint32_t begin = diagram.layers[known.after - 1], end = diagram.layers[known.after];
    for (uint32_t node = begin; node < end; ++node) {
      after[node] = infinity;
      for (uint32_t i = 0; i < classesOf(known.after - 1); ++i) {
        const PartsDiagram::Node &arcs = diagram.arcsOf(node, i);
        after[node] =
            std::min(after[node], arc(known.after - 1, arcs, i) + after[end + arcs.to[i & 1]]);
      }
    }
  }
}

void PlanRelaxation::marginsOfParts(const Seat &seat, double *out) const {
  const Factor &factor = factorOf(seat);
  findPaths(factor, seat.place);
  const PartsDiagram &diagram = *graph_->diagrams[factor.diagram];
  const double *before = sums_.data() + factor.sums, *after = before + diagram.nodes.size();
  double cost = graph_->costs[factor.costs];
  uint32_t begin = diagram.layers[seat.place], end = diagram.layers[seat.place + 1];
  std::fill_n(out, seat.numClasses, infinity);
  for (uint32_t node = begin; node < end; ++node)
    for (uint32_t i = 0; i < seat.numClasses; ++i) {
      const PartsDiagram::Node &arcs = diagram.arcsOf(node, i);
      out[i] =
          std::min(out[i], before[node] + arcs.count[i & 1] * cost + after[end + arcs.to[i & 1]]);
    }
  for (uint32_t i = 0; i < seat.numClasses; ++i)
    out[i] += given_[seat.given + i];
}

// What the others of a company take at least, and more if all of some set have the
// vendor; or their first does without.
void PlanRelaxation::marginsOfCompany(const Seat &seat, double *out) const {
  const Factor &factor = factorOf(seat);
  double more[maxSeats]; // to have the vendor
  for (uint32_t i = factor.seatsBegin; i < factor.seatsEnd; ++i) {
    uint32_t number = graph_->seatsOf[i];
    const double *given = given_.data() + graph_->seats[number].given;
    more[i - factor.seatsBegin] = usable_[number] == 3   ? std::max(given[1] - given[0], 0.0)
                                  : usable_[number] == 1 ? infinity
                                                         : 0;
  }
  uint32_t place = seat.place;
  const double *given = given_.data() + seat.given;
  double rest = sums_[factor.sums] - leastOf(given, usable_[&seat - graph_->seats.data()]);
  // The least that a set takes with the seat's item in the vendor, and without.
  double with = graph_->costs[factor.costs], without = with;
  for (uint32_t set = factor.setsBegin; set < factor.setsEnd; ++set) {
    double sum = 0;
    bool isIn = false;
    for (uint32_t other : graph_->companySets[set]) {
      isIn |= other == place;
      sum += other == place ? 0 : more[other];
    }
    with = std::min(with, sum);
    if (!isIn)
      without = std::min(without, sum);
  }
  if (place == 0) {
    out[0] = given[0] + rest;
    out[1] = given[1] + rest + with;
    return;
  }
  uint32_t first = graph_->seatsOf[factor.seatsBegin], usable = usable_[first];
  const double *theirs = given_.data() + graph_->seats[first].given;
  rest -= leastOf(theirs, usable);
  auto least = [&](double company) {
    return std::min(usable & 1 ? theirs[0] : infinity, usable & 2 ? theirs[1] + company : infinity);
  };
  out[0] = given[0] + rest + least(without);
  out[1] = given[1] + rest + least(with);
}

void PlanRelaxation::margins(const Seat &seat, double *out) const {
  const Factor &factor = factorOf(seat);
  if (factor.kind == Kind::Vendors)
    marginsOfUser(seat, out);
  else if (factor.kind == Kind::Parts)
    marginsOfParts(seat, out);
  else if (factor.kind == Kind::Company)
    marginsOfCompany(seat, out);
  else
    std::copy_n(sums_.data() + factor.sums, 2, out);
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
  } else if (factor.kind == Kind::Company) {
    sums[0] += leastOf(given, usable) - leastOf(old, usable_[number]);
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

} // namespace bycc
