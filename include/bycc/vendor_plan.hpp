// Of the kit (vendor.hpp): places in memory, and blobs.
#pragma once

#include "bycc/vendor_errors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace bycc::vendor {

// --- memory

// A buffer that is in use from step `first` to step `last`; planArena gives it its offset.
struct Buffer {
  uint64_t bytes = 0;
  uint32_t first = none, last = 0;
  uint64_t offset = 0;
  bool isUsed() const { return first != none; }
  void use(uint32_t step) {
    first = std::min(first, step);
    last = std::max(last, step);
  }
};

inline constexpr uint64_t aligned(uint64_t bytes, uint64_t alignment = 64) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Offsets for the buffers that are used, so that none of two that live at the same time share a
// byte; largest first, each at the lowest offset that is free for its life. The answer is the
// size of all.
inline uint64_t planArena(std::span<Buffer> buffers, uint64_t alignment = 64) {
  std::vector<Buffer *> order, placed; // by offset
  for (Buffer &buffer : buffers)
    if (buffer.isUsed())
      order.push_back(&buffer);
  std::ranges::sort(order, [](const Buffer *a, const Buffer *b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;
  });
  uint64_t size = 0;
  for (Buffer *buffer : order) {
    uint64_t bytes = aligned(buffer->bytes, alignment);
    buffer->offset = 0;
    for (const Buffer *other : placed) {
      if (other->last < buffer->first || buffer->last < other->first)
        continue;
      if (other->offset >= buffer->offset + bytes)
        break;
      buffer->offset = std::max(buffer->offset, other->offset + aligned(other->bytes, alignment));
    }
    size = std::max(size, buffer->offset + bytes);
    placed.insert(std::ranges::upper_bound(placed, buffer->offset, {}, &Buffer::offset), buffer);
  }
  return size;
}

// --- blobs
//
// A struct says once, for both directions, what is written of it:
//
//   enum class Kind : uint8_t { Add, Relu, count };
//   struct Step {
//     Kind kind = Kind::Add;
//     std::string name;
//     std::vector<uint32_t> inputs;
//     auto members() { return std::tie(kind, name, inputs); }
//   };
//   constexpr Format format = {"NPU region", 3};
//   Bytes blob = write(format, steps);
//   auto steps = read<std::vector<Step>>(format, blob);
//
// or with a function `fields(archive, struct)`, found by its argument, where more than members is
// to be said: archive(members...), archive.choice(enum, end). Numbers, bools, enums that end with
// `count`, texts, vectors, arrays, optionals and such structs are written, little-endian on every
// machine.
//
// A blob begins with its format and version and a checksum: damage is found before anything is
// read. The reader checks bounds all the same, and a list has no more items than what is left of
// the blob has bytes; whether numbers mean something (an index is in range) is for the vendor to
// check.

struct Format {
  const char *name; // "NPU region": for messages, and to tell formats apart
  uint32_t version;
};

namespace detail {

// A change of any one word changes the sum.
inline uint64_t checksum(std::span<const uint8_t> bytes, uint64_t sum) {
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 29;
  }
  return (sum ^ bytes.size()) * 0xff51afd7ed558ccdu;
}

inline constexpr size_t headBytes = 16; // 32 bits of the format's name, version, checksum

inline uint32_t nameBits(const char *name) {
  std::span<const uint8_t> letters(reinterpret_cast<const uint8_t *>(name), std::strlen(name));
  return static_cast<uint32_t>(checksum(letters, 0) >> 32);
}

template <typename T> struct IsArray : std::false_type {};
template <typename T, size_t n> struct IsArray<std::array<T, n>> : std::true_type {};
template <typename T> struct IsOptional : std::false_type {};
template <typename T> struct IsOptional<std::optional<T>> : std::true_type {};

// What both directions have in common; `Self` has bytes(data, size) and length(size, each).
template <typename Self> class Archive {
public:
  template <typename... Items> void operator()(Items &...items) { (one(items), ...); }
  // An enumerator below `end`.
  template <typename E> void choice(E &value, E end) {
    auto raw = static_cast<std::underlying_type_t<E>>(value);
    number(raw);
    if (raw < 0 || raw >= static_cast<std::underlying_type_t<E>>(end))
      self().fail("a choice that there is not");
    value = static_cast<E>(raw);
  }

  // Items that `each` writes and reads.
  template <typename T, typename Each> void list(std::vector<T> &items, Each each) {
    uint64_t size = items.size();
    self().length(size, 1);
    if constexpr (Self::isReader)
      items.clear(); // they grow with what is read: a short blob asks for little memory
    for (uint64_t i = 0; i < size; ++i) {
      if constexpr (Self::isReader)
        items.emplace_back();
      each(items[i]);
    }
  }

private:
  Self &self() { return static_cast<Self &>(*this); }

  template <typename T> void one(T &item) {
    if constexpr (std::is_same_v<T, bool>) {
      uint8_t raw = item;
      number(raw);
      if (raw > 1)
        self().fail("a bool that is neither");
      item = raw != 0;
    } else if constexpr (std::is_integral_v<T>) {
      number(item);
    } else if constexpr (std::is_floating_point_v<T>) {
      auto bits = std::bit_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(item);
      number(bits);
      item = std::bit_cast<T>(bits);
    } else if constexpr (IsArray<T>::value) {
      for (auto &each : item)
        one(each);
    } else if constexpr (IsOptional<T>::value) {
      bool is = item.has_value();
      one(is);
      if (is && !item)
        item.emplace();
      else if (!is)
        item.reset();
      if (is)
        one(*item);
    } else if constexpr (requires { item.emplace_back(); }) {
      if constexpr (std::is_integral_v<typename T::value_type> &&
                    sizeof(typename T::value_type) == 1)
        block(item);
      else
        list(item, [this](auto &each) { this->one(each); });
    } else if constexpr (std::is_same_v<T, std::string>) {
      block(item);
    } else if constexpr (std::is_enum_v<T>) {
      choice(item, T::count);
    } else if constexpr (requires { item.members(); }) {
      std::apply([&](auto &...members) { (one(members), ...); }, item.members());
    } else {
      fields(self(), item);
    }
  }

  // Texts and bytes.
  template <typename T> void block(T &items) {
    uint64_t size = items.size();
    self().length(size, 1);
    if constexpr (Self::isReader)
      items.resize(size);
    self().bytes(items.data(), size);
  }

  template <typename T> void number(T &value) {
    uint8_t raw[sizeof(T)];
    auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (size_t i = 0; i < sizeof(T); ++i)
      raw[i] = static_cast<uint8_t>(bits >> 8 * i);
    self().bytes(raw, sizeof(T));
    bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
      bits = static_cast<std::make_unsigned_t<T>>(
          bits | static_cast<std::make_unsigned_t<T>>(raw[i]) << 8 * i);
    value = static_cast<T>(bits);
  }
};

} // namespace detail

class Writer : public detail::Archive<Writer> {
public:
  static constexpr bool isReader = false;
  explicit Writer(Format format) : format_(format), bytes_(detail::headBytes) {}
  // The blob; the writer is done.
  Bytes take() {
    uint64_t sum = detail::checksum(std::span(bytes_).subspan(detail::headBytes), format_.version);
    uint64_t head = detail::nameBits(format_.name) | uint64_t{format_.version} << 32;
    for (size_t i = 0; i < 8; ++i) {
      bytes_[i] = static_cast<uint8_t>(head >> 8 * i);
      bytes_[8 + i] = static_cast<uint8_t>(sum >> 8 * i);
    }
    return std::move(bytes_);
  }

private:
  friend class detail::Archive<Writer>;
  void bytes(const void *data, size_t size) {
    auto from = static_cast<const uint8_t *>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  void length(uint64_t &size, size_t) { (*this)(size); }
  void fail(const char *what) { throw Failure(BYCC_INTERNAL, format_.name, " would hold ", what); }

  Format format_;
  Bytes bytes_;
};

// Failure LOAD for bytes that a Writer of this format has not made.
class Reader : public detail::Archive<Reader> {
public:
  static constexpr bool isReader = true;
  Reader(Format format, std::span<const uint8_t> blob) : format_(format), left_(blob) {
    if (blob.size() < detail::headBytes || word(0, 4) != detail::nameBits(format.name))
      throw Failure(BYCC_LOAD, "no ", format.name);
    if (uint64_t version = word(4, 4); version != format.version)
      throw Failure(BYCC_LOAD, format.name, " of version ", version, ", wanted ", format.version,
                    ": compile the model again");
    uint64_t sum = word(8, 8);
    left_ = left_.subspan(detail::headBytes);
    if (sum != detail::checksum(left_, format.version))
      fail("its checksum differs");
  }
  bool isAtEnd() const { return left_.empty(); }
  // All of it must have been read.
  void finish() {
    if (!left_.empty())
      fail("there is more than belongs to it");
  }
  [[noreturn]] void fail(std::string_view what) const {
    throw Failure(BYCC_LOAD, format_.name, " is damaged: ", what);
  }

private:
  friend class detail::Archive<Reader>;
  uint64_t word(size_t at, size_t size) const {
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i)
      value |= uint64_t{left_[at + i]} << 8 * i;
    return value;
  }
  void bytes(void *data, size_t size) {
    if (size > left_.size())
      fail("its end is missing");
    if (size > 0)
      std::memcpy(data, left_.data(), size);
    left_ = left_.subspan(size);
  }
  // Each item takes at least `each` bytes.
  void length(uint64_t &size, size_t each) {
    (*this)(size);
    if (size > left_.size() / each)
      fail("a list is longer than it");
  }

  Format format_;
  std::span<const uint8_t> left_;
};

// Does a blob say that it is of this format, of any version?
inline bool isOf(Format format, std::span<const uint8_t> blob) {
  uint32_t name = 0;
  for (size_t i = 0; i < 4 && i < blob.size(); ++i)
    name |= uint32_t{blob[i]} << 8 * i;
  return blob.size() >= detail::headBytes && name == detail::nameBits(format.name);
}

template <typename T> Bytes write(Format format, const T &object) {
  Writer writer(format);
  writer(const_cast<T &>(object)); // one function for both directions; a writer changes nothing
  return writer.take();
}
template <typename T> T read(Format format, std::span<const uint8_t> blob) {
  Reader reader(format, blob);
  T object{};
  reader(object);
  reader.finish();
  return object;
}

} // namespace bycc::vendor
