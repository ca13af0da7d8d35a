// Good tiles for problems of any size, in time that grows with their size and not
// faster: one pass from inputs to results that knows what everything before would
// cost, one back that chooses, then moves of single tiles while they pay.
//
// Regions are estimated, not formed: a tile starts one when no maker of what it
// reads, and no earlier reader of that, has its vendor; tiles of one vendor that
// share a value are taken for one region.
#pragma once

#include "PlanProblem.h"

#include <span>
#include <vector>

namespace bycc {

class PlanSweep {
public:
  explicit PlanSweep(const PlanProblem &problem);

  // Tiles for the program with these vendors only (by number, [0] the host, which
  // is needed). Items that none of them has get their first tile.
  std::vector<uint32_t> choose(const std::vector<uint8_t> &mayUse);

  // Moves tiles of `tile` while that pays, for at most `passes` over all items.
  void improve(std::vector<uint32_t> &tile, const std::vector<uint8_t> &mayUse, uint32_t passes);

  // --- one state, and what a move would change
  void start(std::vector<uint32_t> tile);
  const std::vector<uint32_t> &tiles() const { return tile_; }
  // By how much the estimate changes when `next` covers its members; items that lose
  // a composite get their best tile alone. The move is made.
  double move(uint32_t next);
  // Takes the last move back.
  void undo();

private:
  void passForward(const std::vector<uint8_t> &mayUse);
  void passBack(const std::vector<uint8_t> &mayUse);
  void takeComposites(const std::vector<uint8_t> &mayUse);
  uint32_t bestAlone(uint32_t item, uint32_t vendor) const;
  bool startsRegion(uint32_t item) const;
  bool isInside(uint32_t item) const;
  void fetchAhead(uint32_t item) const;
  bool improveAlone(uint32_t item, const std::vector<uint8_t> &mayUse);
  double timeOfTensor(uint32_t tensor) const;
  void set(uint32_t item, uint32_t tile);
  void collectTouched();
  double touchedTime() const;
  // What is asked of a tensor all the time stands together: one after the other of them
  // may be anywhere in memory.
  enum { Owner, NumUsers, IsUsedOutside, Counts };
  uint32_t *stateOf(uint32_t tensor) { return &state_[size_t{tensor} * (Counts + numVendors_)]; }
  const uint32_t *stateOf(uint32_t tensor) const {
    return &state_[size_t{tensor} * (Counts + numVendors_)];
  }

  const PlanProblem &problem_;
  uint32_t numVendors_;
  PlanProblem::Lists reads_, makes_; // tensors, by item
  std::vector<uint32_t> tile_;
  std::vector<uint32_t> vendor_; // of each item's tile: asked for so often that it stands apart
  std::vector<uint32_t> state_;  // by tensor: its maker's vendor (the host of those made
                                 // elsewhere), its users, are there others, users by vendor
  std::vector<double> until_;    // by item and vendor: what the way here costs
  std::vector<uint32_t> chosen_; // composite that was taken for an item, or none
  std::vector<uint32_t> items_, tensors_, itemMark_, tensorMark_;
  std::vector<std::pair<uint32_t, uint32_t>> changes_; // item and its tile before
  uint32_t stamp_ = 0;
};

} // namespace bycc
