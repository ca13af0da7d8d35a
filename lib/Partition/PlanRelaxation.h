// A lower bound of the time of all legal plans of a PlanProblem, and what it says
// of each tile.
//
// The pieces of a RelaxationGraph share the cost of an item's tiles among them:
// what the item gives to a factor it has less of. Whatever is given, the sum of what
// every item and every factor costs at least, each by itself, bounds the time of any
// plan. Sweeps over the items, forward and backward, move costs so that it grows: an
// item takes back what its factors could do without, and gives its own anew to those
// with items still to come (SRMP, Kolmogorov 2015). On chains and trees without
// limits a few sweeps find the least time; elsewhere a gap may stay.
#pragma once

#include "RelaxationGraph.h"

#include <limits>
#include <memory>

namespace bycc {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

class PlanRelaxation {
public:
  // Of a problem that must outlive it.
  explicit PlanRelaxation(const PlanProblem &problem, std::span<const double> chainShare = {})
      : PlanRelaxation(problem, relaxationOf(problem, chainShare)) {}
  // Of the same, from its start, with launches counted in another way.
  PlanRelaxation(const PlanRelaxation &other, std::span<const double> chainShare)
      : PlanRelaxation(*other.problem_,
                       relaxationOf(*other.problem_, chainShare, other.graph_->basis)) {}

  // The tile may not be used from here on, nor what is then left without a choice.
  void exclude(uint32_t tile);
  void fix(uint32_t item, uint32_t tile);             // excludes the item's others
  bool isInfeasible() const { return isInfeasible_; } // some item has no tile left
  bool isUsable(uint32_t tile) const { return isUsable_[tile]; }
  uint32_t numOpen(uint32_t item) const { return numOpen_[item]; } // its usable tiles

  // Sweeps until the bound reaches `upper`, a few of them raise it by less than
  // `leastGain`, a part of it, or the counts are used up; `steps` loses a part of the
  // graph's work for each sweep. Returns bound().
  double run(uint32_t maxSweeps, double upper, uint64_t &steps, double leastGain = 1e-4);

  // No plan of usable tiles takes less; infinity if there is none.
  double bound() const;
  // bound() with this added holds for plans that use the tile.
  double reducedCost(uint32_t item, uint32_t tile) const;
  // Excludes the tiles that only plans dearer than this have; returns how many.
  uint32_t excludeAbove(double upper);

  // The undecided item to branch on; none when all are decided.
  uint32_t mostOpenItem() const;
  // A tile for each item, composites whole: the cheapest in order, given those before.
  // Empty if this leads nowhere.
  std::vector<uint32_t> rounded() const;

private:
  PlanRelaxation(const PlanProblem &problem, RelaxationGraph graph);
  using Factor = RelaxationGraph::Factor;
  using Seat = RelaxationGraph::Seat;
  enum Direction { Forward, Backward };
  struct Known { // Parts: layers to which paths are known from before and from after
    uint32_t before = 0, after = 0;
  };

  uint32_t firstSlot(uint32_t item) const { return problem_->tilesOf.begin[item]; }
  bool isSlotUsable(uint32_t slot) const { return isUsable_[problem_->tilesOf.flat[slot]]; }
  std::span<const Seat> seatsOf(uint32_t item) const {
    return std::span(graph_->seats)
        .subspan(graph_->seatsBegin[item], graph_->seatsBegin[item + 1] - graph_->seatsBegin[item]);
  }
  const Factor &factorOf(const Seat &seat) const { return graph_->factors[seat.factor]; }
  bool isLeftOut(const Seat &seat) const {
    return !withCompany_ && factorOf(seat).kind == RelaxationGraph::Kind::Company;
  }

  void leastBySet(const Seat &seat, const double *given, uint32_t usable, double *least) const;
  void margins(const Seat &seat, double *out) const;
  void marginsOfUser(const Seat &seat, double *out) const;
  void findPaths(const Factor &factor, uint32_t layer) const;
  void marginsOfParts(const Seat &seat, double *out) const;
  void marginsOfCompany(const Seat &seat, double *out) const;
  double gather(uint32_t item, double *slots, double *margins) const;
  void assign(const Seat &seat, const double *given, uint32_t usable);
  void sumMakers(const Factor &factor);
  void visit(uint32_t item, Direction direction, uint32_t kind);
  void drop(uint32_t tile);
  bool isExact() const;

  const PlanProblem *problem_;
  std::shared_ptr<const RelaxationGraph> graph_;
  double constant_ = 0; // the bound, in units; everything else is >= 0
  bool isInfeasible_ = false;
  uint32_t numSweeps_ = 0;
  bool withCompany_ = false;            // not before sweeps without, which are quick, have settled
  std::vector<uint8_t> isUsable_;       // by tile
  std::vector<uint32_t> numOpen_;       // by item
  std::vector<double> own_;             // by slot: what an item has kept
  std::vector<double> given_;           // by seat and class
  std::vector<uint32_t> usable_;        // by seat: its classes with a usable tile
  mutable std::vector<double> sums_;    // by factor
  mutable std::vector<Known> known_;    // by factor
  std::vector<uint32_t> toDrop_;        // tiles
  std::vector<double> slots_, margins_; // of the item at hand
};

} // namespace bycc
