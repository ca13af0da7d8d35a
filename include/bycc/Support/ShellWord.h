#pragma once

#include <string>

namespace bycc {

// A word of a command line as a POSIX shell reads it: in quotes where it needs them.
std::string shellWord(const std::string &word);

} // namespace bycc
