// XNNPACK on the runtime's threads, though it is built for pthreadpool.
#pragma once

#include "bycc/vendor.hpp"

#include <pthreadpool.h>

// What XNNPACK holds for a thread pool: how many threads a run may use.
struct pthreadpool {
  uint32_t threads = 1;
};

namespace bycc::xnnpack {

// Those of bycc_vendor_context. Without them there is one thread.
void useThreads(const bycc_thread_pool *pool);
// `pool` if the library's calls come here, else null: one thread. Ask once the library works.
pthreadpool_t poolFor(pthreadpool *pool);

} // namespace bycc::xnnpack
