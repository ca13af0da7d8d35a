// What bycc and bycc-opt are: they hold this call alone, everything else is in libbycc.

#include "Main.h"

#include "CommandLine.h"

#include "bycc/Driver/Driver.h"
#include "bycc/Support/Program.h"

#include <string_view>

using namespace bycc;

namespace {

int run(const cli::Parsed &parsed) {
  const Options &options = parsed.options;
  switch (parsed.action) {
  case cli::Action::Compile:
    return runApart(options, compileCommand);
  case cli::Action::Optimise:
    return runApart(options, optCommand);
  case cli::Action::Check:
    return runApart(options, checkCommand);
  case cli::Action::Inspect:
    return runApart(options, inspectCommand);
  case cli::Action::Extract:
    return runApart(options, extractCommand);
  case cli::Action::Pattern:
    return runApart(options, patternCommand);
  case cli::Action::Reduce:
    return runApart(options, reduceCommand);
  case cli::Action::PlanDiff:
    return planDiffCommand(options);
  case cli::Action::Verify:
    return runApart(options, verifyCommand);
  case cli::Action::View:
    return runApart(options, viewCommand);
  case cli::Action::Explain:
    return explainCommand(options);
  case cli::Action::Libs:
    return libsCommand(options);
  case cli::Action::ListPasses:
    return listPasses(options);
  case cli::Action::ListOps:
    return runApart(options, listOps); // vendors' code, too
  case cli::Action::ListOnnxOps:
    return listOnnxOps(options);
  case cli::Action::ListVendors:
    return runApart(options, listVendors);
  case cli::Action::Exit:
    break;
  }
  return parsed.exitCode;
}

} // namespace

int bycc_private_main(const char *program, int argc, char **argv) {
  return runProgram([&] {
    auto parse = program == std::string_view("bycc-opt") ? cli::parseByccOpt : cli::parseBycc;
    cli::Parsed parsed = parse({argv + 1, argv + argc});
    for (int i = 0; i < argc; ++i)
      parsed.options.commandLine += (i ? " " : "") + std::string(argv[i]);
    return run(parsed);
  });
}
