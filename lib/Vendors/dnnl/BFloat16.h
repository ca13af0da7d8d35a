// Where the library computes in bfloat16: with AVX-512 only, natively (AVX512_BF16, AMX)
// or by its emulation.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/vendor.h"

namespace bycc::onednn {

// Refuses a region that holds bfloat16 for a target that lacks what it takes.
Expected<> checkBFloat16(const bycc_target &target, const bycc_region &region);

} // namespace bycc::onednn
