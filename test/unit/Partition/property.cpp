// Random programs through the passes: each step leaves a valid program that does
// nothing when run again; then every operator is in exactly one region or on the
// host, no value passes an edge that its vendor denies, orders about nodes are
// kept, the text prints and parses to itself, and the program means the same. A
// failing program is shrunk statement by statement.
//
//   BYCC_SEEDS=FIRST:END unit-Partition "[property]"

#include "RandomProgram.h"
#include "ShrinkProgram.h"

#include "bycc/Eval/Eval.h"
#include "bycc/IR/Infer.h"
#include "bycc/IR/Op.h"
#include "bycc/IR/Printer.h"
#include "bycc/IR/Verifier.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Partition/AnnotatedRegions.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Target/RegionView.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <random>
#include <set>

using namespace bycc;

namespace {

using PassList = std::vector<std::pair<const char *, Expected<bool> (*)(Module &, PassContext &)>>;

const PassList passes = {
    {"merge-composite", mergeComposite}, {"annotate-target", annotateTarget},
    {"choose-vendors", chooseVendors},   {"merge-compiler-regions", mergeCompilerRegions},
    {"prune-regions", pruneRegions},     {"partition-graph", partitionGraph}};

// Operators by the names that the source gave them.
std::multiset<std::string> operators(const Module &module) {
  std::multiset<std::string> names;
  for (FunctionId function : module.globals())
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      if (module.node(node).kind == NodeKind::CallOp)
        names.insert(nodeName(module, node));
    });
  return names;
}

// Each operator of the result is one of the source, and there once. Fewer are
// fine: a field of a tuple that nobody projects is dead.
std::string comparePlaces(const Module &before, const Module &after) {
  std::multiset<std::string> was = operators(before), is = operators(after);
  for (const std::string &name : is)
    if (is.count(name) > 1 || !was.contains(name))
      return name + " is there " + std::to_string(is.count(name)) + " times";
  return {};
}

// --- what a region may hold

using Names = std::vector<std::string>;

Names namesOf(const Module &module, NodeId call, NodeId inner) {
  Names names{std::string(opInfo(module.node(inner).op).name)};
  if (std::optional<FunctionId> composite = compositeOf(module, call))
    names.push_back(module.functionAttr(*composite, "Composite")->asString());
  return names;
}

bool isPair(const std::pair<std::string, std::string> &pair, const Names &from, const Names &to) {
  auto fits = [](const std::string &name, const Names &names) {
    return name == "*" || std::ranges::find(names, name) != names.end();
  };
  return fits(pair.first, from) && fits(pair.second, to);
}

bool isDenied(const EdgeRules &rules, const Names &from, const Names &to) {
  auto matches = [&](const auto &pair) { return isPair(pair, from, to); };
  return std::ranges::any_of(rules.denied, matches) ||
         (!rules.allowed.empty() && std::ranges::none_of(rules.allowed, matches));
}

// Operators that take the value at an operand: of a composite those inside. The
// composites of these tests hold operators only, on parameters and each other.
std::vector<NodeId> takers(const Module &module, NodeId call, uint32_t operand) {
  std::optional<FunctionId> composite = compositeOf(module, call);
  if (!composite)
    return {call};
  std::vector<NodeId> result;
  NodeId param = module.function(*composite).params[operand - 1];
  for (NodeId node : module.block(module.function(*composite).body).nodes)
    if (std::ranges::find(module.operands(node), param) != module.operands(node).end())
      result.push_back(node);
  return result;
}

NodeId maker(const Module &module, NodeId call) {
  std::optional<FunctionId> composite = compositeOf(module, call);
  return composite ? module.block(module.function(*composite).body).result : call;
}

bool isCall(const Module &module, NodeId node) {
  return module.node(node).kind == NodeKind::CallOp || compositeOf(module, node);
}

std::string checkEdges(const Module &module, FunctionId function, const EdgeRules &rules) {
  for (NodeId user : module.block(module.function(function).body).nodes) {
    if (!isCall(module, user))
      continue;
    for (uint32_t i = compositeOf(module, user) ? 1 : 0; i < module.operands(user).size(); ++i) {
      std::vector<TensorRef> tensors;
      resolveTensors(module, module.operands(user)[i], tensors);
      for (const TensorRef &tensor : tensors)
        for (NodeId taker : takers(module, user, i))
          if (isCall(module, tensor.base) &&
              isDenied(rules, namesOf(module, tensor.base, maker(module, tensor.base)),
                       namesOf(module, user, taker)))
            return nodeName(module, tensor.base) + " gives to " + nodeName(module, user) +
                   " against the rules";
    }
  }
  return {};
}

std::string checkOrders(const Module &module, FunctionId function, const std::string &vendor,
                        const PlacementRules &rules) {
  std::string failure;
  std::set<uint32_t> labels;
  forEachNode(module, module.function(function).body, [&](NodeId node) {
    if (module.node(node).kind != NodeKind::CallOp)
      return;
    labels.insert(rules.labelOf(node));
    if (const std::string *why = rules.whyNot(node, vendor))
      failure = nodeName(module, node) + " is " + vendor + "'s: " + *why;
  });
  return labels.size() > 1 ? "one region has two labels" : failure;
}

// External functions are called from one place each and keep their vendor's rules.
std::string checkRegions(const Module &module, const VendorSet &vendors,
                         const PlacementRules &rules) {
  std::map<FunctionId, int> calls;
  for (FunctionId function : module.globals())
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      if (module.node(node).kind == NodeKind::Call &&
          module.node(module.operands(node)[0]).kind == NodeKind::Global)
        ++calls[module.functionOf(module.operands(node)[0])];
    });
  for (FunctionId function : module.globals()) {
    const AttrValue *compiler = module.functionAttr(function, "Compiler");
    if (!compiler)
      continue;
    if (calls[function] != 1)
      return "a region is called " + std::to_string(calls[function]) + " times";
    const Vendor &vendor = *vendors.find(compiler->asString());
    if (std::string failure = checkEdges(module, function, vendor.regionRules.edges);
        !failure.empty())
      return failure;
    if (std::string failure = checkOrders(module, function, vendor.name(), rules); !failure.empty())
      return failure;
  }
  return {};
}

// The annotations' regions, before they become functions.
std::string checkAnnotations(const Module &module, const PassContext &context) {
  NodePlaces places(module);
  std::map<int32_t, std::set<std::pair<uint32_t, uint32_t>>> owners; // block and vendor by region
  std::string failure;
  for (FunctionId function : module.globals())
    forEachBlock(module, function, [&](BlockId block) {
      for (NodeId node : module.block(block).nodes)
        if (const Annotation *annotation = module.annotation(node);
            annotation && isCall(module, node)) {
          if (annotation->region < 0)
            failure = nodeName(module, node) + " is in no region";
          owners[annotation->region].insert({block.index, annotation->vendors[0].index});
        }
      if (!AnnotatedRegions(module, places, block, &context).isAcyclic())
        failure = "regions need each other";
    });
  for (const auto &[region, owner] : owners)
    if (owner.size() > 1)
      failure = "region " + std::to_string(region) + " has two blocks or vendors";
  return failure;
}

// --- running

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

// --- one program

enum class Validity : uint8_t { Program, NoProgram };
struct Outcome {
  Validity validity = Validity::Program;
  std::string failure; // or nothing
  std::string text;    // after the passes
};

Outcome check(const std::string &source, uint32_t seed) {
  Expected<Module> before = parseRelay(source, "random.relay"),
                   module = parseRelay(source, "random.relay");
  if (!before)
    return {Validity::NoProgram, before.error().str(), {}};
  for (FunctionId function : before->globals())
    removeDeadNodes(*before, function, true);
  constexpr uint32_t counts[] = {3, 4, 3, 5, 3, 1, 4, 3, 6, 2};
  VendorSet vendors = cases::randomVendors(seed, counts[seed % std::size(counts)]);
  PlacementRules placement;
  if (seed % 4 == 1)
    cases::addRandomOrders(seed, *module, vendors, placement);
  TargetInfo target;
  RefusalLog refusals;
  PassContext context;
  context.target = &target;
  context.vendors = &vendors;
  context.refusals = &refusals;
  context.placement = &placement;
  CostModel hostCost;
  if (seed % 5 == 3) {
    hostCost = cases::addRandomCosts(seed, vendors);
    context.hostCost = &hostCost;
  }
  context.choosesPlan = true;
  context.minRegionOps = seed % 3; // 2 takes composites apart again
  for (auto [name, pass] : passes) {
    std::string failure = runPass(name, pass, *module, context);
    if (failure.empty() && pass == mergeCompilerRegions)
      failure = checkAnnotations(*module, context);
    if (!failure.empty())
      return {Validity::Program, failure, {}};
  }
  std::string text = printModule(*module);
  auto fails = [&](std::string failure) { return Outcome{Validity::Program, failure, text}; };
  if (std::string failure = comparePlaces(*before, *module); !failure.empty())
    return fails(failure);
  if (std::string failure = checkRegions(*module, vendors, placement); !failure.empty())
    return fails(failure);
  Expected<Module> parsed = parseRelay(text, "printed.relay");
  if (!parsed)
    return fails("printed program: " + parsed.error().str());
  if (printModule(*parsed) != text)
    return fails("printed program prints otherwise");
  return fails(compare(*before, *module, seed));
}

void reportFailure(uint32_t seed, const std::string &source) {
  std::string small = cases::shrinkProgram(source, [&](const std::string &text) {
    Outcome outcome = check(text, seed);
    return outcome.validity == Validity::Program && !outcome.failure.empty();
  });
  Outcome outcome = check(small, seed);
  FAIL("seed " << seed << ": " << outcome.failure << "\n" << small << "=>\n" << outcome.text);
}

} // namespace

TEST_CASE("random programs", "[.][property]") {
  const char *range = std::getenv("BYCC_SEEDS");
  uint32_t first = 0, end = 1000;
  if (range && std::sscanf(range, "%u:%u", &first, &end) != 2)
    FAIL("BYCC_SEEDS is not FIRST:END");
  std::cout << "seeds " << first << " to " << end - 1 << "\n";
  for (uint32_t seed = first; seed < end; ++seed) {
    std::string source = cases::randomProgram(seed, 4 + seed % 37);
    if (!check(source, seed).failure.empty())
      reportFailure(seed, source);
  }
  SUCCEED(end - first << " programs");
}

// Takes out what the failure does not need, keeps what it does.
TEST_CASE("failing programs are shrunk") {
  std::string source = cases::randomProgram(17, 30);
  auto fails = [](const std::string &text) {
    return parseRelay(text, "t.relay") && text.find("split(") != std::string::npos;
  };
  REQUIRE(fails(source));
  std::string small = cases::shrinkProgram(source, fails);
  CHECK(fails(small));
  INFO(small);
  CHECK(std::ranges::count(small, '\n') == 5); // version, head, split, result, brace
}
