// What a relaxation knows of the links between items.
#pragma once

#include "PlanProblem.h"

namespace bycc {

// Sets of two or more linked items of one label, none within another.
struct LinkSets {
  PlanProblem::Lists sets;   // items, ascending
  PlanProblem::Lists setsOf; // by item
};
LinkSets linkSets(const PlanProblem &problem);

// Parts of a few items that hang together through the sets.
uint32_t numParts(const LinkSets &links, std::span<const uint32_t> items);

// Which items need an item, and which of these do so through one that is not able, or
// has another label: no region of able items holds both. Far ones are taken for neither.
class Between {
public:
  Between(const PlanProblem &problem, const std::vector<uint8_t> &isAble, uint32_t maxSpan = 256)
      : problem_(problem), isAble_(isAble), maxSpan_(maxSpan) {}

  void lookFrom(uint32_t item, uint32_t last); // at those up to the last
  bool isReached(uint32_t item) const { return at(item) & Reached; }
  bool isCut(uint32_t item) const { return at(item) & Cut; }

private:
  enum : uint8_t { Reached = 1, Cut = 2 };
  uint8_t at(uint32_t item) const {
    return item - first_ < state_.size() ? state_[item - first_] : 0;
  }

  const PlanProblem &problem_;
  const std::vector<uint8_t> &isAble_;
  uint32_t maxSpan_; // of items looked at
  uint32_t first_ = 0;
  std::vector<uint8_t> state_; // by item, from the first
};

// By item: whether a possible tile of the vendor covers it.
std::vector<uint8_t> ableItems(const PlanProblem &problem, const std::vector<uint8_t> &isPossible,
                               uint32_t vendor);

// By tile: all but those that are in no legal plan, as far as is seen from the limits
// and from what lies between their items.
std::vector<uint8_t> possibleTiles(const PlanProblem &problem, const LinkSets &links);

// An item that does not meet its vendor's limits alone, with some of its tiles there,
// and sets of items of which it has one at least with it in its region, if that is
// legal: sets that meet the limits, and some that do not yet, cut short so that there
// are few; each with what lies on paths between its items.
struct Company {
  uint32_t item, vendor;
  std::vector<uint32_t> tiles;            // all that are apart from none, or just one
  std::vector<uint32_t> others;           // that are in sets
  std::vector<std::vector<uint8_t>> sets; // places in others
};
// Could these two of one vendor be in one region?
bool canShareRegion(const PlanProblem &problem, uint32_t tile, uint32_t other);
std::vector<Company> neededCompany(const PlanProblem &problem, const LinkSets &links,
                                   const std::vector<uint8_t> &isPossible);

} // namespace bycc
