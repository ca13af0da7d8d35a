// Random programs through the passes: each step leaves a valid program that
// means the same, repeats no operator, prints and parses to itself,
// and does nothing when run again. A failing program is shrunk by trying smaller
// sizes of the same seed. More seeds: BYCC_SEEDS=10000 unit-Partition.

#include "RandomProgram.h"

#include "bycc/Eval/Eval.h"
#include "bycc/IR/Infer.h"
#include "bycc/IR/Op.h"
#include "bycc/IR/Printer.h"
#include "bycc/IR/Verifier.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Partition/Passes.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

using namespace bycc;

namespace {

using PassList = std::vector<std::pair<const char *, Expected<bool> (*)(Module &, PassContext &)>>;

const PassList passes = {{"merge-composite", mergeComposite},
                         {"annotate-target", annotateTarget},
                         {"choose-vendors", chooseVendors},
                         {"merge-compiler-regions", mergeCompilerRegions},
                         {"prune-regions", pruneRegions},
                         {"partition-graph", partitionGraph}};

std::map<std::string, int> countOps(const Module &module) {
  std::map<std::string, int> count;
  for (FunctionId function : module.globals())
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      if (module.node(node).kind == NodeKind::CallOp)
        ++count[std::string(opInfo(module.node(node).op).name)];
    });
  return count;
}

// What is there more often than before. Less often is fine: a field of a tuple
// that nobody projects is dead.
std::string repeated(std::map<std::string, int> was, std::map<std::string, int> is) {
  std::string text;
  for (const auto &[op, count] : is)
    if (count > was[op])
      text += " " + op + " " + std::to_string(was[op]) + " -> " + std::to_string(count);
  return text;
}

std::vector<Tensor> inputs(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> result;
  double flag = seed % 2;
  result.push_back(Tensor::fromDoubles(DType::Bool, {}, std::span(&flag, 1)).takeValue());
  for (int i = 0; i < 2; ++i) {
    std::vector<double> values(8);
    for (double &value : values)
      value = static_cast<double>(random() % 64) / 16 - 2;
    result.push_back(Tensor::fromDoubles(DType::Float32, {2, 4}, values).takeValue());
  }
  return result;
}

bool isSame(const Tensor &a, const Tensor &b) {
  if (a.dtype != b.dtype || a.shape != b.shape)
    return false;
  return std::memcmp(a.bytes.get(), b.bytes.get(), static_cast<size_t>(a.sizeBytes())) == 0;
}

std::string compare(const Module &before, const Module &after, uint32_t seed) {
  std::vector<Tensor> given = inputs(seed);
  Expected<std::vector<Tensor>> want = evaluate(before, before.main(), given);
  Expected<std::vector<Tensor>> got = evaluate(after, after.main(), given);
  if (!want || !got)
    return "evaluation fails: " + (want ? got.error() : want.error()).str();
  if (want->size() != got->size())
    return "another number of results";
  for (size_t i = 0; i < want->size(); ++i)
    if (!isSame((*want)[i], (*got)[i]))
      return "result " + std::to_string(i) + " differs";
  return {};
}

std::string runPass(const char *name, Expected<bool> (*pass)(Module &, PassContext &),
                    Module &module, PassContext &context) {
  Expected<bool> done = pass(module, context);
  if (!done)
    return std::string(name) + ": " + done.error().str();
  if (Expected<> verified = verify(module); !verified)
    return std::string("after ") + name + ": " + verified.error().str();
  std::string text = printModule(module);
  Expected<bool> again = pass(module, context);
  if (!again)
    return std::string(name) + " again: " + again.error().str();
  if (*again || printModule(module) != text)
    return std::string(name) + " changes something when run again";
  return {};
}

// Why the program fails, or nothing.
std::string check(uint32_t seed, uint32_t size, std::string *printed = nullptr) {
  std::string source = cases::randomProgram(seed, size);
  if (printed)
    *printed = source;
  Expected<Module> before = parseRelay(source, "random.relay"),
                   module = parseRelay(source, "random.relay");
  if (!before)
    return before.error().str();
  for (FunctionId function : before->globals())
    removeDeadNodes(*before, function, true);
  VendorSet vendors = cases::randomVendors(seed, 1 + seed % 4);
  TargetInfo target;
  RefusalLog refusals;
  PassContext context;
  context.target = &target;
  context.vendors = &vendors;
  context.refusals = &refusals;
  context.minRegionOps = seed % 3; // 2 takes composites apart again
  for (auto [name, pass] : passes)
    if (std::string failure = runPass(name, pass, *module, context); !failure.empty())
      return failure;
  std::string text = printModule(*module);
  if (printed)
    *printed += "\n=>\n" + text;
  if (std::string ops = repeated(countOps(*before), countOps(*module)); !ops.empty())
    return "operators are repeated:" + ops;
  Expected<Module> parsed = parseRelay(text, "printed.relay");
  if (!parsed)
    return "printed program: " + parsed.error().str();
  if (printModule(*parsed) != text)
    return "printed program prints otherwise";
  return compare(*before, *module, seed);
}

} // namespace

TEST_CASE("random programs") {
  const char *text = std::getenv("BYCC_SEEDS");
  uint32_t seeds = text ? static_cast<uint32_t>(std::atoi(text)) : 300;
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    uint32_t size = 4 + seed % 37;
    if (check(seed, size).empty())
      continue;
    for (uint32_t smaller = 1; smaller < size; ++smaller)
      if (!check(seed, smaller).empty()) {
        size = smaller;
        break;
      }
    std::string program;
    std::string failure = check(seed, size, &program);
    FAIL("seed " << seed << ", size " << size << ": " << failure << "\n" << program);
  }
  SUCCEED(seeds << " programs");
}
