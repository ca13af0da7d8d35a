// Outputs that appear together.
//
//   1  add      each file is written, without a name where the file system can do that
//               (a process that is killed leaves nothing), and synced
//   2  stage    under a lock on the folder, which keeps two builds from mixing their
//               sets: each gets a name beside its target, .bycc-ID-NAME
//   3  commit   the first rename, of the file that says which set is valid (the graph
//               JSON): up to here the old set is whole, from here on the new one is, as
//               readers look for the staged name of what that file asks for
//   4  rename   the others
//
// A second link to every file that is replaced puts the old set back when a rename
// fails. POSIX has no rename of several files: a process that is killed in 4 leaves staged
// names, and C programs see the old object until the next build. It removes what it
// finds staged.
//
// While there are names to remove, SIGINT, SIGTERM, SIGHUP, SIGPIPE and SIGXFSZ (if they
// had their default action) first do that, and wait for 3 and 4 to end. The handler may
// only touch the fixed table of slots below.
#include "Descriptor.h"

#include "bycc/Support/File.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/OutputCommitter.h"
#include "bycc/Support/OutputSync.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <map>
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

std::atomic<bool> isRenaming{false};
std::atomic<int> waitingSignal{0};

void cleanUpAndDie(int signal) {
  if (isRenaming)
    return waitingSignal.store(signal);
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

Error outputError(const std::string &path, const char *what, int code = errno) {
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

} // namespace

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
      return outputError(path, "cannot write");
    bytes.remove_prefix(count);
  }
  return {};
}

namespace {

Expected<> synced(int fd, const std::string &path) {
  while (::fsync(fd) != 0)
    if (errno == EINVAL || errno == EROFS) // a device or pipe has nothing to sync
      return {};
    else if (errno != EINTR)
      return outputError(path, "cannot sync");
  return {};
}

Expected<> writePieces(int fd, const std::vector<std::string_view> &pieces,
                       const std::string &path) {
  for (std::string_view piece : pieces)
    BYCC_TRY(writeAll(fd, piece, path));
  return isSynced ? synced(fd, path) : Expected<>();
}

// Writes and closes; `fd` is closed in any case.
Expected<> writeAndClose(int fd, const std::vector<std::string_view> &pieces,
                         const std::string &path) {
  Expected<> result = writePieces(fd, pieces, path);
  if (::close(fd) != 0 && errno != EINTR && result)
    result = outputError(path, "cannot close");
  return result;
}

// .bycc-ID-NAME, where NAME is not too long for it. No ID has a '-'.
constexpr std::string_view stagedBegin = ".bycc-";
std::string stagedEnd(const std::string &name) {
  return "-" + (name.size() <= 200 ? name : std::to_string(hashText(name)));
}

bool isStagedOf(std::string_view entry, const std::set<std::string> &ends) {
  if (!entry.starts_with(stagedBegin))
    return false;
  size_t end = entry.find('-', stagedBegin.size());
  return end != entry.npos && ends.count(std::string(entry.substr(end)));
}

// What builds that were killed left of these files. Nobody else may be building them.
void removeStaged(const std::set<std::string> &targets) {
  std::map<std::string, std::set<std::string>> ends; // by folder
  for (const std::string &target : targets)
    ends[folderOf(target)].insert(stagedEnd(fileNameOf(target)));
  for (const auto &[folder, wanted] : ends) {
    std::unique_ptr<DIR, int (*)(DIR *)> listing(::opendir(folder.c_str()), ::closedir);
    while (dirent *entry = listing ? ::readdir(listing.get()) : nullptr)
      if (isStagedOf(entry->d_name, wanted))
        ::unlinkat(::dirfd(listing.get()), entry->d_name, 0);
  }
}

// Locks folders (each under one name: a second lock would wait for the first)
// against other commits; goes on without where locks do not exist
// or another process sits on one.
class FolderLocks {
public:
  explicit FolderLocks(const std::set<std::string> &folders) {
    for (const std::string &folder : folders) {
      int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (fd < 0) {
        isHeld_ = false;
        continue;
      }
      for (int attempt = 0; attempt < 1000 && ::flock(fd, LOCK_EX | LOCK_NB) != 0; ++attempt) {
        if (errno != EWOULDBLOCK && errno != EINTR)
          break;
        ::usleep(10000);
      }
      isHeld_ = isHeld_ && ::flock(fd, LOCK_EX | LOCK_NB) == 0; // as before, when it is ours
      folders_.emplace_back(fd, folder);
    }
  }
  FolderLocks(const FolderLocks &) = delete;
  ~FolderLocks() {
    for (const auto &[fd, folder] : folders_)
      ::close(fd);
  }
  bool isHeld() const { return isHeld_; }
  // After the commit. Some file systems refuse to sync folders.
  Expected<> sync() {
    for (const auto &[fd, folder] : folders_)
      if (::fsync(fd) != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT))
        return outputError(folder, "the new files are in place, but may be lost when power is: "
                                   "cannot sync the folder");
    return {};
  }

private:
  std::vector<std::pair<int, std::string>> folders_;
  bool isHeld_ = true;
};

} // namespace

void setOutputsSynced(bool on) { isSynced = on; }
void setOutputCommitter(OutputCommitter *other) { committer = other; }

struct OutputSet::Impl {
  struct Output {
    std::string target;
    Descriptor nameless;
    std::optional<TemporaryName> temporary;
  };
  struct Direct { // devices and pipes are written through
    std::string target;
    Descriptor open;
    std::string bytes;
  };
  SignalGuard guard;
  std::string id;
  std::vector<Output> outputs;
  std::vector<Direct> direct;

  Expected<> stage(Output &output);
  Expected<> stageAll(bool isLocked);
  Expected<> renameAll();
  Expected<> renameElsewhere(OutputCommitter &other);
};

OutputSet::OutputSet(std::string id) : impl_(std::make_unique<Impl>()) {
  impl_->id = std::move(id);
}
OutputSet::~OutputSet() = default;

std::string OutputSet::stagedPath(const std::string &path, const std::string &id) {
  return path.substr(0, path.rfind('/') + 1) + std::string(stagedBegin) + id +
         stagedEnd(fileNameOf(path));
}

Expected<> OutputSet::add(const std::string &path, std::string_view bytes) {
  return add(path, std::vector<std::string_view>{bytes});
}

// A file without a name, if there may be one: each keeps a descriptor.
static Descriptor openNameless(const std::string &target, size_t numBefore) {
  constexpr size_t most = 32;
  if (numBefore >= most || ::access("/proc/self/fd", X_OK) != 0)
    return Descriptor();
  return Descriptor(::open(folderOf(target).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
}

// Opening a pipe must not wait for somebody who reads it; writing to it may.
static Expected<Descriptor> openDirect(const std::string &path) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd && errno == ENXIO)
    return error(Status::Io, {path})
           << "is a pipe that nobody reads, or no file that can be written";
  if (!fd || ::fcntl(fd.get(), F_SETFL, O_WRONLY) != 0)
    return outputError(path, "cannot open");
  return fd;
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
      impl_->direct.push_back({path, BYCC_TRY(openDirect(path)), {}});
      for (std::string_view piece : pieces)
        impl_->direct.back().bytes += piece;
      return {};
    }
    // Through symbolic links: it is the file that is replaced, not the link.
    target = resolved(path);
  }
  if (Descriptor nameless = openNameless(target, impl_->outputs.size())) {
    int fd = nameless.get();
    impl_->outputs.push_back({target, std::move(nameless), std::nullopt});
    return writePieces(fd, pieces, path);
  }
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string temporary = temporaryPath(target);
    if (OutputCommitter *other = committer)
      other->announce(temporary);
    int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0 && errno == EEXIST)
      continue;
    if (fd < 0)
      return outputError(path, "cannot write beside it");
    impl_->outputs.push_back({target, Descriptor(), std::optional<TemporaryName>(temporary)});
    return writeAndClose(fd, pieces, path);
  }
  return error(Status::Io, {path}) << "no free name for a temporary file";
}

Expected<> OutputSet::addSame(const std::string &path, const std::string &same,
                              const std::vector<std::string_view> &pieces) {
  struct stat info;
  if (isSameFile(path, same))
    return {}; // renaming would do nothing, and leave a name behind
  bool isThere = ::stat(path.c_str(), &info) == 0;
  std::string target = isThere ? resolved(path) : path, temporary = temporaryPath(target);
  if (isThere && !S_ISREG(info.st_mode))
    return add(path, pieces);
  if (OutputCommitter *other = committer)
    other->announce(temporary);
  if (::link(same.c_str(), temporary.c_str()) != 0)
    return add(path, pieces);
  impl_->outputs.push_back({target, Descriptor(), std::optional<TemporaryName>(temporary)});
  return {};
}

Expected<> OutputSet::Impl::stage(Output &output) {
  std::string name = id.empty() ? temporaryPath(output.target) : stagedPath(output.target, id);
  if (OutputCommitter *other = committer)
    other->announce(name);
  TemporaryName staged(name);
  ::unlink(name.c_str()); // of a build of the same that was killed
  int result;
  if (output.nameless) {
    std::string open = "/proc/self/fd/" + std::to_string(output.nameless.get());
    result = ::linkat(AT_FDCWD, open.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
  } else {
    result = ::rename(output.temporary->path().c_str(), name.c_str());
    output.temporary->forget();
  }
  if (result != 0)
    return outputError(output.target, "cannot make a temporary file beside it");
  if (int failure = output.nameless ? output.nameless.close() : 0)
    return outputError(output.target, "cannot close", failure);
  output.temporary.reset();
  output.temporary.emplace(std::move(staged));
  return {};
}

Expected<> OutputSet::Impl::stageAll(bool isLocked) {
  std::set<std::string> targets;
  for (const Output &output : outputs)
    targets.insert(output.target);
  if (isLocked)
    removeStaged(targets);
  for (Output &output : outputs)
    BYCC_TRY(stage(output));
  return {};
}

// The first one says which set is valid.
Expected<> OutputSet::Impl::renameAll() {
  std::vector<std::optional<TemporaryName>> backups(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string backup = stagedPath(outputs[i].target, "old." + std::to_string(::getpid()));
    if (::link(outputs[i].target.c_str(), backup.c_str()) == 0)
      backups[i].emplace(backup);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (::rename(outputs[i].temporary->path().c_str(), outputs[i].target.c_str()) == 0)
      continue;
    Error failure = outputError(outputs[i].target, "cannot rename a temporary file to it");
    for (size_t k = 0; k < i; ++k)
      if (!backups[k])
        ::unlink(outputs[k].target.c_str());
      else if (::rename(backups[k]->path().c_str(), outputs[k].target.c_str()) == 0)
        backups[k]->forget();
    return failure;
  }
  for (Output &output : outputs)
    output.temporary->forget();
  outputs.clear();
  return {};
}

// While it lives, signals that would end the program wait.
class RenamingMark {
public:
  RenamingMark() { isRenaming = true; }
  RenamingMark(const RenamingMark &) = delete;
  ~RenamingMark() {
    isRenaming = false;
    if (int signal = waitingSignal.exchange(0))
      ::raise(signal);
  }
};

// The files are staged here, under this process's lock.
Expected<> OutputSet::Impl::renameElsewhere(OutputCommitter &other) {
  std::vector<WrittenOutput> written;
  for (const Output &output : outputs)
    written.push_back({output.temporary->path(), output.target});
  BYCC_TRY(other.commit(written));
  for (Output &output : outputs)
    output.temporary->forget();
  outputs.clear();
  return {};
}

Expected<> commitOutputs(const std::vector<WrittenOutput> &written) {
  OutputSet::Impl set;
  for (const WrittenOutput &output : written)
    set.outputs.push_back(
        {output.target, Descriptor(), std::optional<TemporaryName>(output.temporary)});
  RenamingMark mark;
  return set.renameAll();
}

Expected<> OutputSet::commit(const std::string &first) {
  // What cannot be taken back is written first: a full device fails and changes nothing.
  for (const Impl::Direct &direct : impl_->direct)
    BYCC_TRY(writePieces(direct.open.get(), {direct.bytes}, direct.target));
  impl_->direct.clear();
  OutputCommitter *other = committer;
  std::vector<uint8_t> isFirst;
  for (const Impl::Output &output : impl_->outputs)
    isFirst.push_back(output.target == resolved(first));
  std::vector<Impl::Output> outputs;
  for (uint8_t wanted : {true, false})
    for (size_t i = 0; i < isFirst.size(); ++i)
      if (isFirst[i] == wanted)
        outputs.push_back(std::move(impl_->outputs[i]));
  impl_->outputs = std::move(outputs);
  std::set<std::string> folders;
  for (const Impl::Output &output : impl_->outputs)
    folders.insert(resolved(folderOf(output.target)));
  {
    FolderLocks locks(folders);
    BYCC_TRY(impl_->stageAll(locks.isHeld()));
    if (other) {
      BYCC_TRY(impl_->renameElsewhere(*other));
    } else {
      RenamingMark mark;
      BYCC_TRY(impl_->renameAll());
    }
    if (isSynced)
      BYCC_TRY(locks.sync());
  }
  return {};
}

} // namespace bycc
