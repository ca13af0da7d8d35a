// The library has a reference loop only where the right operand of a binary is stretched
// along other axes than it has kernels for. Neighbouring axes that it has, or lacks, alike
// become one:
//
//   x[1,64,3,49,49] + y[1,64,1,49,49]  =>  x[64,3,2401] + y[64,1,2401]
//
// and a constant is stretched ahead of time along all such axes but the first:
//
//   x[8,64,3,2401] + c[1,64,1,2401]    =>  x[8,460992] + c'[1,460992]
#pragma once

#include "Fuse.h"

namespace bycc::onednn {

void spellBroadcasts(Plan &plan, const Accepts &accepts);

} // namespace bycc::onednn
