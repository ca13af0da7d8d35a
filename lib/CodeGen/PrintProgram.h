// The loops of a whole program as text, for --emit=loops.
#pragma once

#include "Program.h"

namespace bycc::codegen {

// "strips NAME PARTSxPARTS FINGERPRINT..."; one for each chain of the program.
std::vector<std::string> printStrips(const Program &program);
std::string printProgram(const Program &program, const TargetInfo &target);

} // namespace bycc::codegen
