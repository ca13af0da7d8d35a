// Files that this process has mapped, and large copies that it made, for another process
// that is to see the same bytes without one more copy.
#pragma once

#include <cstdint>
#include <optional>

namespace bycc {

// Keeps the files open that are mapped from now on, and large copies in a file, for the
// whole process. Off by default: each file takes a descriptor.
void keepMappedFilesOpen();

struct FilePlace {
  int descriptor = -1; // of the mapping: valid as long as it is
  uint64_t offset = 0;
};
// Where the bytes lie in a file that was mapped since; none when they do not.
std::optional<FilePlace> placeInFile(const void *data, uint64_t bytes);

} // namespace bycc
