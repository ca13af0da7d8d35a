// The wire format of protobuf, with every check that hostile bytes need: numbers
// of more than 64 bits, lengths past the end, groups, fields given twice.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace bycc::onnx {

inline constexpr uint32_t maxDepth = 64;

enum Wire : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct Field {
  uint32_t number = 0;
  Wire wire = Varint;
  uint64_t value = 0;     // Varint, Fixed32, Fixed64
  std::string_view bytes; // Bytes
  const char *start = nullptr;
};

// The fields of one message. Knows where it stands in the file and how deep.
class Reader {
public:
  Reader(std::string_view bytes, const char *message, const std::string &file, const char *base,
         uint32_t depth)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), message_(message), file_(file),
        base_(base), depth_(depth) {}

  ErrorBuilder fault(Status status, const char *at) const {
    return error(status, {file_}).as(MessageId::BrokenOnnx)
           << "byte " << (at - base_) << ": " << message_ << ": ";
  }
  ErrorBuilder fault(const Field &field) const { return fault(Status::Input, field.start); }

  // False at the end of the message.
  Expected<bool> next(Field &field) {
    if (at_ == end_)
      return false;
    field.start = at_;
    uint64_t tag = BYCC_TRY(varint());
    if (tag >> 32 || (tag >> 3) == 0)
      return fault(field) << "field number " << (tag >> 3) << " is not legal";
    field.number = static_cast<uint32_t>(tag >> 3);
    field.wire = static_cast<Wire>(tag & 7);
    switch (field.wire) {
    case Varint:
      field.value = BYCC_TRY(varint());
      return true;
    case Fixed32:
      return fixed(field, 4);
    case Fixed64:
      return fixed(field, 8);
    case Bytes:
      return sized(field);
    }
    return fault(field) << "wire type " << static_cast<int>(field.wire)
                        << " (a group or not legal) in field " << field.number;
  }

  // A field that may come once.
  Expected<> once(const Field &field) {
    uint64_t bit = uint64_t{1} << (field.number & 63);
    if (seen_ & bit)
      return fault(field) << "field " << field.number << " comes twice";
    seen_ |= bit;
    return {};
  }
  Expected<> expect(const Field &field, Wire wire) const {
    if (field.wire == wire)
      return {};
    return fault(field) << "field " << field.number << " has wire type "
                        << static_cast<int>(field.wire) << ", wanted " << static_cast<int>(wire);
  }
  Expected<int64_t> integer(const Field &field) {
    BYCC_TRY(expect(field, Varint));
    BYCC_TRY(once(field));
    return static_cast<int64_t>(field.value);
  }
  Expected<int32_t> integer32(const Field &field) {
    int64_t value = BYCC_TRY(integer(field));
    if (value != static_cast<int32_t>(value))
      return fault(field) << "field " << field.number << " is " << value << ", not a 32-bit number";
    return static_cast<int32_t>(value);
  }
  Expected<std::string_view> bytes(const Field &field) {
    BYCC_TRY(expect(field, Bytes));
    BYCC_TRY(once(field));
    return field.bytes;
  }
  // A name: UTF-8 of at most maxNameBytes; may be repeated.
  Expected<std::string_view> nameItem(const Field &field) const {
    BYCC_TRY(expect(field, Bytes));
    if (field.bytes.size() > maxNameBytes)
      return fault(field) << "a name of " << field.bytes.size() << " bytes, the limit is "
                          << maxNameBytes;
    if (!isValidUtf8(field.bytes) || field.bytes.find('\0') != std::string_view::npos)
      return fault(field) << "a name that is not UTF-8 text";
    return field.bytes;
  }
  Expected<std::string_view> name(const Field &field) {
    BYCC_TRY(once(field));
    return nameItem(field);
  }
  Expected<Reader> message(const Field &field, const char *what) const {
    BYCC_TRY(expect(field, Bytes));
    if (depth_ + 1 > maxDepth)
      return fault(Status::Limit, field.start) << "messages nest deeper than " << maxDepth;
    return Reader(field.bytes, what, file_, base_, depth_ + 1);
  }
  Expected<Reader> messageOnce(const Field &field, const char *what) {
    BYCC_TRY(once(field));
    return message(field, what);
  }
  Error unknown(const Field &field) const {
    return fault(Status::Unsup, field.start) << "unknown field " << field.number;
  }

  // Repeated scalars, packed or not.
  Expected<> varints(const Field &field, std::vector<int64_t> &out) const {
    if (field.wire == Varint) {
      out.push_back(static_cast<int64_t>(field.value));
      return {};
    }
    BYCC_TRY(expect(field, Bytes));
    Reader items(field.bytes, message_, file_, base_, depth_);
    while (items.at_ != items.end_)
      out.push_back(static_cast<int64_t>(BYCC_TRY(items.varint())));
    return {};
  }
  template <typename T> Expected<> fixedItems(const Field &field, std::vector<T> &out) const {
    constexpr Wire wire = sizeof(T) == 4 ? Fixed32 : Fixed64;
    if (field.wire == wire) {
      T value;
      std::memcpy(&value, &field.value, sizeof value); // little endian
      out.push_back(value);
      return {};
    }
    BYCC_TRY(expect(field, Bytes));
    if (field.bytes.size() % sizeof(T) != 0)
      return fault(field) << "field " << field.number << " has " << field.bytes.size()
                          << " bytes, not a multiple of " << sizeof(T);
    size_t old = out.size();
    out.resize(old + field.bytes.size() / sizeof(T));
    if (!field.bytes.empty())
      std::memcpy(out.data() + old, field.bytes.data(), field.bytes.size());
    return {};
  }

private:
  Expected<uint64_t> varint() {
    const char *start = at_;
    uint64_t value = 0;
    for (int shift = 0; at_ != end_; shift += 7) {
      uint64_t byte = static_cast<uint8_t>(*at_++);
      if (shift == 63 && byte > 1)
        return fault(Status::Input, start) << "a number of more than 64 bits";
      value |= (byte & 127) << shift;
      if (byte < 128)
        return value;
    }
    return fault(Status::Input, start) << "the message ends inside a number";
  }
  Expected<bool> fixed(Field &field, size_t size) {
    if (static_cast<size_t>(end_ - at_) < size)
      return fault(field) << "the message ends inside field " << field.number;
    field.value = 0;
    std::memcpy(&field.value, at_, size);
    at_ += size;
    return true;
  }
  Expected<bool> sized(Field &field) {
    uint64_t size = BYCC_TRY(varint());
    if (size > static_cast<uint64_t>(end_ - at_))
      return fault(field) << "field " << field.number << " has length " << size << ", only "
                          << (end_ - at_) << " bytes are left";
    field.bytes = {at_, static_cast<size_t>(size)};
    at_ += size;
    return true;
  }

  const char *at_, *end_;
  const char *message_;
  const std::string &file_;
  const char *base_;
  uint32_t depth_;
  uint64_t seen_ = 0;
};

} // namespace bycc::onnx
