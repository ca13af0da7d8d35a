// The other side of VendorProcess: the program that runs vendors' code.
#pragma once

#include "bycc/vendor.h"

#include <vector>

namespace bycc {

// Answers questions until `parent` has no more, or is gone; returns the exit code.
int serveVendors(const std::vector<const bycc_vendor_compiler *> &builtin, int parent);

} // namespace bycc
