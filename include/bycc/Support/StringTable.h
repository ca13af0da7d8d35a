// Texts by dense numbers: equal texts have equal numbers, 0 is "". Open addressing
// over 8-byte slots that hold part of the hash, so that a new text costs about one
// cache miss however many there are. Not thread-safe while anybody writes.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace bycc {

class StringTable {
public:
  static constexpr uint32_t none = UINT32_MAX;
  StringTable() { intern({}); }

  uint32_t intern(std::string_view text);
  uint32_t find(std::string_view text) const; // none when absent
  // Valid as long as the table.
  std::string_view operator[](uint32_t number) const { return texts_[number]; }
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }

private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t number = none;
  };
  // Where the text is, or the empty slot where it would be.
  size_t slotOf(std::string_view text, uint32_t hash) const;
  void grow();
  std::string_view store(std::string_view text);

  std::vector<std::string_view> texts_; // by number
  std::vector<Slot> slots_;             // a power of two, at most half full
  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t chunkLeft_ = 0;
};

} // namespace bycc
