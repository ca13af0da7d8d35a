// What refusals cost, and what would make one region of two.

#include "bycc/IR/Op.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Partition/OffloadReport.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Partition/RefusalPrices.h"
#include "bycc/Target/VendorRegistry.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

std::unique_ptr<Vendor> vendorOf(const std::string &text) {
  auto vendor = readVendorFile(text, "v.json");
  if (!vendor)
    FAIL(vendor.error().str());
  return vendor.takeValue();
}

struct Program {
  Module module;
  VendorSet vendors;
  TargetInfo target;
  RefusalLog refusals;
  CostModel host;
  RefusalPrices prices;
  PassContext context;

  Program(const std::string &text, std::vector<std::string> files) {
    module = parseRelay("#[version = \"0.0.5\"]\n" + text, "t.relay").takeValue();
    for (const std::string &file : files)
      vendors.add(vendorOf(file));
    host.rates.bytesPerMicrosecond = 1;
    context.target = &target;
    context.vendors = &vendors;
    context.refusals = &refusals;
    context.hostCost = &host;
    context.choosesPlan = true;
    context.prices = &prices;
    context.moduleName = "m";
    for (auto pass : {mergeComposite, annotateTarget, choosePlan, partitionGraph})
      if (auto done = pass(module, context); !done)
        FAIL(done.error().str());
  }

  OffloadReport report() {
    OffloadReport report = makeOffloadReport(module, &refusals);
    prices.nameRegions(report);
    return report;
  }
};

const char *fast = R"("cost": {"launch_us": 1, "rows": [{"op": "*", "us": 0.5}]})";

std::string file(const std::string &name, const std::string &members) {
  return "{\"vendor\": \"" + name + "\", " + members + ", " + fast + "}";
}

} // namespace

TEST_CASE("prices: an extent that is not known can be fixed instead") {
  Program p(R"(def @main(%x: Tensor[(seq, 64), float32], %y: Tensor[(other, 64), float32]) {
  %0 = exp(%x);
  %1 = tanh(%0);
  exp(%1)
})",
            {file("v", R"("ops": {"exp": {}, "tanh": {"static_shape": true}})")});
  p.report();
  REQUIRE(p.prices.prices.size() == 1);
  CHECK(p.prices.prices[0].nodes == std::vector<std::string>{"%1"});
  CHECK(p.prices.prices[0].gainUs > 0);
  CHECK(p.prices.prices[0].regions == 1);
  REQUIRE(p.prices.boundaries.size() == 1);
  CHECK(p.prices.boundaries[0].dims == std::vector<std::string>{"seq"});
  CHECK(p.prices.text().find(
            "m_v_0 and m_v_1: tanh, argument 0 is Tensor[(seq, 64), float32], it takes static "
            "shapes (") != std::string::npos);
  CHECK(p.prices.text().find("), or --dim seq=..\n") != std::string::npos);
}

TEST_CASE("prices: two refusals that keep regions apart together") {
  Program p(R"(def @main(%x: Tensor[(64, 64), float32]) {
  %0 = exp(%x);
  %1 = tanh(%0);
  %2 = sigmoid(%1);
  exp(%2)
})",
            {file("v", R"("ops": {"exp": {}})")});
  p.report();
  REQUIRE(p.prices.prices.size() == 2);
  REQUIRE(p.prices.boundaries.size() == 1);
  CHECK_FALSE(p.prices.boundaries[0].price);
  CHECK(p.prices.text().find("m_v_0 and m_v_1: no single refusal keeps them apart: ") !=
        std::string::npos);
}

TEST_CASE("prices: the plan itself stays as it is") {
  auto text = R"(def @main(%x: Tensor[(64, 64), float32]) {
  %0 = exp(%x);
  %1 = tanh(%0);
  exp(%1)
})";
  Program p(text, {file("v", R"("ops": {"exp": {}})")});
  OffloadReport report = p.report();
  CHECK(report.totals.regions == 2);
  CHECK(report.totals.offloadedOps == 2);
  CHECK(p.prices.us == p.context.estimate->us);
}

TEST_CASE("prices: of groups of few nodes some are not tried") {
  std::string text = "def @main(%x: Tensor[(64), float32]) {\n  %0 = exp(%x);\n";
  for (int i = 1; i <= 66; ++i) // each of its own reason
    text += "  %" + std::to_string(i) + " = clip(%" + std::to_string(i - 1) +
            ", a_min=0, a_max=" + std::to_string(i) + ");\n";
  text += "  exp(%66)\n}";
  Program p(text, {file("v", R"("ops": {"exp": {}, "clip": {"attr": {"a_max": 0}}})")});
  p.report();
  CHECK(p.prices.prices.size() == 64);
  CHECK(p.prices.numUntried == 2);
  CHECK(p.prices.text().find("2 refusals of fewer nodes were not tried\n") != std::string::npos);
}
