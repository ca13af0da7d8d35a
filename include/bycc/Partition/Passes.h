// The passes of Passes.def. They run in this order: merge-composite,
// annotate-target, merge-compiler-regions, partition-graph; the third may be
// left out, then every annotated call is a region.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/PassContext.h"

namespace bycc {

#define BYCC_PASS(function, name, level, needs, makes, options, description)                      \
  Expected<bool> function(Module &module, PassContext &context);
#include "bycc/Partition/Passes.def"
#undef BYCC_PASS

} // namespace bycc
