// From a region to a program.
#pragma once

#include "Program.h"

#include "bycc/vendor.h"

#include <optional>

namespace bycc::xnnpack {

// Where a constant of the program comes from: its elements in row-major order lie so far apart
// in the model's constant. Without one, zeros.
struct Filling {
  ValueId value;
  const float *from;
  std::vector<uint64_t> strides; // one for each axis
};

struct Translation {
  Program program;
  std::vector<Filling> fillings;
};

// UNSUP, and why; `blamed` is then the node.
Expected<Translation> translate(const bycc_region &region, std::optional<uint32_t> &blamed);
void fill(const Program &program, const Filling &filling, float *to);

std::string operatorNames(); // separated by spaces

} // namespace bycc::xnnpack
