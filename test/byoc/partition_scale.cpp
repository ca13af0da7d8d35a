// Time per operator of parse, the partitioning passes and print on generated
// graphs with alternating vendor support:
//
//   partition_scale [chain|ladder|wide|random|layers] COUNT...
//
// Prints a table; time per operator should not grow with the count.

#include "bycc/IR/Printer.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Partition/OffloadReport.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Target/VendorRegistry.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <sys/resource.h>

using namespace bycc;

namespace {

constexpr const char *unary[] = {"abs", "nn.relu", "tanh", "sigmoid", "exp"};

std::string name(uint32_t index) { return "%" + std::to_string(index); }

// Operand of statement `i`, chosen by the shape of the graph.
std::string statement(const std::string &shape, uint32_t i, std::mt19937 &random) {
  auto before = [&](uint32_t back) { return i >= back ? name(i - back) : std::string("%x"); };
  std::string op = unary[i % 5];
  if (shape == "chain")
    return op + "(" + before(1) + ")";
  if (shape == "wide")
    return i % 2 ? "add(" + before(1) + ", " + before(2) + ")" : op + "(%x)";
  if (shape == "ladder")
    return i % 2 ? op + "(" + before(2) + ")" : "add(" + before(1) + ", " + before(2) + ")";
  if (shape == "random") {
    uint32_t back = 1 + random() % 20;
    return random() % 2 ? op + "(" + before(back) + ")"
                        : "add(" + before(1 + random() % 20) + ", " + before(back) + ")";
  }
  // Like a transformer: blocks of ten with a residual connection.
  return i % 10 == 9 ? "add(" + before(1) + ", " + before(9) + ")" : op + "(" + before(1) + ")";
}

std::string program(const std::string &shape, uint32_t count) {
  std::mt19937 random(1);
  const char *type = "Tensor[(4, 4), float32]";
  std::string text = std::string("#[version = \"0.0.5\"]\ndef @main(%x: ") + type + ") -> " +
                     type + " {\n";
  for (uint32_t i = 0; i < count; ++i)
    text += name(i) + " = " + statement(shape, i, random) + ";\n";
  return text + name(count - 1) + "\n}\n";
}

const char *rules = R"json({"vendors": [
  {"name": "va", "ops": {"abs": {}, "nn.relu": {}, "add": {}},
   "patterns": [{"name": "va.relu_abs", "root": "nn.relu(abs(*))"},
                {"name": "va.add_relu", "root": "nn.relu(add(*, *))"}]},
  {"name": "vb", "ops": {"tanh": {}, "add": {}, "nn.relu": {}}}], "mod_name": "m"})json";

VendorSet vendors() {
  RuleSet set = readRules(rules, "rules").takeValue();
  VendorSet result;
  for (RuleSet::Entry &entry : set.vendors)
    result.add(std::move(entry.emulated));
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

void measure(const std::string &shape, uint32_t count) {
  std::string text = program(shape, count);
  Clock clock;
  Expected<Module> module = parseRelay(text, "graph.relay");
  if (!module) {
    std::fprintf(stderr, "%s", module.error().str().c_str());
    std::exit(1);
  }
  double parse = clock.lap(), total = parse;
  VendorSet set = vendors();
  TargetInfo target;
  RefusalLog refusals;
  PassContext context;
  context.target = &target;
  context.vendors = &set;
  context.refusals = &refusals;
  std::printf("%-7s %8u  parse %6.3f", shape.c_str(), count, parse);
  const std::pair<const char *, Expected<bool> (*)(Module &, PassContext &)> passes[] = {
      {"composite", mergeComposite},
      {"annotate", annotateTarget},
      {"merge", mergeCompilerRegions},
      {"partition", partitionGraph}};
  for (auto [passName, pass] : passes) {
    if (Expected<bool> done = pass(*module, context); !done) {
      std::fprintf(stderr, "%s", done.error().str().c_str());
      std::exit(1);
    }
    double seconds = clock.lap();
    total += seconds;
    std::printf("  %s %6.3f", passName, seconds);
  }
  size_t bytes = printModule(*module).size();
  double print = clock.lap();
  total += print;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("  print %6.3f (%zu MB)  total %6.3f s, %5.2f us/op, %zu regions, peak %ld MB\n",
              print, bytes >> 20, total, total * 1e6 / count, module->globals().size() - 1,
              usage.ru_maxrss >> 10);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: partition_scale chain|ladder|wide|random|layers COUNT...\n");
    return 2;
  }
  for (int i = 2; i < argc; ++i)
    measure(argv[1], static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10)));
  return 0;
}
