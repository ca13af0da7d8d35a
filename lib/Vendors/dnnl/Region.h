// Reading the values of a bycc_region: extents and constants. For all else there is the
// vendors' kit.
#pragma once

#include "Plan.h"

#include "bycc/vendor.hpp"

#include <optional>

namespace bycc::onednn {

// Extents with rank 0 as (1).
Dims dimsOf(const bycc_value &value);
// A constant of one element.
std::optional<double> scalarOf(const bycc_value &value);
// The elements of a constant of any rank: floats, integers; nothing for others.
std::optional<std::vector<float>> floatsOf(const bycc_value &value);
std::optional<std::vector<int64_t>> integersOf(const bycc_value &value);
// Known positive extents, row-major, on the host, of a dtype that some step takes;
// else why not.
Expected<> checkValue(const bycc_value &value);
inline DType dtypeOf(const bycc_value &checked) { return static_cast<DType>(checked.dtype); }

} // namespace bycc::onednn
