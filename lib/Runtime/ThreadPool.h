// The one thread pool, of host code and vendors: crews of the runtime's own, or the
// program's OpenMP when it has one.
#pragma once

#include "CpuLimits.h"
#include "Crew.h"
#include "FloatModes.h"

#include "bycc/vendor.h"

namespace bycc::runtime {

// `wanted`, or 1 in a child of fork() whose OpenMP has lost its threads.
int32_t usableThreads(int32_t wanted);

// bycc_exec_api::parallel_for on `threads` threads.
void parallelFor(int32_t threads, bycc_task_fn task, void *closure, int64_t count, int64_t grain);

// The pool as vendors get it.
extern const bycc_thread_pool vendorThreads;

// While it lives, the calling thread has the threads, computes with IEEE defaults, and
// vendors that ask the program's OpenMP find `threads`; afterwards all is as it was.
class RunEnvironment {
public:
  explicit RunEnvironment(int32_t threads);
  RunEnvironment(const RunEnvironment &) = delete;
  ~RunEnvironment();
  Expected<> check() const { return crew_.check(); }

private:
  bool mustSetWorkers() const;
  int32_t threads_;
  FloatModes modes_;
  int openMpThreads_ = 0; // before
  CrewScope crew_;
};

} // namespace bycc::runtime
