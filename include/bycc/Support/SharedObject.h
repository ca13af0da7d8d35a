// What is looked at in a file before the dynamic linker gets it.
#pragma once

#include "bycc/Support/Error.h"

#include <string>
#include <string_view>

namespace bycc {

// Whether the file of a plugin may be given to dlopen, which waits for a FIFO, dies of
// SIGBUS on a file that is cut, and says little about one that is not for it. LOAD unless
// it is a regular file, a shared object for this machine, and holds all of its segments.
Expected<> checkSharedObject(const std::string &path);

// What dlopen has failed for by what dlerror says: LIMIT for memory, else LOAD.
Status statusOfLinker(std::string_view text);

} // namespace bycc
