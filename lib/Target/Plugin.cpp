// A plugin is code of somebody else, maybe for another machine or another bycc: its file is
// looked at before the dynamic linker gets it, what it returns before anything is called.

#include "Plugin.h"

#include "bycc/Support/File.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/SharedObject.h"
#include "bycc/Support/Text.h"
#include "bycc/Support/VendorAbi.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <unistd.h>

namespace bycc {

namespace {

constexpr const char *entryName = "bycc_vendor_compiler_entry";

Expected<> checkFile(const std::string &path) {
  if (::access(path.c_str(), R_OK) != 0)
    return error(Status::Usage, {path}).as(MessageId::BadPlugin)
           << "cannot read the plugin: " << std::strerror(errno);
  return checkSharedObject(path);
}

// A file that was checked.
Expected<void *> openFile(const std::string &path, int mode) {
  // A name without a slash would be looked up in the system's library folders.
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void *handle = dlopen(file.c_str(), mode | RTLD_LOCAL);
  if (handle)
    return handle;
  std::string text = dlerror();
  return error(statusOfLinker(text), {path}) << "cannot load the plugin: " << escaped(text, 512);
}

} // namespace

Expected<PluginEntries> loadPluginFile(const std::string &path) {
  BYCC_TRY(checkFile(path));
  void *handle = BYCC_TRY(openFile(path, RTLD_NOW));
  auto entry = reinterpret_cast<bycc_vendor_compiler_fn>(dlsym(handle, entryName));
  PluginEntries entries;
  entries.passes = reinterpret_cast<bycc_pass_fn>(dlsym(handle, "bycc_pass_entry"));
  if (!entry && entries.passes)
    return entries;
  if (!entry)
    return error(Status::Load, {path}).as(MessageId::BadPlugin)
           << "no " << entryName
           << " in it: not the compile half of a vendor (nor passes, which have bycc_pass_entry)";
  try {
    entries.vendor = entry();
  } catch (const std::exception &thrown) {
    return error(Status::Load, {path})
           << entryName << ": it threw an exception: " << escaped(thrown.what(), 512);
  } catch (...) {
    return error(Status::Load, {path}) << entryName << ": it threw an exception";
  }
  if (!entries.vendor)
    return error(Status::Load, {path}).as(MessageId::BadPlugin) << entryName << " returns nothing";
  return entries;
}

Expected<bool> hasCompileHalf(const std::string &path) {
  // A run half is not loaded: what it is linked with may be large, start threads, or not be here.
  BYCC_TRY(checkFile(path));
  if (BYCC_TRY(readFile(path)).find(entryName) == std::string::npos)
    return false;
  void *handle = BYCC_TRY(openFile(path, RTLD_LAZY));
  bool found = dlsym(handle, entryName) != nullptr;
  dlclose(handle);
  return found;
}

Expected<> checkVendorTable(const bycc_vendor_compiler *table, const std::string &origin) {
  if (table->abi_version != BYCC_VENDOR_ABI_VERSION)
    return error(Status::Load, {origin}).as(MessageId::BadPlugin)
           << "the plugin " << otherVendorAbi(table->abi_version);
  // Up to what no vendor can do without; what follows may be missing.
  constexpr size_t shortest = offsetof(bycc_vendor_compiler, num_options);
  if (table->size < shortest)
    return error(Status::Load, {origin})
           << "the plugin's bycc_vendor_compiler has size " << table->size << ", at least "
           << shortest << " is needed: set it to sizeof";
  if (!table->name || !*table->name)
    return error(Status::Load, {origin}) << "the plugin's vendor has no name";
  std::string name = table->name;
  if (name.size() > 64 || asIdentifier("_" + name) != "_" + name || name == "host")
    return error(Status::Load, {origin})
           << "'" << escaped(name) << "' cannot be a vendor's name: wanted letters, digits and _";
  if (!isVendorVersion(table->version))
    return error(Status::Load, {origin}) << "vendor '" << name << "' has the version '"
                                         << escaped(table->version ? table->version : "")
                                         << "', wanted letters, digits, '.', '-', '_' and '+'";
  if (!table->supports || !table->compile)
    return error(Status::Load, {origin}) << "vendor '" << name << "' has no function '"
                                         << (table->supports ? "compile" : "supports") << "'";
  return {};
}

} // namespace bycc
