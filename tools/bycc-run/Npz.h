// NumPy's .npz files: ZIP archives of .npy members, stored or deflated; written stored.
#pragma once

#include "Session.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bycc::run {

// Members of the archive by name without ".npy"; those that `wanted` does not hold are
// passed over. A malformed archive is Status::Input, an unreadable one Status::Io.
Expected<std::map<std::string, NpyArray>> readNpz(const std::string &path,
                                                  const std::vector<std::string> &wanted);

// One member for each output, into a file that is there (what it holds is replaced).
Expected<> writeNpz(const std::string &path, const std::vector<OutputView> &outputs);

} // namespace bycc::run
