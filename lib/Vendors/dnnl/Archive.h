// Bytes of blobs, little-endian. Writer and Reader offer the same calls, so that one
// function says a format for both directions. The reader believes nothing.
#pragma once

#include "bycc/Support/Error.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bycc::onednn {

class Writer {
public:
  static constexpr bool isReader = false;
  bool ok() const { return true; }
  template <typename T> void integer(T &value) {
    uint64_t bits = static_cast<uint64_t>(value);
    for (size_t i = 0; i < sizeof(T); ++i)
      bytes.push_back(static_cast<uint8_t>(bits >> (8 * i)));
  }
  template <typename E> void enumeration(E &value, uint8_t) {
    uint8_t raw = static_cast<uint8_t>(value);
    integer(raw);
  }
  void number(float &value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    integer(bits);
  }
  void number(double &value) {
    uint64_t bits = std::bit_cast<uint64_t>(value);
    integer(bits);
  }
  void text(std::string &text) {
    list(text, [&](char &c) { integer(c); });
  }
  template <typename T, typename F> void list(T &items, F each) {
    uint32_t count = static_cast<uint32_t>(items.size());
    integer(count);
    for (auto &item : items)
      each(item);
  }
  std::vector<uint8_t> bytes;
};

class Reader {
public:
  static constexpr bool isReader = true;
  explicit Reader(std::span<const uint8_t> bytes) : left_(bytes) {}
  bool ok() const { return ok_; }
  bool atEnd() const { return left_.empty(); }
  template <typename T> void integer(T &value) {
    uint64_t bits = 0;
    if (left_.size() < sizeof(T)) {
      fail();
    } else {
      for (size_t i = 0; i < sizeof(T); ++i)
        bits |= uint64_t{left_[i]} << (8 * i);
      left_ = left_.subspan(sizeof(T));
    }
    value = static_cast<T>(bits);
  }
  template <typename E> void enumeration(E &value, uint8_t count) {
    uint8_t raw = 0;
    integer(raw);
    if (raw >= count)
      fail();
    value = static_cast<E>(raw);
  }
  void number(float &value) {
    uint32_t bits = 0;
    integer(bits);
    value = std::bit_cast<float>(bits);
  }
  void number(double &value) {
    uint64_t bits = 0;
    integer(bits);
    value = std::bit_cast<double>(bits);
  }
  void text(std::string &text) {
    std::vector<char> letters;
    list(letters, [&](char &c) { integer(c); });
    text.assign(letters.begin(), letters.end());
  }
  template <typename T, typename F> void list(T &items, F each) {
    constexpr size_t maxList = size_t{1} << 24;
    uint32_t count = 0;
    integer(count);
    // Every item takes at least one byte: a lying count cannot make us allocate.
    if (count > left_.size() || count > maxList)
      return fail();
    items.clear();
    for (uint32_t i = 0; i < count && ok_; ++i)
      each(items.emplace_back());
  }
  void fail() {
    ok_ = false;
    left_ = {};
  }

private:
  std::span<const uint8_t> left_;
  bool ok_ = true;
};

// What a blob begins with. `what` names the format in errors.
inline void writeHead(Writer &writer, uint32_t magic, uint32_t version) {
  writer.integer(magic);
  writer.integer(version);
}
inline Expected<> readHead(Reader &reader, uint32_t magic, uint32_t version, const char *what) {
  uint32_t first = 0, found = 0;
  reader.integer(first);
  reader.integer(found);
  if (!reader.ok() || first != magic)
    return error(Status::Load) << "not a " << what;
  if (found != version)
    return error(Status::Load) << what << " of version " << found << ", wanted " << version
                               << ": compile the model again";
  return {};
}

template <typename A, typename T> void integers(A &archive, T &items) {
  archive.list(items, [&](auto &item) { archive.integer(item); });
}

} // namespace bycc::onednn
