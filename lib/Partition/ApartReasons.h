// Why regions of one vendor are not one, kept for the reports.
#pragma once

#include "bycc/Partition/Passes.h"

namespace bycc {

inline constexpr size_t longBlock = 20000; // of a larger block nobody asks which regions are apart

// Asks for the regions that annotations have chosen, each and the next one of its
// vendor; some tens of pairs in all and none in very long blocks, since each costs
// a look at the whole block.
void keepApartReasons(const Module &module, PassContext &context);

} // namespace bycc
