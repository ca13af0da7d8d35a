// Of the kit (vendor.hpp): texts, errors, element types and extents.
#pragma once

#include "bycc/vendor.h"

#include <bit>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace bycc::vendor {

using Bytes = std::vector<uint8_t>;
using Dims = std::vector<int64_t>;
inline constexpr uint32_t none = UINT32_MAX;

// --- texts and errors

namespace detail {

inline void append(std::string &to, std::string_view part) { to += part; }
inline void append(std::string &to, const char *part) { to += part ? part : ""; }
inline void append(std::string &to, char part) { to += part; }
inline void append(std::string &to, bool part) { to += part ? "true" : "false"; }
template <typename T>
  requires std::is_arithmetic_v<T>
void append(std::string &to, T part) {
  char digits[64];
  to.append(digits, std::to_chars(digits, digits + sizeof digits, part).ptr);
}
// Extents: (1, ?, 3).
template <typename T, size_t n> void append(std::string &to, std::span<T, n> dims) {
  to += '(';
  for (size_t i = 0; i < dims.size(); ++i) {
    to += i ? ", " : "";
    if (dims[i] == static_cast<T>(-1))
      to += '?';
    else
      append(to, dims[i]);
  }
  to += ')';
}
template <typename T> void append(std::string &to, const std::vector<T> &dims) {
  append(to, std::span<const T>(dims));
}

} // namespace detail

// The parts behind each other: texts, numbers, vectors and spans of extents.
template <typename... Parts> std::string text(const Parts &...parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

// A vendor says no; `node` of the region is to blame, if one is. Short, what was found and what
// is wanted: users read it.
class Refusal : public std::runtime_error {
public:
  template <typename... Parts>
  explicit Refusal(const Parts &...parts) : std::runtime_error(text(parts...)) {}
  std::optional<uint32_t> node;
};

// What a run half, or a lack of memory, fails with.
class Failure : public std::runtime_error {
public:
  template <typename... Parts>
  explicit Failure(bycc_status code, const Parts &...parts)
      : std::runtime_error(text(parts...)), status(code) {}
  bycc_status status;
};

// --- element types

inline std::string_view dtypeName(int32_t dtype) {
  constexpr std::string_view names[] = {"bool",     "int8",    "int16",  "int32",  "int64",
                                        "uint8",    "uint16",  "uint32", "uint64", "float16",
                                        "bfloat16", "float32", "float64"};
  return dtype >= 0 && static_cast<size_t>(dtype) < std::size(names)
             ? names[static_cast<size_t>(dtype)]
             : "?";
}
// 0: not a dtype that this header knows.
inline uint64_t dtypeBytes(int32_t dtype) {
  constexpr uint8_t bytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return dtype >= 0 && static_cast<size_t>(dtype) < std::size(bytes)
             ? bytes[static_cast<size_t>(dtype)]
             : 0;
}
template <typename T> constexpr int32_t dtypeOf() {
  if constexpr (std::is_same_v<T, bool>)
    return BYCC_BOOL;
  else if constexpr (std::is_same_v<T, float>)
    return BYCC_FLOAT32;
  else if constexpr (std::is_same_v<T, double>)
    return BYCC_FLOAT64;
  else {
    static_assert(std::is_integral_v<T>, "bool, an integer, float or double");
    return (std::is_signed_v<T> ? BYCC_INT8 : BYCC_UINT8) + std::countr_zero(sizeof(T));
  }
}

// Product of the extents, none of which may be unknown; Refusal beyond 2^60.
template <typename T> uint64_t count(const T &dims) {
  uint64_t product = 1;
  for (auto dim : dims)
    if (__builtin_mul_overflow(product, static_cast<uint64_t>(dim), &product) || product >> 60 != 0)
      throw Refusal(std::span(dims), " has too many elements");
  return product;
}
// In elements.
template <typename T> std::vector<T> rowStrides(const std::vector<T> &dims) {
  std::vector<T> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}
// Counted from the front; Refusal when there is no such axis.
inline uint32_t axisOf(int64_t axis, size_t rank) {
  int64_t wrapped = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  if (wrapped < 0 || wrapped >= static_cast<int64_t>(rank))
    throw Refusal("axis ", axis, " is out of range for rank ", rank);
  return static_cast<uint32_t>(wrapped);
}

} // namespace bycc::vendor
