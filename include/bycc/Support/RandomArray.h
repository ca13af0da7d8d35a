// Made-up inputs: the same for the same seed everywhere. Floats are uniform in
// [-1, 1); integers in [0, 2) where the name contains "mask", else in [0, 1000) as
// far as the type reaches.
#pragma once

#include "bycc/Support/Npy.h"

namespace bycc {

// Extents below 0 (unknown) become 1. LIMIT above 16 GiB.
Expected<NpyArray> randomArray(const std::string &name, DType dtype, std::vector<int64_t> shape,
                               uint64_t seed);

} // namespace bycc
