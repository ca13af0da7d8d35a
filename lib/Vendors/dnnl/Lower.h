// From a checked plan to a program: the walk that gives every operand a layout and a
// buffer. Asks the library for descriptors only, for the calling thread's OpenMP thread
// count; no code is generated and nothing is packed.
#pragma once

#include "Program.h"

namespace bycc::onednn {

// `stored`: what the weights hold; each constant that the plan's steps need is there, or
// what it is made of. `takesPacked`: the library knows their layouts, too.
Expected<Program> lower(const Plan &plan, const std::vector<Stored> &stored,
                        bool takesPacked = true);

} // namespace bycc::onednn
