// Library kernels by number.
#include "Kernel.h"

namespace bycc {
namespace {

struct Row {
  const char *name;
  LibraryFn run;
};

constexpr Row table[] = {
#define BYCC_LIBRARY(id) {#id, library::id},
#include "bycc/Library/Kernels.def"
#undef BYCC_LIBRARY
};

} // namespace

Expected<> runLibraryKernel(LibraryCall &call, uint32_t kernel) {
  if (kernel >= numLibraryKernels)
    return error(Status::Internal)
           << "call of library kernel " << kernel << ", there are " << numLibraryKernels;
  Expected<> done = table[kernel].run(call);
  if (done)
    return done;
  return error(done.error().status()) << table[kernel].name << ": " << done.error().message();
}

} // namespace bycc
