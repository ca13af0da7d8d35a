// bycc: model in, object file and graph JSON out.

#include "../cli/CommandLine.h"
#include "bycc/Driver/Driver.h"
#include "bycc/Support/Program.h"

using namespace bycc;

static int run(int argc, char **argv) {
  cli::Parsed parsed = cli::parseBycc({argv + 1, argv + argc});
  for (int i = 0; i < argc; ++i)
    parsed.options.commandLine += (i ? " " : "") + std::string(argv[i]);
  switch (parsed.action) {
  case cli::Action::Compile:
    return runApart(parsed.options, compileCommand);
  case cli::Action::Check:
    return runApart(parsed.options, checkCommand);
  case cli::Action::Inspect:
    return runApart(parsed.options, inspectCommand);
  case cli::Action::Extract:
    return runApart(parsed.options, extractCommand);
  case cli::Action::Pattern: return runApart(parsed.options, patternCommand);
  case cli::Action::PlanDiff: return planDiffCommand(parsed.options);
  case cli::Action::ListPasses: return listPasses(parsed.options);
  case cli::Action::ListOps: return runApart(parsed.options, listOps); // vendors' code, too
  case cli::Action::ListOnnxOps: return listOnnxOps(parsed.options);
  case cli::Action::ListVendors: return runApart(parsed.options, listVendors);
  case cli::Action::Exit: break;
  }
  return parsed.exitCode;
}

int main(int argc, char **argv) {
  return runProgram([&] { return run(argc, argv); });
}
