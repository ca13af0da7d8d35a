// Loops over OpenMP. Slices are fixed before the team starts, so OpenMP's own
// settings (thread limits, dynamic teams, nesting) change who computes a slice,
// never what is computed. A team always has the full thread count: libgomp ends
// the surplus threads of a smaller team and starts them anew for the next.
#include "ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <immintrin.h>
#include <mutex>
#include <omp.h>
#include <pthread.h>
#include <sched.h>

namespace bycc::runtime {
namespace {

constexpr uint32_t defaultSse = 0x1f80; // all exceptions masked, to nearest, denormals kept
constexpr uint16_t defaultX87 = 0x37f;

std::atomic<bool> isForkedChild{false};
// The slice that the current thread computes; -1 outside of loops.
thread_local int32_t currentSlice = -1;

void watchForks() {
  static std::once_flag once;
  std::call_once(once,
                 [] { ::pthread_atfork(nullptr, nullptr, [] { isForkedChild.store(true); }); });
}

struct Loop {
  bycc_task_fn task;
  void *closure;
  int64_t count;
  int32_t slices;

  int64_t begin(int32_t slice) const {
    return count / slices * slice + std::min<int64_t>(slice, count % slices);
  }
  void run(int32_t slice) const { task(closure, begin(slice), begin(slice + 1), slice); }
};

} // namespace

int32_t allowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0)
    return std::clamp(omp_get_num_procs(), 1, maxThreads);
  return std::clamp(CPU_COUNT(&set), 1, maxThreads);
}

int32_t usableThreads(int32_t wanted) {
  if (isForkedChild.load(std::memory_order_relaxed))
    return 1;
  if (wanted > 1)
    watchForks();
  return wanted;
}

void parallelFor(int32_t threads, bycc_task_fn task, void *closure, int64_t count, int64_t grain) {
  if (count <= 0)
    return;
  // Inside of a slice: the thread's scratch is taken by the outer loop's index.
  if (currentSlice >= 0)
    return task(closure, 0, count, currentSlice);
  int64_t slices = std::clamp<int64_t>(count / std::max<int64_t>(grain, 1), 1, threads);
  if (slices == 1) {
    currentSlice = 0;
    task(closure, 0, count, 0);
    currentSlice = -1;
    return;
  }
  Loop loop{task, closure, count, static_cast<int32_t>(slices)};
#pragma omp parallel num_threads(threads)
  {
    uint32_t sse = _mm_getcsr();
    _mm_setcsr(defaultSse);
    int32_t step = omp_get_num_threads();
    for (int32_t slice = omp_get_thread_num(); slice < loop.slices; slice += step) {
      currentSlice = slice;
      loop.run(slice);
    }
    currentSlice = -1;
    _mm_setcsr(sse);
  }
}

// Vendors run their own OpenMP loops: a pool that the caller started under other
// modes must follow.
static void setWorkerModes(int32_t threads, uint32_t sse) {
#pragma omp parallel num_threads(threads)
  _mm_setcsr(sse);
}

RunEnvironment::RunEnvironment(int32_t threads)
    : sse_(_mm_getcsr()), threads_(threads), threadsBefore_(omp_get_max_threads()) {
  __asm__ volatile("fnstcw %0" : "=m"(x87_));
  _mm_setcsr(defaultSse);
  if (hasOtherModes())
    setWorkerModes(threads, defaultSse);
  if (x87_ != defaultX87)
    __asm__ volatile("fldcw %0" ::"m"(defaultX87));
  if (threadsBefore_ != threads)
    omp_set_num_threads(threads);
}

// The low six bits are flags, not modes.
bool RunEnvironment::hasOtherModes() const {
  return threads_ > 1 && (sse_ | 0x3f) != (defaultSse | 0x3f);
}

RunEnvironment::~RunEnvironment() {
  if (hasOtherModes())
    setWorkerModes(threads_, sse_);
  omp_set_num_threads(threadsBefore_);
  if (x87_ != defaultX87)
    __asm__ volatile("fldcw %0" ::"m"(x87_));
  _mm_setcsr(sse_);
}

} // namespace bycc::runtime
