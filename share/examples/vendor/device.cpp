#include "device.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace examplenpu {

Address Heap::take(uint64_t bytes) {
  bytes = std::max<uint64_t>((bytes + alignment - 1) / alignment, 1) * alignment;
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto place = free_.begin(); place != free_.end(); ++place) {
    auto [address, size] = *place;
    if (size < bytes)
      continue;
    free_.erase(place);
    if (size > bytes)
      free_[address + bytes] = size - bytes;
    used_[address] = bytes;
    return address;
  }
  return 0;
}

void Heap::give(Address address) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto used = used_.find(address);
  if (used == used_.end())
    return;
  auto place = free_.emplace(address, used->second).first;
  used_.erase(used);
  auto next = std::next(place);
  if (next != free_.end() && place->first + place->second == next->first) {
    place->second += next->second;
    free_.erase(next);
  }
  if (place != free_.begin()) {
    auto before = std::prev(place);
    if (before->first + before->second == place->first) {
      before->second += place->second;
      free_.erase(place);
    }
  }
}

void Heap::copyIn(Address to, const void *from, uint64_t bytes) {
  if (bytes)
    std::memcpy(memory_.get() + to, from, bytes);
}

void Heap::copyOut(void *to, Address from, uint64_t bytes) {
  if (bytes)
    std::memcpy(to, memory_.get() + from, bytes);
}

namespace {

// One output channel of one image.
void convolveChannel(const int32_t *p, const float *data, const float *weight, float bias, int32_t n,
                     int32_t o, float *out) {
  int32_t perGroup = p[C] / p[Groups], first = o / (p[O] / p[Groups]) * perGroup;
  for (int32_t y = 0; y < p[OH]; ++y)
    for (int32_t x = 0; x < p[OW]; ++x) {
      float sum = bias;
      for (int32_t c = 0; c < perGroup; ++c)
        for (int32_t i = 0; i < p[KH]; ++i)
          for (int32_t j = 0; j < p[KW]; ++j) {
            int32_t row = y * p[StrideH] + i * p[DilationH] - p[PadTop];
            int32_t column = x * p[StrideW] + j * p[DilationW] - p[PadLeft];
            if (row < 0 || row >= p[H] || column < 0 || column >= p[W])
              continue;
            size_t from = ((size_t(n) * p[C] + first + c) * p[H] + row) * p[W] + column;
            sum += data[from] * weight[((size_t(o) * perGroup + c) * p[KH] + i) * p[KW] + j];
          }
      out[((size_t(n) * p[O] + o) * p[OH] + y) * p[OW] + x] = p[WithRelu] ? std::max(sum, 0.0f) : sum;
    }
}

// 1x1: a matrix product over whole planes, nothing to gather.
void convolvePointwise(const int32_t *p, const float *data, const float *weight, float bias, int32_t n,
                       int32_t o, float *out) {
  size_t plane = size_t(p[OH]) * p[OW];
  float *result = out + (size_t(n) * p[O] + o) * plane;
  std::fill(result, result + plane, bias);
  for (int32_t c = 0; c < p[C]; ++c) {
    const float *from = data + (size_t(n) * p[C] + c) * plane;
    float factor = weight[size_t(o) * p[C] + c];
    for (size_t i = 0; i < plane; ++i)
      result[i] += from[i] * factor;
  }
  for (size_t i = 0; i < plane && p[WithRelu]; ++i)
    result[i] = std::max(result[i], 0.0f);
}

void convolve(const int32_t *p, const float *data, const float *weight, const float *bias, float *out) {
  auto channel = p[Pointwise] ? convolvePointwise : convolveChannel;
  for (int32_t n = 0; n < p[N]; ++n)
    for (int32_t tile = 0; tile < p[O]; tile += p[Tile])
      for (int32_t o = tile; o < std::min(tile + p[Tile], p[O]); ++o)
        channel(p, data, weight, bias ? bias[o] : 0, n, o, out);
}

void pool(const int32_t *p, const float *data, float *out) {
  for (int32_t plane = 0; plane < p[PoolN] * p[PoolC]; ++plane)
    for (int32_t y = 0; y < p[PoolOH]; ++y)
      for (int32_t x = 0; x < p[PoolOW]; ++x) {
        float best = -std::numeric_limits<float>::infinity();
        for (int32_t i = 0; i < p[PoolKH]; ++i)
          for (int32_t j = 0; j < p[PoolKW]; ++j) {
            int32_t row = y * p[PoolStrideH] + i - p[PoolPadTop];
            int32_t column = x * p[PoolStrideW] + j - p[PoolPadLeft];
            if (row < 0 || row >= p[PoolH] || column < 0 || column >= p[PoolW])
              continue;
            float value = data[(size_t(plane) * p[PoolH] + row) * p[PoolW] + column];
            if (value > best || std::isnan(value)) // a NaN stays
              best = value;
          }
        out[(size_t(plane) * p[PoolOH] + y) * p[PoolOW] + x] = best;
      }
}

void dense(const int32_t *p, const float *a, const float *b, float *out) {
  for (int32_t m = 0; m < p[0]; ++m)
    for (int32_t n = 0; n < p[1]; ++n) {
      float sum = 0;
      for (int32_t k = 0; k < p[2]; ++k)
        sum += a[size_t(m) * p[2] + k] * b[size_t(n) * p[2] + k];
      out[size_t(m) * p[1] + n] = sum;
    }
}

void addBias(const int32_t *p, const float *a, const float *bias, float *out) {
  for (int32_t outer = 0, i = 0; outer < p[0]; ++outer)
    for (int32_t channel = 0; channel < p[1]; ++channel)
      for (int32_t inner = 0; inner < p[2]; ++inner, ++i)
        out[i] = a[i] + bias[channel];
}

} // namespace

void execute(Heap &heap, const Command &command, const std::vector<Address> &addresses) {
  auto at = [&](uint32_t buffer) { return buffer == noBuffer ? nullptr : heap.at(addresses[buffer]); };
  const float *a = at(command.a), *b = at(command.b), *c = at(command.c);
  float *out = at(command.out);
  const int32_t *p = command.p.data();
  switch (command.code) {
  case Code::Conv2d: return convolve(p, a, b, c, out);
  case Code::Dense: return dense(p, a, b, out);
  case Code::AddBias: return addBias(p, a, b, out);
  case Code::MaxPool: return pool(p, a, out);
  case Code::Add: std::transform(a, a + p[0], b, out, [](float x, float y) { return x + y; }); return;
  case Code::Relu: std::transform(a, a + p[0], out, [](float x) { return std::max(x, 0.0f); }); return;
  case Code::Move: std::copy(a, a + p[0], out); return;
  case Code::CopyIn:
  case Code::CopyOut:
  case Code::numCodes: return; // the run half moves what crosses
  }
}

uint64_t convCycles(const Command &command, int32_t tile) {
  const int32_t *p = command.p.data();
  uint64_t fetches = (p[O] + tile - 1) / tile, plane = uint64_t(p[C]) * p[H] * p[W];
  uint64_t spills = tile > 8 ? uint64_t(tile - 8) * p[OH] * p[OW] * fetches : 0;
  return fetches * plane + spills;
}

} // namespace examplenpu
