// A program as a runtime of XNNPACK.
#pragma once

#include "Program.h"

#include <xnnpack.h>

#include <memory>

namespace bycc::xnnpack {

template <auto remove> struct Removed {
  template <typename T> void operator()(T *object) const { remove(object); }
};
using RuntimeHandle = std::unique_ptr<xnn_runtime, Removed<xnn_delete_runtime>>;

// LIMIT where there is no memory, LOAD for what XNNPACK does not take. The weights outlive it.
Expected<RuntimeHandle> makeRuntime(const Program &program, const uint8_t *weights,
                                    pthreadpool_t pool);
// Whether a call went well.
Expected<> checked(xnn_status status, const char *what);

} // namespace bycc::xnnpack
