// The library pads in convolutions and poolings only. Elsewhere a padded tensor is the
// concatenation of constants with it, one axis after the other:
//
//   pad(x, [(0, 0), (1, 2)])  =>  concat(c[.., 1], x, c[.., 2])
#pragma once

#include "Plan.h"

namespace bycc::onednn {

// What Fuse.h has left of them.
void spellPads(Plan &plan);

} // namespace bycc::onednn
