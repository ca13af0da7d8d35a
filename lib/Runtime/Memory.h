// Memory of contexts: 64-byte aligned blocks, and a cache of them for what
// compiled code asks for while it runs.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace bycc::runtime {

// One aligned block; large ones are backed by huge pages where the system has
// them. Empty (data() null) when there is no memory.
class Block {
public:
  Block() = default;
  explicit Block(uint64_t bytes, bool zeroed = false);
  Block(Block &&other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Block &operator=(Block &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Block();
  uint8_t *data() const { return data_; }
  uint64_t size() const { return size_; }

private:
  uint8_t *data_ = nullptr;
  uint64_t size_ = 0;
};

// Blocks handed out during a run come back at its end and serve the next one;
// what a run did not need is freed. Calls may come from several threads.
class BlockCache {
public:
  uint8_t *take(uint64_t bytes); // null: no memory
  // False when `data` was not handed out.
  bool giveBack(void *data);
  void endRun();

private:
  struct Spare {
    Block block;
    bool isFresh; // used in this run
  };
  std::mutex mutex_;
  std::unordered_map<void *, Block> used_;
  std::multimap<uint64_t, Spare> spare_;
};

} // namespace bycc::runtime
