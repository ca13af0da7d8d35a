#include "WorkerConnection.h"

#include "HighDescriptor.h"
#include "bycc/Support/SpawnSettings.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/PluginPass.h"

#include <cerrno>
#include <csignal>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char **environ;

namespace bycc {
namespace {

constexpr size_t wholeSend = 16 << 10;

// Standard streams, and the fixed descriptors; all others are closed by exec.
void giveStreams(posix_spawn_file_actions_t &actions, int socket, int weights, bool isSilent) {
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (isSilent)
    for (int stream : {STDOUT_FILENO, STDERR_FILENO})
      ::posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  else if (::fcntl(STDERR_FILENO, F_GETFD) >= 0) // what vendors print was not asked for
    ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, socket, workerSocket);
  if (weights >= 0)
    ::posix_spawn_file_actions_adddup2(&actions, weights, workerWeights);
}

} // namespace

// Of the file that this code is in, bycc itself or libbycc.
static std::string folderOfThisCode() {
  static const char anchor = 0; // of this file alone, whatever else has this function's name
  Dl_info info{};
  std::string folder = ".";
  if (::dladdr(&anchor, &info) && info.dli_fname)
    folder = info.dli_fname;
  if (char *real = ::realpath(folder.c_str(), nullptr)) {
    folder = real;
    ::free(real);
  }
  if (folder.find('/') == std::string::npos || ::access(folder.c_str(), F_OK) != 0)
    folder = programFolder() + "/bycc"; // started by a bare name
  folder.resize(folder.rfind('/'));
  return folder;
}

std::vector<std::string> libraryFolders() {
  std::string folder = folderOfThisCode();
  return {folder, folder + "/../lib", folder + "/../" BYCC_LIBDIR};
}

std::string workerProgram() {
  std::string folder = folderOfThisCode(),
              program = folder + "/../" BYCC_LIBEXECDIR "/bycc/bycc-worker";
  if (std::string other =
          folder + "/../../" BYCC_LIBEXECDIR "/bycc/bycc-worker"; // from lib/x86_64-linux-gnu
      ::access(program.c_str(), X_OK) != 0 && ::access(other.c_str(), X_OK) == 0)
    return other;
  return program;
}

std::string textOf(const bycc_target &target) {
  std::string texts;
  for (const std::string &text :
       {std::string(target.triple), std::string(target.cpu), std::string(target.features),
        std::to_string(target.threads), std::to_string(target.nan)})
    texts += text + '\0';
  return texts;
}

WorkerConnection::~WorkerConnection() {
  dismiss();
  if (dismissed_ > 0)
    waitFor(dismissed_);
}

Expected<> WorkerConnection::start() {
  if (dismissed_ > 0)
    waitFor(std::exchange(dismissed_, -1));
  std::string program = workerProgram();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return error(Status::Limit) << "cannot start a process for vendors: " << std::strerror(errno);
  socket_ = highDescriptor(ends[0]);
  int theirs = highDescriptor(ends[1]);
  weights_ = WeightsMemory::make();
  isReady_ = false;
  filesSent_ = 0;
  vendors_.clear();
  for (std::string *text : {&target_, &out_, &in_})
    text->clear();
  inBegin_ = 0;
  SpawnSettings spawn;
  giveStreams(spawn.actions, theirs, weights_.descriptor(), isSilent_);
  std::string parent = std::to_string(::getpid()), name = "bycc-worker";
  char *arguments[] = {name.data(), parent.data(), nullptr};
  int failure = socket_ < 0 || theirs < 0 ? EMFILE
                                          : ::posix_spawn(&pid_, program.c_str(), &spawn.actions,
                                                          &spawn.attributes, arguments, environ);
  ::close(theirs);
  if (failure == 0)
    return {};
  pid_ = -1;
  ::close(socket_);
  bool isMissing = failure == ENOENT || failure == EACCES;
  return error(isMissing ? Status::Load : Status::Limit)
         << "cannot start the program that runs vendors' code, " << escaped(program, 512) << ": "
         << std::strerror(failure);
}

void WorkerConnection::append(const WorkerHead &head, const std::string &bytes) {
  out_.append(reinterpret_cast<const char *>(&head), sizeof head);
  out_ += bytes;
}

void WorkerConnection::sendText(ToWorker kind, std::string text) {
  WorkerHead head{kind};
  head.bytes = text.size();
  append(head, text);
}

uint32_t WorkerConnection::numberOf(const Vendor &vendor) {
  auto [found, isNew] = vendors_.try_emplace(vendor.name(), vendors_.size());
  if (isNew) {
    bool isFile = !vendor.program.empty();
    std::string text = isFile && vendor.program.find('/') == std::string::npos
                           ? "./" + vendor.program
                       : isFile ? vendor.program
                                : vendor.name();
    text += '\0';
    for (const VendorSettings::Option &option : vendor.settings.options())
      if (option.isGiven)
        text += option.name + '\0' + option.value + '\0';
    sendText(ToWorker::Vendor, std::move(text));
  }
  return found->second;
}

// A descriptor comes with the bytes that it is sent with, so these are sent alone.
void WorkerConnection::sendFiles() {
  for (; filesSent_ < constants_.files().size(); ++filesSent_) {
    flush();
    WorkerHead head{ToWorker::File};
    iovec part{&head, sizeof head};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &constants_.files()[filesSent_], sizeof(int));
    while (::sendmsg(socket_, &message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
  }
}

void WorkerConnection::ask(const Vendor &vendor, Question question, const bycc_target &target,
                           const std::string &region, bool isQuiet) {
  sendFiles();
  if (std::string texts = textOf(target); texts != target_)
    sendText(ToWorker::Target, target_ = texts);
  WorkerHead head{ToWorker::Ask, numberOf(vendor), question, isQuiet};
  head.bytes = region.size();
  append(head, region);
  if (out_.size() >= wholeSend)
    flush();
}

// A worker that is gone is noticed by receive().
void WorkerConnection::flush() {
  for (size_t at = 0; at < out_.size();) {
    ssize_t sent = ::send(socket_, out_.data() + at, out_.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      break;
    at += static_cast<size_t>(sent);
  }
  out_.clear();
}

bool WorkerConnection::receive() {
  char bytes[1 << 16];
  ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
  if (got < 0 && errno == EINTR)
    return true;
  if (got <= 0)
    return false;
  in_.append(bytes, static_cast<size_t>(got));
  return true;
}

std::optional<WorkerAnswer> WorkerConnection::next(bool &isBroken) {
  constexpr uint64_t maxAnswerBytes = uint64_t{1} << 30;
  isBroken = false;
  AnswerHead head;
  std::string_view rest = std::string_view(in_).substr(inBegin_);
  if (rest.size() < sizeof head)
    return std::nullopt;
  std::memcpy(&head, rest.data(), sizeof head);
  if (head.magic != AnswerHead::expectedMagic || head.bytes > maxAnswerBytes) {
    isBroken = true;
    return std::nullopt;
  }
  if (rest.size() - sizeof head < head.bytes)
    return std::nullopt;
  std::optional<WorkerAnswer> answer = WorkerAnswer::decode(rest.substr(sizeof head, head.bytes));
  isBroken = !answer;
  inBegin_ += sizeof head + head.bytes;
  if (inBegin_ == in_.size()) {
    in_.clear();
    inBegin_ = 0;
  }
  if (!isReady_ && answer) {
    isReady_ = true;
    return std::nullopt;
  }
  return answer;
}

bool WorkerConnection::waitReady() {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!isReady_) {
    auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
            .count();
    pollfd poll{socket_, POLLIN, 0};
    if (left <= 0 || (::poll(&poll, 1, static_cast<int>(left)) > 0 && !receive()))
      return false;
    bool isBroken = false;
    next(isBroken);
    if (isBroken)
      return false;
  }
  return true;
}

int WorkerConnection::waitFor(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void WorkerConnection::dismiss() {
  if (!isRunning())
    return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  ::close(socket_);
  dismissed_ = std::exchange(pid_, -1);
  socket_ = -1;
}

int WorkerConnection::kill() { return waitUntil({}); }

int WorkerConnection::waitUntil(std::chrono::steady_clock::time_point deadline) {
  int status = 0;
  bool isGone = false;
  while (!isGone && std::chrono::steady_clock::now() < deadline)
    if (isGone = ::waitpid(pid_, &status, WNOHANG) != 0; !isGone)
      ::usleep(500);
  ::kill(-pid_, SIGKILL); // with all that the vendor started
  if (!isGone) {
    ::kill(pid_, SIGKILL);
    status = waitFor(pid_);
  }
  ::close(socket_);
  pid_ = socket_ = -1;
  return status;
}

} // namespace bycc
