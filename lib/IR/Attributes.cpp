// Attribute values, their printing, and interning of dictionaries.

#include "bycc/IR/Attributes.h"

#include "bycc/Support/Error.h"
#include "bycc/Support/FlatMap.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <optional>

namespace bycc {

AttrValue AttrValue::ints(std::span<const int64_t> values) {
  List list;
  list.reserve(values.size());
  for (int64_t value : values)
    list.emplace_back(value);
  return AttrValue(std::move(list));
}

bool AttrValue::operator==(const AttrValue &other) const {
  if (isFloat() && other.isFloat())
    return std::bit_cast<uint64_t>(asFloat()) == std::bit_cast<uint64_t>(other.asFloat());
  return value_ == other.value_;
}

namespace {

std::optional<double> asNumber(const AttrValue &value) {
  if (value.isBool())
    return value.asBool() ? 1.0 : 0.0;
  if (value.isInt())
    return static_cast<double>(value.asInt());
  if (value.isFloat())
    return value.asFloat();
  return std::nullopt;
}

} // namespace

bool AttrValue::equalsLoosely(const AttrValue &other) const {
  if (isInt() && other.isInt())
    return asInt() == other.asInt();
  auto a = asNumber(*this), b = asNumber(other);
  if (a && b)
    return *a == *b;
  if (isList() && other.isList())
    return std::ranges::equal(asList(), other.asList(), [](const AttrValue &x, const AttrValue &y) {
      return x.equalsLoosely(y);
    });
  return *this == other;
}

uint64_t AttrValue::hash() const {
  uint64_t seed = value_.index() * 0x9e3779b97f4a7c15ull;
  if (isBool())
    return hashCombine(seed, asBool());
  if (isInt())
    return hashCombine(seed, static_cast<uint64_t>(asInt()));
  if (isFloat())
    return hashCombine(seed, std::bit_cast<uint64_t>(asFloat()));
  if (isString())
    return hashText(asString(), seed);
  if (isList())
    for (const AttrValue &item : asList())
      seed = hashCombine(seed, item.hash());
  return seed;
}

std::string AttrValue::str() const {
  if (isNone())
    return "None";
  if (isBool())
    return asBool() ? "True" : "False";
  if (isInt())
    return std::to_string(asInt());
  if (isFloat()) {
    std::string text = formatDouble(asFloat());
    if (text.ends_with(".0"))
      text.resize(text.size() - 2);
    return text + "f";
  }
  if (isString()) {
    std::string text = "\"";
    for (char c : asString()) {
      if (c == '"' || c == '\\')
        text += '\\';
      text += c;
    }
    return text + "\"";
  }
  std::string text = "[";
  for (const AttrValue &item : asList())
    text += (text.size() == 1 ? "" : ", ") + item.str();
  return text + "]";
}

struct AttrTable::Impl {
  std::deque<AttrDict> dicts;         // stable references
  FlatMap<uint64_t, uint32_t> byHash; // the newest of that hash, never 0
  std::vector<uint32_t> older;        // by index: another of the same hash, 0 for none
};

AttrTable::AttrTable() : impl_(std::make_unique<Impl>()) {
  impl_->dicts.emplace_back();
  impl_->older.push_back(0);
}
AttrTable::~AttrTable() = default;
AttrTable::AttrTable(AttrTable &&) noexcept = default;
AttrTable &AttrTable::operator=(AttrTable &&) noexcept = default;

AttrsId AttrTable::intern(AttrDict dict) {
  if (dict.empty())
    return empty();
  std::ranges::stable_sort(dict, {}, &Attr::key);
  AttrDict unique;
  for (Attr &attr : dict) {
    if (!unique.empty() && unique.back().key == attr.key)
      unique.back() = std::move(attr);
    else
      unique.push_back(std::move(attr));
  }
  uint64_t hash = 0;
  for (const Attr &attr : unique)
    hash = hashCombine(hashText(attr.key, hash), attr.value.hash());
  hash += hash == 0;
  uint32_t &newest = impl_->byHash[hash];
  for (uint32_t index = newest; index != 0; index = impl_->older[index])
    if (impl_->dicts[index] == unique)
      return AttrsId(index);
  uint32_t index = static_cast<uint32_t>(impl_->dicts.size());
  impl_->dicts.push_back(std::move(unique));
  impl_->older.push_back(newest);
  newest = index;
  return AttrsId(index);
}

const AttrDict &AttrTable::dict(AttrsId id) const { return impl_->dicts[id.index]; }

const AttrValue *AttrTable::find(AttrsId id, std::string_view key) const {
  const AttrDict &all = dict(id);
  auto it = std::ranges::lower_bound(all, key, {},
                                     [](const Attr &a) -> std::string_view { return a.key; });
  return it != all.end() && it->key == key ? &it->value : nullptr;
}

AttrsId AttrTable::with(AttrsId id, std::string_view key, AttrValue value) {
  AttrDict copy = dict(id);
  copy.push_back({std::string(key), std::move(value)});
  return intern(std::move(copy));
}

AttrsId AttrTable::without(AttrsId id, std::string_view key) {
  AttrDict copy = dict(id);
  std::erase_if(copy, [&](const Attr &attr) { return attr.key == key; });
  return intern(std::move(copy));
}

} // namespace bycc
