// Memory that values and weights lie in: aligned to cache lines, large blocks in huge pages.
#pragma once

#include <cstdint>
#include <utility>

namespace bycc {

// One aligned block; large ones are backed by huge pages where the system has
// them. Empty (data() null) when there is no memory. Memory that is zeroed costs nothing
// where it is not touched.
class MemoryBlock {
public:
  // Nothing larger is ever asked for by a sound model, and there is none.
  static constexpr uint64_t maxBytes = uint64_t{1} << 46;

  MemoryBlock() = default;
  explicit MemoryBlock(uint64_t bytes, bool zeroed = false);
  MemoryBlock(MemoryBlock &&other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MemoryBlock &operator=(MemoryBlock &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MemoryBlock();
  // What a block of at least so many bytes has, up to maxBytes.
  static uint64_t sizeOf(uint64_t bytes);
  // Mapped from the system when it is made, and given back when it ends: fresh pages
  // are zeroed when they are touched, which takes some 100 us for a huge page.
  static bool isMapped(uint64_t size);
  uint8_t *data() const { return data_; }
  uint64_t size() const { return size_; }

private:
  uint8_t *data_ = nullptr;
  uint64_t size_ = 0;
};

} // namespace bycc
