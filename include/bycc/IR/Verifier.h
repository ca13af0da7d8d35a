// Checks that a module is well-formed: ids in range, dependency order and
// visibility of operands, no unbound value, types equal to what inference says,
// legal attributes, valid function attributes. Collects several errors.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"

namespace bycc {

Expected<> verify(Module &module);

} // namespace bycc
