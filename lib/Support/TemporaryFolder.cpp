#include "bycc/Support/TemporaryFolder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace bycc {

Expected<TemporaryFolder> TemporaryFolder::make(const std::string &name) {
  const char *base = std::getenv("TMPDIR");
  std::string path = std::string(base && *base ? base : "/tmp") + "/bycc-" + name + "-XXXXXX";
  if (!::mkdtemp(path.data()))
    return error(Status::Io) << "cannot make the folder " << path << ": " << std::strerror(errno);
  TemporaryFolder folder;
  folder.path_ = path;
  return folder;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty())
    std::filesystem::remove_all(path_, ignored);
}

} // namespace bycc
