// Passes of plugins (bycc/pass.h).
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/pass.h"

#include <string>
#include <vector>

namespace bycc {

// Those of a plugin, which stays loaded; none for one that has a vendor only. LOAD errors for
// what is no plugin, or has a pass that cannot be used.
Expected<std::vector<const bycc_pass *>> pluginPasses(const std::string &file);

// In a process of its own: standard input through the pass to standard output. The exit code;
// what the pass says goes to standard error.
int servePass(const std::string &file, const std::string &name);

// bycc-worker, which serves vendors and passes: beside the file that this code is in.
std::string workerProgram();

} // namespace bycc
