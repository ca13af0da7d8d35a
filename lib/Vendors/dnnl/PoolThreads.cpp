// See PoolThreads.h. The library asks six functions of OpenMP, which this shared object
// defines: what the dynamic linker finds for a library is the program's own first, then
// what this object has, which was opened alone, and only then what the library itself is
// linked with. In a program that has OpenMP the library stays with that one; then the
// runtime does as well. The two never meet: a team is run by who is asked for it, and who
// am I in it by the same.
//
// The thread count is told to OpenMP as well, since nobody can ask the library whom it asks.
#include "PoolThreads.h"

#include "Threads.h"

#include <dlfcn.h>

namespace bycc::onednn {

namespace {

// What the library would use without us; null where it is not linked with OpenMP.
struct OpenMp {
  void (*setThreads)(int);
  void (*parallel)(void (*)(void *), void *, unsigned, unsigned);
  void (*barrier)();
  int (*maxThreads)();
  int (*numThreads)();
  int (*threadNumber)();
  int (*isInParallel)();

  OpenMp() {
    find(setThreads, "omp_set_num_threads", RTLD_DEFAULT); // not one of ours
    find(parallel, "GOMP_parallel");
    find(barrier, "GOMP_barrier");
    find(maxThreads, "omp_get_max_threads");
    find(numThreads, "omp_get_num_threads");
    find(threadNumber, "omp_get_thread_num");
    find(isInParallel, "omp_in_parallel");
  }
  template <typename Function>
  static void find(Function *&function, const char *name, void *where = RTLD_NEXT) {
    function = reinterpret_cast<Function *>(::dlsym(where, name));
  }
};

const OpenMp &openMp() {
  static const OpenMp found;
  return found;
}

const bycc_thread_pool *sharedPool = nullptr;
// 0: nobody has said. Each primitive asks; found without a function call.
[[gnu::tls_model("initial-exec")]] constinit thread_local int32_t wanted = 0;

} // namespace

void useThreads(const bycc_thread_pool *given) { sharedPool = given; }

void runOnPool(uint32_t count, PoolTask task) {
  if (count <= 1 || !sharedPool)
    return task.call(task.closure, 0, 1);
  auto run = [](void *closure) {
    const PoolTask &task = *static_cast<const PoolTask *>(closure);
    task.call(task.closure, sharedPool->index(), sharedPool->team_size());
  };
  sharedPool->run(count, run, &task);
}

int32_t libraryThreads() {
  if (wanted > 0)
    return wanted;
  return openMp().maxThreads ? openMp().maxThreads() : 1;
}

void setLibraryThreads(int32_t threads) {
  wanted = threads;
  if (openMp().setThreads)
    openMp().setThreads(threads);
}

} // namespace bycc::onednn

#ifdef BYCC_DNNL_ON_POOL
#define BYCC_EXPORT extern "C" __attribute__((visibility("default")))
using namespace bycc::onednn;

BYCC_EXPORT void GOMP_parallel(void (*task)(void *), void *closure, unsigned threads,
                               unsigned flags) {
  if (!sharedPool)
    return openMp().parallel(task, closure, threads, flags);
  sharedPool->run(threads ? threads : static_cast<unsigned>(libraryThreads()), task, closure);
}

BYCC_EXPORT void GOMP_barrier() { sharedPool ? sharedPool->barrier() : openMp().barrier(); }

BYCC_EXPORT int omp_get_max_threads() { return libraryThreads(); }

BYCC_EXPORT int omp_get_num_threads() {
  return sharedPool ? static_cast<int>(sharedPool->team_size()) : openMp().numThreads();
}

BYCC_EXPORT int omp_get_thread_num() {
  return sharedPool ? static_cast<int>(sharedPool->index()) : openMp().threadNumber();
}

BYCC_EXPORT int omp_in_parallel() {
  return sharedPool ? sharedPool->is_inside() : openMp().isInParallel();
}
#endif
