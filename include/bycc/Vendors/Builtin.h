// The vendors that are built in, in the order of their bycc_add_vendor lines.
#pragma once

#include "bycc/vendor.h"

#include <vector>

namespace bycc {

std::vector<const bycc_vendor_compiler *> builtinVendorCompilers();

// Vendors of which there is a description only, patterns/<v>.json.
struct DescribedVendor {
  const char *file, *text;
};
std::vector<DescribedVendor> describedVendors();

} // namespace bycc
