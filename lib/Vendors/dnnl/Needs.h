// Dtypes that take more of a CPU than the library asks for. It computes in bfloat16 with
// AVX-512 only, natively (AVX512_BF16, AMX) or by its emulation. Its products of 8-bit
// operands are right with VNNI (or AMX) only: older instructions saturate sums of two
// products at 16 bits.
#pragma once

#include "Plan.h"

#include "bycc/Support/Error.h"
#include "bycc/vendor.h"

namespace bycc::onednn {

// Refuses a region that holds bfloat16 for a target that lacks what it takes.
Expected<> checkBFloat16(const bycc_target &target, const bycc_region &region);

// Refuses a plan with products of 8-bit operands for such a target.
Expected<> checkInt8(const bycc_target &target, const Plan &plan);

// The same for the instruction set that the library uses here: less than the machine has
// where ONEDNN_MAX_CPU_ISA says so.
Expected<> checkMachine(const Plan &plan);

} // namespace bycc::onednn
