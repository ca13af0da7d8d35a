// Loading of plugins, and the set of vendors a command line asks for.

#include "bycc/Target/VendorRegistry.h"

#include "bycc/Support/File.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <map>

namespace bycc {

namespace {

SourceLocation inFile(const std::string &file) {
  SourceLocation location;
  location.file = file;
  return location;
}

} // namespace

VendorRegistry::VendorRegistry(const std::vector<const bycc_vendor_compiler *> &builtin) {
  for (const bycc_vendor_compiler *compiler : builtin)
    entries_.push_back({compiler, "built in"});
}

const VendorRegistry::Entry *VendorRegistry::find(std::string_view name) const {
  auto found = std::ranges::find(entries_, name, [](const Entry &entry) {
    return std::string_view(entry.compiler->name);
  });
  return found == entries_.end() ? nullptr : &*found;
}

Expected<> VendorRegistry::add(const bycc_vendor_compiler *compiler, const std::string &origin) {
  if (compiler->abi_version != BYCC_VENDOR_ABI_VERSION ||
      compiler->size < sizeof(bycc_vendor_compiler))
    return error(Status::Load, inFile(origin))
           << "the plugin speaks version " << compiler->abi_version
           << " of the vendor interface, this bycc speaks " << BYCC_VENDOR_ABI_VERSION;
  if (!compiler->name || !*compiler->name || !compiler->supports || !compiler->compile)
    return error(Status::Load, inFile(origin)) << "the plugin's vendor lacks a name or a function";
  std::string_view name = compiler->name;
  if (name.find('.') != std::string_view::npos || name == "host")
    return error(Status::Load, inFile(origin)) << "'" << escaped(name) << "' cannot be a vendor's name";
  if (const Entry *old = find(name); old && old->compiler == compiler)
    return {}; // the same file again
  if (find(name))
    return error(Status::Load, inFile(origin))
           << "a vendor '" << escaped(name) << "' is there already (" << find(name)->origin << ")";
  entries_.push_back({compiler, origin});
  return {};
}

Expected<> VendorRegistry::loadPlugin(const std::string &path) {
  // A name without a slash would be looked up in the system's library folders.
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  // Never closed: vendors made from it may outlive the registry.
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return error(Status::Load, inFile(path)) << "cannot load the plugin: " << escaped(dlerror(), 512);
  auto entry = reinterpret_cast<bycc_vendor_compiler_fn>(
      dlsym(handle, "bycc_vendor_compiler_entry"));
  if (!entry)
    return error(Status::Load, inFile(path)) << "no bycc_vendor_compiler_entry in it";
  const bycc_vendor_compiler *compiler = entry();
  if (!compiler)
    return error(Status::Load, inFile(path)) << "bycc_vendor_compiler_entry returns nothing";
  return add(compiler, path);
}

Expected<> VendorRegistry::loadPluginPath(const std::string &path) {
  for (const std::string &folder : split(path, ':')) {
    std::error_code failed;
    std::vector<std::string> files;
    for (const auto &item : std::filesystem::directory_iterator(folder, failed))
      if (item.path().extension() == ".so")
        files.push_back(item.path().string());
    std::ranges::sort(files);
    for (const std::string &file : files) {
      // The folder also holds run halves; opened lazily so that their libraries
      // need not be there.
      void *handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
      bool isCompiler = handle && dlsym(handle, "bycc_vendor_compiler_entry");
      if (handle)
        dlclose(handle);
      if (isCompiler)
        BYCC_TRY(loadPlugin(file));
    }
  }
  return {};
}

Expected<std::unique_ptr<Vendor>> VendorRegistry::make(const std::string &name) const {
  if (const Entry *entry = find(name))
    return Vendor::fromCompiler(entry->compiler);
  std::vector<std::string> names;
  for (const Entry &entry : entries_)
    names.push_back(entry.compiler->name);
  std::ranges::sort(names);
  auto builder = error(Status::Usage) << "unknown vendor '" << escaped(name) << "'";
  if (auto close = nearest(name, names))
    return std::move(builder).note("did you mean '" + *close + "'?");
  return std::move(builder).note(names.empty() ? "there is none"
                                               : "there are " + join(names, ", "));
}

namespace {

// Vendors of all rules files, in their order; a later file replaces a vendor of
// the same name.
struct AllRules {
  std::vector<RuleSet::Entry> vendors;

  Expected<> read(const std::string &path, VendorSet &set) {
    std::string text = BYCC_TRY(readFile(path, uint64_t{256} << 20));
    RuleSet rules = BYCC_TRY(readRules(text, path));
    if (rules.mergeRegions)
      set.mergeRegions = *rules.mergeRegions;
    if (rules.bindConstants)
      set.bindConstants = *rules.bindConstants;
    if (rules.moduleName)
      set.moduleName = rules.moduleName;
    for (RuleSet::Entry &entry : rules.vendors) {
      auto old = std::ranges::find(vendors, entry.name, &RuleSet::Entry::name);
      if (old == vendors.end())
        vendors.push_back(std::move(entry));
      else
        *old = std::move(entry);
    }
    return {};
  }
  RuleSet::Entry *find(const std::string &name) {
    auto found = std::ranges::find(vendors, name, &RuleSet::Entry::name);
    return found == vendors.end() ? nullptr : &*found;
  }
};

Expected<> addVendorFile(VendorSet &set, const std::string &path) {
  std::string text = BYCC_TRY(readFile(path, uint64_t{256} << 20));
  VendorFile file = BYCC_TRY(VendorFile::parse(text, path));
  Vendor *vendor = set.find(file.vendor);
  if (!vendor)
    return error(Status::Arg, inFile(path)) << "patterns for vendor '" << escaped(file.vendor)
                                            << "', which is not in use";
  return file.applyTo(*vendor);
}

} // namespace

Expected<VendorSet> VendorRegistry::resolve(const VendorRequest &request) const {
  VendorSet set;
  AllRules rules;
  for (const std::string &path : request.ruleFiles)
    BYCC_TRY(rules.read(path, set));
  std::vector<std::string> names;
  if (request.annotate)
    names = *request.annotate;
  else
    for (const RuleSet::Entry &entry : rules.vendors)
      names.push_back(entry.name);
  for (const std::string &name : names) {
    if (set.find(name))
      continue;
    RuleSet::Entry *entry = rules.find(name);
    if (entry && entry->emulated) {
      set.add(std::move(entry->emulated));
      continue;
    }
    std::unique_ptr<Vendor> vendor = BYCC_TRY(make(name));
    if (entry)
      BYCC_TRY(entry->more.applyTo(*vendor));
    set.add(std::move(vendor));
  }
  for (const std::string &path : request.patternFiles)
    BYCC_TRY(addVendorFile(set, path));
  return set;
}

std::vector<VendorDescription> VendorRegistry::describe() const {
  std::vector<VendorDescription> result;
  for (const Entry &entry : entries_)
    result.push_back({entry.compiler->name,
                      entry.compiler->version ? entry.compiler->version : "", entry.origin});
  std::ranges::sort(result, {}, &VendorDescription::name);
  return result;
}

} // namespace bycc
