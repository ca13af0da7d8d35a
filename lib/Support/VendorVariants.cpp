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
  VendorVariant variant{path, path.substr(0, path.rfind(".so")), ""};
  size_t dash = variant.stem.rfind('-'), slash = variant.stem.rfind('/') + 1;
  if (dash != path.npos && dash > slash && isDotted(variant.stem.substr(dash + 1))) {
    variant.version = variant.stem.substr(dash + 1);
    variant.stem.resize(dash);
  }
  return variant;
}

bool isNewerVariant(const VendorVariant &a, const VendorVariant &b) {
  return partsOf(a.version) > partsOf(b.version);
}

std::vector<VendorVariant> variantsIn(const std::string &folder, const std::string &vendor) {
  std::vector<VendorVariant> variants;
  std::error_code failed;
  for (const auto &item : std::filesystem::directory_iterator(folder, failed)) {
    VendorVariant variant = variantOf(folder + "/" + item.path().filename().string());
    if (variant.path.ends_with(".so") && variant.stem == folder + "/libbycc_vendor_" + vendor)
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

Expected<> checkLibrary(const VendorSettings &options, const char *library,
                        const std::string &wanted) {
  std::string_view given = library ? library : "";
  if (wanted.empty() || options.has(libraryOption) ||
      agrees(given.substr(given.rfind(' ') + 1), wanted))
    return {};
  return error(Status::Arg) << "its library is " << (given.empty() ? "none" : escaped(given))
                            << ", wanted is " << escaped(wanted);
}

} // namespace bycc
