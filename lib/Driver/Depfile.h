// -MD: a dependency file for Make and Ninja.
#pragma once

#include <span>
#include <string>

namespace bycc {

// "target: file file ...", names escaped as Make reads them; with `phony` an
// empty rule for each file but the first.
std::string dependencyFile(const std::string &target, std::span<const std::string> files,
                           bool phony);

} // namespace bycc
