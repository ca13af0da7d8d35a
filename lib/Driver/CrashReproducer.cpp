#include "CrashReproducer.h"

#include "bycc/Compiler.h"
#include "bycc/Support/ShellWord.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {
namespace {

// Is in the program or in the list of passes by now, or is of this run alone.
bool isDone(const std::string &option, const Checkpoint &checkpoint) {
  static constexpr std::string_view done[] = {
      "crash-reproducer", "passes", "disable-pass", "require-pass", "run-before", "run-after",
      "opt-bisect-limit", "x",      "params",       "shape",        "dim"};
  static constexpr std::string_view orders[] = {"pin", "annotate-ops", "annotate-skip-ops",
                                                "partition-plan"};
  auto has = [&](const auto &names) { return std::ranges::find(names, option) != std::end(names); };
  return has(done) || (!checkpoint.hasOrders && has(orders));
}

} // namespace

std::string reproducerText(const Options &options, const Checkpoint &checkpoint) {
  const std::string &file = options.watch.crashReproducer;
  std::string command = options.given.program + " " + shellWord(file);
  if (!file.ends_with(".relay"))
    command += " -x relay";
  command += " --passes=" + (checkpoint.passes.empty() ? "''" : shellWord(checkpoint.passes));
  for (const auto &[option, spelt] : options.given.options)
    if (!isDone(option, checkpoint))
      command += " " + shellWord(spelt);
  return "// The program before " +
         (checkpoint.next.empty() ? "host code was made" : "pass '" + checkpoint.next + "'") +
         ", after which bycc " + versionText() + " ended by a fault. To see it:\n" +
         "// RUN: " + escaped(command, command.size() * 4) + "\n" + checkpoint.program;
}

} // namespace bycc
