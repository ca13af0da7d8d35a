// A part of a plan as a problem of its own: a few items that may change, with what
// surrounds them held as it is. Paths that leave the part are not seen, and regions
// that reach into it are taken to keep their limits: a better plan of the part is a
// proposal for the whole.
#pragma once

#include "PlanProblem.h"

#include <optional>
#include <vector>

namespace bycc {

struct PlanWindow {
  PlanProblem problem;
  PlanAnswer current;         // the plan as it is
  double time = 0;            // what that takes
  std::vector<uint32_t> item; // by item of the window: that of the whole
  std::vector<uint32_t> tile; // by tile of the window: that of the whole, or none: held
  // The whole's tiles with those of the window as `plan` has them.
  std::vector<uint32_t> apply(std::vector<uint32_t> whole, const PlanAnswer &plan) const;
};

class PlanWindows {
public:
  explicit PlanWindows(const PlanProblem &problem);
  // Items nearest to `centre`, at most `size` of them that have a choice; none when
  // nothing there has one.
  std::optional<PlanWindow> around(uint32_t centre, uint32_t size, const PlanAnswer &plan);

private:
  static constexpr size_t manyTouch = 24; // such values are not followed
  void collect(uint32_t centre, uint32_t size, const PlanAnswer &plan);
  void addRing();

  const PlanProblem &problem_;
  PlanProblem::Lists tensorsOf_, linksOf_; // by item
  std::vector<uint32_t> mark_;             // by item: number in the window, or none
  std::vector<uint32_t> items_;            // of the window; the first numFree_ may change
  uint32_t numFree_ = 0;
};

} // namespace bycc
