#include "Plugins.h"

#include "CommandProcess.h"
#include "StdoutGuard.h"
#include "bycc/Support/File.h"
#include "bycc/Vendors/Builtin.h"

#include <cstdlib>
#include <filesystem>

namespace bycc {

Expected<VendorRegistry> knownVendors(const VendorOptions &options) {
  StdoutGuard guard; // their code runs
  VendorRegistry vendors(builtinVendorCompilers());
  for (const DescribedVendor &described : describedVendors())
    BYCC_TRY(vendors.addDescribed(described.text, described.file));
  for (const std::string &plugin : options.plugins) {
    enterStage(Stage::Plugins, plugin);
    BYCC_TRY(vendors.loadPlugin(plugin));
  }
  if (const char *path = std::getenv("BYCC_PLUGIN_PATH")) {
    enterStage(Stage::Plugins, path);
    BYCC_TRY(vendors.loadPluginPath(path));
  }
  for (const char *folder : {"lib", BYCC_LIBDIR}) {
    std::error_code missing;
    auto installed = std::filesystem::canonical(programFolder() + "/../" + folder + "/bycc", missing);
    if (missing)
      continue;
    enterStage(Stage::Plugins, installed.string());
    BYCC_TRY(vendors.loadPluginPath(installed.string()));
  }
  enterStage(Stage::Start);
  return vendors;
}

} // namespace bycc
