// The one thread pool: OpenMP's, because Debian's oneDNN runs on it too.
#pragma once

#include "bycc/abi.h"

#include <cstdint>

namespace bycc::runtime {

inline constexpr int32_t maxThreads = 1024;

// CPUs this process may run on.
int32_t allowedCpus();
// `wanted`, or 1 in a child of fork(), in which the pool's threads do not exist.
int32_t usableThreads(int32_t wanted);

// bycc_exec_api::parallel_for on `threads` threads.
void parallelFor(int32_t threads, bycc_task_fn task, void *closure, int64_t count, int64_t grain);

// While it lives, the calling thread computes with IEEE defaults (to nearest,
// denormals kept, no traps) and vendors that ask OpenMP find `threads`; the
// caller's modes come back afterwards.
class RunEnvironment {
public:
  explicit RunEnvironment(int32_t threads);
  RunEnvironment(const RunEnvironment &) = delete;
  ~RunEnvironment();

private:
  bool hasOtherModes() const;
  uint32_t sse_;
  uint16_t x87_;
  int32_t threads_;
  int threadsBefore_;
};

} // namespace bycc::runtime
