// bycc-opt: passes only, Relay text in, Relay text out.

#include "../cli/CommandLine.h"
#include "bycc/Driver/Driver.h"
#include "bycc/Support/Program.h"

using namespace bycc;

static int run(int argc, char **argv) {
  cli::Parsed parsed = cli::parseByccOpt({argv + 1, argv + argc});
  for (int i = 0; i < argc; ++i)
    parsed.options.commandLine += (i ? " " : "") + std::string(argv[i]);
  switch (parsed.action) {
  case cli::Action::ListPasses: return listPasses(parsed.options);
  case cli::Action::ListOps: return listOps(parsed.options);
  case cli::Action::ListOnnxOps: return listOnnxOps(parsed.options);
  case cli::Action::ListVendors: return listVendors(parsed.options);
  case cli::Action::Exit: return parsed.exitCode;
  default:
    return runApart(parsed.options, optCommand);
  }
}

int main(int argc, char **argv) {
  return runProgram([&] { return run(argc, argv); });
}
