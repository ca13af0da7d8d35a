// What every program of ours does around its work.
#pragma once

#include <functional>

namespace bycc {

// The exit code of `work`. A program's standard streams are open, if only for writes to
// fail; mapped files are guarded (MappedFiles.h); output that is lost is error[IO] and
// exit code 1; no memory is error[LIMIT].
int runProgram(const std::function<int()> &work);

// `code`, or 1 with a message when some of the standard output was lost.
int finishOutput(int code);

} // namespace bycc
