// The options of a compilation as a graph JSON records them.
#pragma once

#include "bycc/Compiler/CompileRequest.h"
#include "bycc/Compiler/Extensions.h"
#include "bycc/Target/Vendor.h"

#include <string>
#include <vector>

namespace bycc {

// Those that change the result, in one spelling and without paths. `ownPasses`: those that
// bycc does not have.
std::vector<std::string> resultFlags(const CompileOptions &options, const Extensions &extensions,
                                     const std::vector<Extensions::Pass> &ownPasses,
                                     const VendorSet &vendors);

} // namespace bycc
