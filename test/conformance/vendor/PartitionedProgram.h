// A program in regions, by the passes that users run, and each of them against the evaluator.
#pragma once

#include "Harness.h"

#include "bycc/Target/PassContext.h"

namespace bycc::conformance {

// The context of a pass that asks the vendor, which is there alone.
PassContext contextOf(const Setup &setup);

// Composites and regions of the vendor.
Expected<> partition(const Setup &setup, Module &module);
// Those that it got.
std::vector<FunctionId> regionsOf(const Setup &setup, const Module &module);
// "" when every region gives the evaluator's results, integers within `units`.
std::string runRegions(const Setup &setup, const Module &module, int64_t units = 0);

} // namespace bycc::conformance
