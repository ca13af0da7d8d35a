#include "MemoryReserve.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace bycc::onednn {
namespace {

constexpr size_t reserveBytes = 64 << 10; // allocations are of some 100 bytes, per thread

std::atomic<uint32_t> numRuns{0};
std::atomic<void *> reserve{nullptr};
std::atomic<std::new_handler> before{nullptr};

void giveBack() {
  if (void *block = numRuns > 0 ? reserve.exchange(nullptr) : nullptr)
    return std::free(block);
  if (std::new_handler other = before)
    return other();
  throw std::bad_alloc();
}

// Other code may set its own afterwards; that one stays.
struct Installed {
  Installed() { before = std::set_new_handler(giveBack); }
  ~Installed() {
    if (std::get_new_handler() == giveBack)
      std::set_new_handler(before);
    std::free(reserve.exchange(nullptr));
  }
};

} // namespace

MemoryReserve::MemoryReserve() noexcept {
  static Installed installed;
  if (!reserve)
    if (void *block = std::malloc(reserveBytes))
      std::free(reserve.exchange(block)); // of another run that began just now
  ++numRuns;
}

MemoryReserve::~MemoryReserve() { --numRuns; }

} // namespace bycc::onednn
