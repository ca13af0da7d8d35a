// The command lines of bycc and bycc-opt: Compiler/Options.def says which options there are,
// Support/OptionArguments how they are written.
#pragma once

#include "bycc/Driver/Options.h"

#include <string>
#include <vector>

namespace bycc::cli {

enum class Action : uint8_t {
  Compile,
  Optimise,
  Check,
  Inspect,
  Extract,
  Pattern,
  Reduce,
  PlanDiff,
  Verify,
  View,
  Explain,
  Libs,
  ListPasses,
  ListOps,
  ListOnnxOps,
  ListVendors,
  Exit
};

struct Parsed {
  Action action = Action::Compile;
  int exitCode = 0; // of Exit: help or version was printed, or the line was wrong
  Options options;
};

Parsed parseBycc(const std::vector<std::string> &arguments);
Parsed parseByccOpt(const std::vector<std::string> &arguments);

} // namespace bycc::cli
