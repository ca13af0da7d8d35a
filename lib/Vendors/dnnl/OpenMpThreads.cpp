// The compile half runs on OpenMP itself.
#include "Threads.h"

#include <omp.h>

namespace bycc::onednn {

int32_t libraryThreads() { return omp_get_max_threads(); }
void setLibraryThreads(int32_t threads) { omp_set_num_threads(threads); }

} // namespace bycc::onednn
