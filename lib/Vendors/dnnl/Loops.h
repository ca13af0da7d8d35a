// Elementwise steps, maxima, pools and softmax as loops of our own, which keep NaN as the
// operators' definitions do. They serve the safe form of a program (NanSafe.h): right
// first, and fast enough that one NaN in a batch does not stop a service.
#pragma once

#include "Plan.h"

#include <span>

namespace bycc::onednn {

// A step with the shapes of its operands, all of them row-major float32.
struct Loop {
  Loop(const Plan &plan, Step step);

  // Pointers in the order of Step::inputs and Step::postOps (null: no operand). The result
  // may lie where the first input or a post-op's operand of its shape does, but for pools.
  // By up to `threads` threads.
  void run(std::span<const float *const> inputs, std::span<const float *const> postOperands,
           float *result, int32_t threads) const;

  Step step; // Eltwise (Math::None: its post-ops alone), Binary, Softmax, Pool
  std::vector<Dims> inputDims, postOperandDims;
  Dims dims;
};

} // namespace bycc::onednn
