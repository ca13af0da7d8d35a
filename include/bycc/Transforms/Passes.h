// The functions behind Passes.def: each changes the module in place and says
// whether it did.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/PassContext.h"

namespace bycc {

#define BYCC_PASS(function, name, level, needs, makes, options, description)                       \
  Expected<bool> function(Module &module, PassContext &context);
#include "bycc/Transforms/Passes.def"
#undef BYCC_PASS

// True when legalize writes the operator in others.
bool isLegalized(OpId op);

// True when convert-layout can give the operator another layout.
bool hasLayoutToConvert(OpId op);

} // namespace bycc
