// A part of a plan as a problem of its own: a few items that may change, with what
// surrounds them held as it is. Of paths through what is beyond, long ones are not
// seen: a better plan of the part is a proposal for the whole.
#pragma once

#include "Numbers.h"
#include "PlanProblem.h"

#include <optional>
#include <vector>

namespace bycc {

struct PlanWindow {
  PlanProblem problem;
  PlanAnswer current;         // the plan as it is
  double time = 0;            // what that takes
  std::vector<uint32_t> item; // by item of the window: that of the whole, or none: a path
  std::vector<uint32_t> tile; // by tile of the window: that of the whole, or none: held
  // The whole's tiles with those of the window as `plan` has them.
  std::vector<uint32_t> apply(std::vector<uint32_t> whole, const PlanAnswer &plan) const;
  // And with its regions, which need not be legal there; none when some region of the
  // whole falls apart.
  std::optional<PlanAnswer> applyRegions(const PlanAnswer &whole, const PlanAnswer &plan) const;
};

class PlanWindows {
public:
  explicit PlanWindows(const PlanProblem &problem);
  // The plan that windows are of: it must stay until the next.
  void look(const PlanAnswer &plan);
  // Items nearest to `centre`, at most about `size` of them that have a choice; none
  // when nothing there has one.
  std::optional<PlanWindow> around(uint32_t centre, uint32_t size);

private:
  static constexpr size_t manyTouch = 24; // such values are not followed
  static constexpr size_t maxLooks = 200; // for paths, from an item
  struct Region {
    std::vector<uint32_t> items;
    int64_t ops = 0; // of those that do not change
    double flops = 0;
    uint32_t numExempt = 0;
    uint32_t firstHeld = none, lastHeld = none; // items
  };
  struct Reached {
    std::vector<uint32_t> directly, byPath; // items of the window
  };

  void add(uint32_t item);
  void collect(uint32_t centre, uint32_t size);
  void addRing();
  void holdRegions();
  void count(Region &region, uint32_t item, int sign) const;
  Reached reachedFrom(uint32_t item);
  void enter(uint32_t item, std::vector<uint32_t> &reached);
  void orderItems(PlanWindow &window);
  void addTiles(PlanWindow &window);
  void describeItems(PlanWindow &window) const;
  void addValues(PlanWindow &window) const;
  void addHeld(PlanWindow &window) const;
  void addApart(PlanWindow &window) const;
  uint32_t heldTile(const PlanWindow &window, uint32_t tile) const;
  void addCurrent(PlanWindow &window) const;
  bool isFree(uint32_t item) const { return freeMark_[item] == stamp_; }
  bool isExempt(uint32_t item) const {
    return !problem_.isExempt.empty() && problem_.isExempt[item];
  }

  const PlanProblem &problem_;
  const PlanAnswer *plan_ = nullptr;
  std::vector<Region> regions_;
  PlanProblem::Lists tensorsOf_, linksOf_, usersOf_; // by item
  std::vector<uint32_t> mark_;                       // by item: number in the window, or none
  std::vector<uint32_t> freeMark_;                   // by item: the window where it may change
  std::vector<uint32_t> seen_;                       // by item: the last search that saw it
  uint32_t stamp_ = 0, search_ = 0;
  std::vector<uint32_t> items_; // of the window; the first numFree_ may change
  std::vector<uint32_t> queue_;
  std::vector<uint32_t> heldRegions_;
  std::vector<std::vector<uint32_t>> needs_; // by item of the window: beyond its operands
  std::vector<uint32_t> numberOf_;           // by tile of the whole: in the window
  uint32_t numFree_ = 0;
};

} // namespace bycc
