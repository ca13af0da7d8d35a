// The checks that make a program read from bytes safe to hand to the library.
#pragma once

#include "Program.h"

namespace bycc::onednn {

// `stored` and the plan are checked. Numbers are in range; operands have the extents and
// dtypes of the plan's values; layouts lie in their buffers; constants can be made.
Expected<> checkProgram(const Plan &plan, const std::vector<Stored> &stored,
                        const Program &program);

} // namespace bycc::onednn
