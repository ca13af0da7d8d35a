// The vendors that can be asked for: where plugins are looked for.
#pragma once

#include "bycc/Driver/Options.h"
#include "bycc/Target/VendorRegistry.h"

namespace bycc {

// Built-in vendors, then plugins: those of --plugin, in the folders of
// $BYCC_PLUGIN_PATH, and in ../lib/bycc beside the program (or as the library folder
// is called), where the runtime looks for run halves as well. The first of a name is
// used.
Expected<VendorRegistry> knownVendors(const VendorOptions &options);

} // namespace bycc
