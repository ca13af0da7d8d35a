// Time of parse (with inference), the partitioning passes and print of a program,
// with vendors that take turns:
//
//   partition_scale [--costs] 1|2 FILE...       how many vendors
//
// With --costs the vendors and the host have costs, and the plan of least time is
// looked for: a launch takes as long as some operators on the host.
// Prints a line per file; test/bench/partition.py makes a table of many.

#include "bycc/IR/Printer.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Support/File.h"
#include "bycc/Target/Cost.h"
#include "bycc/Target/VendorRegistry.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <sys/resource.h>

using namespace bycc;

namespace {

// Before each next piece is where a vendor's costs go.
const char *const rules[] = {
    R"json({"vendors": [{"name": "va",
      "ops": {"abs": {}, "nn.relu": {}, "add": {}, "nn.dense": {}},
      "patterns": [{"name": "va.relu_abs", "root": "nn.relu(abs(*))"},
                   {"name": "va.add_relu", "root": "nn.relu(add(*, *))"}])json",
    R"json(}, {"name": "vb", "ops": {"tanh": {}, "add": {}, "nn.relu": {}, "nn.softmax": {},
                                    "transpose": {}})json",
    R"json(}], "mod_name": "m"})json"};
const char *const costs[] = {
    R"json(, "cost": {"launch_us": 5, "gflops": 20, "gb_per_s": 40, "transfer_us": 0.2,
                      "transfer_gb_per_s": 50})json",
    R"json(, "cost": {"launch_us": 8, "gflops": 60, "gb_per_s": 30})json"};

VendorSet vendors(size_t count, bool hasCosts) {
  std::string text;
  for (size_t i = 0; i < std::size(rules); ++i)
    text += std::string(i > 0 && hasCosts ? costs[i - 1] : "") + rules[i];
  RuleSet set = readRules(text, "rules").takeValue();
  VendorSet result;
  for (size_t i = 0; i < count; ++i)
    result.add(std::move(set.vendors[i].emulated));
  return result;
}

CostModel hostCosts() {
  CostModel model;
  model.launchMicroseconds = 4;
  model.rates = {5000, 20000};
  return model;
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

void measure(const std::string &file, size_t numVendors, bool hasCosts) {
  std::string text = readFile(file).takeValue();
  Clock clock;
  Expected<Module> module = parseRelay(text, file);
  if (!module) {
    std::fprintf(stderr, "%s", module.error().str().c_str());
    std::exit(1);
  }
  double parse = clock.lap(), total = parse;
  VendorSet set = vendors(numVendors, hasCosts);
  CostModel hostCost = hostCosts();
  TargetInfo target;
  RefusalLog refusals;
  PassContext context;
  context.target = &target;
  context.vendors = &set;
  context.refusals = &refusals;
  context.hostCost = hasCosts ? &hostCost : nullptr;
  context.choosesPlan = true;
  std::printf("parse %.4f", parse);
  const std::pair<const char *, Expected<bool> (*)(Module &, PassContext &)> passes[] = {
      {"composite", mergeComposite},
      {"annotate", annotateTarget},
      {"choose", choosePlan},
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
  bool hasCosts = argc > 1 && std::string(argv[1]) == "--costs";
  int first = hasCosts ? 2 : 1;
  size_t numVendors = argc > first + 1 ? std::strtoul(argv[first], nullptr, 10) : 0;
  if (numVendors != 1 && numVendors != 2) {
    std::fprintf(stderr, "usage: partition_scale [--costs] 1|2 FILE...\n");
    return 2;
  }
  for (int i = first + 1; i < argc; ++i)
    measure(argv[i], numVendors, hasCosts);
  return 0;
}
