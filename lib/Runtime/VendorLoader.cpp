// libbycc_vendor_<name>.so, and variants of it (VendorVariants.h), are looked for in the
// folders of $BYCC_PLUGIN_PATH, then in ../lib/bycc beside the program, then in bycc/ beside
// this library. The first folder with one counts, in it the newest that loads.
// What was loaded stays: unloading a library that may have threads is not safe.
#include "bycc/Runtime/VendorLoader.h"

#include "Log.h"
#include "ThreadPool.h"
#include "VendorCall.h"

#include "bycc/Support/File.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/SharedObject.h"
#include "bycc/Support/Sized.h"
#include "bycc/Support/Text.h"
#include "bycc/Support/VendorAbi.h"
#include "bycc/Support/VendorVariants.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace bycc::runtime {
namespace {

std::string folderOfThisLibrary() {
  Dl_info info;
  if (!::dladdr(reinterpret_cast<void *>(&folderOfThisLibrary), &info) || !info.dli_fname)
    return ".";
  std::string path = info.dli_fname;
  if (char *resolved = ::realpath(info.dli_fname, nullptr)) {
    path = resolved;
    std::free(resolved);
  }
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::vector<std::string> searchFolders() {
  std::vector<std::string> folders;
  auto add = [&](const std::string &folder) {
    if (!folder.empty() && std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  };
  if (const char *path = std::getenv("BYCC_PLUGIN_PATH"))
    for (const std::string &folder : split(path, ':'))
      add(folder);
  add(programFolder() + "/../lib/bycc");
  add(folderOfThisLibrary() + "/bycc");
  return folders;
}

bool isPlainName(const std::string &name) {
  return !name.empty() && name.size() <= 64 && asIdentifier("_" + name) == "_" + name;
}

// "2 (oneDNN 2.6.3)"
std::string versionText(const std::string &version, const char *library) {
  return version + (library && *library ? " (" + escaped(library) + ")" : "");
}

// The table as this runtime knows it: what an older, shorter one lacks is null.
Expected<bycc_vendor_runtime> checked(const std::string &vendor, const std::string &path,
                                      const bycc_vendor_runtime *given) {
  if (!given)
    return error(Status::Load, {path}) << "vendor '" << vendor << "' gave no run half";
  if (given->abi_version != BYCC_VENDOR_ABI_VERSION)
    return error(Status::Load, {path})
           << "vendor '" << vendor << "' " << otherVendorAbi(given->abi_version);
  if (given->size < offsetof(bycc_vendor_runtime, reads))
    return error(Status::Load, {path})
           << "vendor '" << vendor << "': the table of the run half is too short";
  bycc_vendor_runtime table = {};
  std::memcpy(&table, given, std::min<size_t>(given->size, sizeof table));
  if (!table.name || !table.load || !table.unload || !table.state_bytes || !table.init_state ||
      !table.drop_state || !table.run)
    return error(Status::Load, {path}) << "vendor '" << vendor << "': the run half is incomplete";
  if (!isVendorVersion(table.version))
    return error(Status::Load, {path}) << "vendor '" << vendor << "' has the version '"
                                       << escaped(table.version ? table.version : "")
                                       << "', wanted letters, digits, '.', '-', '_' and '+'";
  return table;
}

Expected<bycc_vendor_runtime> loadFrom(const std::string &vendor, const std::string &path) {
  BYCC_TRY(checkSharedObject(path));
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::string text = ::dlerror();
    return error(statusOfLinker(text), {path})
           << "cannot load the run half of vendor '" << vendor << "': " << escaped(text, 512);
  }
  auto entry =
      reinterpret_cast<bycc_vendor_runtime_fn>(::dlsym(library, "bycc_vendor_runtime_entry"));
  if (!entry)
    return error(Status::Load, {path})
           << "no symbol bycc_vendor_runtime_entry: not the run half of a vendor";
  const bycc_vendor_runtime *given = nullptr;
  char text[512] = "";
  auto ask = [&] {
    given = entry();
    return BYCC_OK;
  };
  if (callVendor(ask, text) != BYCC_OK)
    return error(Status::Load, {path}) << "bycc_vendor_runtime_entry: " << escaped(text, 512);
  bycc_vendor_runtime table = BYCC_TRY(checked(vendor, path, given));
  logMessage(LogLevel::Info, "vendor '" + vendor + "' " +
                                 versionText(table.version, table.library) + " loaded from " +
                                 path);
  return table;
}

Expected<VendorSettings> settingsOf(const bycc_vendor_runtime &table) {
  return VendorSettings::describedBy(table.name, table.num_options, table.options);
}

Expected<bycc_vendor_runtime> loadVariant(const std::string &vendor, const VendorVariant &variant,
                                          const std::string &wanted) {
  bycc_vendor_runtime table = BYCC_TRY(loadFrom(vendor, variant.path));
  BYCC_TRY(checkLibrary(BYCC_TRY(settingsOf(table)), table.library, wanted));
  return table;
}

// What does not load is passed over: its library may not be here.
Expected<bycc_vendor_runtime> newestOf(const std::string &vendor,
                                       const std::vector<VendorVariant> &variants,
                                       const std::string &wanted) {
  std::vector<std::string> reasons;
  std::optional<Error> last;
  for (const VendorVariant &variant : variants) {
    if (!wanted.empty() && !variant.version.empty() && !agrees(variant.version, wanted)) {
      reasons.push_back(variant.path);
      continue;
    }
    Expected<bycc_vendor_runtime> table = loadVariant(vendor, variant, wanted);
    if (table || table.error().status() == Status::Limit)
      return table;
    reasons.push_back(variant.path + ": " + table.error().message());
    last = table.takeError();
    if (variants.size() > 1)
      logMessage(LogLevel::Info, "passed over: " + reasons.back());
  }
  if (last && variants.size() == 1 && wanted.empty())
    return std::move(*last);
  return error(wanted.empty() ? Status::Load : Status::Arg)
         << "no run half of vendor '" << vendor << "' "
         << (wanted.empty() ? "loads" : "is of a library " + escaped(wanted)) << ": "
         << join(reasons, "; ");
}

Expected<bycc_vendor_runtime> findVendor(const std::string &vendor, const std::string &wanted) {
  if (!isPlainName(vendor))
    return error(Status::Load) << "bad vendor name '" << escaped(vendor) << "'";
  std::vector<std::string> folders = searchFolders();
  for (const std::string &folder : folders)
    if (std::vector<VendorVariant> variants = variantsIn(folder, vendor); !variants.empty())
      return newestOf(vendor, variants, wanted);
  return error(Status::Load).as(MessageId::NoVendorLibrary)
         << "the model needs vendor '" << vendor << "', but libbycc_vendor_" << vendor
         << ".so is in none of: " << join(folders, ", ") << "; BYCC_PLUGIN_PATH names more folders";
}

// Loaded once per process and kept.
Expected<const bycc_vendor_runtime *> loadVendor(const std::string &vendor,
                                                 const std::string &wanted) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, bycc_vendor_runtime> loaded;
  std::lock_guard lock(mutex);
  auto known = loaded.find({vendor, wanted});
  if (known != loaded.end())
    return &known->second;
  bycc_vendor_runtime table = BYCC_TRY(findVendor(vendor, wanted));
  return &loaded.emplace(std::pair(vendor, wanted), table).first->second;
}

} // namespace

OpenVendor::OpenVendor(const bycc_vendor_runtime &table, VendorSettings settings)
    : table_(table), settings_(std::move(settings)), context_(sized<bycc_vendor_context>()) {
  context_.num_options = settings_.count();
  context_.options = settings_.attrs();
  context_.threads = &vendorThreads;
}

OpenVendor::~OpenVendor() {
  if (isOpen_ && table_.close)
    table_.close(&context_);
}

Expected<std::shared_ptr<const OpenVendor>> OpenVendor::open(const bycc_vendor_runtime &table,
                                                             VendorSettings settings) {
  std::shared_ptr<OpenVendor> made(new OpenVendor(table, std::move(settings)));
  char text[512] = "";
  auto open = [&] { return table.open(&made->context_, text, sizeof text); };
  int32_t status = table.open ? callVendor(open, text) : BYCC_OK;
  text[sizeof text - 1] = 0;
  if (status != BYCC_OK)
    return error(status == BYCC_LIMIT ? Status::Limit : Status::Load)
           << "vendor '" << table.name
           << "' cannot be opened: " << (text[0] ? text : "no reason given");
  made->isOpen_ = true;
  return std::shared_ptr<const OpenVendor>(std::move(made));
}

Expected<> OpenVendor::checkReads(const bycc_region_info &region) const {
  std::string own = table_.version, theirs = region.vendor_version;
  std::vector<std::string> reads = split(table_.reads ? table_.reads : own, ' ');
  bool isRead = std::any_of(reads.begin(), reads.end(),
                            [&](const std::string &each) { return matchesGlob(each, theirs); });
  std::string compiled = versionText(escaped(theirs), region.vendor_library);
  if (!isRead)
    return error(Status::Load) << "region " << escaped(region.symbol) << " was compiled by vendor '"
                               << escaped(region.vendor) << "' " << compiled << ", its run half is "
                               << versionText(own, table_.library) << " and reads "
                               << join(reads, " ") << ": compile the model again";
  std::string here = versionText(own, table_.library);
  if (compiled != here)
    logMessage(LogLevel::Info, "region " + escaped(region.symbol) + " was compiled by vendor '" +
                                   escaped(region.vendor) + "' " + compiled + ", it runs with " +
                                   here);
  return {};
}

Expected<std::shared_ptr<const OpenVendor>> openVendor(const std::string &vendor,
                                                       const std::vector<VendorSetting> &given) {
  std::string wanted;
  for (const VendorSetting &setting : given)
    if (setting.name == libraryOption)
      wanted = setting.value;
  const bycc_vendor_runtime &table = *BYCC_TRY(loadVendor(vendor, wanted));
  VendorSettings settings = BYCC_TRY(settingsOf(table));
  for (const VendorSetting &setting : given) {
    if (setting.name == libraryOption && !settings.has(libraryOption))
      continue;
    if (Expected<> isSet = settings.set(setting, "for running"); !isSet) {
      Error problem = isSet.takeError();
      problem.diagnostics().front().status = Status::Arg;
      return problem;
    }
  }
  static std::mutex mutex;
  static std::map<std::pair<const bycc_vendor_runtime *, std::string>,
                  std::weak_ptr<const OpenVendor>>
      all;
  std::lock_guard lock(mutex);
  std::weak_ptr<const OpenVendor> &known = all[{&table, settings.text()}];
  if (std::shared_ptr<const OpenVendor> open = known.lock())
    return open;
  auto made = BYCC_TRY(OpenVendor::open(table, std::move(settings)));
  known = made;
  return made;
}

} // namespace bycc::runtime
