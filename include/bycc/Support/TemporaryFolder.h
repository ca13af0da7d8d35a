// A folder of this process, in $TMPDIR or /tmp, gone with its contents at the end.
#pragma once

#include "bycc/Support/Error.h"

#include <string>

namespace bycc {

class TemporaryFolder {
public:
  // "bycc-NAME-XXXXXX". IO errors.
  static Expected<TemporaryFolder> make(const std::string &name);
  TemporaryFolder(TemporaryFolder &&other) noexcept : path_(std::exchange(other.path_, "")) {}
  ~TemporaryFolder();
  std::string file(const std::string &name) const { return path_ + "/" + name; }

private:
  TemporaryFolder() = default;
  std::string path_;
};

} // namespace bycc
