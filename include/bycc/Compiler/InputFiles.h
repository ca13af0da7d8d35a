// What a compilation reads: files of the file system, or bytes in memory in their place.
// Keeps what it has mapped, and knows whether any of it has changed since.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/Support/File.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace bycc {

class InputFiles {
public:
  using Given = std::map<std::string, std::shared_ptr<const Storage>>; // by path
  explicit InputFiles(const Given &given) : given_(given) {}

  bool isGiven(const std::string &path) const { return given_.contains(path); }
  bool exists(const std::string &path) const;
  // As mapFile(), readFile() and mapContained().
  Expected<std::shared_ptr<const Storage>> map(const std::string &path);
  Expected<std::string> read(const std::string &path, uint64_t limit = uint64_t{2} << 30);
  Expected<std::shared_ptr<const Storage>> mapContained(const std::string &folder,
                                                        const std::string &relative);
  // Given files directly in the folder whose names end so, sorted.
  std::vector<std::string> givenIn(const std::string &folder, std::string_view suffix) const;

  // The model is read (again): what was recorded and mapped for it before is forgotten.
  void restart();
  // Notes that a file was read; given ones are no files.
  void record(const std::string &path);
  void record(const std::vector<std::string> &paths);
  // In the order in which they were recorded.
  const std::vector<std::string> &recorded() const { return recorded_; }

  // IO when a file that was mapped has changed.
  Expected<> checkUnchanged() const;

private:
  Expected<std::shared_ptr<const Storage>> keep(std::shared_ptr<const Storage> storage,
                                                const std::string &path);

  const Given &given_;
  std::vector<std::pair<std::string, std::shared_ptr<const Storage>>> mapped_;
  std::vector<std::string> recorded_;
};

} // namespace bycc
