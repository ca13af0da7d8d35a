// Plans: the file, and random programs whose saved plan is replayed.

#include "RandomProgram.h"

#include "bycc/IR/Printer.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Partition/OffloadReport.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Partition/RecordPlan.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

struct Outcome {
  std::string program, report, failure;
  size_t numNodes = 0; // of the report
  PartitionPlan plan;
};

// The passes with or without a plan.
Outcome partition(uint32_t seed, std::shared_ptr<const PartitionPlan> plan) {
  Outcome outcome;
  Module module = parseRelay(cases::randomProgram(seed, 4 + seed % 37), "random.relay").takeValue();
  VendorSet vendors = cases::randomVendors(seed, 1 + seed % 4);
  TargetInfo target;
  RefusalLog refusals;
  PlacementRules placement;
  placement.orders.keepProgram = true;
  placement.orders.plan = plan;
  PassContext context;
  context.target = &target;
  context.vendors = &vendors;
  context.refusals = &refusals;
  context.placement = &placement;
  context.minRegionOps = seed % 3;
  using Pass = Expected<bool> (*)(Module &, PassContext &);
  std::vector<Pass> passes = {placeNodes, mergeComposite, annotateTarget};
  if (plan)
    passes.push_back(replayPlan);
  else
    for (Pass pass : {Pass(chooseVendors), Pass(mergeCompilerRegions), Pass(pruneRegions)})
      passes.push_back(pass);
  passes.push_back(partitionGraph);
  for (Pass pass : passes)
    if (Expected<bool> done = pass(module, context); !done) {
      outcome.failure = done.error().str();
      return outcome;
    }
  for (const Diagnostic &warning : context.warnings)
    outcome.failure += warning.message;
  outcome.program = printModule(module);
  OffloadReport report = makeOffloadReport(module, &refusals);
  report.returned.clear(); // not part of a plan
  outcome.report = report.json();
  outcome.numNodes = report.nodes.size();
  outcome.plan.nodes = recordPlan(module, placement, &refusals);
  return outcome;
}

} // namespace

TEST_CASE("a saved plan is replayed exactly") {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Outcome saved = partition(seed, nullptr);
    INFO("seed " << seed << "\n" << saved.program);
    REQUIRE(saved.failure == "");
    std::string text = planText(saved.plan);
    Expected<PartitionPlan> read = readPlan(text, "plan.json");
    REQUIRE(read);
    Outcome replayed = partition(seed, std::make_shared<PartitionPlan>(read.takeValue()));
    REQUIRE(replayed.failure == "");
    REQUIRE(replayed.program == saved.program);
    REQUIRE(replayed.report == saved.report);
    if (saved.numNodes == saved.plan.nodes.size()) // nothing turned out to be unused
      REQUIRE(planText(replayed.plan) == text);
  }
}

TEST_CASE("plan files that are wrong") {
  auto failure = [](const std::string &nodes) {
    Expected<PartitionPlan> plan = readPlan(
        R"({"bycc_partition_plan": 1, "model_hash": "", "vendors": [], "nodes": [)" + nodes + "]}",
        "p.json");
    return plan ? std::string() : plan.error().message();
  };
  CHECK(failure(R"({"name": "a", "op": "abs", "place": "va"})") == "");
  CHECK(failure(R"({"name": "a", "place": "va"})") == "'op' must be text");
  CHECK(failure(R"({"name": "a", "op": "abs", "place": "va", "region": -2})") ==
        "'region' must be a number from 0 up");
  CHECK(failure(R"({"name": "a", "op": "abs", "palce": "va"})") ==
        "unknown member 'palce', did you mean 'place'?");
  CHECK(failure(R"({"name": "a", "op": "abs", "place": "va", "region": 1},
                   {"name": "b", "op": "abs", "place": "vb", "region": 1})") ==
        "region 1 holds 'a' for va and 'b' for vb: a region has one vendor");
  CHECK(readPlan(R"({"bycc_partition_plan": 2})", "p").error().message() ==
        "partition plan of version 2, this bycc reads version 1");
  CHECK(readPlan("[]", "p").error().message() ==
        "this is no partition plan: 'bycc_partition_plan' is missing");
}

TEST_CASE("steps of the search grow with the operators, up to a limit for all") {
  SearchLimit limit{1000000, 20000};
  CHECK(limit.of(10, 10) == 200000);
  CHECK(limit.of(5, 10) == 100000);
  CHECK(limit.of(100, 100) == 1000000);
  CHECK(limit.of(25, 100) == 250000);
  CHECK(SearchLimit{1000000}.of(5, 10) == 500000); // asked for: all of them
  CHECK(limit.of(0, 0) == 0);
}
