// How many threads a step is worth: waking the others and waiting for them costs a
// microsecond or more, which is more than many small steps take.
#pragma once

#include "Plan.h"

namespace bycc::onednn {

// 1 or `threads`, by the step's shapes alone.
int32_t threadsFor(const Plan &plan, const Step &step, int32_t threads);
// Of a copy that reads and writes so many bytes.
int32_t threadsForBytes(uint64_t bytes, int32_t threads);

// Sets the calling thread's OpenMP thread count, for which the library makes kernels,
// and puts it back.
class ThreadScope {
public:
  explicit ThreadScope(int32_t threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope &) = delete;
  ThreadScope &operator=(const ThreadScope &) = delete;

private:
  int32_t before_;
};

} // namespace bycc::onednn
