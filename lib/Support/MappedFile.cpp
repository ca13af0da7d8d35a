// See MappedFile.h and bycc/Support/MappedFiles.h.
#include "MappedFile.h"

#include "OpenFiles.h"

#include "bycc/Support/MappedFiles.h"

#include <cerrno>
#include <csignal>
#include <mutex>
#include <set>
#include <sys/mman.h>

namespace bycc {
namespace {

std::atomic<GuardedRange *> ranges{nullptr};
struct sigaction before;
std::atomic<bool> isGuarded{false};
uintptr_t pageBytes = 4096;

// Never destroyed: mappings may outlive static objects.
struct Registry {
  std::mutex mutex;
  std::set<const MappedFile *> files;
  std::string lost; // the first one that had changed when it was unmapped
};
Registry &registry() {
  static auto *made = new Registry;
  return *made;
}

GuardedRange *guardedRange(uintptr_t begin, uintptr_t end) {
  GuardedRange *range = ranges.load();
  while (range && range->begin.load() != 0)
    range = range->next;
  if (!range) {
    range = new GuardedRange;
    range->next = ranges.load();
    ranges.store(range);
  }
  range->isDamaged.store(false);
  range->end.store(end);
  range->begin.store(begin);
  return range;
}

void onBusError(int signal, siginfo_t *info, void *context) {
  auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  for (GuardedRange *range = ranges.load(); range; range = range->next) {
    uintptr_t begin = range->begin.load(), end = range->end.load();
    if (begin == 0 || at < begin || at >= end)
      continue;
    // What follows is gone as well. mmap is a plain system call: safe here.
    int code = errno;
    uintptr_t page = at / pageBytes * pageBytes;
    range->isDamaged.store(true);
    void *zeros = ::mmap(reinterpret_cast<void *>(page), end - page, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    errno = code;
    if (zeros != MAP_FAILED)
      return;
  }
  if (before.sa_flags & SA_SIGINFO)
    return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(signal);
  ::signal(signal, SIG_DFL); // it comes again when the instruction does
}

} // namespace

MappedFile::MappedFile(void *memory, uint64_t size, std::string path, const struct stat &info,
                       Descriptor watched)
    : path_(std::move(path)), info_(info), watched_(std::move(watched)) {
  data_ = static_cast<const uint8_t *>(memory);
  size_ = size;
  if (size_ == 0)
    return;
  auto begin = reinterpret_cast<uintptr_t>(memory);
  std::lock_guard lock(registry().mutex);
  range_ = guardedRange(begin, begin + size);
  registry().files.insert(this);
  if (watched_)
    OpenFiles::instance().add(data_, size_, watched_.get());
}

MappedFile::~MappedFile() {
  if (size_ == 0)
    return;
  if (watched_)
    OpenFiles::instance().remove(data_);
  bool isLost = hasChanged();
  std::lock_guard lock(registry().mutex);
  registry().files.erase(this);
  if (isLost && registry().lost.empty())
    registry().lost = path_;
  range_->begin.store(0);
  ::munmap(const_cast<uint8_t *>(data_), size_);
}

bool MappedFile::isWhole() const {
  struct stat now;
  return size_ == 0 || (!range_->isDamaged.load() &&
                        (!watched_ || (::fstat(watched_.get(), &now) == 0 &&
                                       static_cast<uint64_t>(now.st_size) >= size_)));
}

bool MappedFile::hasChanged() const {
  struct stat now;
  bool isSame =
      ::stat(path_.c_str(), &now) == 0 && now.st_dev == info_.st_dev && now.st_ino == info_.st_ino;
  return !isWhole() ||
         (isSame && (now.st_size != info_.st_size || now.st_mtim.tv_sec != info_.st_mtim.tv_sec ||
                     now.st_mtim.tv_nsec != info_.st_mtim.tv_nsec));
}

bool areMappedFilesGuarded() { return isGuarded.load(std::memory_order_relaxed); }

void guardMappedFiles() {
  std::lock_guard lock(registry().mutex);
  isGuarded = true;
  pageBytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction ours = {}, now;
  ours.sa_sigaction = onBusError;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  if (::sigaction(SIGBUS, nullptr, &now) != 0 || now.sa_sigaction == onBusError)
    return;
  before = now;
  ::sigaction(SIGBUS, &ours, nullptr);
}

Expected<> checkMappedFiles() {
  std::lock_guard lock(registry().mutex);
  std::string changed = registry().lost;
  for (const MappedFile *file : registry().files)
    if (changed.empty() && file->hasChanged())
      changed = file->path();
  if (changed.empty())
    return {};
  return error(Status::Io, {changed}) << "the file was changed while it was read";
}

} // namespace bycc
