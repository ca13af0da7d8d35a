// Descriptors that are given to bycc-worker under fixed numbers must not have one of these
// numbers here: what is put there first would replace them.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace bycc {

// The same file under a number above the worker's fixed ones, closed by exec; `low` is
// closed. -1 with errno when there is none.
inline int highDescriptor(int low) {
  constexpr int firstFree = 10;
  int high = ::fcntl(low, F_DUPFD_CLOEXEC, firstFree);
  int failure = errno;
  ::close(low);
  errno = failure;
  return high;
}

} // namespace bycc
