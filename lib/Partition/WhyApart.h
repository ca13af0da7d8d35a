// Why two regions are not one.
#pragma once

#include "Numbers.h"
#include "RegionProblem.h"

namespace bycc {

struct WhyApart {
  enum class Kind : uint8_t {
    Vendor,   // of different vendors (or labels)
    Rule,     // `first` gives a value to `second` and must be apart from it
    Between,  // `first` needs one and the other needs it, maybe through further ones
    Unlinked, // nothing of the one touches a value of the other
    Choice,   // nothing forbids it
  };
  Kind kind = Kind::Choice;
  uint32_t first = none, second = none; // items
};

// Of two regions of a legal assignment. Cost: the whole problem.
WhyApart whyApart(const RegionProblem &problem, const RegionAssignment &regions, int32_t a,
                  int32_t b);

} // namespace bycc
