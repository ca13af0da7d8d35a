// Rules files, emulated vendors' conditions, and the choice of vendors.

#include "bycc/Parser/Relay.h"
#include "bycc/Support/File.h"
#include "bycc/Target/VendorRegistry.h"

#include <catch2/catch.hpp>
#include <cstdio>

using namespace bycc;

namespace {

std::string problem(std::string_view text) {
  Expected<RuleSet> rules = readRules(text, "r.json");
  return rules ? std::string() : rules.error().str();
}

// The answer of the first vendor of `rules` for the result of @main.
Answer ask(std::string_view rules, const std::string &body) {
  std::string text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 2), float32], %i: "
                     "Tensor[(2, 2), int64]) {\n" +
                     body + "\n}\n";
  Expected<Module> module = parseRelay(text, "t.relay");
  if (!module)
    FAIL(module.error().str());
  RuleSet set = readRules(rules, "r.json").takeValue();
  TargetInfo target;
  VendorAsker asker(*set.vendors[0].emulated, *module, target);
  return asker.supports(module->block(module->function(module->main()).body).result);
}

} // namespace

TEST_CASE("rules files") {
  CHECK(problem(R"({"vendors": []})") == "");
  CHECK(problem(R"({"pipeline": {"vendors": [{"name": "va"}]}, "other": 1})") == "");
  RuleSet rules = readRules(R"({"vendors": [{"name": "dnnl", "builtin": true},
      {"name": "va", "ops": {"abs": {}}}], "merge_regions": false, "mod_name": "m"})",
                            "r")
                      .takeValue();
  REQUIRE(rules.vendors.size() == 2);
  CHECK(rules.vendors[0].isBuiltin);
  CHECK(rules.vendors[1].emulated->isEmulated());
  CHECK(rules.mergeRegions == false);
  CHECK_FALSE(rules.bindConstants);
  CHECK(rules.moduleName == "m");
}

TEST_CASE("bad rules files") {
  CHECK(problem("{\"vendors\": [\n  {\"nam\": \"va\"}]}")
            .starts_with("r.json:2:11: error[INPUT]: /vendors/0/nam: unknown member 'nam', did "
                         "you mean 'name'"));
  CHECK(problem(R"({"pipeline": {"vendors": [{"name": "va", "ops": {"ab": {}}}]}})")
            .find("/pipeline/vendors/0/ops/ab: unknown operator 'ab', did you mean 'abs'") !=
        std::string::npos);
  CHECK(problem(R"({"vendors": [{"name": "va", "ops": {"abs": {"dtype": ["f33"]}}}]})")
            .find("/vendors/0/ops/abs/dtype/0: unknown dtype 'f33'") != std::string::npos);
  CHECK(problem(R"({"vendors": [{"name": "va"}, {"name": "va"}]})").find("comes twice") !=
        std::string::npos);
  CHECK(problem(R"({"vendors": [{"name": "a.b"}]})").find("has no dot") != std::string::npos);
  CHECK(problem(R"({"vendors": 3})").find("expected an array of vendors") != std::string::npos);
  CHECK(problem("{") != "");
}

TEST_CASE("conditions") {
  const char *rules = R"({"vendors": [{"name": "va", "ops": {
      "add": {"dtype": ["float32"], "const_args": [1]},
      "nn.softmax": {"attr": {"axis": 1}}, "abs": {}}}]})";
  CHECK(ask(rules, "abs(%x)"));
  CHECK(ask(rules, "add(%x, 2f)"));
  CHECK(ask(rules, "nn.softmax(%x, axis=1)"));
  CHECK(ask(rules, "add(%x, %x)").reason == "argument 1 is not a constant");
  CHECK(ask(rules, "add(%i, %i)").reason == "argument 0 is int64, it takes float32");
  CHECK(ask(rules, "nn.softmax(%x, axis=0)").reason == "axis is 0, it takes 1");
  CHECK(ask(rules, "tanh(%x)").reason == "operator not supported");
}

TEST_CASE("lists of operators") {
  const char *rules = R"({"vendors": [{"name": "va", "ops": {"abs": {}, "nn.relu": {}},
      "deny_ops": ["nn.*"]}]})";
  CHECK(ask(rules, "abs(%x)"));
  CHECK(ask(rules, "nn.relu(%x)").reason == "nn.relu is denied (deny_ops: nn.*)");
}

TEST_CASE("a built-in vendor keeps its tables and takes the rest") {
  RuleSet rules = readRules(R"({"vendors": [{"name": "va", "builtin": true, "min_ops": 2,
      "ops": {"abs": {}}}]})",
                            "r")
                      .takeValue();
  Vendor vendor("va");
  REQUIRE(rules.vendors[0].more.applyTo(vendor));
  CHECK(vendor.regionRules.minOps == 2);
  CHECK(vendor.opRules().empty());
}

TEST_CASE("edges and costs of a built-in vendor name its composites") {
  RuleSet rules = readRules(R"({"vendors": [{"name": "va", "builtin": true,
      "edges": {"deny": [["va.p", "*"]]},
      "cost": {"rows": [{"composite": "va.p", "us": 1}]}}]})",
                            "r")
                      .takeValue();
  auto vendor =
      readVendorFile(R"j({"vendor": "va", "patterns": [{"name": "va.p", "root": "abs(*)"}]})j",
                     "va.json")
          .takeValue();
  REQUIRE(rules.vendors[0].more.applyTo(*vendor));
  CHECK(vendor->regionRules.edges.denied.size() == 1);
  CHECK(vendor->cost);
  // One that the vendor does not have is found there.
  Vendor other("va");
  Expected<> applied = rules.vendors[0].more.applyTo(other);
  REQUIRE_FALSE(applied);
  CHECK(applied.error().message() == "/vendors/0/edges/deny/0/0: unknown composite 'va.p'");
}

TEST_CASE("choice of vendors") {
  std::string path = std::string(BYCC_BINARY_DIR) + "/rules-test.json";
  FILE *file = std::fopen(path.c_str(), "w");
  REQUIRE(file);
  std::fputs(R"({"vendors": [{"name": "va"}, {"name": "vb"}]})", file);
  std::fclose(file);
  VendorRegistry registry({});
  VendorRequest request;
  CHECK(registry.resolve(request).takeValue().size() == 0);
  request.ruleFiles = {path};
  VendorSet both = registry.resolve(request).takeValue();
  REQUIRE(both.size() == 2);
  CHECK(both[0].name() == "va");
  request.annotate = std::vector<std::string>{"vb"};
  VendorSet one = registry.resolve(request).takeValue();
  REQUIRE(one.size() == 1);
  CHECK(one[0].name() == "vb");
  request.annotate = std::vector<std::string>{"vx"};
  Expected<VendorSet> none = registry.resolve(request);
  REQUIRE_FALSE(none);
  CHECK(none.error().status() == Status::Usage);
  CHECK(none.error().message() == "unknown vendor 'vx'");
  request.annotate.reset();
  request.ruleFiles = {path + ".missing"};
  CHECK_FALSE(registry.resolve(request));
}

TEST_CASE("G1 a plugin that is not there is a command-line error") {
  VendorRegistry registry({});
  Expected<> loaded = registry.loadPlugin("/nowhere/x.so");
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().status() == Status::Usage);
}
