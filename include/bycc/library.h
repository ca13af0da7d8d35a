// Numbers of the library kernels, for compiled code and the runtime, and of the
// choices among their attributes.
#pragma once

#include <cstdint>

namespace bycc {

enum class LibraryKernel : uint32_t {
#define BYCC_LIBRARY(id) id,
#include "bycc/library.def"
#undef BYCC_LIBRARY
};

inline constexpr uint32_t numLibraryKernels = 0
#define BYCC_LIBRARY(id) +1
#include "bycc/library.def"
#undef BYCC_LIBRARY
    ;

enum class ScatterMode : int64_t { Update, Add, Mul, Min, Max, Mean };

} // namespace bycc
