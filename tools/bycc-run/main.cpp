// bycc-run: load a compiled model and run, compare, time or profile it. Links the
// runtime only: no compiler, no LLVM.
#include "Batch.h"
#include "Bench.h"
#include "CheckNan.h"
#include "CommandLine.h"
#include "Session.h"
#include "Tensors.h"

#include "bycc/Support/Messages.h"
#include "bycc/Support/OutputSync.h"
#include "bycc/Support/Program.h"

#include <csignal>
#include <cstdio>

using namespace bycc;
using namespace bycc::run;

namespace {

void printLog(void *, int32_t, const char *text) { std::fprintf(stderr, "%s\n", text); }
void printWarnings(void *, int32_t level, const char *text) {
  if (level <= 1)
    std::fprintf(stderr, "warning: %s\n", text);
}

// All outputs are measured before the first one that differs fails the run.
Expected<> compare(const std::vector<OutputView> &outputs, const Options &options) {
  std::vector<Comparison> comparisons =
      BYCC_TRY(compareOutputs(outputs, options.expectedFolder, options.rtol, options.atol));
  const Comparison *different = nullptr;
  for (const Comparison &comparison : comparisons) {
    if (!options.quiet)
      std::fprintf(stderr, "%s\n", comparison.text().c_str());
    if (comparison.wouldZerosAgree)
      std::fprintf(stderr,
                   "warning: output '%s': zeros would agree as well: what is expected is smaller "
                   "than the tolerance; give a smaller --atol\n",
                   comparison.name.c_str());
    if (!different && comparison.differing > 0)
      different = &comparison;
  }
  if (different)
    return error(Status::Differs, {different->file}).as(MessageId::ResultsDiffer)
           << different->difference;
  if (!options.quiet)
    std::fprintf(stderr, "%zu output%s with %s\n", outputs.size(),
                 outputs.size() == 1 ? " agrees" : "s agree", options.expectedFolder.c_str());
  return {};
}

Expected<> useOutputs(Session &session, const Options &options) {
  std::vector<OutputView> outputs = BYCC_TRY(session.outputs());
  if (options.printCount)
    for (const OutputView &output : outputs)
      std::fputs(printed(output, *options.printCount).c_str(), stdout);
  if (!options.outputsFolder.empty())
    BYCC_TRY(writeOutputs(outputs, options.outputsFolder));
  if (options.expectedFolder.empty())
    return {};
  return compare(outputs, options);
}

Expected<> execute(const Options &options) {
  if (!options.quiet)
    bycc_set_log(options.verbose ? printLog : printWarnings, nullptr);
  // Never taken apart: the process ends with it, and vendors' primitives take milliseconds.
  static Session &session = *new Session;
  double begin = millisecondsNow();
  BYCC_TRY(session.load(options));
  double loadMs = millisecondsNow() - begin;
  if (!options.batchFolder.empty())
    return runBatch(session, options);
  BYCC_TRY(session.bindInputs(options));
  BYCC_TRY(options.checkNan ? checkNan(session) : session.run());
  BYCC_TRY(useOutputs(session, options));
  if (options.bench)
    BYCC_TRY(bench(session, options, loadMs));
  if (options.profile)
    BYCC_TRY(profile(session, options));
  return {};
}

int runModel(int argc, char **argv) {
  Parsed parsed = parseCommandLine({argv + 1, argv + argc});
  if (parsed.exitCode)
    return *parsed.exitCode;
  Expected<> result = execute(parsed.options);
  if (result)
    return 0;
  std::fputs(result.error().str().c_str(), stderr);
  return exitCode(result.error().status());
}

} // namespace

int main(int argc, char **argv) {
  std::signal(SIGPIPE, SIG_IGN); // a closed stdout is an error of ours to report
  std::signal(SIGXFSZ, SIG_IGN); // so is a file that may not grow
  setOutputsSynced(false);
  bycc_guard_files();
  return runProgram([&] { return runModel(argc, argv); });
}
