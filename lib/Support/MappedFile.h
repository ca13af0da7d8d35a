// A read-only mapping of a file, known to the guard of MappedFiles.h.
#pragma once

#include "Descriptor.h"

#include "bycc/Support/File.h"

#include <atomic>
#include <sys/stat.h>

namespace bycc {

// What the signal handler looks at. Ranges are linked for good and used again.
struct GuardedRange {
  std::atomic<uintptr_t> begin{0}, end{0}; // 0: free
  std::atomic<bool> isDamaged{false};
  GuardedRange *next = nullptr;
};

class MappedFile : public Storage {
public:
  // `info`: of the file when it was mapped. `watched`: kept open for isWhole().
  MappedFile(void *memory, uint64_t size, std::string path, const struct stat &info,
             Descriptor watched);
  ~MappedFile() override;
  bool isWhole() const override;
  bool isMapped() const override { return true; }
  // Looks at what has the file's name now; one that was replaced is still there behind the mapping.
  bool hasChanged() const override;
  const std::string &path() const { return path_; }

private:
  std::string path_;
  struct stat info_;
  Descriptor watched_;
  GuardedRange *range_ = nullptr;
};

} // namespace bycc
