// A cache of memory blocks for what compiled code asks for while it runs.
#pragma once

#include "bycc/Support/MemoryBlock.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace bycc::runtime {

// Blocks handed out during a run come back at its end and serve the next ones;
// what two runs, one after the other, did not need is freed. Calls may come from several
// threads.
class BlockCache {
public:
  uint8_t *take(uint64_t bytes); // null: no memory
  // False when `data` was not handed out.
  bool giveBack(void *data);
  // Takes back what was handed out after the mark was made.
  uint64_t mark();
  void releaseTo(uint64_t mark);
  // A block of at least `bytes` that stands for `data`; null: no memory, or unknown.
  uint8_t *grow(void *data, uint64_t bytes);
  void endRun();

private:
  static constexpr int mostRunsUnused = 2; // so that two sets of extents can take turns
  struct Spare {
    MemoryBlock block;
    int runsUnused;
  };
  struct Used {
    MemoryBlock block;
    size_t place; // in order_
  };
  MemoryBlock find(uint64_t bytes);
  void keep(MemoryBlock block);

  std::mutex mutex_;
  std::unordered_map<void *, Used> used_;
  std::vector<void *> order_; // as handed out; null: given back
  std::multimap<uint64_t, Spare> spare_;
};

} // namespace bycc::runtime
