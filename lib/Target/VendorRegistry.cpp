// Loading of plugins, and the set of vendors a command line asks for.

#include "bycc/Target/VendorRegistry.h"

#include "bycc/Support/File.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include "Plugin.h"
#include "WorkerConnection.h"

#include <algorithm>
#include <filesystem>

namespace bycc {

VendorRegistry::VendorRegistry(const std::vector<const bycc_vendor_compiler *> &linked,
                               const std::vector<std::string> &loaded,
                               std::vector<VendorSetting> settings)
    : settings_(std::move(settings)) {
  for (const bycc_vendor_compiler *compiler : linked)
    entries_.push_back({compiler, "", compiler->name});
  for (const std::string &name : loaded)
    loadBuiltin(name);
}

std::string VendorRegistry::wantedLibrary(const std::string &vendor) const {
  std::string wanted;
  for (const VendorSetting &setting : settings_)
    if (setting.name == libraryOption && vendorCalled(setting.vendor, [&](const std::string &name) {
                                           return name == vendor;
                                         }) == vendor)
      wanted = setting.value;
  return wanted;
}

bool VendorRegistry::isWanted(const bycc_vendor_compiler *compiler, const std::string &path) {
  auto vendor = Vendor::fromCompiler(compiler);
  if (!vendor)
    return true; // and add() says what is wrong with it
  Expected<> isIt =
      checkLibrary((*vendor)->settings, compiler->library, wantedLibrary(compiler->name));
  if (!isIt)
    skipped_.push_back(path + ": " + isIt.error().message());
  return bool(isIt);
}

// It is there to be asked when its library is.
void VendorRegistry::loadBuiltin(const std::string &name) {
  std::string wanted = wantedLibrary(name);
  for (const std::string &folder : libraryFolders())
    for (const VendorVariant &file : variantsIn(folder + "/bycc", name)) {
      bool isOther = !wanted.empty() && !file.version.empty() && !agrees(file.version, wanted);
      if (find(name) || isOther)
        continue;
      Expected<PluginEntries> entries = loadPluginFile(file.path);
      if (!entries)
        skipped_.push_back(file.path + ": " + entries.error().message());
      else if (entries->vendor && isWanted(entries->vendor, file.path))
        entries_.push_back({entries->vendor, "", name, "", "", false, file.path});
    }
}

const VendorRegistry::Entry *VendorRegistry::find(std::string_view name) const {
  auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? nullptr : &*found;
}

Expected<std::unique_ptr<Vendor>> VendorRegistry::Entry::make() const {
  if (!compiler)
    return readVendorFile(text, file);
  std::unique_ptr<Vendor> vendor = BYCC_TRY(Vendor::fromCompiler(compiler));
  vendor->origin = origin;
  vendor->runsHere = runsHere;
  vendor->program = origin.empty() ? program : origin;
  return vendor;
}

Expected<> VendorRegistry::addDescribed(std::string_view text, const std::string &file) {
  VendorFile described = BYCC_TRY(VendorFile::parse(text, file));
  if (!find(described.vendor))
    entries_.push_back({nullptr, "", described.vendor, std::string(text), file});
  return {};
}

Expected<> VendorRegistry::add(const bycc_vendor_compiler *compiler, const std::string &origin) {
  BYCC_TRY(checkVendorTable(compiler, origin));
  if (const Entry *old = find(compiler->name); old && old->compiler) {
    if (old->compiler == compiler)
      return {}; // the same file again
    return error(Status::Load, {origin}) << "a vendor '" << compiler->name << "' is there already ("
                                         << (old->isBuiltin() ? "built in" : old->origin) << ")";
  }
  // Its patterns must read, whether it will be used or not.
  if (auto vendor = Vendor::fromCompiler(compiler); !vendor) {
    Error problem = vendor.takeError();
    problem.diagnostics().front().status = Status::Load;
    problem.diagnostics().front().notes.push_back({{}, "the patterns are those in " + origin});
    return problem;
  }
  std::erase_if(entries_, [&](const Entry &entry) { return entry.name == compiler->name; });
  entries_.push_back({compiler, origin, compiler->name});
  return {};
}

Expected<> VendorRegistry::addTable(const bycc_vendor_compiler *compiler,
                                    const std::string &origin) {
  BYCC_TRY(add(compiler, origin));
  auto entry = std::ranges::find(entries_, std::string_view(compiler->name), &Entry::name);
  entry->runsHere = true;
  return {};
}

Expected<> VendorRegistry::loadPlugin(const std::string &path) {
  PluginEntries entries = BYCC_TRY(loadPluginFile(path));
  return entries.vendor ? add(entries.vendor, path) : Expected<>();
}

// As in any search path, what was found before hides what comes later.
Expected<> VendorRegistry::loadFound(const std::string &path) {
  const bycc_vendor_compiler *compiler = BYCC_TRY(loadPluginFile(path)).vendor;
  BYCC_TRY(checkVendorTable(compiler, path));
  const Entry *old = find(compiler->name);
  if ((old && !old->isBuiltin()) || !isWanted(compiler, path))
    return {};
  return add(compiler, path);
}

// Newest first: the first that there is hides the others.
Expected<> VendorRegistry::loadVariants(const std::vector<VendorVariant> &files) {
  std::string taken;
  for (const VendorVariant &file : files) {
    std::string stem = file.stem.substr(file.stem.rfind('/') + 1);
    bool isBuiltin = std::ranges::any_of(entries_, [&](const Entry &entry) {
      return !entry.program.empty() && stem == "libbycc_vendor_" + entry.name;
    });
    if (file.stem == taken || isBuiltin)
      continue;
    // The folder also holds run halves, whose libraries need not be there.
    size_t before = skipped_.size();
    auto isCompiler = hasCompileHalf(file.path);
    if (!isCompiler)
      skipped_.push_back(file.path + ": " + isCompiler.error().message());
    else if (*isCompiler)
      BYCC_TRY(loadFound(file.path));
    if (isCompiler && *isCompiler && skipped_.size() == before)
      taken = file.stem;
  }
  return {};
}

Expected<> VendorRegistry::loadPluginPath(const std::string &path) {
  for (const std::string &folder : split(path, ':')) {
    std::error_code failed;
    std::vector<VendorVariant> files;
    for (const auto &item : std::filesystem::directory_iterator(folder, failed))
      if (item.path().extension() == ".so")
        files.push_back(variantOf(item.path().string()));
    if (failed && !folder.empty())
      skipped_.push_back(folder + ": " + failed.message());
    std::ranges::sort(files, [](const VendorVariant &a, const VendorVariant &b) {
      return a.stem != b.stem ? a.stem < b.stem : isNewerVariant(a, b);
    });
    BYCC_TRY(loadVariants(files));
  }
  return {};
}

std::string vendorCalled(const std::string &name,
                         const std::function<bool(const std::string &)> &isKnown) {
  if (isKnown(name))
    return name;
  for (auto [other, vendor] : {std::pair("onednn", "dnnl"), {"oneDNN", "dnnl"}, {"mkldnn", "dnnl"}})
    if (name == other && isKnown(vendor))
      return vendor;
  return name;
}

Expected<std::unique_ptr<Vendor>> VendorRegistry::make(const std::string &name) const {
  if (const Entry *entry = find(name))
    return entry->make();
  std::vector<std::string> names;
  for (const Entry &entry : entries_)
    names.push_back(entry.name);
  std::ranges::sort(names);
  Error problem = error(Status::Usage).as(MessageId::UnknownVendor)
                  << "unknown vendor '" << escaped(name) << "'";
  std::vector<Note> &notes = problem.diagnostics().front().notes;
  if (name == "host")
    notes.push_back({{}, "what no vendor has is on the host, without --annotate"});
  else if (auto close = nearest(name, names))
    notes.push_back({{}, "did you mean '" + *close + "'?"});
  if (name != "host")
    notes.push_back({{}, names.empty() ? "there is none" : "there are " + join(names, ", ")});
  for (const std::string &skipped : skipped_)
    notes.push_back({{}, "left out " + escaped(skipped, 512)});
  return problem;
}

namespace {

Expected<std::string> readText(const VendorRequest &request, const std::string &path) {
  constexpr uint64_t limit = uint64_t{256} << 20;
  return request.read ? request.read(path, limit) : readFile(path, limit);
}

// Vendors of all rules files, in their order; a later file replaces a vendor of
// the same name.
struct AllRules {
  std::vector<RuleSet::Entry> vendors;

  Expected<> read(const VendorRequest &request, const std::string &path, VendorSet &set) {
    std::string text = BYCC_TRY(readText(request, path));
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

Error inOption(const VendorSetting &setting, Error problem) {
  std::string &message = problem.diagnostics().front().message;
  message =
      "--vendor-option " + escaped(setting.vendor) + "." + escaped(setting.name) + ": " + message;
  return problem;
}

Expected<> setOption(Vendor &vendor, const VendorSetting &setting) {
  const bycc_vendor_compiler *compiler = vendor.compiler();
  if (!compiler || setting.name != libraryOption || vendor.settings.has(libraryOption))
    return vendor.settings.set(setting, compiler ? "for compiling" : "(it is emulated)");
  Expected<> isIt = checkLibrary(vendor.settings, compiler->library, setting.value);
  if (isIt)
    return {};
  Error problem = isIt.takeError();
  problem.diagnostics().front().status = Status::Usage;
  return inOption(setting, std::move(problem));
}

Expected<> addVendorFile(VendorSet &set, const std::string &text, const std::string &path) {
  VendorFile file = BYCC_TRY(VendorFile::parse(text, path));
  Vendor *vendor = set.find(file.vendor);
  if (!vendor)
    return (error(Status::Arg, {path}).as(MessageId::UnknownVendor)
            << "patterns for vendor '" << escaped(file.vendor) << "', which is not in use")
        .note("--annotate says which vendors are");
  return file.applyTo(*vendor);
}

} // namespace

Expected<VendorSet> VendorRegistry::resolve(const VendorRequest &request) const {
  VendorSet set;
  AllRules rules;
  for (const std::string &path : request.ruleFiles)
    BYCC_TRY(rules.read(request, path, set));
  std::vector<std::string> names;
  if (request.annotate)
    names = *request.annotate;
  else
    for (const RuleSet::Entry &entry : rules.vendors)
      names.push_back(entry.name);
  auto isKnown = [&](const std::string &name) { return has(name) || rules.find(name); };
  for (const VendorSetting &setting : request.settings)
    if (!isKnown(vendorCalled(setting.vendor, isKnown)))
      return inOption(setting, make(setting.vendor).takeError());
  auto use = [&](const std::string &name, bool onlyAsked) -> Expected<> {
    if (set.find(name))
      return {};
    RuleSet::Entry *entry = rules.find(name);
    bool isEmulated = entry && entry->emulated;
    std::unique_ptr<Vendor> vendor = isEmulated ? std::move(entry->emulated) : BYCC_TRY(make(name));
    if (entry && !isEmulated)
      BYCC_TRY(entry->more.applyTo(*vendor));
    for (const VendorSetting &setting : request.settings)
      if (vendorCalled(setting.vendor, isKnown) == name)
        BYCC_TRY(setOption(*vendor, setting));
    vendor->onlyAsked = onlyAsked;
    set.add(std::move(vendor));
    return {};
  };
  for (const std::string &name : names)
    BYCC_TRY(use(name, false));
  for (const std::string &name : request.asked)
    BYCC_TRY(use(name, true));
  for (const std::string &path : request.patternFiles)
    BYCC_TRY(addVendorFile(set, BYCC_TRY(readText(request, path)), path));
  for (const auto &[text, name] : request.patternTexts)
    if (set.find(BYCC_TRY(VendorFile::parse(text, name)).vendor))
      BYCC_TRY(addVendorFile(set, text, name));
  return set;
}

Expected<std::vector<std::unique_ptr<Vendor>>> VendorRegistry::all() const {
  std::vector<std::unique_ptr<Vendor>> vendors;
  for (const Entry &entry : entries_)
    vendors.push_back(BYCC_TRY(entry.make()));
  std::ranges::sort(vendors, {}, [](const auto &vendor) { return vendor->name(); });
  return vendors;
}

Expected<std::vector<VendorDescription>>
VendorRegistry::describe(const VendorRequest &request) const {
  std::vector<VendorDescription> result;
  for (const Entry &entry : entries_) {
    auto vendor = BYCC_TRY(entry.make());
    const bycc_vendor_compiler *table = vendor->compiler();
    VendorDescription &description = result.emplace_back();
    description.name = vendor->name();
    description.version = table ? table->version : "";
    description.library = table && table->library ? escaped(table->library) : "";
    description.kind = !table ? "emulated" : entry.isBuiltin() ? "built in" : "plugin";
    description.origin = entry.origin;
    description.numPatterns = vendor->patterns().size();
    description.options = vendor->settings.options();
  }
  VendorSet ignored;
  for (const std::string &file : request.ruleFiles) {
    AllRules rules;
    BYCC_TRY(rules.read(request, file, ignored));
    for (const RuleSet::Entry &entry : rules.vendors)
      if (entry.emulated)
        result.push_back(
            {entry.name, "", "", "emulated", file, entry.emulated->patterns().size(), {}});
  }
  std::ranges::stable_sort(result, {}, &VendorDescription::name);
  return result;
}

} // namespace bycc
