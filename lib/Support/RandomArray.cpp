#include "bycc/Support/RandomArray.h"

#include "bycc/Support/Text.h"

#include <cmath>
#include <cstring>

namespace bycc {
namespace {

// splitmix64: the whole state is one counter.
uint64_t nextRandom(uint64_t &state) {
  uint64_t x = state += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

// Uniform in [-1, 1) in steps that a float holds.
float randomFloat(uint64_t &state) {
  return static_cast<float>(nextRandom(state) >> 40) * 0x1p-23f - 1.0f;
}

uint64_t integerLimit(DType dtype, const std::string &name) {
  if (dtype == DType::Bool || name.find("mask") != std::string::npos)
    return 2;
  return dtype == DType::Int8 ? 128 : dtype == DType::UInt8 ? 256 : 1000;
}

void putRandom(uint8_t *at, DType dtype, uint64_t limit, uint64_t &state) {
  switch (dtype) {
  case DType::Float64: {
    double value = randomFloat(state);
    std::memcpy(at, &value, 8);
    return;
  }
  case DType::Float32: {
    float value = randomFloat(state);
    std::memcpy(at, &value, 4);
    return;
  }
  case DType::Float16:
  case DType::BFloat16: {
    // Rounding could reach 1 from below; the bits above it do not.
    float value = std::floor(randomFloat(state) * 128) / 128;
    uint16_t bits = dtype == DType::Float16 ? floatToHalf(value) : floatToBFloat16(value);
    std::memcpy(at, &bits, 2);
    return;
  }
  default: {
    uint64_t value = nextRandom(state) % limit;
    std::memcpy(at, &value, sizeInBytes(dtype));
  }
  }
}

} // namespace

Expected<NpyArray> randomArray(const std::string &name, DType dtype, std::vector<int64_t> shape,
                               uint64_t seed) {
  NpyArray array;
  array.dtype = dtype;
  uint64_t count = 1;
  bool overflows = false;
  std::string extents;
  for (int64_t &extent : shape) {
    extent = extent < 0 ? 1 : extent;
    overflows |= __builtin_mul_overflow(count, static_cast<uint64_t>(extent), &count);
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  }
  uint64_t size = static_cast<uint64_t>(sizeInBytes(dtype));
  if (overflows || count > (uint64_t{16} << 30) / size)
    return error(Status::Limit) << "input '" << escaped(name) << "' is too large: shape ("
                                << extents << ")";
  array.shape = std::move(shape);
  std::vector<uint8_t> bytes(count * size);
  uint64_t state = seed * 0xda942042e4dd58b5ull, limit = integerLimit(dtype, name);
  for (uint64_t i = 0; i < count; ++i)
    putRandom(bytes.data() + i * size, dtype, limit, state);
  array.bytes = bytes.size();
  array.storage = Storage::own(std::move(bytes));
  return array;
}

} // namespace bycc
