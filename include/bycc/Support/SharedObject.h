// Shared objects that are to be loaded: vendors' halves.
#pragma once

#include "bycc/Support/Error.h"

namespace bycc {

// Status::Load when the dynamic linker would wait for the file, crash over it or say little
// about it: no regular file, no shared object for this machine, or shorter than its
// segments. What stands in the segments is believed.
Expected<> checkSharedObject(const std::string &path);

} // namespace bycc
