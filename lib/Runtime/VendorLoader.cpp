// libbycc_vendor_<name>.so is looked for in the folders of $BYCC_PLUGIN_PATH,
// then in ../lib/bycc beside the program, then in bycc/ beside this library.
// What was loaded stays: unloading a library that may have threads is not safe.
#include "bycc/Runtime/VendorLoader.h"

#include "Log.h"
#include "ThreadPool.h"
#include "VendorCall.h"

#include "bycc/Support/File.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/SharedObject.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <unistd.h>
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

// The table as this runtime knows it: what an older, shorter one lacks is null.
Expected<bycc_vendor_runtime> checked(const std::string &vendor, const std::string &path,
                                      const bycc_vendor_runtime *given) {
  if (!given)
    return error(Status::Load, {path}) << "vendor '" << vendor << "' gave no run half";
  if (given->abi_version != BYCC_VENDOR_ABI_VERSION)
    return error(Status::Load, {path})
           << "vendor '" << vendor << "' has ABI version " << given->abi_version
           << ", this runtime has version " << BYCC_VENDOR_ABI_VERSION;
  if (given->size < offsetof(bycc_vendor_runtime, alloc))
    return error(Status::Load, {path})
           << "vendor '" << vendor << "': the table of the run half is too short";
  bycc_vendor_runtime table = {};
  std::memcpy(&table, given, std::min<size_t>(given->size, sizeof table));
  if (!table.name || !table.load || !table.unload || !table.state_bytes || !table.init_state ||
      !table.drop_state || !table.run)
    return error(Status::Load, {path}) << "vendor '" << vendor << "': the run half is incomplete";
  if (table.use_threads)
    table.use_threads(&vendorThreads);
  return table;
}

Expected<bycc_vendor_runtime> openVendor(const std::string &vendor, const std::string &path) {
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
  logMessage(LogLevel::Info, "vendor '" + vendor + "' loaded from " + path);
  const bycc_vendor_runtime *given = nullptr;
  char text[512] = "";
  auto ask = [&] {
    given = entry();
    return BYCC_OK;
  };
  if (callVendor(ask, text) != BYCC_OK)
    return error(Status::Load, {path}) << "bycc_vendor_runtime_entry: " << escaped(text, 512);
  return checked(vendor, path, given);
}

Expected<bycc_vendor_runtime> findVendor(const std::string &vendor) {
  if (!isPlainName(vendor))
    return error(Status::Load) << "bad vendor name '" << escaped(vendor) << "'";
  std::vector<std::string> folders = searchFolders();
  for (const std::string &folder : folders) {
    std::string path = folder + "/libbycc_vendor_" + vendor + ".so";
    if (::access(path.c_str(), F_OK) == 0)
      return openVendor(vendor, path);
  }
  return error(Status::Load).as(MessageId::NoVendorLibrary)
         << "the model needs vendor '" << vendor << "', but libbycc_vendor_" << vendor
         << ".so is in none of: " << join(folders, ", ") << "; BYCC_PLUGIN_PATH names more folders";
}

} // namespace

Expected<const bycc_vendor_runtime *> loadVendor(const std::string &vendor) {
  static std::mutex mutex;
  static std::map<std::string, bycc_vendor_runtime> loaded;
  std::lock_guard lock(mutex);
  auto known = loaded.find(vendor);
  if (known != loaded.end())
    return &known->second;
  return &loaded.emplace(vendor, BYCC_TRY(findVendor(vendor))).first->second;
}

} // namespace bycc::runtime
