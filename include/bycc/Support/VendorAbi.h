// What both halves of a vendor are checked for.
#pragma once

#include "bycc/vendor.h"

#include <string>
#include <string_view>

namespace bycc {

// Behind "vendor 'v' ": a table of another version of the vendor interface.
inline std::string otherVendorAbi(uint32_t version) {
  bool isOlder = version < BYCC_VENDOR_ABI_VERSION;
  return "speaks version " + std::to_string(version) +
         " of the vendor interface, this bycc speaks " + std::to_string(BYCC_VENDOR_ABI_VERSION) +
         (isOlder
              ? ": build it anew with the bycc/vendor.h of this bycc, whose doc/abi.md says what "
                "has changed"
              : ": it needs a newer bycc");
}

// "1.0", "2-rc1": what bycc_vendor_compiler::version may be.
inline bool isVendorVersion(const char *version) {
  constexpr std::string_view allowed =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-_+";
  std::string_view text = version ? version : "";
  return !text.empty() && text.size() <= 64 && text.find_first_not_of(allowed) == text.npos;
}

} // namespace bycc
