#include "bycc/Support/Program.h"

#include "bycc/Support/Error.h"
#include "bycc/Support/MappedFiles.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/wait.h>
#include <unistd.h>

namespace bycc {
namespace {

// A file that is opened later must not get the number of a stream that was closed: what
// is printed would go into it. Writing to or reading from what stands in for it fails.
void openStandardStreams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
        ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
      return; // no /dev/null: as it was
}

} // namespace

int finishOutput(int code) {
  errno = 0;
  bool isLost = std::fflush(stdout) != 0 || std::ferror(stdout);
  if (!isLost || code != 0)
    return code;
  if (errno == EPIPE) { // whoever read it has enough, such as head: no fault of anybody
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  Error lost = error(Status::Io, {"<stdout>"})
               << "cannot write: " << std::strerror(errno ? errno : EIO);
  std::fputs(lost.str().c_str(), stderr);
  return exitCode(lost.status());
}

std::string signalText(int signal) {
  return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

std::string endText(int status, const std::string &whose) {
  if (WIFSIGNALED(status))
    return "crashed: " + signalText(WTERMSIG(status));
  return "ended " + whose + " process with exit code " + std::to_string(WEXITSTATUS(status));
}

int runProgram(const std::function<int()> &work) {
  openStandardStreams();
  guardMappedFiles();
  try {
    return finishOutput(work());
  } catch (const std::bad_alloc &) {
    std::fputs("error[LIMIT]: no memory\n", stderr);
    return exitCode(Status::Limit);
  }
}

} // namespace bycc
