// The device, simulated: memory that only the device can read, and a processor for
// commands. A real vendor has a driver here.
#pragma once

#include "stream.h"

#include <bycc/vendor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace examplenpu {

// An address on the device; means nothing to the host. 0: none.
using Address = uint64_t;

// The option `heap` of both halves: bytes of memory the device has.
uint64_t heapBytes(const void *options, uint32_t numOptions);

// The heap: first fit, neighbouring free places join. Used from several threads.
class Heap {
public:
  explicit Heap(uint64_t bytes)
      : memory_(new uint8_t[bytes]), free_{{alignment, bytes - bytes % alignment - alignment}} {}
  Address take(uint64_t bytes); // 0 when no place is large enough
  void give(Address address);
  // The only ways across.
  void copyIn(Address to, const void *from, uint64_t bytes);
  void copyOut(void *to, Address from, uint64_t bytes);
  float *at(Address address) { return reinterpret_cast<float *>(memory_.get() + address); }

private:
  static constexpr uint64_t alignment = 64;
  std::mutex mutex_;
  std::unique_ptr<uint8_t[]> memory_;
  std::map<Address, uint64_t> free_, used_; // place -> bytes
};

// Runs a computing command; `addresses` are those of the buffers.
void execute(Heap &heap, const Command &command, const std::vector<Address> &addresses);

// How long the device takes for a convolution with that tile, in its own cycles: it
// fetches the input once per tile of output channels, and tiles beyond 8 spill.
uint64_t convCycles(const Command &command, int32_t tile);

} // namespace examplenpu
