// Whole regions given to the host or to another vendor, while that pays. Regions are
// taken as they stand: what they could be joined to afterwards is not seen.
#pragma once

#include "PlanProblem.h"

#include <vector>

namespace bycc {

class RegionMoves {
public:
  explicit RegionMoves(const PlanProblem &problem);

  // Tiles of the plan with regions moved, one after the other, each where it saves
  // most; empty when none saves anything. Items that the other vendor does not take go
  // to the host.
  std::vector<uint32_t> improve(PlanAnswer plan);

private:
  struct Move {
    double gain = 0;
    uint32_t vendor = 0;
  };
  Move best(uint32_t region);
  bool move(uint32_t region, uint32_t vendor);
  double timeOf(uint32_t region);
  bool touches(uint32_t region, uint32_t vendor) const;

  const PlanProblem &problem_;
  PlanProblem::Lists tensorsOf_; // by item
  PlanAnswer plan_;
  std::vector<std::vector<uint32_t>> items_; // by region
  std::vector<uint32_t> mark_;               // by tensor
  uint32_t stamp_ = 0;
};

} // namespace bycc
