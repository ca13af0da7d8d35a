// What decides which calls share a region: rules about values that may not pass
// between two operators, and times.

#include "bycc/IR/Op.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Partition/AnnotatedRegions.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Target/Vendor.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

// A program whose operators of `ops` are one emulated vendor's.
struct Program {
  Module module;
  VendorSet vendors;
  TargetInfo target;
  PassContext context;
  std::optional<NodePlaces> places;

  Program(const std::string &body, std::initializer_list<const char *> ops) {
    std::string text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(1, 8), float32], "
                       "%z: Tensor[(512, 8), float32]) {\n" +
                       body + "\n}\n";
    module = parseRelay(text, "t.relay").takeValue();
    auto vendor = std::make_unique<Vendor>("va");
    for (const char *op : ops)
      vendor->addRule(findOp(op), {});
    vendors.add(std::move(vendor));
    context.target = &target;
    context.vendors = &vendors;
  }
  Vendor &vendor() { return vendors[0]; }
  EdgeRules &edges() { return vendor().regionRules.edges; }

  // Regions after composites and annotations.
  AnnotatedRegions regroup() {
    REQUIRE(mergeComposite(module, context));
    REQUIRE(annotateTarget(module, context));
    places.emplace(module);
    AnnotatedRegions regions(module, *places, module.function(module.main()).body, &context);
    uint64_t steps = 100000;
    regions.regroup(steps);
    REQUIRE(regions.isAcyclic());
    return regions;
  }
};

// Names of a region's operators or composites.
std::string str(const Module &module, const AnnotatedRegions &regions, uint32_t region) {
  std::string text;
  for (uint32_t item : regions.items(region)) {
    NodeId node = regions.node(item);
    if (std::optional<FunctionId> composite = compositeOf(module, node))
      text += module.functionAttr(*composite, "Composite")->asString() + " ";
    else if (module.node(node).kind == NodeKind::CallOp)
      text += std::string(opInfo(module.node(node).op).name) + " ";
  }
  return text;
}
std::string str(const Program &program, const AnnotatedRegions &regions) {
  std::string text;
  for (uint32_t region : regions.regions())
    text += (text.empty() ? "" : "| ") + str(program.module, regions, region);
  return text;
}

} // namespace

TEST_CASE("denied edges") {
  const char *chain = "%0 = tanh(%x); %1 = abs(%0); %2 = tanh(%1); abs(%2)";
  Program free(chain, {"tanh", "abs"});
  CHECK(str(free, free.regroup()) == "tanh abs tanh abs ");

  Program denied(chain, {"tanh", "abs"});
  denied.edges().denied = {{"abs", "tanh"}};
  AnnotatedRegions regions = denied.regroup();
  CHECK(str(denied, regions) == "tanh abs | tanh abs ");
  CHECK(regions.whyApart(0, 2) ==
        "va lets no value pass from abs (%1) to tanh (%2) inside a region");

  Program all(chain, {"tanh", "abs"});
  all.edges().denied = {{"*", "abs"}};
  CHECK(str(all, all.regroup()) == "tanh | abs tanh | abs ");
}

TEST_CASE("only allowed edges") {
  Program program("%0 = tanh(%x); %1 = abs(%0); %2 = sin(%1); abs(%2)", {"tanh", "abs", "sin"});
  program.edges().allowed = {{"tanh", "abs"}, {"sin", "*"}};
  CHECK(str(program, program.regroup()) == "tanh abs | sin abs ");
}

TEST_CASE("edges through tuples and projections") {
  Program program("%0 = tanh(%x); %1 = (%x, %0); %2 = (%1, %x); %3 = %2.0; abs(%3.1)",
                  {"tanh", "abs"});
  program.edges().denied = {{"tanh", "abs"}};
  CHECK(str(program, program.regroup()) == "tanh | abs ");

  Program siblings("%0 = tanh(%x); %1 = abs(%x); (%0, %1)", {"tanh", "abs"});
  siblings.edges().denied = {{"tanh", "abs"}};
  CHECK(str(siblings, siblings.regroup()) == "tanh abs "); // no value passes
}

TEST_CASE("composites count at their border") {
  // The composite makes its value with tanh; abs and add use what comes in.
  const char *body = "%0 = sin(%x); %1 = abs(%0); %2 = add(%1, %x); %3 = tanh(%2); cos(%3)";
  auto program = [&](const char *from, const char *to) {
    Program result(body, {"sin", "cos"});
    result.vendor().addPatterns([] {
      std::vector<Pattern> patterns;
      patterns.push_back(parsePattern("va.fused", {"tanh(add(abs(*), *))", {}}).takeValue());
      return patterns;
    }());
    result.edges().denied = {{from, to}};
    AnnotatedRegions regions = result.regroup();
    return str(result, regions);
  };
  CHECK(program("none", "none") == "sin va.fused cos ");
  CHECK(program("sin", "abs") == "sin | va.fused cos ");
  CHECK(program("sin", "add") == "sin va.fused cos ");
  CHECK(program("sin", "va.fused") == "sin | va.fused cos ");
  CHECK(program("tanh", "cos") == "sin va.fused | cos ");
  CHECK(program("abs", "cos") == "sin va.fused cos ");
  CHECK(program("va.fused", "*") == "sin va.fused | cos ");
}

TEST_CASE("why two regions are apart") {
  Program program("%0 = abs(%x); %1 = sin(%0); %2 = abs(%1); %3 = abs(%z); %4 = cos(%3);"
                  "(%2, %4)",
                  {"abs"});
  AnnotatedRegions regions = program.regroup();
  CHECK(str(program, regions) == "abs | abs | abs ");
  CHECK(regions.whyApart(0, 2) == "sin (%1) of the host lies between them");
  CHECK(regions.whyApart(2, 0) == "sin (%1) of the host lies between them");
  CHECK(regions.whyApart(0, 3) == "they share no value");
  program.vendor().regionRules.merge = false;
  CHECK(program.regroup().whyApart(0, 2) == "va takes every operator as a region of its own");
}
