// The vendors that are built in and linked, in the order of their bycc_add_vendor lines.
#pragma once

#include "bycc/vendor.h"

#include <string>
#include <vector>

namespace bycc {

std::vector<const bycc_vendor_compiler *> builtinVendorCompilers();
// Names of those that are built in and loaded: both halves lie in their shared objects.
std::vector<std::string> loadedVendors();

// Vendors of which there is a description only, patterns/<v>.json.
struct DescribedVendor {
  const char *file, *text;
};
std::vector<DescribedVendor> describedVendors();

} // namespace bycc
