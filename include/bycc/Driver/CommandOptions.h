// The options of bycc and bycc-opt, as Compiler/Options.def lists them.
#pragma once

#include "bycc/Compiler/OptionStore.h"
#include "bycc/Driver/Options.h"

#include <vector>

namespace bycc {

const std::vector<Option<Options>> &commandOptions();

} // namespace bycc
