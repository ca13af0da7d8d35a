// Three bytes at a time; decoding refuses what encoding would not have written.
#include "bycc/Support/Base64.h"

#include <array>

namespace bycc {

static constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string encodeBase64(const uint8_t *data, uint64_t size) {
  std::string out;
  out.reserve((size + 2) / 3 * 4);
  for (uint64_t i = 0; i < size; i += 3) {
    uint64_t left = size - i;
    uint32_t bits = uint32_t{data[i]} << 16;
    if (left > 1)
      bits |= uint32_t{data[i + 1]} << 8;
    if (left > 2)
      bits |= data[i + 2];
    out += alphabet[bits >> 18];
    out += alphabet[(bits >> 12) & 63];
    out += left > 1 ? alphabet[(bits >> 6) & 63] : '=';
    out += left > 2 ? alphabet[bits & 63] : '=';
  }
  return out;
}

static std::array<uint8_t, 256> makeValues() {
  std::array<uint8_t, 256> values;
  values.fill(255);
  for (size_t i = 0; i < alphabet.size(); ++i)
    values[static_cast<uint8_t>(alphabet[i])] = static_cast<uint8_t>(i);
  return values;
}

std::optional<std::vector<uint8_t>> decodeBase64(std::string_view text) {
  static const std::array<uint8_t, 256> values = makeValues();
  if (text.size() % 4 != 0)
    return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=')
    ++padding;
  size_t digits = text.size() - padding;
  std::vector<uint8_t> out;
  out.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  for (size_t i = 0; i < digits; ++i) {
    uint8_t value = values[static_cast<uint8_t>(text[i])];
    if (value == 255)
      return std::nullopt;
    bits = (bits << 6) | value;
    if (i % 4 == 3) {
      out.push_back(static_cast<uint8_t>(bits >> 16));
      out.push_back(static_cast<uint8_t>(bits >> 8));
      out.push_back(static_cast<uint8_t>(bits));
      bits = 0;
    }
  }
  if (padding == 2) {
    if (bits & 15)
      return std::nullopt;
    out.push_back(static_cast<uint8_t>(bits >> 4));
  } else if (padding == 1) {
    if (bits & 3)
      return std::nullopt;
    out.push_back(static_cast<uint8_t>(bits >> 10));
    out.push_back(static_cast<uint8_t>(bits >> 2));
  }
  return out;
}

} // namespace bycc
