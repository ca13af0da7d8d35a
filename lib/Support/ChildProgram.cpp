#include "bycc/Support/ChildProgram.h"

#include "Descriptor.h"
#include "bycc/Support/Program.h"
#include "bycc/Support/SpawnSettings.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace bycc {
namespace {

constexpr int64_t maxOutput = int64_t{2} << 30;
constexpr int64_t maxMessages = 4096;
constexpr int askEveryMs = 100;

int64_t sizeOf(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 ? info.st_size : 0;
}

// The last `limit` bytes of the file.
std::string endOf(int fd, int64_t limit) {
  int64_t size = sizeOf(fd), at = std::max<int64_t>(0, size - limit);
  std::string text(static_cast<size_t>(size - at), '\0');
  size_t got = 0;
  while (got < text.size()) {
    ssize_t part =
        ::pread(fd, text.data() + got, text.size() - got, at + static_cast<int64_t>(got));
    if (part <= 0)
      break;
    got += static_cast<size_t>(part);
  }
  text.resize(got);
  return text;
}

bool writeWhole(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return ::lseek(fd, 0, SEEK_SET) == 0;
}

// A memory file above the standard streams, so that dup2() to one of them cannot be to itself.
Descriptor memoryFile(const char *name) {
  Descriptor file(::memfd_create(name, MFD_CLOEXEC));
  if (file.get() > STDERR_FILENO || file.get() < 0)
    return file;
  return Descriptor(::fcntl(file.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

enum class End : uint8_t { Itself, Late, Stopped, Large };

// Waits for the program to end, and ends it where it must not go on.
End await(pid_t pid, const ChildProgram &child, int output, int &status) {
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now();
  Descriptor watch(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  End end = End::Itself;
  for (;;) {
    pollfd poll{watch.get(), POLLIN, 0};
    ::poll(&poll, watch ? 1 : 0, watch ? askEveryMs : 1); // without: old kernels
    if (::waitpid(pid, &status, WNOHANG) == pid)
      return End::Itself;
    if (std::chrono::duration<double>(Clock::now() - begin).count() > child.timeoutSeconds)
      end = End::Late;
    else if (sizeOf(output) > maxOutput)
      end = End::Large;
    else if (child.proceed && !child.proceed())
      end = End::Stopped;
    else
      continue;
    ::kill(-pid, SIGKILL);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR)
      ;
    return end;
  }
}

// A traceback has what counts at its end.
Error withLastLines(Error error, const std::string &messages) {
  constexpr size_t most = 8;
  std::vector<std::string> lines = split(messages, '\n');
  std::erase(lines, "");
  for (size_t i = lines.size() > most ? lines.size() - most : 0; i < lines.size(); ++i)
    error.diagnostics().front().notes.push_back({{}, escaped(lines[i])});
  return error;
}

std::string seconds(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  return (text.ends_with('.') ? text.substr(0, text.size() - 1) : text) + " s";
}

} // namespace

Expected<ChildOutput> runChildProgram(const ChildProgram &child, std::string_view input) {
  SourceLocation place;
  place.file = child.program;
  struct stat info{};
  if (::stat(child.program.c_str(), &info) != 0)
    return error(Status::Arg, place) << "cannot run it: " << std::strerror(errno);
  if (S_ISDIR(info.st_mode))
    return error(Status::Arg, place) << "cannot run it: it is a folder";
  if (::access(child.program.c_str(), X_OK) != 0)
    return (error(Status::Arg, place) << "cannot run it: " << std::strerror(errno))
        .note("chmod +x " + child.program);
  Descriptor in = memoryFile("input"), out = memoryFile("output"),
             messages = memoryFile("messages");
  if (!in || !out || !messages || !writeWhole(in.get(), input))
    return error(Status::Limit, place) << "no memory for what it gets: " << std::strerror(errno);

  std::string program =
      child.program.find('/') == std::string::npos ? "./" + child.program : child.program;
  std::vector<char *> arguments = {program.data()};
  std::vector<std::string> words = child.arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  SpawnSettings spawn;
  int stream = 0;
  for (const Descriptor *file : {&in, &out, &messages})
    ::posix_spawn_file_actions_adddup2(&spawn.actions, file->get(), stream++);
  pid_t pid = -1;
  if (int failure = ::posix_spawn(&pid, program.c_str(), &spawn.actions, &spawn.attributes,
                                  arguments.data(), environ))
    return (error(Status::Arg, place) << "cannot run it: " << std::strerror(failure))
        .note(failure == ENOEXEC
                  ? "a script starts with a line such as #!/usr/bin/env python3"
                  : "a script names its interpreter in its first line, which must exist");
  int status = 0;
  End end = await(pid, child, out.get(), status);
  if (end == End::Stopped)
    return cancelledError();
  ChildOutput output{"", endOf(messages.get(), maxMessages)};
  auto fail = [&](const std::string &what) {
    return withLastLines(error(Status::Input, place) << what, output.messages);
  };
  if (end == End::Late)
    return fail("it did not end within " + seconds(child.timeoutSeconds));
  if (end == End::Large)
    return fail("it writes more than 2 GiB");
  if (status != 0)
    return fail("it " + endText(status));
  output.text = endOf(out.get(), maxOutput);
  return output;
}

} // namespace bycc
