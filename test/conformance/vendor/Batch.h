// Many small calls compiled as the results of one region: quicker than one by one,
// and a test of regions with many inputs and outputs. When such a region goes wrong
// its calls are run alone, to tell which.
#pragma once

#include "Harness.h"

namespace bycc::conformance {

struct BatchItem {
  std::string name;
  std::function<Expected<NodeId>(Subject &)> add; // the call, with its parameters
  std::vector<Tensor> inputs, wanted;
  int64_t units = 0; // by which integers may be off
};

// "" when the two agree.
using Compare = std::string (*)(const Tensor &actual, const Tensor &wanted);

void runBatched(const Setup &setup, Findings &findings, std::span<const BatchItem> items,
                Compare compare);

} // namespace bycc::conformance
