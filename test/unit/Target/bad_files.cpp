// Vendor and rules files with one mistake each: every message has the file, line and
// column, and the JSON pointer; a misspelt name the nearest one.

#include "bycc/Target/VendorRegistry.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

struct BadFile {
  const char *members; // of a vendor file with "vendor": "v"
  const char *pointer;
  const char *says;
};

// A pattern with members behind the name.
#define PATTERN(members) R"j("patterns": [{"name": "v.p", )j" members "}]"

const BadFile files[] = {
    // --- the file
    {R"j("vendr": 1)j", "/vendr", "unknown member 'vendr', did you mean 'vendor'"},
    {R"j("schema": 2)j", "/schema", "expected 1"},
    {R"j("passes": 3)j", "/passes", "expected an array of passes"},
    {R"j("passes": [""])j", "/passes/0", "expected the name of a pass"},
    // --- operators and conditions
    {R"j("ops": [])j", "/ops", "expected an object of operators and conditions"},
    {R"j("ops": {"nn.rely": {}})j", "/ops/nn.rely",
     "unknown operator 'nn.rely', did you mean 'nn.relu'"},
    {R"j("ops": {"a~/b": {}})j", "/ops/a~0~1b", "unknown operator 'a~/b'"},
    {R"j("ops": {"abs": []})j", "/ops/abs", "expected an object"},
    {R"j("ops": {"abs": {"dtypes": []}})j", "/ops/abs/dtypes", "did you mean 'dtype'"},
    {R"j("ops": {"abs": {"dtype": "float32"}})j", "/ops/abs/dtype", "expected an array of dtypes"},
    {R"j("ops": {"abs": {"dtype": ["float33"]}})j", "/ops/abs/dtype/0", "did you mean 'float32'"},
    {R"j("ops": {"abs": {"dtype": [1]}})j", "/ops/abs/dtype/0", "expected the name of a dtype"},
    {R"j("ops": {"abs": {"const_args": [1]}})j", "/ops/abs/const_args/0",
     "argument 1, but abs takes 1"},
    {R"j("ops": {"abs": {"const_args": [-1]}})j", "/ops/abs/const_args/0",
     "expected an argument position"},
    {R"j("ops": {"abs": {"const_args": 0}})j", "/ops/abs/const_args",
     "expected an array of argument positions"},
    {R"j("ops": {"abs": {"args": []}})j", "/ops/abs/args",
     "expected an object of positions and conditions"},
    {R"j("ops": {"abs": {"args": {"x": {}}}})j", "/ops/abs/args/x",
     "expected an argument position"},
    {R"j("ops": {"abs": {"args": {"0": {"rnk": 2}}}})j", "/ops/abs/args/0/rnk",
     "did you mean 'rank'"},
    {R"j("ops": {"abs": {"args": {"0": {"rank": -1}}}})j", "/ops/abs/args/0/rank", "not negative"},
    {R"j("ops": {"abs": {"args": {"0": {"shape": 3}}}})j", "/ops/abs/args/0/shape",
     "expected an array of dimensions"},
    {R"j("ops": {"abs": {"args": {"0": {"shape": [1, "x"]}}}})j", "/ops/abs/args/0/shape/1",
     "expected a dimension"},
    {R"j("ops": {"abs": {"args": {"0": {"shape": ["...", "..."]}}}})j", "/ops/abs/args/0/shape/1",
     "one \"...\""},
    {R"j("ops": {"abs": {"args": {"0": {"shape": ["8..1"]}}}})j", "/ops/abs/args/0/shape/0",
     "expected a dimension"},
    {R"j("ops": {"abs": {"args": {"0": {"layout": 1}}}})j", "/ops/abs/args/0/layout",
     "expected a layout"},
    {R"j("ops": {"abs": {"args": {"0": {"const": 1}}}})j", "/ops/abs/args/0/const",
     "expected true or false"},
    {R"j("ops": {"abs": {"args": {"0": {"op": "nn.dens"}}}})j", "/ops/abs/args/0/op",
     "did you mean 'nn.dense'"},
    {R"j("ops": {"abs": {"args": {"0": {"op": ["nn.dens"]}}}})j", "/ops/abs/args/0/op/0",
     "did you mean 'nn.dense'"},
    {R"j("ops": {"abs": {"args": {"0": {"max_elements": "x"}}}})j", "/ops/abs/args/0/max_elements",
     "expected a number"},
    {R"j("ops": {"abs": {"args": {"0": {"value": "x"}}}})j", "/ops/abs/args/0/value",
     "expected a number"},
    {R"j("ops": {"abs": {"results": {"-1": {}}}})j", "/ops/abs/results/-1",
     "expected the position of a result"},
    {R"j("ops": {"abs": {"results": {"0": {"const": true}}}})j", "/ops/abs/results/0/const",
     "unknown member 'const'"},
    {R"j("ops": {"abs": {"static_shape": 1}})j", "/ops/abs/static_shape", "expected true or false"},
    {R"j("ops": {"abs": {"equal_shapes": [0, 1]}})j", "/ops/abs/equal_shapes/1",
     "argument 1, but abs takes 1"},
    {R"j("ops": {"abs": {"any_of": []}})j", "/ops/abs/any_of", "expected an array of conditions"},
    {R"j("ops": {"abs": {"any_of": [{}, {"dtipe": []}]}})j", "/ops/abs/any_of/1/dtipe",
     "did you mean 'dtype'"},
    {R"j("ops": {"nn.softmax": {"attr": {"axes": 1}}})j", "/ops/nn.softmax/attr/axes",
     "did you mean 'axis'"},
    {R"j("ops": {"nn.softmax": {"attr": {"axis": {"mn": 1}}}})j", "/ops/nn.softmax/attr/axis/mn",
     "did you mean 'min'"},
    {R"j("ops": {"nn.softmax": {"attr": {"axis": {"min": "1"}}}})j",
     "/ops/nn.softmax/attr/axis/min", "expected a number"},
    {R"j("ops": {"nn.softmax": {"attr": {"axis": {"min": 2, "max": 1}}}})j",
     "/ops/nn.softmax/attr/axis", "min is greater than max"},
    {R"j("ops": {"nn.softmax": {"attr": {"axis": {"in": 1}}}})j", "/ops/nn.softmax/attr/axis/in",
     "expected an array of values"},
    // --- lists, edges, minimums, costs
    {R"j("allow_ops": "abs")j", "/allow_ops", "expected an array of operators"},
    {R"j("allow_ops": ["nn.relo"])j", "/allow_ops/0", "did you mean 'nn.relu'"},
    {R"j("deny_ops": ["zz*"])j", "/deny_ops/0", "'zz*' fits no operator"},
    {R"j("deny_ops": [7])j", "/deny_ops/0", "expected the name of an operator"},
    {R"j("edges": [])j", "/edges", "expected an object"},
    {R"j("edges": {"deni": []})j", "/edges/deni", "did you mean 'deny'"},
    {R"j("edges": {"deny": [["abs"]]})j", "/edges/deny/0", "expected [from, to]"},
    {R"j("edges": {"deny": [["abs", 1]]})j", "/edges/deny/0/1",
     "expected the name of an operator or composite"},
    {R"j("edges": {"deny": [["v.q", "abs"]]})j", "/edges/deny/0/0", "unknown composite 'v.q'"},
    {R"j("min_ops": 1.5)j", "/min_ops", "expected a number of operators"},
    {R"j("min_flops": -1)j", "/min_flops", "not negative"},
    {R"j("cost": 3)j", "/cost", "expected an object"},
    {R"j("cost": {"lunch_us": 3})j", "/cost/lunch_us", "did you mean 'launch_us'"},
    {R"j("cost": {"gflops": "9"})j", "/cost/gflops", "expected a number"},
    {R"j("cost": {"ops": {"abss": {}}})j", "/cost/ops/abss", "did you mean 'abs'"},
    {R"j("cost": {"ops": {"abs": {"launch_us": 1}}})j", "/cost/ops/abs/launch_us",
     "unknown member 'launch_us'"},
    {R"j("cost": {"trust": 0})j", "/cost/trust", "expected a number greater than 0"},
    {R"j("cost": {"layout_gb_per_s": -1})j", "/cost/layout_gb_per_s", "not negative"},
    {R"j("cost": {"open_trust": 0})j", "/cost/open_trust", "expected a number greater than 0"},
    {R"j("cost": {"trust": "1"})j", "/cost/trust", "expected a number greater than 0"},
    {R"j("cost": {"measured": 1})j", "/cost/measured", "expected true or false"},
    {R"j("cost": {"cpus": []})j", "/cost/cpus", "expected an object of CPUs and costs"},
    {R"j("cost": {"cpus": {"a,": {}}})j", "/cost/cpus/a,", "expected names of CPUs"},
    {R"j("cost": {"cpus": {"a": {"gflops": -1}}})j", "/cost/cpus/a/gflops", "not negative"},
    {R"j("cost": {"cpus": {"a": {"cpus": {}}}})j", "/cost/cpus/a/cpus", "outer object only"},
    {R"j("own_memory": "yes")j", "/own_memory", "expected true or false"},
    {R"j("cost": {"classes": []})j", "/cost/classes", "expected an object of names and conditions"},
    {R"j("cost": {"classes": {"depthwise": {}}})j", "/cost/classes/depthwise",
     "'depthwise' is built in"},
    {R"j("cost": {"classes": {"a b": {}}})j", "/cost/classes/a b", "'a b' is no name"},
    {R"j("cost": {"classes": {"a, b": {}}})j", "/cost/classes/a, b", "'a, b' is no name"},
    {R"j("cost": {"classes": {"c": {"dtipe": []}}})j", "/cost/classes/c/dtipe",
     "did you mean 'dtype'"},
    {R"j("cost": {"classes": {"c": {"attr": {"group": 1}}}})j", "/cost/classes/c/attr/group",
     "did you mean 'groups'"},
    {R"j("cost": {"rows": {}})j", "/cost/rows", "expected an array of rows"},
    {R"j("cost": {"rows": [3]})j", "/cost/rows/0", "expected an object"},
    {R"j("cost": {"rows": [{"opp": "abs"}]})j", "/cost/rows/0/opp", "did you mean 'op'"},
    {R"j("cost": {"rows": [{"us": 1}]})j", "/cost/rows/0", "expected either 'op' or 'composite'"},
    {R"j("cost": {"rows": [{"op": "abs", "composite": "v.p", "us": 1}]})j", "/cost/rows/0",
     "expected either"},
    {R"j("cost": {"rows": [{"op": "abs", "us": 1}, {"op": "abss", "us": 1}]})j", "/cost/rows/1/op",
     "did you mean 'abs'"},
    {R"j("cost": {"rows": [{"op": 1, "us": 1}]})j", "/cost/rows/0/op",
     "expected the name of an operator, or '*'"},
    {R"j("cost": {"rows": [{"composite": "v.q", "us": 1}]})j", "/cost/rows/0/composite",
     "unknown composite 'v.q'"},
    {R"j("cost": {"rows": [{"composite": 1, "us": 1}]})j", "/cost/rows/0/composite",
     "expected the name of a composite"},
    {R"j("cost": {"rows": [{"op": "abs"}]})j", "/cost/rows/0",
     "expected 'gflops', 'gb_per_s' or 'us'"},
    {R"j("cost": {"rows": [{"op": "abs", "us": -1}]})j", "/cost/rows/0/us", "not negative"},
    {R"j("cost": {"rows": [{"op": "abs", "gb_per_s": "1"}]})j", "/cost/rows/0/gb_per_s",
     "not negative"},
    {R"j("cost": {"rows": [{"op": "abs", "dtype": "float33", "us": 1}]})j", "/cost/rows/0/dtype",
     "did you mean 'float32'"},
    {R"j("cost": {"rows": [{"op": "abs", "dtype": 1, "us": 1}]})j", "/cost/rows/0/dtype",
     "expected the name of a dtype"},
    {R"j("cost": {"rows": [{"op": "abs", "threads": 0, "us": 1}]})j", "/cost/rows/0/threads",
     "expected a number of threads"},
    {R"j("cost": {"rows": [{"op": "abs", "class": 1, "us": 1}]})j", "/cost/rows/0/class",
     "expected the name of a class, or a comparison"},
    {R"j("cost": {"rows": [{"op": "nn.conv2d", "class": "depthwize", "us": 1}]})j",
     "/cost/rows/0/class", "unknown class 'depthwize', did you mean 'depthwise'"},
    {R"j("cost": {"classes": {"mine": {}}, "rows": [{"op": "abs", "class": "mne", "us": 1}]})j",
     "/cost/rows/0/class", "did you mean 'mine'"},
    {R"j("cost": {"classes": {"mine": {"any_of": [{"attr": {"axis": 1}}]}}, "rows": [{"op": "abs", "class": "mine", "us": 1}]})j",
     "/cost/rows/0/class", "class 'mine' asks for the attribute 'axis', which abs does not have"},
    {R"j("cost": {"rows": [{"op": "nn.dense", "class": "depthwise", "us": 1}]})j",
     "/cost/rows/0/class", "no nn.dense is 'depthwise': a convolution"},
    {R"j("cost": {"rows": [{"op": "nn.softmax", "class": "axs=1", "us": 1}]})j",
     "/cost/rows/0/class", "nn.softmax: unknown attribute or measure 'axs', did you mean 'axis'"},
    {R"j("cost": {"rows": [{"op": "*", "class": "row<8", "us": 1}]})j", "/cost/rows/0/class",
     "unknown attribute or measure 'row', did you mean 'rows'"},
    {R"j("cost": {"rows": [{"op": "*", "class": "rows=many", "us": 1}]})j", "/cost/rows/0/class",
     "'rows' is compared with numbers"},
    {R"j("cost": {"rows": [{"op": "*", "class": "rows<", "us": 1}]})j", "/cost/rows/0/class",
     "column 6: expected a number"},
    {R"j("cost": {"rows": [{"op": "*", "class": "rows<8 k<2", "us": 1}]})j", "/cost/rows/0/class",
     "column 8: expected ','"},
    {R"j("cost": {"rows": [{"op": "*", "class": "", "us": 1}]})j", "/cost/rows/0/class",
     "column 1: expected a name"},
    // --- patterns
    {R"j("patterns": {})j", "/patterns", "expected an array of patterns"},
    {R"j("patterns": [1])j", "/patterns/0", "expected an object"},
    {R"j("patterns": [{"root": "abs(*)"}])j", "/patterns/0", "'name' must be text"},
    {R"j("patterns": [{"name": "w.p", "root": "abs(*)"}])j", "/patterns/0/name",
     "must start with 'v.'"},
    {R"j("patterns": [{"name": "v.*", "root": "abs(*)"}])j", "/patterns/0/name",
     "'v.*' is for a vendor whose code says the name"},
    {PATTERN(R"j("rot": "abs(*)")j"), "/patterns/0/rot", "did you mean 'root'"},
    {PATTERN(R"j("let": {})j"), "/patterns/0", "'root' must be the text of a pattern"},
    {PATTERN(R"j("root": "abs(*")j"), "/patterns/0/root", "column 6: expected ')', found the end"},
    {PATTERN(R"j("root": "abz(*)")j"), "/patterns/0/root",
     "unknown operator 'abz', did you mean 'abs'"},
    {PATTERN(R"j("root": "v.q(*)")j"), "/patterns/0/root", "unknown composite 'v.q'"},
    {PATTERN(R"j("root": "abs(*, *)")j"), "/patterns/0/root",
     "abs takes 1 inputs, the pattern gives 2"},
    {PATTERN(R"j("root": "*")j"), "/patterns/0/root", "the outermost part must be an operator"},
    {PATTERN(R"j("root": "abs(*<flot32>)")j"), "/patterns/0/root",
     "unknown dtype or test 'flot32', did you mean 'float32'"},
    {PATTERN(R"j("root": "abs(*<[1, x]>)")j"), "/patterns/0/root", "expected a dimension"},
    {PATTERN(R"j("root": "abs(#(x))")j"), "/patterns/0/root", "column 7: expected a number"},
    {PATTERN(R"j("root": "nn.softmax{axs=1}(*)")j"), "/patterns/0/root",
     "unknown attribute 'axs', did you mean 'axis'"},
    {PATTERN(R"j("root": "path{abz}(abs(*))")j"), "/patterns/0/root", "unknown operator 'abz'"},
    {PATTERN(R"j("root": "(abs|tanj)(*)")j"), "/patterns/0/root",
     "unknown operator 'tanj', did you mean 'tan'"},
    {PATTERN(R"j("root": "abs(@q)")j"), "/patterns/0/root", "no 'q' under let"},
    {PATTERN(R"j("root": "abs(@q)", "let": 1)j"), "/patterns/0/let",
     "expected an object of names and patterns"},
    {PATTERN(R"j("root": "abs(@q)", "let": {"q": 1})j"), "/patterns/0/let/q",
     "expected the text of a pattern"},
    {PATTERN(R"j("root": "abs(@q)", "let": {"q": "tanh("})j"), "/patterns/0/let/q",
     "column 6: expected a pattern, found the end"},
    {PATTERN(R"j("root": "abs(@q)", "let": {"q": "@q"})j"), "/patterns/0/let/q",
     "'@q' refers to itself"},
    {PATTERN(R"j("root": "abs(*)", "let": {"q": "*"})j"), "/patterns/0/let/q", "not used"},
    {PATTERN(R"j("root": "abs(*)", "where": {})j"), "/patterns/0/where", "expected an array"},
    {PATTERN(R"j("root": "abs(*)", "where": [{}])j"), "/patterns/0/where/0",
     "'op' must be the name of an operator"},
    {PATTERN(R"j("root": "abs(*)", "where": [{"op": "abz"}])j"), "/patterns/0/where/0/op",
     "did you mean 'abs'"},
    {PATTERN(R"j("root": "abs(*)", "where": [{"op": "exp"}])j"), "/patterns/0/where/0/op",
     "the pattern has no exp"},
    {PATTERN(R"j("root": "abs($x)", "params": "x")j"), "/patterns/0/params",
     "expected an array of names"},
    {PATTERN(R"j("root": "abs($data)", "params": ["dta"])j"), "/patterns/0/params/0",
     "unknown operand 'dta', did you mean 'data'"},
    {PATTERN(R"j("root": "abs($x)", "params": ["x", "x"])j"), "/patterns/0/params/1",
     "'x' comes twice"},
    {PATTERN(R"j("root": "abs($x:tanh(*))", "params": ["x"])j"), "/patterns/0/params/0",
     "names a part inside"},
    {PATTERN(R"j("root": "abs(*)", "any_order": 1)j"), "/patterns/0/any_order",
     "expected true or false"},
    {PATTERN(R"j("relay": 1)j"), "/patterns/0/relay", "expected the text of a Relay function"},
    {PATTERN(R"j("relay": "abs(%x)", "root": "abs(*)")j"), "/patterns/0/relay", "stands alone"},
    {PATTERN(R"j("relay": "abs(%x)")j"), "/patterns/0/relay",
     "line 1, column 5: unknown variable 'x'"},
    {PATTERN(R"j("relay": "fn (%x) { abz(%x) }")j"), "/patterns/0/relay",
     "unknown operator 'abz', did you mean 'abs'"},
    {PATTERN(R"j("relay": "fn (%x) { nn.softmax(%x, axs=1) }")j"), "/patterns/0/relay",
     "unknown attribute 'axs', did you mean 'axis'"},
    {PATTERN(R"j("relay": "fn (%x: Tensor[(2), flot32]) { abs(%x) }")j"), "/patterns/0/relay",
     "did you mean 'float32'"},
    {PATTERN(R"j("relay": "fn (%x) { if (%x) { 1 } else { 2 } }")j"), "/patterns/0/relay",
     "'if' has no place in a pattern"},
    {PATTERN(R"j("relay": "fn (%x) { %x }")j"), "/patterns/0/relay",
     "the outermost part must be an operator"},
    {PATTERN(R"j("relay": "fn (%x, %x) { abs(%x) }")j"), "/patterns/0/relay",
     "'%x' is there already"},
    {PATTERN(R"j("relay": "fn (%x) { abs(%3) }")j"), "/patterns/0/relay", "'%3' is not bound"},
};

} // namespace

TEST_CASE("every mistake in a vendor file has a place and a pointer") {
  static_assert(std::size(files) >= 40);
  for (const BadFile &bad : files) {
    std::string text = std::string("{\"vendor\": \"v\",\n ") + bad.members + "}";
    INFO(text);
    Expected<std::unique_ptr<Vendor>> vendor = readVendorFile(text, "v.json");
    REQUIRE_FALSE(vendor);
    std::string message = vendor.error().str();
    INFO(message);
    CHECK(message.starts_with("v.json:2:"));
    CHECK(message.find("error[INPUT]: " + std::string(bad.pointer) + ": ") != std::string::npos);
    CHECK(message.find(bad.says) != std::string::npos);
  }
}

TEST_CASE("the same mistakes in a rules file") {
  for (const BadFile &bad : files) {
    if (std::string_view(bad.pointer) == "/vendr" || std::string_view(bad.pointer) == "/schema")
      continue;
    std::string text =
        std::string("{\"pipeline\": {\"vendors\": [{\"name\": \"v\",\n ") + bad.members + "}]}}";
    Expected<RuleSet> rules = readRules(text, "r.json");
    INFO(text);
    REQUIRE_FALSE(rules);
    CHECK(rules.error().str().find("r.json:2:") == 0);
    CHECK(rules.error().message().starts_with("/pipeline/vendors/0" + std::string(bad.pointer) +
                                              ": "));
  }
}
