// How many threads a step is worth: waking the others and waiting for them costs a
// microsecond or more, which is more than many small steps take.
#pragma once

#include "Plan.h"

namespace bycc::onednn {

// 1 or `threads`, by the step's shapes alone.
int32_t threadsFor(const Plan &plan, const Step &step, int32_t threads);
// Of a copy that reads and writes so many bytes.
int32_t threadsForBytes(uint64_t bytes, int32_t threads);

// Threads for which the library makes kernels and on which it runs them, when the calling
// thread asks it to. The compile half has OpenMP's count, the run half see PoolThreads.h.
int32_t libraryThreads();
void setLibraryThreads(int32_t threads);

// Sets that count and puts it back.
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
