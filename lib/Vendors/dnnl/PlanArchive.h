// The bytes of a plan, as blobs and keys have them (bycc/vendor.hpp).
#pragma once

#include "Plan.h"

#include "bycc/vendor.hpp"

namespace bycc::onednn {

template <typename E> constexpr E endOf(uint8_t count) { return static_cast<E>(count); }

template <typename A> void fields(A &archive, Value &value) {
  archive.choice(value.dtype, endOf<DType>(numDTypes));
  archive.choice(value.kind, endOf<ValueKind>(numValueKinds));
  archive(value.where, value.dims);
}

template <typename A> void fields(A &archive, PostOp &postOp) {
  archive.choice(postOp.math, endOf<Math>(numMaths));
  archive(postOp.alpha, postOp.beta, postOp.operand, postOp.scale);
}

template <typename A> void fields(A &archive, Step &step) {
  archive.choice(step.kind, endOf<StepKind>(numStepKinds));
  archive.choice(step.math, endOf<Math>(numMaths));
  archive(step.alpha, step.beta, step.axis, step.hasScale, step.hasShift, step.hasBias, step.groups,
          step.scales, step.zeroIn, step.zeroWeights, step.zeroOut, step.kernel, step.strides,
          step.dilation, step.padBegin, step.padEnd, step.permutation, step.inputs, step.output,
          step.postOps, step.source);
}

template <typename A> void fields(A &archive, Plan &plan) {
  archive(plan.values, plan.steps, plan.inputs, plan.outputs);
}

} // namespace bycc::onednn
