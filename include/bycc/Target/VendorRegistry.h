// Who could be asked: built-in vendors, plugins, and vendors that rules files
// describe. The driver makes one, then asks for the set of this compilation.
#pragma once

#include "bycc/Support/VendorVariants.h"
#include "bycc/Target/Vendor.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bycc {

// What the command line says about vendors.
struct VendorRequest {
  std::optional<std::vector<std::string>> annotate; // --annotate
  std::vector<std::string> asked;                   // by the program; for what it gives them
  std::vector<std::string> ruleFiles;               // --rules
  std::vector<std::string> patternFiles;            // --patterns
  // Text of more patterns of vendors that are in use, with the name of each text for
  // messages; those of other vendors are left out.
  std::vector<std::pair<std::string, std::string>> patternTexts;
  std::vector<VendorSetting> settings; // --vendor-option, the last one wins
  // How the files are read; empty: from the file system.
  std::function<Expected<std::string>(const std::string &path, uint64_t limit)> read;
};

struct VendorDescription {
  std::string name, version, library;
  std::string kind;   // "built in", "plugin", "emulated"
  std::string origin; // file it comes from; "" when built in
  size_t numPatterns = 0;
  std::vector<VendorSettings::Option> options; // of its compile half
};

class VendorRegistry {
public:
  // Takes the vendors that are built in: those that are linked, and those that are loaded from
  // bycc/ in the library folder of this code. Of files of one vendor for several versions of
  // its library (VendorVariants.h) the newest that loads is taken, here and from folders, unless
  // `settings` ask for another.
  explicit VendorRegistry(const std::vector<const bycc_vendor_compiler *> &linked,
                          const std::vector<std::string> &loaded = {},
                          std::vector<VendorSetting> settings = {});

  // A vendor that the text of patterns/<v>.json describes: emulated. A plugin of
  // its name takes its place.
  Expected<> addDescribed(std::string_view text, const std::string &file);

  // The table of a vendor whose code is a part of this program: it is asked and compiles
  // in this process (Vendor::runsHere). Errors as for plugins, `origin` is for them.
  Expected<> addTable(const bycc_vendor_compiler *compiler, const std::string &origin);

  // Loads the compile half of a plugin. LOAD errors say what is wrong with the
  // file, its table of functions or its patterns, or that the name is taken.
  Expected<> loadPlugin(const std::string &path);
  // Every *.so in the folders (colon-separated) that has a compile half and whose
  // name no plugin has taken. Others, and files that cannot be opened, are left out;
  // a vendor that is then not found is told with what was left out.
  Expected<> loadPluginPath(const std::string &path);

  bool has(std::string_view name) const { return find(name) != nullptr; }

  // The vendors to use, in order. A file or name that is wrong is an error; an
  // unknown vendor is a usage error with the nearest.
  Expected<VendorSet> resolve(const VendorRequest &request) const;

  // All of them and those that the request's rules files describe, sorted by name.
  Expected<std::vector<VendorDescription>> describe(const VendorRequest &request) const;

  // All that are known without rules files, sorted by name.
  Expected<std::vector<std::unique_ptr<Vendor>>> all() const;

private:
  struct Entry {
    const bycc_vendor_compiler *compiler; // null: described by `text` alone
    std::string origin;                   // "": built in
    std::string name;
    std::string text = {};
    std::string file = {}; // of `text`
    bool runsHere = false;
    std::string program = {}; // shared object of one that is built in and loaded
    bool isBuiltin() const { return origin.empty(); }
    Expected<std::unique_ptr<Vendor>> make() const;
  };
  Expected<> add(const bycc_vendor_compiler *compiler, const std::string &origin);
  void loadBuiltin(const std::string &name);
  std::string wantedLibrary(const std::string &vendor) const;
  bool isWanted(const bycc_vendor_compiler *compiler, const std::string &path);
  Expected<> loadFound(const std::string &path);
  Expected<> loadVariants(const std::vector<VendorVariant> &files);
  const Entry *find(std::string_view name) const;
  Expected<std::unique_ptr<Vendor>> make(const std::string &name) const;

  std::vector<Entry> entries_;
  std::vector<VendorSetting> settings_;
  std::vector<std::string> skipped_; // "FILE: why", of BYCC_PLUGIN_PATH
};

// patterns/<vendor>.json, and what `--patterns` takes: {"schema": 1, "vendor": V, ...}
// with the members that a vendor has in a rules file (patterns/README.md).
struct VendorFile {
  std::string vendor;
  JsonValue root;
  std::string pointer; // of `root` in the file
  std::string file;
  // The name and the members' names are right; what they hold is read by applyTo.
  static Expected<VendorFile> parse(std::string_view text, const std::string &file);
  // Adds to what the vendor has; a number said again replaces the earlier.
  Expected<> applyTo(Vendor &target) const;
};
// A vendor described by such a file alone: emulated.
Expected<std::unique_ptr<Vendor>> readVendorFile(std::string_view text, const std::string &file);

// A rules file: the `pipeline` object of a partition case, or an object with a
// `pipeline` member.
struct RuleSet {
  struct Entry {
    std::string name;
    bool isBuiltin = false;
    std::unique_ptr<Vendor> emulated; // when not built in
    VendorFile more;                  // when built in: edges, minimums, costs, lists
  };
  std::vector<Entry> vendors; // in order
  std::optional<bool> mergeRegions, bindConstants;
  std::optional<std::string> moduleName;
};
Expected<RuleSet> readRules(std::string_view text, const std::string &file);

// For readers of such files: the members that describe a vendor, their reader (it
// leaves other members alone), and the reader of the name, null when absent.
std::vector<std::string> vendorMembers();
Expected<> readVendorMembers(const JsonValue &object, const std::string &pointer,
                             const std::string &file, Vendor &vendor);
Expected<std::string> readVendorName(const JsonValue *name, const JsonValue &object,
                                     const std::string &pointer, const std::string &file);

// A library's other names: "onednn" and "mkldnn" are dnnl, unless a vendor is called so.
std::string vendorCalled(const std::string &name,
                         const std::function<bool(const std::string &)> &isKnown);

} // namespace bycc
