// Tensors that a library keeps in a layout of its own while it works on them.
#pragma once

#include "bycc/IR/Module.h"

#include "PlanProblem.h"

#include <span>

namespace bycc {

// Sets PlanProblem::Tensor::isLaidOut: what convolutions and pools (operators with a
// layout) make and read, and what maps of one shape make of it or hand to them.
// `items` and `types` are those of the problem's items and tensors.
void markLaidOut(const Module &module, std::span<const NodeId> items, std::span<const TypeId> types,
                 PlanProblem &problem);

} // namespace bycc
