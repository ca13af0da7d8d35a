// Loops and their schedule as text, for --emit=loops; its lines "kernel", "nest" and "schedule"
// are what --schedules reads.
#pragma once

#include "bycc/Loops/Scheduler.h"

namespace bycc::loops {

std::string printKernel(const KernelCode &code);

} // namespace bycc::loops
