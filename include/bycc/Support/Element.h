// Elements of row-major data as numbers.
#pragma once

#include "bycc/Support/DType.h"

#include <cstdint>

namespace bycc {

// Element `index`; 64-bit integers beyond 2^53 are rounded. `data` need not be
// aligned.
double elementAsDouble(DType dtype, const uint8_t *data, int64_t index);

// The same of a type that is no float; of uint64 the 64 bits.
int64_t elementAsInteger(DType dtype, const uint8_t *data, int64_t index);

} // namespace bycc
