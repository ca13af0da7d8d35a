// The file of a vendor plugin, as far as the compiler looks into it.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/pass.h"
#include "bycc/vendor.h"

#include <string>

namespace bycc {

struct PluginEntries {
  const bycc_vendor_compiler *vendor = nullptr; // null: it has passes only
  bycc_pass_fn passes = nullptr;                // null: it has none
};

// Loads a plugin, for good: what is made from it outlives whoever asked. LOAD errors for a
// file that is no shared object, is built for another machine, cannot be linked, or has
// neither the compile half of a vendor nor passes.
Expected<PluginEntries> loadPluginFile(const std::string &path);

// Whether the file is a shared object of this machine with a compile half; LOAD
// errors when that cannot be found out.
Expected<bool> hasCompileHalf(const std::string &path);

// LOAD errors for another ABI version, a table that is too short, or one without a
// name or a function. `origin` stands in front of messages.
Expected<> checkVendorTable(const bycc_vendor_compiler *table, const std::string &origin);

} // namespace bycc
