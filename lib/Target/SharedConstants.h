// Constants as another process can map them: in the files that they were mapped from, else
// in a copy that is made once.
#pragma once

#include "RegionWire.h"

#include <map>
#include <memory>
#include <vector>

namespace bycc {

class Storage;

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
  std::optional<ConstantPlace> placeOf(const void *data, uint64_t bytes);
  const Storage *copyOf(const void *data, uint64_t bytes);

  std::vector<int> files_;                                    // duplicates of ours
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> numbers_; // by device, inode
  std::multimap<std::pair<uint64_t, uint64_t>, std::shared_ptr<const Storage>>
      copies_; // by hash, bytes
};

} // namespace bycc
