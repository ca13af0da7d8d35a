// Attribute values and dictionaries (of operator calls and functions). A
// dictionary is sorted by key and interned: equal dictionaries have equal
// AttrsIds. Operator attributes that equal the operator's default are not
// stored (Builder drops them), so that spelling a default changes nothing.
#pragma once

#include "bycc/IR/Ids.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bycc {

class AttrValue {
public:
  using List = std::vector<AttrValue>;
  AttrValue() = default; // None
  AttrValue(bool value) : value_(value) {}
  AttrValue(int64_t value) : value_(value) {}
  AttrValue(int value) : value_(static_cast<int64_t>(value)) {}
  AttrValue(double value) : value_(value) {}
  AttrValue(std::string value) : value_(std::move(value)) {}
  AttrValue(std::string_view value) : value_(std::string(value)) {}
  AttrValue(const char *value) : value_(std::string(value)) {}
  AttrValue(List value) : value_(std::move(value)) {}
  static AttrValue ints(std::span<const int64_t> values);

  bool isNone() const { return value_.index() == 0; }
  bool isBool() const { return value_.index() == 1; }
  bool isInt() const { return value_.index() == 2; }
  bool isFloat() const { return value_.index() == 3; }
  bool isString() const { return value_.index() == 4; }
  bool isList() const { return value_.index() == 5; }
  bool asBool() const { return std::get<bool>(value_); }
  int64_t asInt() const { return std::get<int64_t>(value_); }
  double asFloat() const { return std::get<double>(value_); }
  const std::string &asString() const { return std::get<std::string>(value_); }
  const List &asList() const { return std::get<List>(value_); }

  // Same kind and value; doubles by bits.
  bool operator==(const AttrValue &other) const;
  // Equality as patterns and rules mean it: 1, 1.0 and true agree.
  bool equalsLoosely(const AttrValue &other) const;
  uint64_t hash() const;
  // Relay text: 1, 1e-05f, "x", True, [1, 1], None.
  std::string str() const;

private:
  std::variant<std::monostate, bool, int64_t, double, std::string, List> value_;
};

struct Attr {
  std::string key;
  AttrValue value;
  bool operator==(const Attr &) const = default;
};
using AttrDict = std::vector<Attr>; // sorted by key, no key twice

class AttrTable {
public:
  AttrTable();
  ~AttrTable();
  AttrTable(AttrTable &&) noexcept;
  AttrTable &operator=(AttrTable &&) noexcept;
  static constexpr AttrsId empty() { return AttrsId(0); }
  AttrsId intern(AttrDict dict); // sorts; a key given twice: the last wins
  const AttrDict &dict(AttrsId id) const;
  const AttrValue *find(AttrsId id, std::string_view key) const;
  AttrsId with(AttrsId id, std::string_view key, AttrValue value);
  AttrsId without(AttrsId id, std::string_view key);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace bycc
