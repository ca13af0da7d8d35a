// The hash of constants, set ids and file checksums. Eight lanes take 64 bytes a
// step, each with a bijective mix of its own word, so that a change of any one
// word always changes its lane; the lanes are folded at the end. Words are read
// little-endian: the value is part of the file formats and must not change.
#include "bycc/Support/Hash.h"

#include <bit>
#include <cstring>

namespace bycc {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

constexpr uint64_t primes[8] = {0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full, 0x165667b19e3779f9ull,
                                0xd6e8feb86659fd93ull, 0xa0761d6478bd642full, 0xe7037ed1a0b428dbull,
                                0x8ebc6af09c88c6e3ull, 0x589965cc75374cc3ull};

struct Lanes {
  uint64_t lane[8];
};

uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 32) * 0xff51afd7ed558ccdull;
  x = (x ^ x >> 29) * 0xc4ceb9fe1a85ec53ull;
  return x ^ x >> 32;
}

// Unrolled, so that the lanes stay in registers.
[[gnu::always_inline]] inline void absorbBlock(Lanes &lanes, const uint8_t *bytes) {
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    uint64_t word;
    std::memcpy(&word, bytes + 8 * i, 8);
    uint64_t x = (lanes.lane[i] ^ word) * primes[i];
    lanes.lane[i] = x ^ x >> 29;
  }
}

Lanes absorb(const void *data, size_t size, uint64_t seed) {
  Lanes lanes;
  for (int i = 0; i < 8; ++i)
    lanes.lane[i] = mixed(seed + primes[i]);
  auto *bytes = static_cast<const uint8_t *>(data);
  size_t left = size;
  // Far ahead: with the words of a block in flight a core does not see far enough to keep
  // memory busy. Past the end this is no access.
  constexpr size_t ahead = 2048;
  for (; left >= 64; left -= 64, bytes += 64) {
    __builtin_prefetch(bytes + ahead);
    absorbBlock(lanes, bytes);
  }
  if (left > 0) {
    uint8_t last[64] = {};
    std::memcpy(last, bytes, left);
    absorbBlock(lanes, last);
  }
  return lanes;
}

uint64_t folded(const Lanes &lanes, size_t size, uint64_t start) {
  uint64_t hash = mixed(start ^ size);
  for (int i = 0; i < 8; ++i)
    hash = mixed(std::rotl(hash, 23) + lanes.lane[i] * primes[7 - i]);
  return hash;
}

} // namespace

uint64_t hashBytes(const void *data, size_t size, uint64_t seed) {
  return folded(absorb(data, size, seed), size, primes[0]);
}

std::array<uint8_t, 16> hash128(const void *data, size_t size, uint64_t seed) {
  Lanes lanes = absorb(data, size, seed);
  uint64_t halves[2] = {folded(lanes, size, primes[0]), folded(lanes, size, primes[3])};
  std::array<uint8_t, 16> result;
  std::memcpy(result.data(), halves, 16);
  return result;
}

} // namespace bycc
