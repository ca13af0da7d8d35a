// Files: whole reads with limits, read-only mappings, and outputs that appear
// all at once or not at all.
#pragma once

#include "bycc/Support/Error.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

// Bytes that stay put and alive: a mapped file or a heap block. Shared by
// counting; never changed after it is made.
class Storage {
public:
  virtual ~Storage() = default;
  const uint8_t *data() const { return data_; }
  uint64_t size() const { return size_; }
  // False when the file behind a watched mapping has become shorter, so that
  // reading its end would fault, or when it has (see MappedFiles.h).
  virtual bool isWhole() const { return true; }
  // Pages of a mapped file may be given back and read again.
  virtual bool isMapped() const { return false; }
  // The file of the mapping has another content now than when it was mapped.
  virtual bool hasChanged() const { return false; }
  static std::shared_ptr<const Storage> copyOf(const void *data, uint64_t size);
  static std::shared_ptr<const Storage> own(std::vector<uint8_t> bytes);
  static std::shared_ptr<const Storage> own(std::string bytes);
  // Bytes of somebody else's that `owner` keeps alive; null: they outlive the storage.
  static std::shared_ptr<const Storage> viewOf(const void *data, uint64_t size,
                                               std::shared_ptr<const void> owner = nullptr);

protected:
  const uint8_t *data_ = nullptr;
  uint64_t size_ = 0;
};

// Maps a regular file read-only. Directories, FIFOs and devices are Status::Io.
// `watch` keeps the file open for isWhole().
Expected<std::shared_ptr<const Storage>> mapFile(const std::string &path, bool watch = false);
// Reads a regular file ("-": standard input) of at most `limit` bytes (Status::Limit).
Expected<std::string> readFile(const std::string &path, uint64_t limit = uint64_t{2} << 30);
// Opens `relative` below `folder` for mapping. Absolute paths, "..", symlinks on
// the way, hard links, devices and names with NUL are Status::Input.
Expected<std::shared_ptr<const Storage>> mapContained(const std::string &folder,
                                                      const std::string &relative);

struct WrittenOutput; // OutputCommitter.h

// What stands in for mapContained() where files need not be on the disk.
using OpenContainedFn = std::function<Expected<std::shared_ptr<const Storage>>(
    const std::string &folder, const std::string &relative)>;

// A set of files that replace their targets together: each is written to a
// temporary beside its target, then all are synced and renamed. Dropped without
// commit(), or killed by SIGINT/SIGTERM, it leaves nothing.
//
// A set with an id has a point at which it becomes valid: the rename of the file `first`,
// which holds the id. A reader of that file takes stagedPath() for a file of the set
// where there is one: the process that was to rename it may have been killed.
class OutputSet {
public:
  explicit OutputSet(std::string id = "");
  OutputSet(const OutputSet &) = delete;
  OutputSet &operator=(const OutputSet &) = delete;
  ~OutputSet();
  Expected<> add(const std::string &path, std::string_view bytes);
  // For large files: several pieces in order.
  Expected<> add(const std::string &path, const std::vector<std::string_view> &pieces);
  // As add(), where the file `same` holds these bytes: it gets a second name if it can have one,
  // else they are written.
  Expected<> addSame(const std::string &path, const std::string &same,
                     const std::vector<std::string_view> &pieces);
  Expected<> commit(const std::string &first = "");
  static std::string stagedPath(const std::string &path, const std::string &id);

private:
  struct Impl;
  friend Expected<> commitOutputs(const std::vector<WrittenOutput> &outputs);
  std::unique_ptr<Impl> impl_;
};

// What follows the last '/'; "" for a folder written with one.
std::string fileNameOf(const std::string &path);
// A name for a temporary file in the folder of `target`, that no other call gets, in whatever process.
std::string temporaryPath(const std::string &target);
// A folder that is there is as good as one that is made.
Expected<> makeFolder(const std::string &path);
bool pathExists(const std::string &path);
// All of the bytes, however often it takes. `path`: for messages.
Expected<> writeAll(int fd, std::string_view bytes, const std::string &path);

// True when both name the same existing file.
bool isSameFile(const std::string &a, const std::string &b);
// Folder of the running program, without a trailing slash.
std::string programFolder();

} // namespace bycc
