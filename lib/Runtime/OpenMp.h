// OpenMP as the program has it. A program that is linked with an OpenMP library has
// threads already, and vendors' libraries on OpenMP run on these: host code does, too,
// so that there is one pool. Other programs have none, and the runtime has crews.
#pragma once

namespace bycc::runtime {

struct OpenMp {
  void (*parallel)(void (*task)(void *), void *closure, unsigned threads, unsigned flags);
  void (*barrier)();
  int (*maxThreads)();
  void (*setThreads)(int threads);
  int (*numThreads)();
  int (*threadNumber)();
  int (*isInParallel)();
};

// Null when the program has none; asked once per process.
const OpenMp *openMpOfProgram();

} // namespace bycc::runtime
