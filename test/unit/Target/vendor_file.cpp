// patterns/<vendor>.json: what a file says about a vendor.

#include "bycc/IR/Op.h"
#include "bycc/Target/VendorRegistry.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

std::string problem(std::string_view text) {
  Expected<std::unique_ptr<Vendor>> vendor = readVendorFile(text, "v.json");
  return vendor ? std::string() : vendor.error().str();
}

const char *everything = R"j({"schema": 1, "vendor": "v",
  "ops": {"abs": {}, "nn.softmax": {"attr": {"axis": 1}}},
  "patterns": [{"name": "v.a", "root": "nn.relu(abs(*))"}],
  "edges": {"deny": [["nn.relu", "nn.conv2d"], ["v.a", "*"]], "allow": [["*", "abs"]]},
  "min_ops": 3, "min_flops": 2.5e6,
  "cost": {"launch_us": 5, "transfer_us": 0.5, "transfer_gb_per_s": 8,
           "layout_gb_per_s": 4, "gflops": 100,
           "gb_per_s": 20, "ops": {"abs": {"gflops": 2}}},
  "passes": ["canonicalize-ops", "fold-constants"],
  "allow_ops": ["nn.*", "abs"], "deny_ops": ["nn.dense"]})j";

} // namespace

TEST_CASE("a vendor file with everything") {
  Expected<std::unique_ptr<Vendor>> read = readVendorFile(everything, "v.json");
  if (!read)
    FAIL(read.error().str());
  const Vendor &v = **read;
  CHECK(v.name() == "v");
  CHECK(v.isEmulated());
  CHECK(v.opRules().size() == 2);
  CHECK(v.patterns().size() == 1);
  CHECK(v.regionRules.minOps == 3);
  CHECK(v.regionRules.minFlops == 2.5e6);
  CHECK(v.regionRules.edges.denied.size() == 2);
  CHECK(v.regionRules.edges.denied[0] ==
        std::pair<std::string, std::string>("nn.relu", "nn.conv2d"));
  CHECK(v.regionRules.edges.allowed.size() == 1);
  REQUIRE(v.cost);
  CHECK(v.cost->launchMicroseconds == 5);
  CHECK(v.cost->transferMicroseconds == 0.5);
  CHECK(v.cost->transferBytesPerMicrosecond == 8000);
  CHECK(v.cost->layoutBytesPerMicrosecond == 4000);
  CHECK(v.cost->rates.flopsPerMicrosecond == 100000);
  CHECK(v.cost->rates.bytesPerMicrosecond == 20000);
  CHECK(v.passes == "canonicalize-ops,fold-constants");
  CHECK_FALSE(v.whyListed("abs"));
  CHECK_FALSE(v.whyListed("nn.relu"));
  CHECK(v.whyListed("nn.dense") == "nn.dense is denied (deny_ops: nn.dense)");
  CHECK(v.whyListed("tanh") == "tanh is not among allow_ops (nn.*, abs)");
}

TEST_CASE("a vendor file without rules") {
  std::unique_ptr<Vendor> v = readVendorFile(R"({"vendor": "v"})", "v.json").takeValue();
  CHECK_FALSE(v->cost);
  CHECK(v->regionRules.edges.empty());
  CHECK_FALSE(v->whyListed("abs"));
}

TEST_CASE("a compiler's text says the same things") {
  bycc_vendor_compiler compiler{};
  compiler.size = sizeof compiler;
  compiler.name = "v";
  compiler.patterns = everything;
  std::unique_ptr<Vendor> v = Vendor::fromCompiler(&compiler).takeValue();
  CHECK_FALSE(v->isEmulated());
  CHECK(v->regionRules.minOps == 3);
  CHECK(v->cost->launchMicroseconds == 5);
  compiler.name = "w";
  Expected<std::unique_ptr<Vendor>> other = Vendor::fromCompiler(&compiler);
  REQUIRE_FALSE(other);
  CHECK(other.error().status() == Status::Load);
}

TEST_CASE("bad vendor files") {
  CHECK(problem("[]").find("expected an object") != std::string::npos);
  CHECK(problem("{}").starts_with("v.json:1:1: error[INPUT]: /vendor: expected the vendor's name"));
  CHECK(problem(R"({"vendor": "v", "pattern": []})")
            .find("/pattern: unknown member 'pattern', did you mean 'patterns'") !=
        std::string::npos);
  CHECK(problem(R"({"vendor": "v", "edges": {"deny": [["nn.relu", "nn.conv2"]]}})")
            .find("/edges/deny/0/1: unknown operator 'nn.conv2', did you mean 'nn.conv2d'") !=
        std::string::npos);
  CHECK(problem(R"({"vendor": "v", "cost": {"gflops": -1}})")
            .find("/cost/gflops: expected a number that is not negative") != std::string::npos);
}

TEST_CASE("rewrites: what is read, and what nothing can be made of") {
  auto fileOf = [](const std::string &rewrites) {
    return R"j({"vendor": "v", "patterns": [{"name": "v.two", "root": "add($a, nn.relu($b))"},
  {"name": "v.any", "root": "(abs|tanh)($a)"}], "rewrites": [)j" +
           rewrites + "]}";
  };
  auto read = readVendorFile(fileOf(R"j({"from": "multiply($x, sigmoid($x))", "to": "v.swish($x)"},
    {"from": "exp(abs($x))", "to": "v.two($x, $x)", "comment": "of no use"})j"),
                             "v.json");
  REQUIRE(read);
  CHECK((*read)->rewrites.size() == 1); // the other one is a pattern
  REQUIRE((*read)->patterns().size() == 3);
  CHECK((*read)->patterns()[2].name == "v.swish");
  CHECK((*read)->patterns()[2].params == std::vector<std::string>{"x"});

  auto why = [&](const std::string &to) {
    return problem(fileOf(R"j({"from": "exp($x)", "to": ")j" + to + "\"}"));
  };
  CHECK_THAT(why("abs($y)"),
             Catch::Contains("/rewrites/0/to: unknown operand 'y', did you mean 'x'?"));
  CHECK_THAT(why("abs(*)"), Catch::Contains("* names nothing"));
  CHECK_THAT(why("abs($x) | tanh($x)"), Catch::Contains("alternatives"));
  CHECK_THAT(why("nn.relu?(tanh($x))"), Catch::Contains("optional operators are a choice"));
  CHECK_THAT(why("(abs|tanh)($x)"), Catch::Contains("an operator is one"));
  CHECK_THAT(why("add($x, #)"), Catch::Contains("a constant is one number"));
  CHECK_THAT(why("clip{a_min>0}($x)"), Catch::Contains("clip has a choice"));
  CHECK_THAT(why("abs(path{tanh}($x))"), Catch::Contains("a path is a choice"));
  CHECK_THAT(why("v.two($x)"), Catch::Contains("v.two has 2 operands"));
  CHECK_THAT(why("v.any($x)"), Catch::Contains("v.any: an operator is one"));
  CHECK_THAT(why("abs(v.new($x))"), Catch::Contains("v.new"));
  CHECK_THAT(why("w.new($x)"), Catch::Contains("w.new"));
  CHECK_THAT(why("v.new(abs($x))"), Catch::Contains("v.new is no pattern before this"));
  CHECK_THAT(why("v.new($x, $x)"), Catch::Contains("'x' comes twice"));
  CHECK_THAT(why("abs($x"), Catch::Contains("/rewrites/0/to:"));
  CHECK_THAT(problem(fileOf(R"j({"from": "exp($x)"})j")),
             Catch::Contains("'to' must be the text of a pattern"));
  CHECK_THAT(problem(fileOf(R"j({"from": "exp($x)", "to": "abs($x)", "when": 1})j")),
             Catch::Contains("when"));
  CHECK_THAT(problem(R"j({"vendor": "v", "rewrites": {}})j"),
             Catch::Contains("expected an array of rewrites"));
}
