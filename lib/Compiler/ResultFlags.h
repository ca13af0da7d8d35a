// The options of a compilation as a graph JSON records them.
#pragma once

#include "bycc/Compiler/CompileRequest.h"
#include "bycc/Compiler/Extensions.h"

#include <string>
#include <vector>

namespace bycc {

// Those that change the result, in one spelling and without paths.
std::vector<std::string> resultFlags(const CompileOptions &options, const Extensions &extensions);

} // namespace bycc
