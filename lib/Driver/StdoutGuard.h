// Standard output carries only what was asked for: while one of these lives, what
// anybody (a vendor's library) writes there goes to standard error.
#pragma once

#include <cstdio>
#include <unistd.h>

namespace bycc {

class StdoutGuard {
public:
  StdoutGuard() {
    std::fflush(stdout);
    saved_ = ::dup(STDOUT_FILENO);
    if (saved_ >= 0)
      ::dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  StdoutGuard(const StdoutGuard &) = delete;
  ~StdoutGuard() {
    std::fflush(stdout);
    if (saved_ < 0)
      return; // it is closed: there is nothing to keep clean
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }

private:
  int saved_;
};

} // namespace bycc
