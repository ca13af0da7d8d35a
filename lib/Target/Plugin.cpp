// The dynamic linker says little about a file that is not for it, so the header of
// the file is looked at before.

#include "Plugin.h"

#include "bycc/Support/Text.h"

#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <exception>
#include <fstream>

namespace bycc {

namespace {

constexpr const char *entryName = "bycc_vendor_compiler_entry";

SourceLocation inFile(const std::string &file) {
  SourceLocation location;
  location.file = file;
  return location;
}

ErrorBuilder refuse(const std::string &file) { return error(Status::Load, inFile(file)); }

// e_machine of what this bycc is built for.
#if defined(__x86_64__)
constexpr unsigned ownMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned ownMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr unsigned ownMachine = EM_RISCV;
#else
#error "name the ELF machine of this architecture"
#endif

std::string machineName(unsigned machine) {
  switch (machine) {
  case EM_386: return "i386";
  case EM_ARM: return "arm";
  case EM_X86_64: return "x86_64";
  case EM_AARCH64: return "aarch64";
  case EM_RISCV: return "riscv";
  case EM_PPC64: return "powerpc64";
  case EM_S390: return "s390";
  default: return "machine " + std::to_string(machine);
  }
}

// The fields looked at have the same place in both classes.
Expected<> checkElf(const std::string &path) {
  unsigned char head[20] = {};
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return error(Status::Usage, inFile(path)) << "cannot read the plugin: " << std::strerror(errno);
  file.read(reinterpret_cast<char *>(head), sizeof head);
  if (file.gcount() != sizeof head || std::memcmp(head, ELFMAG, SELFMAG) != 0)
    return refuse(path) << "not an ELF file: a plugin is a shared object";
  bool isBig = head[EI_DATA] == ELFDATA2MSB;
  auto half = [&](size_t at) { return isBig ? head[at] << 8 | head[at + 1] : head[at + 1] << 8 | head[at]; };
  unsigned type = static_cast<unsigned>(half(16)), machine = static_cast<unsigned>(half(18));
  if (machine != ownMachine || head[EI_CLASS] != ELFCLASS64)
    return refuse(path) << "the plugin is built for " << machineName(machine)
                        << (head[EI_CLASS] == ELFCLASS32 ? " (32 bit)" : "")
                        << ", this bycc runs on " << machineName(ownMachine);
  if (type != ET_DYN)
    return refuse(path) << "not a shared object: link the plugin with -shared";
  return {};
}

Expected<void *> openFile(const std::string &path, int mode) {
  BYCC_TRY(checkElf(path));
  // A name without a slash would be looked up in the system's library folders.
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void *handle = dlopen(file.c_str(), mode | RTLD_LOCAL);
  if (!handle)
    return refuse(path) << "cannot load the plugin: " << escaped(dlerror(), 512);
  return handle;
}

} // namespace

Expected<const bycc_vendor_compiler *> loadPluginFile(const std::string &path) {
  void *handle = BYCC_TRY(openFile(path, RTLD_NOW));
  auto entry = reinterpret_cast<bycc_vendor_compiler_fn>(dlsym(handle, entryName));
  if (!entry)
    return refuse(path) << "no " << entryName << " in it: not the compile half of a vendor";
  const bycc_vendor_compiler *table = nullptr;
  try {
    table = entry();
  } catch (const std::exception &thrown) {
    return refuse(path) << entryName << ": it threw an exception: " << escaped(thrown.what(), 512);
  } catch (...) {
    return refuse(path) << entryName << ": it threw an exception";
  }
  if (!table)
    return refuse(path) << entryName << " returns nothing";
  return table;
}

Expected<bool> hasCompileHalf(const std::string &path) {
  // Lazily: the library may be a run half that needs what is not here.
  void *handle = BYCC_TRY(openFile(path, RTLD_LAZY));
  bool found = dlsym(handle, entryName) != nullptr;
  dlclose(handle);
  return found;
}

Expected<> checkVendorTable(const bycc_vendor_compiler *table, const std::string &origin) {
  if (table->abi_version != BYCC_VENDOR_ABI_VERSION)
    return refuse(origin) << "the plugin speaks version " << table->abi_version
                          << " of the vendor interface, this bycc speaks "
                          << BYCC_VENDOR_ABI_VERSION;
  // What the first header of this version had; later fields may be missing.
  constexpr size_t shortest = offsetof(bycc_vendor_compiler, passes);
  if (table->size < shortest)
    return refuse(origin) << "the plugin's bycc_vendor_compiler has size " << table->size
                          << ", at least " << shortest << " is needed: set it to sizeof";
  if (!table->name || !*table->name)
    return refuse(origin) << "the plugin's vendor has no name";
  std::string name = table->name;
  if (name.size() > 64 || asIdentifier("_" + name) != "_" + name || name == "host")
    return refuse(origin) << "'" << escaped(name)
                          << "' cannot be a vendor's name: wanted letters, digits and _";
  if (!table->supports || !table->compile)
    return refuse(origin) << "vendor '" << name << "' has no function '"
                          << (table->supports ? "compile" : "supports") << "'";
  return {};
}

} // namespace bycc
