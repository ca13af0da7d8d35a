// Options of a request by their names on the command line, and what texts say of them. They
// are those rows of Options.def that are of the compiler; what is of the commands alone
// (-o, --explain, --min-offload) a program does itself.
#pragma once

#include "bycc/Compiler/CompileRequest.h"
#include "bycc/Support/OptionInfo.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

// setOption(request, "annotate", "dnnl"); flags have no value. What adds up on the command
// line does so here; else the last one counts. USAGE for a name that is none, with the
// nearest, and for a value that is none.
Expected<> setOption(CompileRequest &request, std::string_view name, std::string_view value = {});

// Arguments as a command line has them: {"--annotate=dnnl", "-O3", "--pin", "conv*=host"},
// also without dashes: "annotate=dnnl". All or none are set.
Expected<> setOptions(CompileRequest &request, std::span<const std::string> arguments);

const std::vector<OptionInfo> &requestOptionInfos();

} // namespace bycc
