// Loops and their schedule as text, for --emit=loops; its lines "kernel", "nest" and "schedule"
// are what --schedules reads.
#pragma once

#include "Program.h"

namespace bycc::te {

std::string printKernel(const KernelCode &code);
// "strips NAME PARTSxPARTS FINGERPRINT..."; one for each chain of the program.
std::vector<std::string> printStrips(const Program &program);
std::string printProgram(const Program &program, const TargetInfo &target);

} // namespace bycc::te
