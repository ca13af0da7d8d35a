// What a command line asks for, as plain data. tools/cli fills it; the Driver
// acts on it. Names and meanings are those of the options.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bycc {

enum class InputFormat : uint8_t { Auto, Onnx, Relay, Json };

// --print-*: what is shown between passes.
struct PrintingOptions {
  std::vector<std::string> before, after; // pass names
  bool beforeAll = false, afterAll = false;
  bool changed = false, changedAsDiff = false;
  std::string directory;            // --ir-dump-directory
  int64_t elideConstants = -1;      // --elide-constants=N
};

// Which passes run, and how they are watched.
struct PassListOptions {
  int level = 2;                    // -O0 .. -O3
  std::optional<std::string> passes; // --passes=LIST
  std::vector<std::string> disabled, required;
  std::vector<std::pair<std::string, std::string>> runBefore, runAfter; // pass, new pass
  bool printPipeline = false, timePasses = false, stats = false, verifyEach = false;
  int64_t bisectLimit = -1;
  std::string timeTrace;       // -ftime-trace=F
  std::string crashReproducer; // --crash-reproducer=F
  PrintingOptions printing;
};

// Which vendors take what.
struct VendorOptions {
  std::optional<std::string> annotate; // --annotate=V1,V2
  std::vector<std::string> patterns, rules, plugins;
  std::vector<std::string> annotateOps, annotateSkipOps; // globs
  std::vector<std::pair<std::string, std::string>> pins; // node glob, vendor or "host"
  bool trustsHand = false; // --hand-annotations=trust
  int64_t minRegionOps = 0;
  double minRegionFlops = 0;
  std::string costModel; // "", none, static, measured
  std::optional<uint64_t> search; // --search=N: steps of the search for a plan
  std::string savePlan, plan;
  std::string tune; // --tune=FILE; "": no tuning
  double timeoutSeconds = 60; // --vendor-timeout: for one region
  bool explain = false;
  bool dumpOffloads = false;
  std::string dumpOffloadsFile; // "" = stdout
  bool strict = false;
  std::optional<std::string> minOffload; // "90%" or "90%ops"
  std::optional<int64_t> expectRegions;
};

struct TargetOptions {
  std::optional<std::string> triple, cpu, attributes; // --target, -mcpu, -mattr
  std::string precision = "f32";
  std::string precisionRules; // --precision-rules=FILE, "": those of bycc
  std::string nan = "keep";   // "fast": vendors' kernels may lose NaN
};

// The input and what is bound in it.
struct InputOptions {
  std::string model; // "-": standard input
  InputFormat format = InputFormat::Auto;
  std::vector<std::string> params;                           // --params=PATH
  std::vector<std::pair<std::string, std::string>> shapes;   // NAME, 1x3x224
  std::vector<std::pair<std::string, std::string>> dims;     // NAME, N
  std::map<std::string, int64_t> likely;                     // --likely, N >= 1
};

struct OutputOptions {
  std::optional<std::string> output; // -o
  std::vector<std::string> emit;     // empty: obj
  std::optional<std::string> moduleName;
  bool embedWeights = false;
  int threads = 0; // recorded default, 0 = none
  int jobs = 0;    // 0 = the CPUs allowed
  bool dependencies = false; // -MD
  std::optional<std::string> dependencyFile, dependencyTarget; // -MF, -MT
  bool phonyTargets = false;                                  // -MP
};

// bycc extract: the region to take out, and what the program is run with to record
// its inputs.
struct ExtractOptions {
  std::string region;                 // --region=SYMBOL
  std::string inputsFolder;           // --inputs=DIR
  std::optional<uint64_t> randomSeed; // --random[=SEED]
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

// bycc plan-diff: two files of --save-partition-plan.
struct PlanDiffOptions {
  std::string before, after;
};

struct Options {
  InputOptions input;
  PassListOptions passes;
  VendorOptions vendors;
  TargetOptions target;
  OutputOptions output;
  bool verbose = false, quiet = false;
  bool json = false; // inspect, --list-*
  std::string color = "auto";
  ExtractOptions extract;
  CheckOptions check;
  PatternOptions pattern;
  PlanDiffOptions planDiff;
  std::string commandLine; // for messages on how to reproduce a fault
};

} // namespace bycc
