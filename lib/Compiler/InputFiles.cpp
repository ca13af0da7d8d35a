#include "bycc/Compiler/InputFiles.h"

#include <filesystem>

namespace bycc {

bool InputFiles::exists(const std::string &path) const {
  std::error_code failed;
  return isGiven(path) || std::filesystem::exists(path, failed);
}

Expected<std::shared_ptr<const Storage>> InputFiles::keep(std::shared_ptr<const Storage> storage,
                                                          const std::string &path) {
  mapped_.emplace_back(path, storage);
  return storage;
}

Expected<std::shared_ptr<const Storage>> InputFiles::map(const std::string &path) {
  if (auto found = given_.find(path); found != given_.end())
    return found->second;
  return keep(BYCC_TRY(mapFile(path)), path);
}

Expected<std::string> InputFiles::read(const std::string &path, uint64_t limit) {
  auto found = given_.find(path);
  if (found == given_.end())
    return readFile(path, limit);
  const Storage &bytes = *found->second;
  if (bytes.size() > limit)
    return error(Status::Limit, {path})
           << bytes.size() << " bytes, at most " << limit << " are read";
  return std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

Expected<std::shared_ptr<const Storage>> InputFiles::mapContained(const std::string &folder,
                                                                  const std::string &relative) {
  std::string path = folder.empty() || folder == "." ? relative : folder + "/" + relative;
  if (auto found = given_.find(path); found != given_.end())
    return found->second;
  return keep(BYCC_TRY(bycc::mapContained(folder, relative)), folder + "/" + relative);
}

std::vector<std::string> InputFiles::givenIn(const std::string &folder,
                                             std::string_view suffix) const {
  std::string prefix = folder.ends_with('/') ? folder : folder + "/";
  std::vector<std::string> found;
  for (auto it = given_.lower_bound(prefix); it != given_.end() && it->first.starts_with(prefix);
       ++it)
    if (it->first.ends_with(suffix) && it->first.find('/', prefix.size()) == std::string::npos)
      found.push_back(it->first);
  return found;
}

void InputFiles::restart() {
  mapped_.clear();
  recorded_.clear();
}

void InputFiles::record(const std::string &path) {
  if (!isGiven(path))
    recorded_.push_back(path);
}

void InputFiles::record(const std::vector<std::string> &paths) {
  for (const std::string &path : paths)
    record(path);
}

Expected<> InputFiles::checkUnchanged() const {
  for (const auto &[path, storage] : mapped_)
    if (storage->hasChanged())
      return error(Status::Io, {path}) << "the file was changed while it was read";
  return {};
}

} // namespace bycc
