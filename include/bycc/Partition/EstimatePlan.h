// The estimate of plans that were made without one: by hand, from a file, without
// costs, or for the host alone.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Target/PassContext.h"

namespace bycc {

// Of a program with annotations as partition-graph will have them; sets
// context.estimate where there is none yet and the host's costs are known. Regions
// that are functions already are left out.
void estimatePlan(Module &module, PassContext &context);

} // namespace bycc
