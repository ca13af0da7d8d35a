#include "OpenMp.h"

#include <dlfcn.h>

namespace bycc::runtime {
namespace {

template <typename Function> bool find(Function *&function, const char *name) {
  function = reinterpret_cast<Function *>(::dlsym(RTLD_DEFAULT, name));
  return function;
}

} // namespace

const OpenMp *openMpOfProgram() {
  static OpenMp found;
  static const bool isComplete =
      find(found.parallel, "GOMP_parallel") && find(found.barrier, "GOMP_barrier") &&
      find(found.maxThreads, "omp_get_max_threads") &&
      find(found.setThreads, "omp_set_num_threads") &&
      find(found.numThreads, "omp_get_num_threads") &&
      find(found.threadNumber, "omp_get_thread_num") && find(found.isInParallel, "omp_in_parallel");
  return isComplete ? &found : nullptr;
}

} // namespace bycc::runtime
