// SHA-1: blocks of 64 bytes go through 80 rounds; the message ends with a bit 1,
// zeros, and its length in bits.
#include "bycc/Support/Sha1.h"

#include <array>
#include <bit>
#include <cstring>

namespace bycc {
namespace {

using State = std::array<uint32_t, 5>;

uint32_t bigEndian(const uint8_t *bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

void addBlock(State &state, const uint8_t *block) {
  uint32_t w[80];
  for (int i = 0; i < 16; ++i)
    w[i] = bigEndian(block + 4 * i);
  for (int i = 16; i < 80; ++i)
    w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = state;
  for (int i = 0; i < 80; ++i) {
    uint32_t mixed = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                     : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                     : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                              : (b ^ c ^ d) + 0xca62c1d6;
    uint32_t next = std::rotl(a, 5) + mixed + e + w[i];
    e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

} // namespace

std::string sha1(const void *data, uint64_t size) {
  State state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  const auto *bytes = static_cast<const uint8_t *>(data);
  uint64_t whole = size / 64 * 64;
  for (uint64_t at = 0; at < whole; at += 64)
    addBlock(state, bytes + at);
  uint8_t tail[128] = {};
  uint64_t rest = size - whole, tailSize = rest < 56 ? 64 : 128;
  if (rest > 0)
    std::memcpy(tail, bytes + whole, rest);
  tail[rest] = 0x80;
  for (int i = 0; i < 8; ++i)
    tail[tailSize - 1 - i] = static_cast<uint8_t>((size * 8) >> (8 * i));
  for (uint64_t at = 0; at < tailSize; at += 64)
    addBlock(state, tail + at);
  std::string text;
  for (uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4)
      text += "0123456789abcdef"[word >> shift & 15];
  return text;
}

} // namespace bycc
