// Mapped files that change while they are read. A page behind the end of a file that got
// shorter, or one that the disk cannot give, is SIGBUS in whoever touches it: a kernel, a
// vendor's thread, a parser.
#pragma once

#include "bycc/Support/Error.h"

namespace bycc {

// For programs, which own their signals: from now on such a page reads as zeros and its
// Storage::isWhole() is false. Jumping out of the fault was rejected: it may lie in a
// thread or under the locks of a vendor's library. SIGBUS elsewhere goes to the
// handler that was there. Called again, it goes before handlers that came meanwhile.
void guardMappedFiles();
bool areMappedFilesGuarded();

// Status::Io when a file that is mapped, or was until it failed, has changed since: what
// was made of it is not to be used.
Expected<> checkMappedFiles();

} // namespace bycc
