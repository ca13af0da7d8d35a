// The statuses of the C interface (bycc_status) and those of Error.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/abi.h"

namespace bycc::runtime {

// Internal for a number that is none of them.
Status statusOf(int32_t code);
// BYCC_INTERNAL for what the C interface has no code for.
int32_t codeOf(Status status);

} // namespace bycc::runtime
