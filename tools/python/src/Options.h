// Options of a compilation as text, with the names of the command line: setOption(request,
// "annotate", "dnnl"). One place, so that a table of the compiler's own can take over.
#pragma once

#include "bycc/Compiler/CompileRequest.h"

#include <string>
#include <vector>

namespace bycc::python {

// USAGE for a name that is not there (with the nearest) and a value that it does not take.
// A flag takes "". Lists grow, other options take the last value.
Expected<> setOption(CompileRequest &request, const std::string &name, const std::string &value);
std::vector<std::string> optionNames();

} // namespace bycc::python
