// Facts of a plan that do not depend on layouts: who makes and who uses a value.
#pragma once

#include "Plan.h"

namespace bycc::onednn {

struct Usage {
  static constexpr uint32_t never = ~0u;
  explicit Usage(const Plan &plan);

  // The step that alone uses the value, never: none, several, or an output.
  uint32_t userOf(ValueId id) const { return userCount[id] == 1 ? onlyUser[id] : never; }

  std::vector<ValueId> root;       // the value whose elements a view shows
  std::vector<uint32_t> lastUse;   // per root: last step that reads any view of it
  std::vector<uint32_t> userCount; // per value: uses by steps and outputs
  std::vector<uint32_t> onlyUser;  // per value: the step, when userCount is 1
  std::vector<bool> isConstant;    // constants, views of them, and what Convert makes of them
  std::vector<uint32_t> maker;     // per value: the step, never: not made by one
};

// Arithmetic operations of a step: multiplications and additions of a product, else one
// for each element that is looked at.
double arithmeticOf(const Plan &plan, const Step &step);

// Takes out steps that nothing needs.
void dropUnusedSteps(Plan &plan);

// Steps that compute in a run: views and what is made of constants are left out.
size_t numComputeSteps(const Plan &plan);

} // namespace bycc::onednn
