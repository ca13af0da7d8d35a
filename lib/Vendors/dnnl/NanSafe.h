// NaN and the library: its relu, clip, maxima, pools and softmax make a number of it, its
// exp an infinity. So a region looks at its inputs before it runs, and when one of them
// holds NaN or an infinity it runs another form of its program: the same products on the
// same packed weights, and what loses NaN by loops of our own (Loops.h).
//
//   conv [relu, add]   ->   conv, loop [relu, add]
//   max pool           ->   loop
//
// Loops work on row-major float32; reorders bring operands there and results back.
//
// What is not covered: NaN that is born inside of a region whose inputs are all finite
// (0/0, infinity less infinity, a root of -1) and there meets what loses it.
#pragma once

#include "Program.h"

#include "bycc/vendor.h"

namespace bycc::onednn {

enum class NanMode : uint8_t {
  Keep,   // look at the inputs
  Fast,   // the library's form, whatever comes
  Always, // a constant holds NaN: the safe form
};
inline constexpr uint8_t numNanModes = 3;

// As the target asks, for a region with the plan's constants.
NanMode nanModeOf(const bycc_target &target, const Plan &plan);
// The same for a region that has no plan yet.
NanMode nanModeOf(const bycc_target &target, const bycc_region &region);

// A region input from which NaN could reach a result by way of something that loses it.
struct InputToCheck {
  uint32_t input = 0;
  int64_t count = 0; // elements
  DType dtype = DType::Float32;
};
std::vector<InputToCheck> inputsToCheck(const Plan &plan);

// True when an element is NaN or infinite. Float32 or bfloat16, any alignment.
bool hasNonFinite(const void *elements, int64_t count, DType dtype);

struct SafeForm {
  Plan plan; // with steps for the loops behind its own
  Program program;
};
// Lowered from `plan`; layouts and constants stay as they are.
SafeForm safeFormOf(const Plan &plan, const Program &program);

} // namespace bycc::onednn
