// A linker for one object. What bycc writes is a single relocatable x86-64 ELF
// object (PIC, small code model) that refers to nothing but mem* and libm
// functions; all other services come through bycc_exec. So loading it takes no
// dynamic linker, no LLVM and no second file beside it that could disagree:
//
//   1. check the header, section table, symbol table and string table;
//   2. place the SHF_ALLOC sections in one mapping, grouped by access, and
//      copy them: code | read-only data | writable data, each group beginning
//      on a page. Behind the code come stubs for external functions
//      (`jmp *slot(%rip)`), behind the read-only data the table of addresses
//      (GOT) that they and GOT-relative accesses go through;
//   3. apply the relocations while everything is writable;
//   4. set the access: nothing is writable and executable at the same time;
//   5. find the symbol `<name>_bycc_module`.
//
// All lies in one mapping below 2 GiB, so 32-bit distances reach. The file may
// be damaged: every offset, count and index is checked before its use. That
// guards against accidents; running the code still means trusting its maker.
//
// Mapping the file in place of copying was rejected: sections are not aligned to
// pages in an object file, and code and data share pages.
#include "bycc/Runtime/ObjectLoader.h"

#include "Externals.h"

#include "bycc/Support/Text.h"

#include <cstring>
#include <elf.h>
#include <map>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace bycc::runtime {

constexpr uint64_t maxImageBytes = (uint64_t{1} << 31) - (uint64_t{1} << 20);
constexpr uint64_t maxAlignment = 4096;
constexpr uint64_t stubBytes = 16;

enum Group { Code, ReadOnly, Writable, numGroups };

class ObjectLoader {
public:
  ObjectLoader(const uint8_t *data, uint64_t size, const std::string &file)
      : data_(data), size_(size), file_(file) {}

  Expected<LoadedObject> loadModule() {
    constexpr std::string_view suffix = "_bycc_module";
    return load("<name>_bycc_module", sizeof(bycc_module),
                [&](std::string_view name) { return name.ends_with(suffix); });
  }
  Expected<LoadedObject> loadEntry(std::string_view entry, uint64_t bytes) {
    return load(entry, bytes, [&](std::string_view name) { return name == entry; });
  }

private:
  template <typename IsWanted>
  Expected<LoadedObject> load(std::string_view wanted, uint64_t bytes, IsWanted isWanted) {
    BYCC_TRY(readHeader());
    BYCC_TRY(readSections());
    BYCC_TRY(readSymbolTable());
    BYCC_TRY(findExternals());
    BYCC_TRY(layOut());
    copySections();
    BYCC_TRY(relocate());
    object_.entry_ = BYCC_TRY(findEntry(wanted, bytes, isWanted));
    BYCC_TRY(protect());
    return std::move(object_);
  }

  ErrorBuilder refuse() { return error(Status::Load, {file_}); }

  bool isInside(uint64_t offset, uint64_t bytes) const {
    return offset <= size_ && bytes <= size_ - offset;
  }

  template <typename T> T readAt(uint64_t offset) const {
    T value;
    std::memcpy(&value, data_ + offset, sizeof value);
    return value;
  }

  Expected<> readHeader() {
    if (size_ < sizeof header_ || std::memcmp(data_, ELFMAG, SELFMAG) != 0)
      return refuse() << "not an ELF object";
    header_ = readAt<Elf64_Ehdr>(0);
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
        header_.e_machine != EM_X86_64)
      return refuse() << "object is for another machine (ELF machine " << header_.e_machine
                      << "), this runtime runs x86-64";
    if (header_.e_type != ET_REL || header_.e_version != EV_CURRENT ||
        header_.e_shentsize != sizeof(Elf64_Shdr))
      return refuse() << "not a relocatable ELF object";
    return {};
  }

  Expected<> readSections() {
    uint64_t count = header_.e_shnum;
    if (count == 0 && isInside(header_.e_shoff, sizeof(Elf64_Shdr)) && header_.e_shoff != 0)
      count = readAt<Elf64_Shdr>(header_.e_shoff).sh_size;
    if (count == 0 || count >= SHN_LORESERVE ||
        !isInside(header_.e_shoff, count * sizeof(Elf64_Shdr)))
      return refuse() << "object is cut: its section table is not inside";
    for (uint64_t i = 0; i < count; ++i)
      sections_.push_back(readAt<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr)));
    addresses_.resize(count, nullptr);
    for (uint64_t i = 0; i < count; ++i)
      BYCC_TRY(checkSection(i));
    return {};
  }

  Expected<> checkSection(uint64_t index) {
    const Elf64_Shdr &section = sections_[index];
    if (section.sh_type == SHT_NULL) {
      sections_[index].sh_flags = 0; // no section: nothing of it is placed or copied
      return {};
    }
    if (section.sh_type != SHT_NOBITS && !isInside(section.sh_offset, section.sh_size))
      return refuse() << "object is cut: section " << index << " is not inside";
    if (!(section.sh_flags & SHF_ALLOC))
      return {};
    if (section.sh_addralign > maxAlignment || (section.sh_addralign & (section.sh_addralign - 1)))
      return refuse() << "section " << index << " has alignment " << section.sh_addralign;
    if (section.sh_size > maxImageBytes)
      return refuse() << "section " << index << " has " << section.sh_size << " bytes";
    bool hasConstructors = section.sh_type == SHT_INIT_ARRAY || section.sh_type == SHT_FINI_ARRAY ||
                           section.sh_type == SHT_PREINIT_ARRAY;
    if (hasConstructors || (section.sh_flags & SHF_TLS))
      return refuse() << "object has constructors or thread-local data: not written by bycc";
    return {};
  }

  Expected<> readSymbolTable() {
    for (const Elf64_Shdr &section : sections_) {
      if (section.sh_type != SHT_SYMTAB)
        continue;
      if (section.sh_entsize != sizeof(Elf64_Sym) || section.sh_link >= sections_.size() ||
          sections_[section.sh_link].sh_type != SHT_STRTAB || !symbols_.empty())
        return refuse() << "malformed symbol table";
      const Elf64_Shdr &names = sections_[section.sh_link];
      names_ = {reinterpret_cast<const char *>(data_ + names.sh_offset), names.sh_size};
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym))
        symbols_.push_back(readAt<Elf64_Sym>(section.sh_offset + at));
    }
    if (symbols_.empty())
      return refuse() << "object has no symbols";
    for (size_t i = 1; i < symbols_.size(); ++i)
      BYCC_TRY(checkSymbol(symbols_[i]));
    return {};
  }

  Expected<> checkSymbol(const Elf64_Sym &symbol) {
    uint16_t section = symbol.st_shndx;
    if (symbol.st_name >= names_.size() && symbol.st_name != 0)
      return refuse() << "malformed symbol name";
    if (ELF64_ST_TYPE(symbol.st_info) == STT_TLS || ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC)
      return refuse() << "symbol '" << escaped(nameOf(symbol)) << "' is of an unsupported kind";
    if (section == SHN_UNDEF || section == SHN_ABS)
      return {};
    if (section >= sections_.size() || symbol.st_value > sections_[section].sh_size)
      return refuse() << "symbol '" << escaped(nameOf(symbol)) << "' lies outside its section";
    return {};
  }

  std::string_view nameOf(const Elf64_Sym &symbol) const {
    if (symbol.st_name >= names_.size())
      return {};
    std::string_view rest = names_.substr(symbol.st_name);
    return rest.substr(0, rest.find('\0'));
  }

  // Every undefined symbol gets an address and a slot; so does every symbol that
  // is reached through the GOT.
  Expected<> findExternals() {
    externals_.resize(symbols_.size(), nullptr);
    for (size_t i = 1; i < symbols_.size(); ++i) {
      if (symbols_[i].st_shndx != SHN_UNDEF)
        continue;
      std::string_view name = nameOf(symbols_[i]);
      externals_[i] = static_cast<uint8_t *>(externalAddress(name));
      if (!externals_[i])
        return refuse() << "object needs the symbol '" << escaped(name)
                        << "', which the runtime does not provide";
      addSlot(i);
    }
    return forEachRelocation([&](const Elf64_Shdr &, const Elf64_Rela &relocation) -> Expected<> {
      uint32_t type = ELF64_R_TYPE(relocation.r_info);
      if (type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX)
        addSlot(ELF64_R_SYM(relocation.r_info));
      return {};
    });
  }

  void addSlot(uint64_t symbol) { slots_.try_emplace(symbol, slots_.size()); }

  template <typename Function> Expected<> forEachRelocation(Function function) {
    for (const Elf64_Shdr &table : sections_) {
      if (table.sh_type == SHT_REL)
        return refuse() << "relocations without addends are not used on x86-64";
      if (table.sh_type != SHT_RELA)
        continue;
      if (table.sh_info >= sections_.size() || table.sh_entsize != sizeof(Elf64_Rela))
        return refuse() << "malformed relocation table";
      const Elf64_Shdr &target = sections_[table.sh_info];
      if (!(target.sh_flags & SHF_ALLOC)) // debug information is not loaded
        continue;
      for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.sh_size; at += sizeof(Elf64_Rela)) {
        auto relocation = readAt<Elf64_Rela>(table.sh_offset + at);
        if (ELF64_R_SYM(relocation.r_info) >= symbols_.size())
          return refuse() << "relocation refers to symbol " << ELF64_R_SYM(relocation.r_info)
                          << " of " << symbols_.size();
        BYCC_TRY(function(target, relocation));
      }
    }
    return {};
  }

  static Group groupOf(const Elf64_Shdr &section) {
    return section.sh_flags & SHF_EXECINSTR ? Code
           : section.sh_flags & SHF_WRITE   ? Writable
                                            : ReadOnly;
  }

  static uint64_t aligned(uint64_t value, uint64_t alignment) {
    return alignment > 1 ? (value + alignment - 1) & ~(alignment - 1) : value;
  }

  Expected<> layOut() {
    std::vector<uint64_t> offsets(sections_.size());
    uint64_t page = ::sysconf(_SC_PAGESIZE), end = 0;
    for (int group = Code; group < numGroups; ++group) {
      groupBegin_[group] = end = aligned(end, page);
      for (size_t i = 0; i < sections_.size(); ++i) {
        if (!(sections_[i].sh_flags & SHF_ALLOC) || groupOf(sections_[i]) != group)
          continue;
        offsets[i] = end = aligned(end, sections_[i].sh_addralign);
        end += sections_[i].sh_size;
        if (end > maxImageBytes)
          return refuse() << "object needs more than " << maxImageBytes << " bytes of memory";
      }
      end = aligned(end, stubBytes);
      if (group == Code)
        stubsBegin_ = std::exchange(end, end + slots_.size() * stubBytes);
      if (group == ReadOnly)
        slotsBegin_ = std::exchange(end, end + slots_.size() * 8);
    }
    groupBegin_[numGroups] = end = aligned(end + 1, page);
    void *memory = ::mmap(nullptr, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return error(Status::Limit, {file_}) << "no memory for the object: " << end << " bytes";
    object_.memory_ = static_cast<uint8_t *>(memory);
    object_.size_ = end;
    for (size_t i = 0; i < sections_.size(); ++i)
      if (sections_[i].sh_flags & SHF_ALLOC)
        addresses_[i] = object_.memory_ + offsets[i];
    return {};
  }

  void copySections() {
    for (size_t i = 0; i < sections_.size(); ++i)
      if (addresses_[i] && sections_[i].sh_type != SHT_NOBITS)
        std::memcpy(addresses_[i], data_ + sections_[i].sh_offset, sections_[i].sh_size);
  }

  uint8_t *slot(uint64_t symbol) const {
    return object_.memory_ + slotsBegin_ + slots_.at(symbol) * 8;
  }

  // Address of what `symbol` stands for; null for a section that is not loaded.
  Expected<uint8_t *> addressOf(uint64_t symbol) {
    const Elf64_Sym &entry = symbols_[symbol];
    if (symbol == 0 || entry.st_shndx == SHN_ABS)
      return reinterpret_cast<uint8_t *>(entry.st_value);
    if (externals_[symbol])
      return externals_[symbol];
    uint8_t *section = addresses_[entry.st_shndx];
    if (!section)
      return refuse() << "symbol '" << escaped(nameOf(entry)) << "' is in a section without memory";
    return section + entry.st_value;
  }

  Expected<> fillSlots() {
    for (auto [symbol, index] : slots_) {
      uint8_t *address = BYCC_TRY(addressOf(symbol));
      std::memcpy(slot(symbol), &address, 8);
      uint8_t *stub = object_.memory_ + stubsBegin_ + index * stubBytes;
      int32_t distance = static_cast<int32_t>(slot(symbol) - (stub + 6));
      std::memcpy(stub, "\xff\x25", 2); // jmp *distance(%rip)
      std::memcpy(stub + 2, &distance, 4);
    }
    return {};
  }

  Expected<> relocate() {
    BYCC_TRY(fillSlots());
    return forEachRelocation([&](const Elf64_Shdr &target, const Elf64_Rela &relocation) {
      return apply(target, relocation);
    });
  }

  Expected<> apply(const Elf64_Shdr &target, const Elf64_Rela &relocation) {
    uint32_t type = ELF64_R_TYPE(relocation.r_info);
    uint64_t symbol = ELF64_R_SYM(relocation.r_info);
    if (type == R_X86_64_NONE)
      return {};
    bool isWide = type == R_X86_64_64 || type == R_X86_64_PC64;
    uint64_t width = isWide ? 8 : 4;
    if (relocation.r_offset > target.sh_size || width > target.sh_size - relocation.r_offset ||
        target.sh_type == SHT_NOBITS)
      return refuse() << "relocation lies outside its section";
    uint8_t *place = addresses_[&target - sections_.data()] + relocation.r_offset;
    uint64_t at = reinterpret_cast<uint64_t>(place);
    uint64_t value = reinterpret_cast<uint64_t>(BYCC_TRY(addressOf(symbol)));
    uint64_t addend = static_cast<uint64_t>(relocation.r_addend);
    bool isSigned = true;
    switch (type) {
    case R_X86_64_64:
      value += addend;
      break;
    case R_X86_64_PC64:
      value += addend - at;
      break;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
      if (externals_[symbol]) // too far away: through its stub
        value = reinterpret_cast<uint64_t>(object_.memory_) + stubsBegin_ +
                slots_.at(symbol) * stubBytes;
      value += addend - at;
      break;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
      value = reinterpret_cast<uint64_t>(slot(symbol)) + addend - at;
      break;
    case R_X86_64_32:
      isSigned = false;
      [[fallthrough]];
    case R_X86_64_32S:
      value += addend;
      break;
    default:
      return refuse() << "relocation of type " << type << " is not supported";
    }
    uint64_t back = isSigned
                        ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value)))
                        : static_cast<uint32_t>(value);
    if (!isWide && back != value)
      return refuse() << "relocation of type " << type << " against '"
                      << escaped(nameOf(symbols_[symbol])) << "' does not reach";
    std::memcpy(place, &value, width);
    return {};
  }

  template <typename IsWanted>
  Expected<const void *> findEntry(std::string_view wanted, uint64_t bytes, IsWanted isWanted) {
    const Elf64_Sym *found = nullptr;
    for (const Elf64_Sym &symbol : symbols_) {
      if (!isWanted(nameOf(symbol)) || symbol.st_shndx == SHN_UNDEF ||
          ELF64_ST_BIND(symbol.st_info) == STB_LOCAL)
        continue;
      if (found)
        return refuse() << "object has more than one symbol '" << wanted << "'";
      found = &symbol;
    }
    if (!found)
      return refuse() << "object has no symbol '" << wanted << "': not written by bycc";
    uint16_t section = found->st_shndx;
    if (section >= sections_.size() || !addresses_[section] ||
        sections_[section].sh_size - found->st_value < bytes || found->st_value % 8 != 0)
      return refuse() << "what '" << wanted << "' stands for is cut";
    return addresses_[section] + found->st_value;
  }

  Expected<> protect() {
    constexpr int access[numGroups] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    for (int group = Code; group < numGroups; ++group) {
      uint64_t bytes = groupBegin_[group + 1] - groupBegin_[group];
      if (bytes > 0 && ::mprotect(object_.memory_ + groupBegin_[group], bytes, access[group]) != 0)
        return refuse() << "cannot set the access of the object's memory: " << std::strerror(errno);
    }
    return {};
  }

  const uint8_t *data_;
  uint64_t size_;
  const std::string &file_;
  Elf64_Ehdr header_ = {};
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::string_view names_;
  std::vector<uint8_t *> externals_;   // per symbol; null unless undefined
  std::vector<uint8_t *> addresses_;   // per section; null unless loaded
  std::map<uint64_t, uint64_t> slots_; // symbol -> index in the GOT and the stubs
  uint64_t groupBegin_[numGroups + 1] = {};
  uint64_t stubsBegin_ = 0, slotsBegin_ = 0;
  LoadedObject object_;
};

LoadedObject::LoadedObject(LoadedObject &&other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_(other.size_), entry_(other.entry_) {}

LoadedObject &LoadedObject::operator=(LoadedObject &&other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  std::swap(entry_, other.entry_);
  return *this;
}

LoadedObject::~LoadedObject() {
  if (memory_)
    ::munmap(memory_, size_);
}

Expected<LoadedObject> loadObject(const uint8_t *data, uint64_t size, const std::string &file) {
  return ObjectLoader(data, size, file).loadModule();
}

Expected<LoadedObject> loadObject(const uint8_t *data, uint64_t size, const std::string &file,
                                  std::string_view entry, uint64_t entryBytes) {
  return ObjectLoader(data, size, file).loadEntry(entry, entryBytes);
}

} // namespace bycc::runtime
