// Copies lie in a file without a name, at multiples of a page.

#include "SharedConstants.h"

#include "bycc/Support/Hash.h"
#include "bycc/Support/SharedFiles.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bycc {

namespace {
constexpr uint64_t maxSmallBytes = 16 << 10;
constexpr uint64_t copyAlignment = 4096;

bool writeAt(int file, uint64_t offset, const char *data, uint64_t bytes) {
  while (bytes > 0) {
    ssize_t wrote = ::pwrite(file, data, bytes, static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote <= 0)
      return false;
    data += wrote;
    offset += static_cast<uint64_t>(wrote);
    bytes -= static_cast<uint64_t>(wrote);
  }
  return true;
}
} // namespace

SharedConstants::SharedConstants() { keepMappedFilesOpen(); }

SharedConstants::~SharedConstants() {
  for (int file : files_)
    ::close(file);
}

std::optional<ConstantPlace> SharedConstants::place(const void *data, uint64_t bytes) {
  if (bytes <= maxSmallBytes)
    return std::nullopt;
  if (std::optional<FilePlace> found = placeInFile(data, bytes))
    if (std::optional<uint32_t> number = numberOf(found->descriptor))
      return ConstantPlace{*number, found->offset};
  return copy(data, bytes);
}

// The same file once: a program is loaded again when regions fail.
std::optional<uint32_t> SharedConstants::numberOf(int file) {
  struct stat info;
  if (::fstat(file, &info) != 0)
    return std::nullopt;
  auto [found, isNew] = numbers_.try_emplace({info.st_dev, info.st_ino}, files_.size());
  if (!isNew)
    return found->second;
  int ours = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (ours < 0) {
    numbers_.erase(found);
    return std::nullopt;
  }
  files_.push_back(ours);
  return found->second;
}

std::optional<ConstantPlace> SharedConstants::copy(const void *data, uint64_t bytes) {
  if (!copies_) {
    int file = ::memfd_create("bycc constants", MFD_CLOEXEC);
    if (file < 0)
      return std::nullopt;
    copies_ = static_cast<uint32_t>(files_.size());
    files_.push_back(file);
  }
  std::pair<uint64_t, uint64_t> key{hashBytes(data, bytes), bytes};
  auto [first, last] = offsets_.equal_range(key);
  for (auto it = first; it != last; ++it)
    if (holds(it->second, data, bytes))
      return ConstantPlace{*copies_, it->second};
  if (!writeAt(files_[*copies_], end_, static_cast<const char *>(data), bytes))
    return std::nullopt;
  uint64_t offset = end_;
  end_ += (bytes + copyAlignment - 1) / copyAlignment * copyAlignment;
  offsets_.emplace(key, offset);
  return ConstantPlace{*copies_, offset};
}

bool SharedConstants::holds(uint64_t offset, const void *data, uint64_t bytes) const {
  void *mine =
      ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, files_[*copies_], static_cast<off_t>(offset));
  if (mine == MAP_FAILED)
    return false;
  bool isSame = std::memcmp(mine, data, bytes) == 0;
  ::munmap(mine, bytes);
  return isSame;
}

} // namespace bycc
