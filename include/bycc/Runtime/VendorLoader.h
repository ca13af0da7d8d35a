// Finds and loads the run halves of vendors.
#pragma once

#include "bycc/Support/Error.h"

#include "bycc/vendor.h"

#include <string>

namespace bycc::runtime {

// The run half of `vendor`, loaded once per process and kept. Status::Load says
// where it was looked for or what is wrong with it.
Expected<const bycc_vendor_runtime *> loadVendor(const std::string &vendor);

} // namespace bycc::runtime
