// Who could be asked: built-in vendors, plugins, and vendors that rules files
// describe. The driver makes one, then asks for the set of this compilation.
#pragma once

#include "bycc/Target/Vendor.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bycc {

// What the command line says about vendors.
struct VendorRequest {
  std::optional<std::vector<std::string>> annotate; // --annotate
  std::vector<std::string> ruleFiles;               // --rules
  std::vector<std::string> patternFiles;            // --patterns
};

struct VendorDescription {
  std::string name, version, origin; // origin: "built in" or the plugin's file
};

class VendorRegistry {
public:
  // Takes the vendors that are built in.
  explicit VendorRegistry(const std::vector<const bycc_vendor_compiler *> &builtin);

  // Loads the compile half of a plugin; LOAD errors for a file that is none, or
  // speaks another ABI version.
  Expected<> loadPlugin(const std::string &path);
  // Every *.so in the folders of BYCC_PLUGIN_PATH (colon-separated) that has a
  // compile half; others are skipped.
  Expected<> loadPluginPath(const std::string &path);

  // The vendors to use, in order. A file or name that is wrong is an error; an
  // unknown vendor is a usage error with the nearest.
  Expected<VendorSet> resolve(const VendorRequest &request) const;

  std::vector<VendorDescription> describe() const; // sorted by name

private:
  struct Entry {
    const bycc_vendor_compiler *compiler;
    std::string origin;
  };
  Expected<> add(const bycc_vendor_compiler *compiler, const std::string &origin);
  const Entry *find(std::string_view name) const;
  Expected<std::unique_ptr<Vendor>> make(const std::string &name) const;

  std::vector<Entry> entries_;
};

// A rules file: the `pipeline` object of a partition case, or an object with a
// `pipeline` member.
struct RuleSet {
  struct Entry {
    std::string name;
    bool isBuiltin = false;
    std::unique_ptr<Vendor> emulated; // when not built in
  };
  std::vector<Entry> vendors; // in order
  std::optional<bool> mergeRegions, bindConstants;
  std::optional<std::string> moduleName;
};
Expected<RuleSet> readRules(std::string_view text, const std::string &file);

} // namespace bycc
