// The vendors that can be asked for.
#pragma once

#include "bycc/Compiler/CompileRequest.h"
#include "bycc/Compiler/Extensions.h"
#include "bycc/Target/VendorRegistry.h"

#include <functional>

namespace bycc {

// Built-in vendors and those of the extensions, then plugins: `plugins`, and those in the
// `pluginFolders`; the first of a name is used. `load` is told of each file or folder before
// code of it may run, and of "" when that is over; its error ends the search.
Expected<VendorRegistry>
knownVendors(const VendorOptions &options, const Extensions &extensions,
             const std::function<Expected<>(const std::string &file)> &load);

} // namespace bycc
