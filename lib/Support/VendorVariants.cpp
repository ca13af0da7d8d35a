#include "bycc/Support/VendorVariants.h"

#include "bycc/Support/Text.h"

#include <algorithm>
#include <filesystem>

namespace bycc {

namespace {

bool isDotted(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == text.npos;
}

// Numbers without zeros in front compare by length, then as text.
std::vector<std::pair<size_t, std::string>> partsOf(const std::string &version) {
  std::vector<std::pair<size_t, std::string>> parts;
  for (const std::string &part : split(version, '.')) {
    std::string number = part.substr(std::min(part.find_first_not_of('0'), part.size()));
    parts.emplace_back(number.size(), number);
  }
  return parts;
}

} // namespace

VendorVariant variantOf(const std::string &path) {
  std::string name = path.substr(path.rfind('/') + 1);
  size_t dash = name.rfind('-');
  if (dash == name.npos || !name.ends_with(".so"))
    return {path};
  std::string version = name.substr(dash + 1, name.size() - dash - 1 - 3);
  return {path, isDotted(version) ? version : ""};
}

bool isNewerVariant(const VendorVariant &a, const VendorVariant &b) {
  return partsOf(a.version) > partsOf(b.version);
}

std::vector<VendorVariant> variantsIn(const std::string &folder, const std::string &vendor) {
  const std::string stem = "libbycc_vendor_" + vendor;
  std::vector<VendorVariant> variants;
  std::error_code failed;
  for (const auto &item : std::filesystem::directory_iterator(folder, failed)) {
    std::string name = item.path().filename().string();
    VendorVariant variant = variantOf(folder + "/" + name);
    if (name == stem + (variant.version.empty() ? "" : "-" + variant.version) + ".so")
      variants.push_back(std::move(variant));
  }
  std::sort(variants.begin(), variants.end(), isNewerVariant);
  return variants;
}

bool agrees(std::string_view version, std::string_view wanted) {
  if (version.size() > wanted.size())
    std::swap(version, wanted);
  return wanted.starts_with(version) &&
         (wanted.size() == version.size() || wanted[version.size()] == '.');
}

std::string_view versionOfLibrary(std::string_view library) {
  return library.substr(library.rfind(' ') + 1);
}

} // namespace bycc
