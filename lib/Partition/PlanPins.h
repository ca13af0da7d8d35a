// Orders that cannot be obeyed: nodes pinned to vendors that refuse them.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/PassContext.h"

namespace bycc {

// ARG errors that name the nodes and the vendors' reasons.
Expected<> checkPins(const Module &module, const PassContext &context);

} // namespace bycc
