// See bycc/Support/SharedObject.h. Sections are not looked at: the dynamic linker goes by
// segments, and a stripped file has all of these.
#include "bycc/Support/SharedObject.h"
#include "bycc/Support/Messages.h"

#include "Descriptor.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <vector>

namespace bycc {
namespace {

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
  case EM_386:
    return "i386";
  case EM_ARM:
    return "arm";
  case EM_X86_64:
    return "x86_64";
  case EM_AARCH64:
    return "aarch64";
  case EM_RISCV:
    return "riscv";
  case EM_PPC64:
    return "powerpc64";
  case EM_S390:
    return "s390";
  default:
    return "machine " + std::to_string(machine);
  }
}

class SharedObject {
public:
  explicit SharedObject(const std::string &path) : path_(path) {}

  Expected<> check() {
    BYCC_TRY(open());
    BYCC_TRY(checkHeader());
    return checkSegments();
  }

private:
  ErrorBuilder refuse() const { return error(Status::Load, {path_}); }

  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  Expected<> open() {
    fd_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat info;
    if (!fd_ || ::fstat(fd_.get(), &info) != 0)
      return refuse() << "cannot read the plugin: " << std::strerror(errno);
    if (!S_ISREG(info.st_mode))
      return refuse() << (S_ISDIR(info.st_mode) ? "is a directory" : "is not a regular file")
                      << ": a plugin is a shared object";
    size_ = info.st_size;
    return {};
  }

  bool read(void *to, uint64_t bytes, uint64_t offset) const {
    return ::pread(fd_.get(), to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }

  bool isInside(uint64_t offset, uint64_t bytes) const {
    return offset <= size_ && bytes <= size_ - offset;
  }

  // The fields up to e_machine have the same place in both classes.
  Expected<> checkHeader() {
    constexpr size_t commonBytes = offsetof(Elf64_Ehdr, e_version);
    if (!read(&header_, commonBytes, 0) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0)
      return refuse().as(MessageId::BadPlugin) << "not an ELF file: a plugin is a shared object";
    constexpr unsigned char ownData =
        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    bool isForeign = header_.e_ident[EI_DATA] != ownData,
         is32 = header_.e_ident[EI_CLASS] == ELFCLASS32;
    unsigned machine = isForeign ? __builtin_bswap16(header_.e_machine) : header_.e_machine;
    unsigned type = isForeign ? __builtin_bswap16(header_.e_type) : header_.e_type;
    if (machine != ownMachine || isForeign || header_.e_ident[EI_CLASS] != ELFCLASS64)
      return refuse() << "the plugin is built for " << machineName(machine)
                      << (is32        ? " (32 bit)"
                          : isForeign ? " (other byte order)"
                                      : "")
                      << ", this bycc runs on " << machineName(ownMachine);
    if (type != ET_DYN)
      return refuse() << "not a shared object: link the plugin with -shared";
    if (!read(&header_, sizeof header_, 0))
      return refuse() << "the plugin is cut: " << size_ << " bytes hold no ELF header";
    return {};
  }

  Expected<> checkSegments() const {
    uint64_t bytes = uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr);
    if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0 ||
        header_.e_phnum == PN_XNUM)
      return refuse() << "the plugin is damaged: its ELF header names no segments";
    std::vector<Elf64_Phdr> segments(header_.e_phnum);
    if (!isInside(header_.e_phoff, bytes) || !read(segments.data(), bytes, header_.e_phoff))
      return refuse() << "the plugin is cut: its table of segments has " << bytes
                      << " bytes at byte " << header_.e_phoff << ", the file has " << size_;
    for (const Elf64_Phdr &segment : segments) {
      if (segment.p_type == PT_NULL || segment.p_filesz == 0)
        continue;
      if (!isInside(segment.p_offset, segment.p_filesz))
        return refuse() << "the plugin is cut: a segment has " << segment.p_filesz
                        << " bytes at byte " << segment.p_offset << ", the file has " << size_;
      if (segment.p_type == PT_LOAD && segment.p_filesz > segment.p_memsz)
        return refuse() << "the plugin is damaged: a segment has " << segment.p_filesz
                        << " bytes in the file, " << segment.p_memsz << " in memory";
    }
    return {};
  }

  const std::string &path_;
  Descriptor fd_;
  uint64_t size_ = 0;
  Elf64_Ehdr header_ = {};
};

} // namespace

Expected<> checkSharedObject(const std::string &path) { return SharedObject(path).check(); }

// There is no code beside the text. Segments cannot be mapped on a file system without
// execution either, so that text counts where addresses are limited.
Status statusOfLinker(std::string_view text) {
  auto says = [&](std::string_view part) { return text.find(part) != text.npos; };
  struct rlimit space = {};
  bool isLimited = ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  bool lacksMemory =
      text.ends_with(std::strerror(ENOMEM)) ||
      (isLimited && (says("failed to map segment") || says("cannot map zero-fill pages")));
  return lacksMemory ? Status::Limit : Status::Load;
}

} // namespace bycc
