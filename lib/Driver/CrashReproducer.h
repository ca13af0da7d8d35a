// --crash-reproducer=F: the program before the pass, or the code generator, that ended bycc by
// a fault, with the command line that shows it.
#pragma once

#include "bycc/Driver/Options.h"

namespace bycc {

// The text of F, should what follows the checkpoint fail.
std::string reproducerText(const Options &options, const Checkpoint &checkpoint);

} // namespace bycc
