// oneDNN on the runtime's threads, though it is built for OpenMP.
#pragma once

#include "bycc/vendor.h"

#include <cstdint>

namespace bycc::onednn {

// bycc_vendor_context::threads. Without it the library runs on OpenMP.
void useThreads(const bycc_thread_pool *pool);

// Calls `task` with 0 to n-1 and n, the number of calls: `count` at once, or one where
// there is no pool. Allocates nothing.
struct PoolTask {
  void (*call)(const void *closure, uint32_t part, uint32_t all);
  const void *closure;
};
void runOnPool(uint32_t count, PoolTask task);
template <typename Body> void runOnPool(uint32_t count, const Body &body) {
  auto call = [](const void *closure, uint32_t part, uint32_t all) {
    (*static_cast<const Body *>(closure))(part, all);
  };
  runOnPool(count, PoolTask{call, &body});
}

} // namespace bycc::onednn
