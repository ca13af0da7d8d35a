// How the rows of Options.def keep the value of an option: each function puts it into the
// member of its name's kind, or says what the option takes instead.
#pragma once

#include "bycc/Support/OptionInfo.h"
#include "bycc/Support/Text.h"
#include "bycc/Support/VendorSettings.h"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace bycc {

// A row as a program has it; `Target` is what it stores in.
struct Stored {
  bool isTaken = true;
  std::string wanted = {}; // of a bad value; "": what OptionInfo::value says
};
template <typename Target> struct Option {
  OptionInfo info;
  uint8_t programs;
  Stored (*store)(Target &options, const std::string &value);
};

namespace option_programs {
enum : uint8_t { ByccOnly = 1, OptOnly = 2, Both = 3 };
}

namespace option_store {

template <typename... Parts> Stored all(Parts... parts) {
  Stored result;
  ((result.isTaken && !parts.isTaken ? void(result = std::move(parts)) : void()), ...);
  return result;
}

inline Stored flag(bool &target) {
  target = true;
  return {};
}

template <typename T> Stored set(T &target, const std::string &value) {
  target = value;
  return {};
}

template <typename T> Stored assign(T &target, T value) {
  target = std::move(value);
  return {};
}

// An option whose work does not exist yet: `sentence` says so.
inline Stored plan(std::string &planned, std::string_view sentence) {
  planned = sentence;
  return {};
}

inline Stored append(std::vector<std::string> &list, const std::string &value) {
  list.push_back(value);
  return {};
}

inline Stored appendParts(std::vector<std::string> &list, const std::string &value) {
  for (std::string &part : split(value, ','))
    list.push_back(std::move(part));
  return {};
}

inline Stored appendPair(std::vector<std::pair<std::string, std::string>> &list,
                         const std::string &value, char separator) {
  size_t at = value.rfind(separator);
  if (at == std::string::npos || at == 0 || at + 1 == value.size())
    return {false};
  list.emplace_back(value.substr(0, at), value.substr(at + 1));
  return {};
}

inline Stored appendVendorOption(std::vector<std::string> &list, const std::string &value) {
  if (!VendorSetting::parse(value))
    return {false};
  list.push_back(value);
  return {};
}

inline Stored oneOf(std::string_view value, std::initializer_list<std::string_view> words) {
  for (std::string_view word : words)
    if (word == value)
      return {};
  return {false};
}

inline Stored word(std::string &target, const std::string &value,
                   std::initializer_list<std::string_view> words) {
  target = value;
  return oneOf(value, words);
}

template <typename T> struct NumberOf {
  using Type = T;
};
template <typename T> struct NumberOf<std::optional<T>> {
  using Type = T;
};

template <typename Target>
Stored number(Target &target, const std::string &value, int64_t minimum,
              int64_t maximum = INT64_MAX) {
  auto number = parseInt(value);
  if (!number || *number < minimum || *number > maximum)
    return {false, "a number from " + std::to_string(minimum) +
                       (maximum == INT64_MAX ? "" : " to " + std::to_string(maximum))};
  target = static_cast<typename NumberOf<Target>::Type>(*number);
  return {};
}

// A number whose few values OptionInfo::value lists.
inline Stored digit(int &target, const std::string &value, int64_t minimum, int64_t maximum) {
  Stored stored = number(target, value, minimum, maximum);
  stored.wanted.clear();
  return stored;
}

inline Stored amount(double &target, const std::string &value) {
  auto number = parseDouble(value);
  if (!number || !(*number >= 0))
    return {false, "a number from 0"};
  target = *number;
  return {};
}

inline Stored seconds(double &target, const std::string &value) {
  auto number = parseDouble(value);
  if (!number || !(*number > 0 && *number <= 1e6))
    return {false, "a number above 0"};
  target = *number;
  return {};
}

// "batch=8,seq=128"; what is said last counts.
inline Stored addLikely(std::map<std::string, int64_t> &likely, const std::string &value) {
  constexpr int64_t most = int64_t{1} << 40;
  for (const std::string &part : split(value, ',')) {
    size_t at = part.rfind('=');
    auto extent = at == std::string::npos ? std::nullopt : parseInt(part.substr(at + 1));
    if (at == 0 || !extent || *extent < 1 || *extent > most)
      return {false, "NAME=N[,NAME=N], N from 1 to " + std::to_string(most)};
    likely[part.substr(0, at)] = *extent;
  }
  return {};
}

} // namespace option_store

// The heading is a row without a name until then.
template <typename Target>
std::vector<Option<Target>> withGroups(std::vector<Option<Target>> rows) {
  std::vector<Option<Target>> result;
  std::string_view group;
  for (Option<Target> &row : rows) {
    if (row.info.names.empty()) {
      group = row.info.group;
      continue;
    }
    row.info.group = group;
    result.push_back(row);
  }
  return result;
}

} // namespace bycc
