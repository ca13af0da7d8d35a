#include "SharedConstants.h"

#include "bycc/Support/File.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/SharedFiles.h"

#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bycc {

namespace {
constexpr uint64_t maxSmallBytes = 16 << 10;
} // namespace

SharedConstants::SharedConstants() { keepMappedFilesOpen(); }

SharedConstants::~SharedConstants() {
  for (int file : files_)
    ::close(file);
}

std::optional<ConstantPlace> SharedConstants::place(const void *data, uint64_t bytes) {
  if (bytes <= maxSmallBytes)
    return std::nullopt;
  if (std::optional<ConstantPlace> found = placeOf(data, bytes))
    return found;
  const Storage *copy = copyOf(data, bytes);
  return copy ? placeOf(copy->data(), bytes) : std::nullopt;
}

std::optional<ConstantPlace> SharedConstants::placeOf(const void *data, uint64_t bytes) {
  if (std::optional<FilePlace> found = placeInFile(data, bytes))
    if (std::optional<uint32_t> number = numberOf(found->descriptor))
      return ConstantPlace{*number, found->offset};
  return std::nullopt;
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

// One for all that are the same; null when there is no memory for it.
const Storage *SharedConstants::copyOf(const void *data, uint64_t bytes) {
  std::pair<uint64_t, uint64_t> key{hashBytes(data, bytes), bytes};
  auto [first, last] = copies_.equal_range(key);
  for (auto it = first; it != last; ++it)
    if (std::memcmp(it->second->data(), data, bytes) == 0)
      return it->second.get();
  std::shared_ptr<const Storage> copy = sharedCopyOf(data, bytes);
  return copy ? copies_.emplace(key, std::move(copy))->second.get() : nullptr;
}

} // namespace bycc
