// Files that this process has mapped, and large copies that it made, for another process
// that is to see the same bytes without one more copy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace bycc {

class Storage;

// Keeps the files open that are mapped from now on, and large copies in a file, for the
// whole process. Off by default: each file takes a descriptor.
void keepMappedFilesOpen();

struct FilePlace {
  int descriptor = -1; // of the mapping: valid as long as it is
  uint64_t offset = 0;
};
// Where the bytes lie in a file that was mapped since; none when they do not.
std::optional<FilePlace> placeInFile(const void *data, uint64_t bytes);

// A copy that another process can map, with a page to itself and found by placeInFile();
// null when the system has no memory for it.
std::shared_ptr<const Storage> sharedCopyOf(const void *data, uint64_t size);

} // namespace bycc
