// A fast, fixed 64/128-bit hash for constants and file checksums: the same on
// every machine. Not for secrets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bycc {

uint64_t hashBytes(const void *data, size_t size, uint64_t seed = 0);
inline uint64_t hashText(std::string_view text, uint64_t seed = 0) {
  return hashBytes(text.data(), text.size(), seed);
}
constexpr uint64_t hashCombine(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdull;
  return x ^ (x >> 32);
}
std::array<uint8_t, 16> hash128(const void *data, size_t size, uint64_t seed = 0);

} // namespace bycc
