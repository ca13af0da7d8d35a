// The `cost` of a vendor file or rules file, and what its reader shares with that of
// the vendor's other members.
#pragma once

#include "bycc/Support/Json.h"
#include "bycc/Target/Vendor.h"

#include <string>

namespace bycc {

// Adds to the costs that the vendor has; a number said again replaces the earlier.
Expected<> readVendorCost(const JsonValue &object, const std::string &pointer,
                          const std::string &file, Vendor &vendor);
// A number that is not negative.
Expected<double> readAmount(const JsonValue &value, const std::string &pointer,
                            const std::string &file);
// That the vendor has a composite of this name.
Expected<> checkComposite(const JsonValue &name, const std::string &pointer,
                          const std::string &file, const Vendor &vendor);

} // namespace bycc
