// The compile half runs on OpenMP itself.
#include "Threads.h"

// Of libgomp, whose header belongs to one compiler.
extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace bycc::onednn {

int32_t libraryThreads() { return omp_get_max_threads(); }
void setLibraryThreads(int32_t threads) { omp_set_num_threads(threads); }

} // namespace bycc::onednn
