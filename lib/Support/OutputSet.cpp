// Outputs that appear together. Each file is written to a temporary beside its
// target; commit() syncs them all, keeps a second link to every file that is
// going to be replaced, renames, and puts the old files back if a rename fails.
// A lock on the target folder keeps two builds from mixing their sets.
//
// While there are temporaries, SIGINT, SIGTERM, SIGHUP, SIGPIPE and SIGXFSZ (if
// they had their default action) first unlink them. The handler may only touch
// the fixed table of slots below.
#include "bycc/Support/File.h"
#include "bycc/Support/OutputCommitter.h"
#include "bycc/Support/OutputSync.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bycc {
namespace {

constexpr int numSlots = 256;
std::atomic<const char *> slots[numSlots];

std::atomic<bool> isSynced{true};
std::atomic<OutputCommitter *> committer{nullptr};

constexpr int cleanupSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};

void cleanUpAndDie(int signal) {
  for (auto &slot : slots)
    if (const char *path = slot.load())
      ::unlink(path);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Counts the living output sets; handlers are in place while there is one.
class SignalGuard {
public:
  SignalGuard() {
    std::lock_guard lock(mutex_);
    if (users_++ > 0)
      return;
    for (size_t i = 0; i < std::size(cleanupSignals); ++i) {
      taken_[i] = false;
      struct sigaction old;
      if (::sigaction(cleanupSignals[i], nullptr, &old) != 0 || old.sa_handler != SIG_DFL)
        continue;
      struct sigaction ours = {};
      ours.sa_handler = cleanUpAndDie;
      ::sigfillset(&ours.sa_mask);
      taken_[i] = ::sigaction(cleanupSignals[i], &ours, nullptr) == 0;
    }
  }
  ~SignalGuard() {
    std::lock_guard lock(mutex_);
    if (--users_ > 0)
      return;
    for (size_t i = 0; i < std::size(cleanupSignals); ++i)
      if (taken_[i])
        ::signal(cleanupSignals[i], SIG_DFL);
  }

private:
  static std::mutex mutex_;
  static int users_;
  static bool taken_[std::size(cleanupSignals)];
};
std::mutex SignalGuard::mutex_;
int SignalGuard::users_ = 0;
bool SignalGuard::taken_[std::size(cleanupSignals)];

// A name that is unlinked when it is dropped or a signal ends the program.
class TemporaryName {
public:
  explicit TemporaryName(std::string path) : path_(std::make_unique<std::string>(std::move(path))) {
    for (int i = 0; i < numSlots && slot_ < 0; ++i) {
      const char *empty = nullptr;
      if (slots[i].compare_exchange_strong(empty, path_->c_str()))
        slot_ = i;
    }
  }
  TemporaryName(TemporaryName &&other) noexcept
      : path_(std::move(other.path_)), slot_(std::exchange(other.slot_, -1)) {}
  TemporaryName &operator=(TemporaryName &&) = delete;
  ~TemporaryName() {
    if (path_)
      ::unlink(path_->c_str());
    forget();
  }
  const std::string &path() const { return *path_; }
  // The file has got its final name or is gone.
  void forget() {
    if (slot_ >= 0)
      slots[slot_].store(nullptr);
    slot_ = -1;
    path_.reset();
  }

private:
  std::unique_ptr<std::string> path_;
  int slot_ = -1;
};

Error ioError(const std::string &path, const char *what, int code = errno) {
  return error(Status::Io, {path}) << what << ": " << std::strerror(code);
}

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Without symbolic links; a path that does not exist stays as it is.
std::string resolved(const std::string &path) {
  char *real = ::realpath(path.c_str(), nullptr);
  std::string result = real ? real : path;
  ::free(real);
  return result;
}

std::string temporaryPath(const std::string &target) {
  static std::atomic<unsigned> counter{0};
  return folderOf(target) + "/.bycc-" + std::to_string(::getpid()) + "-" +
         std::to_string(counter++) + ".tmp";
}

Expected<> writeAll(int fd, std::string_view bytes, const std::string &path) {
  while (!bytes.empty()) {
    ssize_t count = ::write(fd, bytes.data(), std::min<size_t>(bytes.size(), 1 << 30));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return ioError(path, "cannot write");
    bytes.remove_prefix(count);
  }
  return {};
}

Expected<> synced(int fd, const std::string &path) {
  while (::fsync(fd) != 0)
    if (errno == EINVAL || errno == EROFS) // a device or pipe has nothing to sync
      return {};
    else if (errno != EINTR)
      return ioError(path, "cannot sync");
  return {};
}

// Writes and closes; `fd` is closed in any case.
Expected<> writeAndClose(int fd, const std::vector<std::string_view> &pieces,
                         const std::string &path) {
  Expected<> result;
  for (size_t i = 0; i < pieces.size() && result; ++i)
    result = writeAll(fd, pieces[i], path);
  if (result && isSynced)
    result = synced(fd, path);
  if (::close(fd) != 0 && errno != EINTR && result)
    result = ioError(path, "cannot close");
  return result;
}

// Locks folders (each under one name: a second lock would wait for the first)
// against other commits; goes on without where locks do not exist
// or another process sits on one.
class FolderLocks {
public:
  explicit FolderLocks(const std::set<std::string> &folders) {
    for (const std::string &folder : folders) {
      int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (fd < 0)
        continue;
      for (int attempt = 0; attempt < 1000 && ::flock(fd, LOCK_EX | LOCK_NB) != 0; ++attempt) {
        if (errno != EWOULDBLOCK && errno != EINTR)
          break;
        ::usleep(10000);
      }
      folders_.push_back(fd);
    }
  }
  FolderLocks(const FolderLocks &) = delete;
  ~FolderLocks() {
    for (int fd : folders_)
      ::close(fd);
  }
  void sync() {
    for (int fd : folders_)
      ::fsync(fd); // some file systems refuse; the files themselves are synced
  }

private:
  std::vector<int> folders_;
};

} // namespace

void setOutputsSynced(bool on) { isSynced = on; }
void setOutputCommitter(OutputCommitter *other) { committer = other; }

struct OutputSet::Impl {
  struct Output {
    std::string target;
    TemporaryName temporary;
  };
  struct Direct { // devices and pipes are written through
    std::string target;
    std::string bytes;
  };
  SignalGuard guard;
  std::vector<Output> outputs;
  std::vector<Direct> direct;

  Expected<> renameAll();
  Expected<> commitFiles();
  Expected<> commitElsewhere(OutputCommitter &other);
};

OutputSet::OutputSet() : impl_(std::make_unique<Impl>()) {}
OutputSet::~OutputSet() = default;

Expected<> OutputSet::add(const std::string &path, std::string_view bytes) {
  return add(path, std::vector<std::string_view>{bytes});
}

Expected<> OutputSet::add(const std::string &path, const std::vector<std::string_view> &pieces) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return error(Status::Io, {path}) << "not a file name";
  std::string target = path;
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode))
      return error(Status::Io, {path}) << "is a directory";
    if (!S_ISREG(info.st_mode)) {
      impl_->direct.push_back({path, {}});
      for (std::string_view piece : pieces)
        impl_->direct.back().bytes += piece;
      return {};
    }
    // Through symbolic links: it is the file that is replaced, not the link.
    target = resolved(path);
  }
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string temporary = temporaryPath(target);
    if (OutputCommitter *other = committer)
      other->announce(temporary);
    int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0 && errno == EEXIST)
      continue;
    if (fd < 0)
      return ioError(path, "cannot write beside it");
    impl_->outputs.push_back({target, TemporaryName(temporary)});
    return writeAndClose(fd, pieces, path);
  }
  return error(Status::Io, {path}) << "no free name for a temporary file";
}

Expected<> OutputSet::Impl::renameAll() {
  std::vector<std::optional<TemporaryName>> backups(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string backup = temporaryPath(outputs[i].target);
    if (::link(outputs[i].target.c_str(), backup.c_str()) == 0)
      backups[i].emplace(backup);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (::rename(outputs[i].temporary.path().c_str(), outputs[i].target.c_str()) == 0)
      continue;
    Error failure = ioError(outputs[i].target, "cannot rename a temporary file to it");
    for (size_t k = 0; k < i; ++k)
      if (!backups[k])
        ::unlink(outputs[k].target.c_str());
      else if (::rename(backups[k]->path().c_str(), outputs[k].target.c_str()) == 0)
        backups[k]->forget();
    return failure;
  }
  for (Output &output : outputs)
    output.temporary.forget();
  outputs.clear();
  return {};
}

Expected<> OutputSet::Impl::commitFiles() {
  std::set<std::string> folders;
  for (const Output &output : outputs)
    folders.insert(resolved(folderOf(output.target)));
  FolderLocks locks(folders);
  BYCC_TRY(renameAll());
  if (isSynced)
    locks.sync();
  return {};
}

Expected<> OutputSet::Impl::commitElsewhere(OutputCommitter &other) {
  std::vector<WrittenOutput> written;
  for (const Output &output : outputs)
    written.push_back({output.temporary.path(), output.target});
  BYCC_TRY(other.commit(written));
  for (Output &output : outputs)
    output.temporary.forget();
  outputs.clear();
  return {};
}

Expected<> commitOutputs(const std::vector<WrittenOutput> &written) {
  OutputSet::Impl set;
  for (const WrittenOutput &output : written)
    set.outputs.push_back({output.target, TemporaryName(output.temporary)});
  return set.commitFiles();
}

Expected<> OutputSet::commit() {
  OutputCommitter *other = committer;
  BYCC_TRY(other ? impl_->commitElsewhere(*other) : impl_->commitFiles());
  for (const Impl::Direct &direct : impl_->direct) {
    int fd = ::open(direct.target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
      return ioError(direct.target, "cannot open");
    BYCC_TRY(writeAndClose(fd, {direct.bytes}, direct.target));
  }
  impl_->direct.clear();
  return {};
}

} // namespace bycc
