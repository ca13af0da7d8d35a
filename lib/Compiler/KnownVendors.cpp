#include "bycc/Compiler/KnownVendors.h"

#include "bycc/Vendors/Builtin.h"

namespace bycc {

Expected<VendorRegistry>
knownVendors(const VendorOptions &options, const Extensions &extensions,
             const std::function<Expected<>(const std::string &file)> &load) {
  std::vector<VendorSetting> settings;
  for (const std::string &option : options.vendorOptions)
    settings.push_back(BYCC_TRY(VendorSetting::parse(option)));
  VendorRegistry vendors(builtinVendorCompilers(), loadedVendors(), std::move(settings));
  for (const bycc_vendor_compiler *table : extensions.vendors)
    BYCC_TRY(vendors.addTable(table, "the program"));
  for (const Extensions::VendorText &described : extensions.described)
    BYCC_TRY(vendors.addDescribed(described.text, described.name));
  for (const DescribedVendor &described : describedVendors())
    BYCC_TRY(vendors.addDescribed(described.text, described.file));
  for (const std::string &plugin : options.plugins) {
    BYCC_TRY(load(plugin));
    BYCC_TRY(vendors.loadPlugin(plugin));
  }
  for (const std::string &folder : options.pluginFolders) {
    BYCC_TRY(load(folder));
    BYCC_TRY(vendors.loadPluginPath(folder));
  }
  BYCC_TRY(load(""));
  return vendors;
}

} // namespace bycc
