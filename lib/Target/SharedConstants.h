// Constants as another process can map them: in the files that they were mapped from, else
// in a copy that is made once.
#pragma once

#include "RegionWire.h"

#include <map>
#include <vector>

namespace bycc {

class SharedConstants {
public:
  SharedConstants();
  SharedConstants(const SharedConstants &) = delete;
  ~SharedConstants();
  // None: it is small, or there is no memory for a copy.
  std::optional<ConstantPlace> place(const void *data, uint64_t bytes);
  // Their descriptors, by number.
  const std::vector<int> &files() const { return files_; }

private:
  std::optional<uint32_t> numberOf(int file);
  std::optional<ConstantPlace> copy(const void *data, uint64_t bytes);
  bool holds(uint64_t offset, const void *data, uint64_t bytes) const;

  std::vector<int> files_;                                         // duplicates of ours
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> numbers_;      // by device, inode
  std::optional<uint32_t> copies_;                                 // the file that has them
  uint64_t end_ = 0;                                               // of it
  std::multimap<std::pair<uint64_t, uint64_t>, uint64_t> offsets_; // by hash, bytes
};

} // namespace bycc
