// Numbers without a locale, escaping, edit distance and globs.
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace bycc {

template <typename T> static std::string formatNumber(T value) {
  if (std::isnan(value))
    return std::signbit(value) ? "-nan" : "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

std::string formatDouble(double value) { return formatNumber(value); }
std::string formatFloat(float value) { return formatNumber(value); }

template <typename T> static std::optional<T> parseNumber(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-')
    text.remove_prefix(1);
  T value{};
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || status != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<int64_t> parseInt(std::string_view text) { return parseNumber<int64_t>(text); }
std::optional<double> parseDouble(std::string_view text) { return parseNumber<double>(text); }

// Length of the valid UTF-8 sequence at the start of `text`, 0 when there is none.
static size_t utf8Length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  auto isTail = [&](size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  uint8_t first = byte(0);
  if (first < 0x80)
    return 1;
  if (first < 0xc2 || first > 0xf4 || !isTail(1))
    return 0;
  if (first < 0xe0)
    return 2;
  uint8_t second = byte(1);
  if (first < 0xf0) {
    bool overlong = first == 0xe0 && second < 0xa0, surrogate = first == 0xed && second >= 0xa0;
    return !overlong && !surrogate && isTail(2) ? 3 : 0;
  }
  bool outside = (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return !outside && isTail(2) && isTail(3) ? 4 : 0;
}

bool isValidUtf8(std::string_view text, size_t *badOffset) {
  for (size_t i = 0; i < text.size();) {
    size_t length = utf8Length(text.substr(i));
    if (length == 0) {
      if (badOffset)
        *badOffset = i;
      return false;
    }
    i += length;
  }
  return true;
}

std::string escaped(std::string_view text, size_t maxBytes) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t length = utf8Length(text.substr(i));
    uint8_t first = static_cast<uint8_t>(text[i]);
    bool control = first < 0x20 || first == 0x7f ||
                   (first == 0xc2 && length == 2 && static_cast<uint8_t>(text[i + 1]) < 0xa0);
    std::string piece(text.substr(i, std::max<size_t>(length, 1)));
    if (length == 0 || control) {
      piece.clear();
      for (size_t k = 0; k < std::max<size_t>(length, 1); ++k) {
        uint8_t byte = static_cast<uint8_t>(text[i + k]);
        piece += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
      }
    }
    if (out.size() + piece.size() > maxBytes)
      return out + "...";
    out += piece;
    i += std::max<size_t>(length, 1);
  }
  return out;
}

// Edit distance in which two exchanged neighbours count as one edit; `limit` + 1
// when it is above `limit`.
static size_t editDistance(std::string_view a, std::string_view b, size_t limit) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > limit)
    return limit + 1;
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + !same});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], limit + 1);
}

std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates) {
  if (name.empty() || name.size() > 256)
    return std::nullopt;
  size_t best = std::max<size_t>(1, name.size() / 3) + 1;
  const std::string *found = nullptr;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(name, candidate, best);
    if (distance < best) {
      best = distance;
      found = &candidate;
    }
  }
  if (found)
    return *found;
  // In another case, or an abbreviation when it can only mean one.
  auto isSame = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  for (const std::string &candidate : candidates)
    if (std::ranges::equal(candidate, name, isSame))
      return candidate;
  auto isMeant = [&](const std::string &candidate) { return candidate.starts_with(name); };
  if (name.size() < 3 || std::ranges::count_if(candidates, isMeant) != 1)
    return std::nullopt;
  return *std::ranges::find_if(candidates, isMeant);
}

bool matchesGlob(std::string_view pattern, std::string_view text) {
  // After a mismatch only the last '*' needs to take one character more.
  size_t p = 0, t = 0, star = std::string_view::npos, starText = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      starText = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++starText;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string_view::npos; begin = end + 1)
    parts.emplace_back(text.substr(begin, end - begin));
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0)
      out += separator;
    out += parts[i];
  }
  return out;
}

std::string asIdentifier(std::string_view text) {
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::string out;
  if (text.empty() || isDigit(text[0]))
    out.push_back('_');
  for (char c : text)
    out += isDigit(c) || isLetter(c) ? c : '_';
  return out;
}

} // namespace bycc
