// oneDNN on the runtime's threads, though it is built for OpenMP.
#pragma once

#include "bycc/vendor.h"

#include <cstdint>
#include <functional>

namespace bycc::onednn {

// bycc_vendor_runtime::use_threads. Without it the library runs on OpenMP.
void useThreads(const bycc_thread_pool *pool);

// Calls `body` with 0 to n-1 and n, the number of calls: `count` at once, or one where
// there is no pool.
void runOnPool(uint32_t count, const std::function<void(uint32_t, uint32_t)> &body);

} // namespace bycc::onednn
