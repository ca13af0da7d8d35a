// What a command line asks for, as plain data: what the compiler is asked for
// (Compiler/CompileRequest.h), and what commands do beside it. tools/cli fills it, as
// Compiler/Options.def says; the Driver acts on it. Names and meanings are those of the options.
#pragma once

#include "bycc/Compiler/CompileRequest.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bycc {

// What is shown of the compiler at work.
struct WatchOptions {
  bool printPipeline = false;
  std::string timeTrace;       // -ftime-trace=F
  std::string crashReproducer; // --crash-reproducer=F
};

// Where everything went, and what is made of it.
struct PlacementOutput {
  bool explain = false;
  bool dumpOffloads = false;
  std::string dumpOffloadsFile;          // "" = stdout
  std::string savePlan;                  // --save-partition-plan=F
  std::optional<std::string> minOffload; // "90%" or "90%ops"
  std::optional<int64_t> expectRegions;
};

struct OutputOptions {
  std::optional<std::string> output;                           // -o
  std::vector<std::string> emit;                               // empty: obj
  bool dependencies = false;                                   // -MD
  std::optional<std::string> dependencyFile, dependencyTarget; // -MF, -MT
  bool phonyTargets = false;                                   // -MP
};

// bycc extract: the region to take out, and what the program is run with to record
// its inputs. bycc verify runs with these inputs, too.
struct ExtractOptions {
  std::string region;                 // --region=SYMBOL
  std::string inputsFolder;           // --inputs=DIR
  std::optional<uint64_t> randomSeed; // --random[=SEED]
};

// bycc verify.
struct VerifyOptions {
  std::string against = "-O0"; // "host", or a folder of expected outputs
  double rtol = 1e-3, atol = 1e-5;
};

// bycc check.
struct CheckOptions {
  bool prices = false;    // --prices: what refusals cost
  std::string pricesFile; // "" = stdout
};

// bycc pattern.
struct PatternOptions {
  std::vector<std::string> nodes; // --nodes: names, with * and ?, and ranges A..B
  std::string vendor, name;       // --vendor, --name
  bool check = false;             // --check: where else it matches
};

// bycc reduce.
struct ReduceOptions {
  std::string script;             // --script=FILE
  std::optional<int64_t> maxRuns; // --max-runs=N
};

// bycc plan-diff: two files of --save-partition-plan.
struct PlanDiffOptions {
  std::string before, after;
};

// A list that is printed instead.
enum class Listing : uint8_t { None, Passes, Ops, OnnxOps, Vendors };

// The command line as it was given, word by word.
struct GivenLine {
  std::string program; // with the command: "bycc", "bycc extract"
  std::vector<std::pair<std::string, std::string>> options; // name, as it is written
};

struct Options : CompileOptions {
  WatchOptions watch;
  PlacementOutput placement;
  OutputOptions output;
  bool verbose = false, quiet = false;
  bool json = false; // inspect, --list-*
  std::string color = "auto";
  std::string diagnosticsFormat = "text"; // json, sarif
  Listing listing = Listing::None;
  bool libs = false, libsAreStatic = false; // --libs[=static]
  bool help = false, helpAll = false, version = false;
  std::string planned; // what was asked for and does not exist yet, and what there is instead
  std::string text;    // --print-text: "man", or a shell
  ExtractOptions extract;
  VerifyOptions verify;
  CheckOptions check;
  PatternOptions pattern;
  ReduceOptions reduce;
  PlanDiffOptions planDiff;
  std::vector<std::string> explained; // numbers of messages, or statuses
  GivenLine given;
  std::string commandLine; // for messages on how to reproduce a fault
};

} // namespace bycc
