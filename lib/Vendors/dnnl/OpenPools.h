// Pools with ceil_mode over extents that are known at run time only. The last window may lie wholly
// in the padding at some of them, which oneDNN has no pool for: samples of extents do not show it.
#pragma once

#include "Translate.h"

namespace bycc::onednn {

// Why a pool of the region would fail at some extents; none where all are taken.
std::optional<Refusal> refusalOfOpenPools(const bycc_region &region);

} // namespace bycc::onednn
