// The passes of Passes.def. They run in this order: read-annotations, place-nodes,
// merge-composite, annotate-target, choose-vendors, merge-compiler-regions,
// prune-regions, partition-graph; with a plan, replay-plan takes the place of the
// three before the last. annotate-target and partition-graph do the work, the others
// may be left out; without merge-compiler-regions every annotated call is a region.
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
