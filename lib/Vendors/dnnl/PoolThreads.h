// oneDNN on the runtime's threads, though it is built for OpenMP.
#pragma once

#include "bycc/vendor.h"

namespace bycc::onednn {

// bycc_vendor_runtime::use_threads. Without it the library runs on OpenMP.
void useThreads(const bycc_thread_pool *pool);

} // namespace bycc::onednn
