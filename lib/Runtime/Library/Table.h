// Runs a library kernel by its number.
#pragma once

#include "Kernel.h"

namespace bycc::runtime {

// The kernel's name stands in front of its errors.
Expected<> runLibraryKernel(const bycc_library_call &call, const bycc_exec &exec, LibraryCall::Allocate allocate);

} // namespace bycc::runtime
