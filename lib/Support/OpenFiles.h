// What SharedFiles.h answers from.
#pragma once

#include "bycc/Support/SharedFiles.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace bycc {

// Mappings whose files are open, by their first byte.
class OpenFiles {
public:
  static OpenFiles &instance() {
    static auto *files = new OpenFiles; // mappings may outlive static objects
    return *files;
  }
  std::atomic<bool> isWanted{false};

  // `offset`: of the first byte in the file.
  void add(const uint8_t *data, uint64_t size, int descriptor, uint64_t offset = 0) {
    std::lock_guard lock(mutex_);
    files_[data] = {size, descriptor, offset};
  }
  void remove(const uint8_t *data) {
    std::lock_guard lock(mutex_);
    files_.erase(data);
  }
  std::optional<FilePlace> find(const uint8_t *data, uint64_t bytes) {
    std::lock_guard lock(mutex_);
    auto after = files_.upper_bound(data);
    if (after == files_.begin())
      return std::nullopt;
    auto [begin, file] = *std::prev(after);
    auto offset = static_cast<uint64_t>(data - begin);
    if (offset > file.size || bytes > file.size - offset)
      return std::nullopt;
    return FilePlace{file.descriptor, file.offset + offset};
  }

private:
  struct File {
    uint64_t size;
    int descriptor;
    uint64_t offset;
  };
  std::mutex mutex_;
  std::map<const uint8_t *, File> files_;
};

} // namespace bycc
