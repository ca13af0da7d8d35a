// The child does everything but give files their names. It tells its parent through a
// socket what it is at, which temporaries it makes, which set of files is to be
// committed, and with which code it ends:
//
//   child:   Stage Temporary Temporary .. Commit        Result exit
//   parent:                               rename reply         waitpid
//
// An end that was not announced is a death: the parent removes the temporaries and says
// what is known of it. A child that knows why it cannot go on (no memory, a fatal error
// of LLVM) says so itself and announces its end.

#include "CommandProcess.h"

#include "bycc/CodeGen/CodeGen.h"
#include "bycc/Driver/Driver.h"
#include "bycc/Support/Error.h"
#include "bycc/Support/FaultHandler.h"
#include "bycc/Support/File.h"
#include "bycc/Support/MappedFiles.h"
#include "bycc/Support/OutputCommitter.h"
#include "bycc/Support/Program.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <new>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#ifdef BYCC_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace bycc {
namespace {

enum class Kind : uint32_t { Stage, Temporary, Commit, StackOverflow, Fatal, Checkpoint, Result };
struct Head {
  Kind kind;
  uint32_t value; // stage, exit code, number of files
  uint64_t bytes; // that follow: texts that end with NUL
};

bool sendAll(int socket, const void *data, size_t size) {
  const char *at = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t sent = ::send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    at += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool receiveAll(int socket, void *data, size_t size) {
  char *at = static_cast<char *>(data);
  while (size > 0) {
    ssize_t got = ::recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

// The limit of a resource in KiB, or "" when there is none.
std::string limitText(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY)
    return "";
  return std::to_string(limit.rlim_cur >> 10) + " KiB";
}

std::string noMemoryText(const Options &options) {
  std::string space = limitText(RLIMIT_AS), data = limitText(RLIMIT_DATA);
  std::string note = !space.empty()
                         ? "note: the address space is limited to " + space + " (ulimit -v)\n"
                     : !data.empty() ? "note: memory is limited to " + data + " (ulimit -d)\n"
                                     : "";
  return escaped(options.input.model) + (options.input.model.empty() ? "" : ": ") +
         "error[LIMIT]: there is not enough memory\n" + note;
}

// --- the child

int channel = -1;     // to the parent; -1 in all other processes
std::string noMemory; // the message, made while there is memory
std::string howToReproduce;

bool tell(Kind kind, uint32_t value, std::string_view text = {}) {
  Head head{kind, value, text.size()};
  return channel >= 0 && sendAll(channel, &head, sizeof head) &&
         sendAll(channel, text.data(), text.size());
}

[[noreturn]] void end(int code) {
  tell(Kind::Result, static_cast<uint32_t>(code));
  ::_exit(code);
}

[[noreturn]] void endWithout(std::string_view message, Status status) {
  (void)!::write(STDERR_FILENO, message.data(), message.size());
  end(exitCode(status));
}

[[noreturn]] void endWithoutMemory() { endWithout(noMemory, Status::Limit); }

// What is read from a file that changes meanwhile may break any rule of the program's own.
void endIfFilesChanged() {
  if (Expected<> checked = checkMappedFiles(); !checked)
    endWithout(checked.error().str(), checked.error().status());
}

// Of an exception that nobody catches.
[[noreturn]] void endOfException() {
  try {
    if (std::current_exception())
      throw;
  } catch (const std::bad_alloc &) {
    endWithoutMemory();
  } catch (const std::system_error &thrown) { // threads that cannot be started
    endWithout(
        Error(error(Status::Limit) << "the system refuses what is needed: " << thrown.what()).str(),
        Status::Limit);
  } catch (const std::exception &thrown) {
    endIfFilesChanged();
    endWithout(
        Error(error(Status::Internal).note(howToReproduce) << "exception: " << thrown.what()).str(),
        Status::Internal);
  } catch (...) {
  }
  endWithout(
      Error(error(Status::Internal).note(howToReproduce) << "an exception that nobody catches")
          .str(),
      Status::Internal);
}

[[noreturn]] void endOfLlvm(const char *reason) {
  if (!reason)
    endWithoutMemory();
  tell(Kind::Fatal, 0);
  endWithout(Error(error(Status::CodeGen) << "LLVM cannot make this code: " << reason).str(),
             Status::CodeGen);
}

uintptr_t stackEnd = 0; // about where the stack may not grow any further; 0: not known

// The parent reports every other death by a signal; that it was the end of the stack
// can be seen here only.
void onFault(int signal, siginfo_t *info, void *) {
  constexpr uintptr_t around = 2 << 20; // the guard below it, arguments and environment above
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (signal == SIGSEGV && stackEnd && address + around > stackEnd && address < stackEnd + around)
    tell(Kind::StackOverflow, 0);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

void watchFaults() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    stackEnd = reinterpret_cast<uintptr_t>(&limit) - limit.rlim_cur;
  static char spare[1 << 16]; // a stack that has overflowed is of no use
  stack_t alternative{};
  alternative.ss_sp = spare;
  alternative.ss_size = sizeof spare;
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  for (int signal : {SIGSEGV, SIGBUS})
    ::sigaction(signal, &action, nullptr);
}

class ParentCommits : public OutputCommitter {
public:
  void announce(const std::string &temporary) override {
    tell(Kind::Temporary, 0, std::string_view(temporary.c_str(), temporary.size() + 1));
  }
  Expected<> commit(const std::vector<WrittenOutput> &outputs) override {
    std::string text;
    for (const WrittenOutput &output : outputs)
      text += output.temporary + '\0' + output.target + '\0';
    uint64_t bytes = 0;
    if (!tell(Kind::Commit, static_cast<uint32_t>(outputs.size()), text))
      endAlone();
    receive(&bytes, sizeof bytes);
    std::string place(bytes, '\0');
    uint64_t messageBytes = 0;
    if (bytes == 0)
      return {};
    receive(place.data(), bytes);
    receive(&messageBytes, sizeof messageBytes);
    std::string message(messageBytes, '\0');
    receive(message.data(), messageBytes);
    return error(Status::Io, {place}) << message;
  }

private:
  // The parent was killed, maybe between two of its renames: what is staged must stay, and
  // the signal that follows comes after the end of the channel.
  [[noreturn]] static void endAlone() { ::_exit(1); }
  static void receive(void *bytes, size_t size) {
    if (!receiveAll(channel, bytes, size))
      endAlone();
  }
};

[[noreturn]] void runChild(const Options &options, int (*command)(const Options &), int socket,
                           pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent)
    ::_exit(1);
  channel = socket;
  noMemory = noMemoryText(options);
  howToReproduce = "this is a fault of bycc; reproduce it with: " + options.commandLine;
  std::set_new_handler(endWithoutMemory);
  std::set_terminate(endOfException);
  setLlvmFatalHandler(endOfLlvm);
  setFaultHandler(endIfFilesChanged);
  watchFaults();
  guardMappedFiles();
  static ParentCommits committer;
  setOutputCommitter(&committer);
  int code = finishOutput(command(options));
  std::fflush(nullptr);
#ifdef BYCC_ADDRESS_SANITIZER
  __lsan_do_leak_check(); // _exit() does not
#endif
  end(code);
}

// --- the parent

// Never under the number of a standard stream that is closed.
bool makeChannel(int (&ends)[2]) {
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return false;
  for (int &end : ends) {
    int low = end;
    end = ::fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int failure = errno;
    ::close(low);
    errno = failure;
  }
  return ends[0] >= 0 && ends[1] >= 0;
}

volatile sig_atomic_t childPid = 0, forwarded = 0;

void forward(int signal) {
  forwarded = signal;
  if (childPid > 0)
    ::kill(static_cast<pid_t>(childPid), signal);
}

constexpr std::pair<Stage, const char *> stageNames[] = {{Stage::Start, "starting"},
                                                         {Stage::Plugins, "being loaded"},
                                                         {Stage::Load, "reading the model"},
                                                         {Stage::Passes, "running passes"},
                                                         {Stage::HostCode, "making host code"},
                                                         {Stage::Write, "writing files"}};

class CommandProcess {
public:
  explicit CommandProcess(const Options &options) : options_(options) {}

  int run(int (*command)(const Options &)) {
    std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error of write()
    if (Expected<> started = start(command); !started)
      return report(started.takeError());
    while (serve()) {
    }
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    childPid = 0;
    for (const std::string &temporary : temporaries_)
      ::unlink(temporary.c_str());
    if (isFault(status))
      writeReproducer();
    if (WIFEXITED(status) && result_ == WEXITSTATUS(status) && !forwarded)
      return *result_;
    if (WIFEXITED(status) && WEXITSTATUS(status) == exitCode(Status::Internal) && !forwarded)
      return WEXITSTATUS(status); // internalError() has said why
    return reportDeath(status);
  }

private:
  static bool isFromOutside(int signal) {
    constexpr int outside[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};
    return std::ranges::find(outside, signal) != std::end(outside);
  }

  // The compiler's own end, not one that somebody else wants.
  bool isFault(int status) const {
    if (forwarded || isLate_ || (WIFSIGNALED(status) && isFromOutside(WTERMSIG(status))))
      return false;
    bool isAnnounced = WIFEXITED(status) && result_ == WEXITSTATUS(status);
    return !isAnnounced || isFatal_ || *result_ == exitCode(Status::Internal);
  }

  void writeReproducer() const {
    const std::string &file = options_.watch.crashReproducer;
    if (file.empty())
      return;
    Expected<> written;
    OutputSet output;
    if (!checkpoint_.empty() && (written = output.add(file, checkpoint_)))
      written = output.commit();
    if (!written)
      std::fputs(written.error().str().c_str(), stderr);
    else if (options_.diagnosticsFormat == "text" && checkpoint_.empty())
      std::fputs("note: --crash-reproducer: nothing is written: no pass had begun, so the "
                 "model itself shows the fault\n",
                 stderr);
    else if (options_.diagnosticsFormat == "text")
      std::fprintf(stderr,
                   "note: %s holds the program before the fault, and the command that shows it\n",
                   escaped(file).c_str());
  }

  Expected<> start(int (*command)(const Options &)) {
    int ends[2];
    if (!makeChannel(ends))
      return error(errno == EMFILE || errno == ENFILE ? Status::Limit : Status::Io)
             << "cannot start a process for the command: " << std::strerror(errno);
    std::fflush(nullptr); // else the child could write it once more
    pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      runChild(options_, command, ends[1], parent);
    }
    int failure = errno;
    ::close(ends[1]);
    socket_ = ends[0];
    if (pid_ < 0)
      return error(Status::Limit) << "cannot start a process for the command: "
                                  << std::strerror(failure);
    childPid = pid_;
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
      struct sigaction old;
      if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_DFL)
        std::signal(signal, forward);
    }
    return {};
  }

  // Deals with one frame; false when no more will come.
  bool serve() {
    Head head;
    if (stage_ == Stage::Plugins && !waitForPlugin()) {
      isLate_ = true;
      ::kill(pid_, SIGKILL);
      return false;
    }
    if (!receiveAll(socket_, &head, sizeof head))
      return false;
    std::string text(head.bytes, '\0');
    if (!receiveAll(socket_, text.data(), text.size()))
      return false;
    switch (head.kind) {
    case Kind::Stage:
      stage_ = static_cast<Stage>(head.value);
      stageFile_ = text;
      break;
    case Kind::Temporary:
      temporaries_.emplace_back(text.c_str());
      break;
    case Kind::Commit:
      commit(text);
      break;
    case Kind::StackOverflow:
      hasOverflown_ = true;
      break;
    case Kind::Fatal:
      isFatal_ = true;
      break;
    case Kind::Checkpoint:
      checkpoint_ = std::move(text);
      break;
    case Kind::Result:
      result_ = static_cast<int>(head.value);
      break;
    }
    return true;
  }

  bool waitForPlugin() const {
    double left = std::min(options_.vendors.timeoutSeconds * 1000, 1e9);
    pollfd poll{socket_, POLLIN, 0};
    return ::poll(&poll, 1, static_cast<int>(left)) != 0;
  }

  // The reply is the place and the message of the error; nothing is success.
  void commit(const std::string &text) {
    std::vector<WrittenOutput> outputs;
    for (size_t at = 0; at < text.size();) {
      WrittenOutput output;
      for (std::string *part : {&output.temporary, &output.target}) {
        *part = text.c_str() + at;
        at += part->size() + 1;
      }
      std::erase(temporaries_, output.temporary);
      outputs.push_back(std::move(output));
    }
    std::string reply;
    auto add = [&](const std::string &part) {
      uint64_t bytes = part.size();
      reply.append(reinterpret_cast<const char *>(&bytes), sizeof bytes);
      reply += part;
    };
    if (Expected<> done = commitOutputs(outputs); done) {
      add("");
    } else {
      add(done.error().diagnostics()[0].location.file);
      add(done.error().message());
    }
    sendAll(socket_, reply.data(), reply.size());
  }

  int reportDeath(int status) {
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : forwarded;
    // Ended from outside: so does this process.
    if (forwarded)
      signal = forwarded;
    if (isFromOutside(signal)) {
      std::signal(signal, SIG_DFL);
      ::raise(signal);
    }
    return report(describeDeath(status, signal));
  }

  Error describeDeath(int status, int signal) const {
    std::string doing =
        std::ranges::find(stageNames, stage_, &std::pair<Stage, const char *>::first)->second;
    bool isCodeGen = stage_ == Stage::HostCode, isPlugin = stage_ == Stage::Plugins;
    std::string who = isCodeGen ? "the code generator" : isPlugin ? "the plugin" : "bycc";
    SourceLocation model;
    model.file = isPlugin ? stageFile_ : options_.input.model;
    if (isLate_)
      return error(Status::Load, model) << "the plugin was not loaded within "
                                        << formatDouble(options_.vendors.timeoutSeconds) << " s";
    if (signal == SIGKILL)
      return (error(Status::Limit, model) << "the process was killed while " << doing)
          .note("by the system when memory is short, by a limit (ulimit -t), or by hand");
    if (signal == SIGXCPU)
      return error(Status::Limit, model)
             << "the limit of processor time (ulimit -t) was reached while " << doing;
    if (hasOverflown_)
      return error(Status::Limit, model) << "the stack of " << limitText(RLIMIT_STACK)
                                         << " (ulimit -s) is too small for " << doing;
    std::ostringstream how;
    if (signal)
      how << who << " crashed while " << doing << ": " << signalText(signal);
    else
      how << who << " ended the process while " << doing << ", with exit code "
          << WEXITSTATUS(status);
    Diagnostic diagnostic;
    diagnostic.location = model;
    diagnostic.message = how.str();
    std::string space = limitText(RLIMIT_AS);
    diagnostic.status = !space.empty() ? Status::Limit
                        : isCodeGen    ? Status::CodeGen
                        : isPlugin     ? Status::Load
                                       : Status::Internal;
    if (!space.empty())
      diagnostic.notes.push_back({{}, "the address space is limited to " + space + " (ulimit -v)"});
    diagnostic.notes.push_back({{}, "reproduce it with: " + options_.commandLine});
    return Error(std::move(diagnostic));
  }

  static int report(const Error &error) {
    if (::isatty(STDERR_FILENO)) // a line of progress may stand there
      std::fputs("\r\x1b[K", stderr);
    std::fputs(error.str().c_str(), stderr);
    return exitCode(error.status());
  }

  const Options &options_;
  pid_t pid_ = -1;
  int socket_ = -1;
  Stage stage_ = Stage::Start;
  std::string stageFile_;
  bool isLate_ = false;
  std::vector<std::string> temporaries_;
  std::optional<int> result_; // as announced
  bool hasOverflown_ = false, isFatal_ = false;
  std::string checkpoint_; // for --crash-reproducer
};

} // namespace

void enterStage(Stage stage, const std::string &file) {
  tell(Kind::Stage, static_cast<uint32_t>(stage), file);
}

void keepForCrash(const std::string &text) { tell(Kind::Checkpoint, 0, text); }

int runApart(const Options &options, int (*command)(const Options &)) {
  return CommandProcess(options).run(command);
}

} // namespace bycc
