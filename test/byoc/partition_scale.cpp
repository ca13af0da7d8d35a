// Time of parse (with inference), the partitioning passes and print of a program,
// with vendors that take turns:
//
//   partition_scale 1|2 FILE...       how many vendors
//
// Prints a line per file; test/bench/partition.py makes a table of many.

#include "bycc/IR/Printer.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Support/File.h"
#include "bycc/Target/VendorRegistry.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/resource.h>

using namespace bycc;

namespace {

const char *rules = R"json({"vendors": [
  {"name": "va", "ops": {"abs": {}, "nn.relu": {}, "add": {}, "nn.dense": {}},
   "patterns": [{"name": "va.relu_abs", "root": "nn.relu(abs(*))"},
                {"name": "va.add_relu", "root": "nn.relu(add(*, *))"}]},
  {"name": "vb", "ops": {"tanh": {}, "add": {}, "nn.relu": {}, "nn.softmax": {},
                         "transpose": {}}}], "mod_name": "m"})json";

VendorSet vendors(size_t count) {
  RuleSet set = readRules(rules, "rules").takeValue();
  VendorSet result;
  for (size_t i = 0; i < count; ++i)
    result.add(std::move(set.vendors[i].emulated));
  return result;
}

class Clock {
public:
  // Seconds since the last call.
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void measure(const std::string &file, size_t numVendors) {
  std::string text = readFile(file).takeValue();
  Clock clock;
  Expected<Module> module = parseRelay(text, file);
  if (!module) {
    std::fprintf(stderr, "%s", module.error().str().c_str());
    std::exit(1);
  }
  double parse = clock.lap(), total = parse;
  VendorSet set = vendors(numVendors);
  TargetInfo target;
  RefusalLog refusals;
  PassContext context;
  context.target = &target;
  context.vendors = &set;
  context.refusals = &refusals;
  std::printf("parse %.4f", parse);
  const std::pair<const char *, Expected<bool> (*)(Module &, PassContext &)> passes[] = {
      {"composite", mergeComposite},
      {"annotate", annotateTarget},
      {"choose", chooseVendors},
      {"merge", mergeCompilerRegions},
      {"prune", pruneRegions},
      {"partition", partitionGraph}};
  for (auto [passName, pass] : passes) {
    if (Expected<bool> done = pass(*module, context); !done) {
      std::fprintf(stderr, "%s", done.error().str().c_str());
      std::exit(1);
    }
    double seconds = clock.lap();
    total += seconds;
    std::printf(" %s %.4f", passName, seconds);
  }
  std::string printed = printModule(*module);
  double print = clock.lap();
  total += print;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(" print %.4f total %.4f regions %zu text_mb %zu peak_mb %ld\n", print, total,
              module->globals().size() - 1, printed.size() >> 20, usage.ru_maxrss >> 10);
}

} // namespace

int main(int argc, char **argv) {
  size_t numVendors = argc > 2 ? std::strtoul(argv[1], nullptr, 10) : 0;
  if (numVendors != 1 && numVendors != 2) {
    std::fprintf(stderr, "usage: partition_scale 1|2 FILE...\n");
    return 2;
  }
  for (int i = 2; i < argc; ++i)
    measure(argv[i], numVendors);
  return 0;
}
