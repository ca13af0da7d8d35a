// The passes of Passes.def. They run in this order: read-annotations, place-nodes,
// merge-composite, annotate-target, choose-plan, partition-graph; with a plan,
// replay-plan takes the place of choose-plan. Lists may name choose-vendors,
// merge-compiler-regions and prune-regions instead: without costs they are its parts,
// with costs the first of choose-vendors and prune-regions is choose-plan, and what
// follows finds its work done. annotate-target and partition-graph do the work, the
// others may be left out; without regions every annotated call is one.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/PassContext.h"

namespace bycc {

#define BYCC_PASS(function, name, level, needs, makes, options, description)                       \
  Expected<bool> function(Module &module, PassContext &context);
#include "bycc/Partition/Passes.def"
#undef BYCC_PASS

} // namespace bycc
