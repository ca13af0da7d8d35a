// A vendor may be there several times, each file for another version of the library behind
// it: libbycc_vendor_V-3.2.so beside libbycc_vendor_V.so. The newest that loads is taken.
// --vendor-option V.library=3.2 asks for that of a version, unless V has such an option itself.
#pragma once

#include "bycc/Support/VendorSettings.h"

#include <string>
#include <string_view>
#include <vector>

namespace bycc {

struct VendorVariant {
  std::string path;
  std::string stem;    // the path without version and ".so", the same for all variants
  std::string version; // of the library, digits and dots; "": the file does not say
};

// By the file's name.
VendorVariant variantOf(const std::string &path);
// Newest first; files that do not say their version come last.
bool isNewerVariant(const VendorVariant &a, const VendorVariant &b);
// Those of a vendor in a folder, newest first.
std::vector<VendorVariant> variantsIn(const std::string &folder, const std::string &vendor);

// Whether one of the versions is the other, or its beginning: 3 and 3.2 are, 3.2 and 3.13 are not.
bool agrees(std::string_view version, std::string_view wanted);

inline constexpr std::string_view libraryOption = "library";
// Whether a half with these options, of a library like "oneDNN 2.6.3", is what is asked for; "" is
// anything. ARG says what it is of.
Expected<> checkLibrary(const VendorSettings &options, const char *library,
                        const std::string &wanted);

} // namespace bycc
