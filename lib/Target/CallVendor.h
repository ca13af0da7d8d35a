// Calls vendors' code, in the process that this is called in.
#pragma once

#include "WorkerProtocol.h"

namespace bycc {

// What the vendor answers; an exception is a no. Weights are written to `weights`, where
// there is such memory.
WorkerAnswer callVendor(const bycc_vendor_compiler &vendor, Question question,
                        const bycc_target &target, const VendorSettings &settings,
                        const bycc_region &region, uint64_t maxBlobBytes = UINT64_MAX,
                        WeightsMemory *weights = nullptr);

} // namespace bycc
