// Runs another program as a filter: text in, text out.
#pragma once

#include "bycc/Support/Error.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

struct ChildProgram {
  std::string program; // a path; it is not looked up in $PATH
  std::vector<std::string> arguments;
  double timeoutSeconds = 60;
  // Asked ten times a second while the program runs; false: it is ended, and run() gives
  // CANCELLED. Empty: it is not asked.
  std::function<bool()> proceed;
};

struct ChildOutput {
  std::string text;     // its standard output
  std::string messages; // the end of its standard error, 4 KiB at most
};

// The program gets `input` as its standard input, which is a file (in memory) like its
// outputs: neither side waits for the other. It is the head of a process group, which is
// ended with it when the time is over. ARG for a path that cannot be run; INPUT when it ends
// with another code than 0, does not end in time, or writes more than 2 GiB.
Expected<ChildOutput> runChildProgram(const ChildProgram &child, std::string_view input);

} // namespace bycc
