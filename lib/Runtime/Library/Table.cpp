// Library kernels by number.
#include "Table.h"

namespace bycc::runtime {
namespace {

struct Row {
  const char *name;
  LibraryFn run;
};

constexpr Row table[] = {
#define BYCC_LIBRARY(id) {#id, library::id},
#include "bycc/library.def"
#undef BYCC_LIBRARY
};

} // namespace

Expected<> runLibraryKernel(const bycc_library_call &call, const bycc_exec &exec, LibraryCall::Allocate allocate) {
  if (call.kernel >= numLibraryKernels)
    return error(Status::Internal) << "call of library kernel " << call.kernel << ", there are " << numLibraryKernels;
  LibraryCall seen(call, exec, std::move(allocate));
  Expected<> done = table[call.kernel].run(seen);
  if (done)
    return done;
  return error(done.error().status()) << table[call.kernel].name << ": " << done.error().message();
}

} // namespace bycc::runtime
