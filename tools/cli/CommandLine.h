// Command lines as clang and opt users expect them: long options take one dash
// or two, `--x=v` or `--x v`, the last one wins; a misspelt option is answered
// with the nearest. CLI11 does the parsing; argv is normalised for it first,
// since it reads `-mcpu=native` as `-m cpu=native`.
#pragma once

#include "bycc/Driver/Options.h"

#include <string>
#include <vector>

namespace bycc::cli {

enum class Action : uint8_t { Compile, Check, Inspect, Extract, Pattern, PlanDiff, ListPasses, ListOps, ListOnnxOps, ListVendors, Exit };

struct Parsed {
  Action action = Action::Compile;
  int exitCode = 0; // of Exit: help or version was printed, or the line was wrong
  Options options;
};

Parsed parseBycc(const std::vector<std::string> &arguments);
Parsed parseByccOpt(const std::vector<std::string> &arguments);

} // namespace bycc::cli
