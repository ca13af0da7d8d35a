// Kernels and the schedules that a file has for them. Lines of the file that follow from the
// schedule have to be as they are printed, with the schedule of the file or with that which is
// chosen without it: what cannot be changed is not passed over in silence.
#include "bycc/Loops/Scheduler.h"

#include "bycc/Loops/PrintLoops.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstdio>

namespace bycc::loops {
namespace {

std::string hexOf(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

bool hasLine(const std::string &text, const std::string &wanted) {
  for (const std::string &line : split(text, '\n'))
    if (size_t begin = line.find_first_not_of(' ');
        begin != std::string::npos && std::string_view(line).substr(begin) == wanted)
      return true;
  return false;
}

// Of a line "strips NAME PARTS FINGERPRINT...": names depend on that of the module.
std::string withoutName(const std::string &line) {
  size_t name = line.find(' '), rest = name == std::string::npos ? name : line.find(' ', name + 1);
  return rest == std::string::npos ? line : line.substr(rest);
}

} // namespace

Expected<> Scheduler::readFile(const std::string &file, std::string_view text) {
  file_ = BYCC_TRY(ScheduleFile::read(file, text));
  return {};
}

Expected<KernelCode> Scheduler::run(const std::string &name, Kernel kernel,
                                    const std::string &fingerprint, bool isOfStrips) {
  KernelCode code{name, hexOf(hashText(fingerprint, isOfStrips)), {}, std::nullopt, isOfStrips};
  KernelEdits *edits = file_ ? file_->find(code.fingerprint) : nullptr;
  if (!edits) {
    code.loops = BYCC_TRY(schedule(std::move(kernel), target_, isOfStrips));
    return code;
  }
  KernelCode chosen = code;
  chosen.loops = BYCC_TRY(schedule(kernel, target_, isOfStrips));
  edits->restart();
  code.loops = BYCC_TRY(schedule(std::move(kernel), target_, isOfStrips, edits));
  std::string printed = printKernel(chosen) + printKernel(code);
  for (const KernelEdits::Line &line : edits->others)
    if (!hasLine(printed, line.text))
      return (error(Status::Input, edits->at(line.number))
              << "not as it is printed for this kernel: '" << escaped(line.text) << "'")
          .note("lines that begin with 'schedule' can be changed, the others follow from them and "
                "may be left out");
  return code;
}

Expected<std::vector<Diagnostic>> Scheduler::check(const std::vector<KernelCode> &kernels,
                                                   const std::vector<std::string> &strips) const {
  std::vector<Diagnostic> warnings;
  if (!file_)
    return warnings;
  for (const KernelEdits::Line &line : file_->strips)
    if (std::ranges::find(strips, withoutName(line.text), withoutName) == strips.end())
      return (error(Status::Input, {file_->name, line.number, 0, {}, {}})
              << "not as it is printed for this program: '" << escaped(line.text) << "'")
          .note("strips are chosen for the program, and cannot be changed by a file");
  for (const auto &[fingerprint, edits] : file_->kernels)
    if (std::ranges::find(kernels, fingerprint, &KernelCode::fingerprint) == kernels.end()) {
      Diagnostic warning;
      warning.location = edits.at(edits.firstLine);
      warning.message = "no kernel of the program has the fingerprint " + fingerprint;
      warnings.push_back(std::move(warning));
    }
  return warnings;
}

} // namespace bycc::loops
