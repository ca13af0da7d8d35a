// Kernels with their loops, whose schedules are chosen, or taken from a file.
#pragma once

#include "bycc/Loops/Loops.h"
#include "bycc/Loops/ScheduleEdits.h"

namespace bycc::loops {

struct KernelCode {
  std::string name;
  std::string fingerprint; // of what it computes: 16 hexadecimal digits
  Loops loops;
  std::optional<Kernel> source = {}; // before it was scheduled, where strips may be made of it
  bool isOfStrips = false;           // runs on one thread, whose number is its last argument
};

// Makes the code of kernels: with schedules as a file has them, or as they are chosen.
class Scheduler {
public:
  explicit Scheduler(const TargetInfo &target) : target_(target) {}
  // INPUT: what is no schedule.
  Expected<> readFile(const std::string &file, std::string_view text);
  Expected<KernelCode> run(const std::string &name, Kernel kernel, const std::string &fingerprint,
                           bool isOfStrips);
  // Of the file: strips that are not those of the program, as printed, are an error; kernels that
  // it does not have are warned of.
  Expected<std::vector<Diagnostic>> check(const std::vector<KernelCode> &kernels,
                                          const std::vector<std::string> &strips) const;

private:
  const TargetInfo &target_;
  std::optional<ScheduleFile> file_;
};

} // namespace bycc::loops
