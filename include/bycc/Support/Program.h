// What every program of ours does around its work.
#pragma once

#include <functional>
#include <string>

namespace bycc {

// The exit code of `work`. A program's standard streams are open, if only for writes to
// fail; mapped files are guarded (MappedFiles.h); output that is lost is error[IO] and
// exit code 1; no memory is error[LIMIT].
int runProgram(const std::function<int()> &work);

// `code`, or 1 with a message when some of the standard output was lost; where its reader
// has gone, the process ends by SIGPIPE, as programs do.
int finishOutput(int code);

// "signal 11 (Segmentation fault)"
std::string signalText(int signal);
// How a process ended, from its wait status: "crashed: signal 11 (Segmentation fault)",
// "ended the process with exit code 0".
std::string endText(int status, const std::string &whose = "the");

} // namespace bycc
