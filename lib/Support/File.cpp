// Reading files that may be hostile: nothing but regular files is opened for
// reading, sizes come from the opened descriptor, contained files are reached
// step by step without following a link.
#include "MappedFile.h"
#include "OpenFiles.h"

#include "bycc/Support/Messages.h"
#include "bycc/Support/SharedFiles.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bycc {
namespace {

Error ioError(const std::string &path, const char *what, int code = errno) {
  return error(code == ENOMEM ? Status::Limit : Status::Io, {path}).as(MessageId::CannotRead)
         << what << ": " << std::strerror(code);
}

// A file without a name that copies are written to, for others to map; what is given back
// becomes a hole.
class CopyFile {
public:
  // None: the system has no memory for it.
  std::optional<uint64_t> write(const void *data, uint64_t size) {
    constexpr uint64_t page = 4096;
    std::lock_guard lock(mutex_);
    if (descriptor_ < 0)
      descriptor_ = ::memfd_create("bycc copies", MFD_CLOEXEC);
    if (descriptor_ < 0)
      return std::nullopt;
    uint64_t offset = end_;
    end_ += (size + page - 1) / page * page;
    for (uint64_t at = 0; at < size;) {
      ssize_t count = ::pwrite(descriptor_, static_cast<const char *>(data) + at, size - at,
                               static_cast<off_t>(offset + at));
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0) {
        giveBack(offset, size);
        return std::nullopt;
      }
      at += static_cast<uint64_t>(count);
    }
    return offset;
  }
  void giveBack(uint64_t offset, uint64_t size) {
    ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                static_cast<off_t>(size));
  }
  int descriptor() const { return descriptor_; }

private:
  std::mutex mutex_;
  int descriptor_ = -1;
  uint64_t end_ = 0;
};
CopyFile copyFile;

class SharedCopy : public Storage {
public:
  SharedCopy(const void *data, uint64_t size, uint64_t offset) : offset_(offset) {
    data_ = static_cast<const uint8_t *>(data);
    size_ = size;
    OpenFiles::instance().add(data_, size_, copyFile.descriptor(), offset);
  }
  SharedCopy(const SharedCopy &) = delete;
  ~SharedCopy() override {
    OpenFiles::instance().remove(data_);
    ::munmap(const_cast<uint8_t *>(data_), size_);
    copyFile.giveBack(offset_, size_);
  }

  // Null where there is no memory of this kind.
  static std::shared_ptr<const Storage> make(const void *data, uint64_t size) {
    std::optional<uint64_t> offset = copyFile.write(data, size);
    if (!offset)
      return nullptr;
    void *mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, copyFile.descriptor(),
                          static_cast<off_t>(*offset));
    if (mapped != MAP_FAILED)
      return std::make_shared<SharedCopy>(mapped, size, *offset);
    copyFile.giveBack(*offset, size);
    return nullptr;
  }

private:
  uint64_t offset_;
};

class ForeignBytes : public Storage {
public:
  ForeignBytes(const void *data, uint64_t size, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)) {
    data_ = static_cast<const uint8_t *>(data);
    size_ = size;
  }

private:
  std::shared_ptr<const void> owner_;
};

template <typename Container> class HeapBytes : public Storage {
public:
  explicit HeapBytes(Container bytes) : bytes_(std::move(bytes)) {
    data_ = reinterpret_cast<const uint8_t *>(bytes_.data());
    size_ = bytes_.size();
  }

private:
  Container bytes_;
};

Expected<struct stat> regularFile(int fd, const std::string &path) {
  struct stat info;
  if (::fstat(fd, &info) != 0)
    return ioError(path, "cannot look at the file");
  if (!S_ISREG(info.st_mode))
    return error(Status::Io, {path}).as(MessageId::CannotRead)
           << (S_ISDIR(info.st_mode) ? "is a directory" : "is not a regular file");
  return info;
}

Expected<Descriptor> openForReading(const std::string &path) {
  if (path.empty())
    return error(Status::Io) << "the name of a file is empty";
  if (path.find('\0') != std::string::npos)
    return error(Status::Io, {path}) << "file name with a NUL character";
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd)
    return ioError(path, "cannot open the file");
  return fd;
}

Expected<std::shared_ptr<const Storage>> mapDescriptor(Descriptor fd, const struct stat &info,
                                                       const std::string &path, bool watch) {
  static const uint8_t nothing[1] = {};
  uint64_t size = info.st_size;
  void *memory = const_cast<uint8_t *>(nothing);
  if (size > SIZE_MAX)
    return error(Status::Limit, {path}) << "the file is too large to map";
  if (size > 0)
    memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (memory == MAP_FAILED)
    return ioError(path, "cannot map the file");
  bool isKept = watch || OpenFiles::instance().isWanted;
  return std::shared_ptr<const Storage>(std::make_shared<MappedFile>(
      memory, size, path, info, isKept ? std::move(fd) : Descriptor()));
}

// Appends up to `limit` + 1 bytes, so that the caller sees when there are more.
Expected<> readAll(int fd, const std::string &path, uint64_t limit, std::string &text) {
  char buffer[1 << 16];
  while (text.size() <= limit) {
    ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return ioError(path, "cannot read");
    if (count == 0)
      return {};
    text.append(buffer, count);
  }
  return error(Status::Limit, {path}) << "more than " << limit << " bytes";
}

Expected<> checkContainedName(const std::string &folder, const std::string &relative) {
  auto refuse = [&](const char *why) {
    return error(Status::Input, {folder})
           << "external file name '" << escaped(relative) << "' " << why;
  };
  if (relative.empty())
    return refuse("is empty");
  if (relative.find('\0') != std::string::npos)
    return refuse("has a NUL character in it");
  if (relative[0] == '/')
    return refuse("is absolute");
  for (const std::string &part : split(relative, '/'))
    if (part == "..")
      return refuse("has '..' in it");
  if (std::string last = split(relative, '/').back(); last.empty() || last == ".")
    return refuse("names a folder");
  return {};
}

} // namespace

std::shared_ptr<const Storage> Storage::copyOf(const void *data, uint64_t size) {
  constexpr uint64_t largeBytes = 64 << 10;
  if (OpenFiles::instance().isWanted && size >= largeBytes)
    if (std::shared_ptr<const Storage> shared = sharedCopyOf(data, size))
      return shared;
  auto *bytes = static_cast<const uint8_t *>(data);
  return own(std::vector<uint8_t>(bytes, bytes + size));
}

std::shared_ptr<const Storage> Storage::own(std::vector<uint8_t> bytes) {
  return std::make_shared<HeapBytes<std::vector<uint8_t>>>(std::move(bytes));
}

std::shared_ptr<const Storage> Storage::own(std::string bytes) {
  return std::make_shared<HeapBytes<std::string>>(std::move(bytes));
}

std::shared_ptr<const Storage> Storage::viewOf(const void *data, uint64_t size,
                                               std::shared_ptr<const void> owner) {
  return std::make_shared<ForeignBytes>(data, size, std::move(owner));
}

Expected<std::shared_ptr<const Storage>> mapFile(const std::string &path, bool watch) {
  Descriptor fd = BYCC_TRY(openForReading(path));
  struct stat info = BYCC_TRY(regularFile(fd.get(), path));
  return mapDescriptor(std::move(fd), info, path, watch);
}

// A device need not end (/dev/zero); somebody types at a terminal.
static bool isEndless(int fd) {
  struct stat info;
  return ::fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && !::isatty(fd);
}

Expected<std::string> readFile(const std::string &path, uint64_t limit) {
  constexpr uint64_t maxDeviceBytes = uint64_t{32} << 20;
  std::string text;
  if (path == "-") {
    BYCC_TRY(readAll(STDIN_FILENO, "<stdin>",
                     isEndless(STDIN_FILENO) ? std::min(limit, maxDeviceBytes) : limit, text));
    return text;
  }
  Descriptor fd = BYCC_TRY(openForReading(path));
  struct stat info = BYCC_TRY(regularFile(fd.get(), path));
  uint64_t size = info.st_size;
  if (size > limit)
    return error(Status::Limit, {path}) << size << " bytes, at most " << limit << " are read";
  text.resize(size);
  uint64_t done = 0;
  while (done < size) {
    ssize_t count = ::read(fd.get(), text.data() + done, size - done);
    if (count < 0 && errno != EINTR)
      return ioError(path, "cannot read");
    if (count == 0)
      break;
    done += count > 0 ? count : 0;
  }
  text.resize(done);
  BYCC_TRY(readAll(fd.get(), path, limit, text)); // what was added meanwhile
  if (text.size() < size)
    return error(Status::Io, {path}) << "the file got shorter while it was read";
  return text;
}

Expected<std::shared_ptr<const Storage>> mapContained(const std::string &folder,
                                                      const std::string &relative) {
  BYCC_TRY(checkContainedName(folder, relative));
  std::string path = folder + "/" + relative;
  Descriptor at(::open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at)
    return ioError(folder, "cannot open the folder");
  std::vector<std::string> steps;
  for (std::string &step : split(relative, '/'))
    if (!step.empty() && step != ".")
      steps.push_back(std::move(step));
  for (size_t i = 0; i < steps.size(); ++i) {
    bool isLast = i + 1 == steps.size();
    struct stat info;
    if (::fstatat(at.get(), steps[i].c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return ioError(path, "cannot open the external file");
    if (S_ISLNK(info.st_mode))
      return error(Status::Input, {path}) << "external file is reached through a symbolic link";
    if (isLast ? !S_ISREG(info.st_mode) : !S_ISDIR(info.st_mode))
      return error(Status::Input, {path}) << "external file is not a regular file in a folder";
    int flags = O_CLOEXEC | O_NOFOLLOW | (isLast ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY);
    Descriptor next(::openat(at.get(), steps[i].c_str(), flags));
    if (!next)
      return ioError(path, "cannot open the external file");
    at = std::move(next);
  }
  // What was looked at above may have been replaced: what counts is what is open.
  struct stat info = BYCC_TRY(regularFile(at.get(), path));
  if (info.st_nlink != 1)
    return error(Status::Input, {path}) << "external file has " << info.st_nlink << " hard links";
  return mapDescriptor(std::move(at), info, path, false);
}

void keepMappedFilesOpen() { OpenFiles::instance().isWanted = true; }

std::shared_ptr<const Storage> sharedCopyOf(const void *data, uint64_t size) {
  return SharedCopy::make(data, size);
}

std::optional<FilePlace> placeInFile(const void *data, uint64_t bytes) {
  return OpenFiles::instance().find(static_cast<const uint8_t *>(data), bytes);
}

std::string fileNameOf(const std::string &path) { return path.substr(path.rfind('/') + 1); }

Expected<> makeFolder(const std::string &path) {
  if (::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST)
    return {};
  return error(Status::Io, {path}) << "cannot make the folder: " << std::strerror(errno);
}

bool pathExists(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

bool isSameFile(const std::string &a, const std::string &b) {
  struct stat x, y;
  return ::stat(a.c_str(), &x) == 0 && ::stat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

std::string programFolder() {
  char buffer[4096];
  ssize_t size = ::readlink("/proc/self/exe", buffer, sizeof buffer);
  std::string path(buffer, size > 0 ? size : 0);
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

} // namespace bycc
