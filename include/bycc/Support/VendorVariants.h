// A vendor may be there several times, each file for another version of the library behind
// it: libbycc_vendor_V-3.2.so beside libbycc_vendor_V.so. The newest that loads is taken.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bycc {

struct VendorVariant {
  std::string path;
  std::string version = {}; // of the library, digits and dots; "": the file does not say
};

// By the file's name.
VendorVariant variantOf(const std::string &path);
// Newest first; files that do not say their version come last.
bool isNewerVariant(const VendorVariant &a, const VendorVariant &b);
// Those of a vendor in a folder, newest first.
std::vector<VendorVariant> variantsIn(const std::string &folder, const std::string &vendor);

// Whether one of the versions is the other, or its beginning: 3 and 3.2 are, 3.2 and 3.13 are not.
bool agrees(std::string_view version, std::string_view wanted);
// "2.6.3" of "oneDNN 2.6.3".
std::string_view versionOfLibrary(std::string_view library);

} // namespace bycc
