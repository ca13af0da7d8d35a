// The device, simulated: memory that only the device can read, and a processor for
// commands. A real vendor has a driver here.
#pragma once

#include "stream.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace examplenpu {

// An address on the device; means nothing to the host. 0: none.
using Address = uint64_t;

// What both halves say of themselves, and their option `heap`.
inline constexpr kit::About aboutNpu = {
    .name = "examplenpu",
    .version = "2.0", // the run half says which of them it reads
    .library = "examplenpu driver 7",
};
inline constexpr bycc_vendor_option heapOption =
    kit::option(BYCC_ATTR_INT, "heap", "67108864", "bytes of memory that the device has");
inline uint64_t heapBytes(kit::Attributes options) {
  return static_cast<uint64_t>(std::max<int64_t>(options.integer("heap"), 4096));
}

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
