// Better plans by many small changes: tiles of an item or a region are given to others,
// with the regions of neighbours joined as far as that is legal, and a change that makes
// the plan dearer stays now and then, less and less (Kirkpatrick et al. 1983). Unlike
// sweeps and the rounding of a relaxation it knows what regions really form, which is
// most of the matter where launches are dear. Draws are of its own, and the same on any
// machine.
#pragma once

#include "PlanEdits.h"

#include <optional>
#include <vector>

namespace bycc {

class PlanAnnealing : PlanEdits {
public:
  explicit PlanAnnealing(const PlanProblem &problem); // which must outlive it

  // A plan that takes less than a legal one, if one is found until `steps`, which are
  // counted down, are used up.
  std::optional<PlanAnswer> improve(const PlanAnswer &plan, uint64_t &steps);

private:
  // --- draws
  uint32_t draw(uint32_t count); // below it
  double drawLevel();            // of an exponential law with mean 1, about

  void mergeAround(std::span<const uint32_t> tiles);

  // --- kinds of changes
  bool changeItem(double level);
  bool changeRegion(double level);
  bool changeBall(double level);
  bool splitRegion(double level);
  bool mergeTwo(double level);
  bool giveRegion(uint32_t number, uint32_t vendor, double level);
  void dropLacking();
  bool settle(bool isLegal, double level);

  std::vector<uint32_t> open_; // items with a choice
  double time_ = 0;
  int numLacking_ = 0; // regions that miss limits
  double lackPrice_ = 0;
  std::vector<uint32_t> tried_;  // by region, the last transaction
  std::vector<uint32_t> chosen_; // tiles
  std::vector<uint32_t> seen_;   // by item, the last ball that met it
  std::vector<uint32_t> edge_;   // items that a ball may take next
  uint32_t balls_ = 0;
  uint64_t random_ = 0, last_ = 0;
};

} // namespace bycc
