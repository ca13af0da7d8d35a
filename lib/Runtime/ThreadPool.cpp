// Slices are fixed before a team starts, so settings of OpenMP (thread limits, dynamic
// teams, nesting) change who computes a slice, never what is computed. A team of OpenMP
// always has the full thread count: libgomp ends the surplus threads of a smaller one
// and starts them anew for the next.
#include "ThreadPool.h"

#include "OpenMp.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <pthread.h>

namespace bycc::runtime {
namespace {

std::atomic<bool> isForkedChild{false};
// The slice that the current thread computes; -1 outside of loops.
[[gnu::tls_model("initial-exec")]] constinit thread_local int32_t currentSlice = -1;

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
  void run(int32_t slice) const {
    currentSlice = slice;
    task(closure, begin(slice), begin(slice + 1), slice);
    currentSlice = -1;
  }
};

void setSse(void *sse) { _mm_setcsr(*static_cast<const uint32_t *>(sse)); }

// Vendors run their own OpenMP loops: threads that the program started under other
// modes must follow.
void setWorkers(int32_t threads, uint32_t sse) {
  openMpOfProgram()->parallel(setSse, &sse, static_cast<unsigned>(threads), 0);
}

uint32_t size() {
  const OpenMp *openMp = openMpOfProgram();
  return openMp ? static_cast<uint32_t>(openMp->numThreads()) : teamSize();
}
uint32_t index() {
  const OpenMp *openMp = openMpOfProgram();
  return openMp ? static_cast<uint32_t>(openMp->threadNumber()) : teamIndex();
}
int32_t isInside() {
  const OpenMp *openMp = openMpOfProgram();
  return openMp ? openMp->isInParallel() : isInTeam();
}
void barrier() {
  const OpenMp *openMp = openMpOfProgram();
  openMp ? openMp->barrier() : teamBarrier();
}
void run(uint32_t count, void (*task)(void *closure), void *closure) {
  const OpenMp *openMp = openMpOfProgram();
  openMp ? openMp->parallel(task, closure, std::max(count, 1u), 0) : runTeam(count, task, closure);
}

// In a team of whatever size; OpenMP's threads have the modes of whoever started them.
void runSlices(void *closure) {
  const Loop &loop = *static_cast<const Loop *>(closure);
  uint32_t sse = _mm_getcsr();
  _mm_setcsr(defaultSse);
  auto step = static_cast<int32_t>(size());
  for (auto slice = static_cast<int32_t>(index()); slice < loop.slices; slice += step)
    loop.run(slice);
  _mm_setcsr(sse);
}

} // namespace

const bycc_thread_pool vendorThreads = {
    sizeof(bycc_thread_pool), run, index, size, isInside, barrier};

int32_t usableThreads(int32_t wanted) {
  if (wanted <= 1 || !openMpOfProgram())
    return wanted;
  if (isForkedChild.load(std::memory_order_relaxed))
    return 1;
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
  Loop loop{task, closure, count, static_cast<int32_t>(slices)};
  if (slices == 1)
    loop.run(0);
  else
    run(static_cast<uint32_t>(openMpOfProgram() ? threads : slices), runSlices, &loop);
}

RunEnvironment::RunEnvironment(int32_t threads)
    : threads_(threads), modes_(FloatModes::ofThread()), crew_(openMpOfProgram() ? 1 : threads) {
  FloatModes{}.set();
  if (mustSetWorkers())
    setWorkers(threads, defaultSse);
  if (const OpenMp *openMp = openMpOfProgram()) {
    openMpThreads_ = openMp->maxThreads();
    if (openMpThreads_ != threads)
      openMp->setThreads(threads);
  }
}

bool RunEnvironment::mustSetWorkers() const {
  return threads_ > 1 && !modes_.isSseDefault() && openMpOfProgram();
}

RunEnvironment::~RunEnvironment() {
  if (mustSetWorkers())
    setWorkers(threads_, modes_.sse);
  if (const OpenMp *openMp = openMpOfProgram())
    openMp->setThreads(openMpThreads_);
  modes_.set();
}

} // namespace bycc::runtime
