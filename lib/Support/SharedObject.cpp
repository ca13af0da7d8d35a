// The dynamic linker maps what the program headers say; a page behind the end of the file is
// SIGBUS in it. So headers are compared with the size of the file before.
#include "bycc/Support/SharedObject.h"

#include "Descriptor.h"

#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <vector>

namespace bycc {
namespace {

// e_machine of what this program is built for.
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

class SharedObjectCheck {
public:
  SharedObjectCheck(const std::string &path, int file, uint64_t size)
      : path_(path), file_(file), size_(size) {}

  Expected<> run() {
    BYCC_TRY(checkIdentity());
    Elf64_Ehdr header;
    if (!read(0, &header, sizeof header))
      return refuseLength(sizeof header);
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0)
      return refuse() << "not a shared object: it has no program headers";
    uint64_t bytes = header.e_phnum * sizeof(Elf64_Phdr);
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    if (!isInside(header.e_phoff, bytes) || !read(header.e_phoff, segments.data(), bytes))
      return refuse() << "the file has " << size_ << " bytes, its program headers would be at "
                      << header.e_phoff;
    for (const Elf64_Phdr &segment : segments)
      if (segment.p_type == PT_LOAD && !isInside(segment.p_offset, segment.p_filesz))
        return refuse() << "the file has " << size_ << " bytes, a segment of " << segment.p_filesz
                        << " would be at " << segment.p_offset << ": it was cut";
    return {};
  }

private:
  // The fields looked at have the same place in both classes.
  Expected<> checkIdentity() {
    unsigned char head[20] = {};
    if (!read(0, head, sizeof head) || std::memcmp(head, ELFMAG, SELFMAG) != 0)
      return refuse() << "not an ELF file: a plugin is a shared object";
    bool isBig = head[EI_DATA] == ELFDATA2MSB;
    auto half = [&](size_t at) {
      return isBig ? head[at] << 8 | head[at + 1] : head[at + 1] << 8 | head[at];
    };
    unsigned type = static_cast<unsigned>(half(16)), machine = static_cast<unsigned>(half(18));
    if (machine != ownMachine || isBig || head[EI_CLASS] != ELFCLASS64)
      return refuse() << "the plugin is built for " << machineName(machine)
                      << (head[EI_CLASS] == ELFCLASS32 ? " (32 bit)" : "")
                      << (isBig ? " (big endian)" : "") << ", this bycc runs on "
                      << machineName(ownMachine);
    if (type != ET_DYN)
      return refuse() << "not a shared object: link the plugin with -shared";
    return {};
  }

  ErrorBuilder refuse() const { return error(Status::Load, {path_}); }
  Error refuseLength(uint64_t wanted) const {
    return refuse() << "the file has " << size_ << " bytes, its header alone has " << wanted;
  }
  bool isInside(uint64_t offset, uint64_t bytes) const {
    return offset <= size_ && bytes <= size_ - offset;
  }
  bool read(uint64_t offset, void *to, uint64_t bytes) const {
    return ::pread(file_, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }

  const std::string &path_;
  int file_;
  uint64_t size_;
};

} // namespace

Expected<> checkSharedObject(const std::string &path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info;
  if (!file || ::fstat(file.get(), &info) != 0)
    return error(Status::Load, {path}) << "cannot read the plugin: " << std::strerror(errno);
  if (!S_ISREG(info.st_mode))
    return error(Status::Load, {path}) << "is not a regular file: a plugin is a shared object";
  return SharedObjectCheck(path, file.get(), static_cast<uint64_t>(info.st_size)).run();
}

} // namespace bycc
