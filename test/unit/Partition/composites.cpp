// merge-composite from the inside: what vendors are told, composites in composites,
// long chains, and one form for the spellings of a layer.

#include "bycc/Eval/Eval.h"
#include "bycc/IR/Verifier.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Support/File.h"
#include "bycc/Target/RegionView.h"
#include "bycc/Target/VendorRegistry.h"
#include "bycc/Transforms/Passes.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

using namespace bycc;

namespace {

VendorSet vendorsOf(const std::string &members) {
  std::string text = "{\"vendors\": [{\"name\": \"v\", " + members + "}]}";
  Expected<RuleSet> rules = readRules(text, "r.json");
  if (!rules)
    FAIL(rules.error().str());
  VendorSet set;
  for (RuleSet::Entry &entry : rules->vendors)
    set.add(std::move(entry.emulated));
  return set;
}

Module parse(const std::string &text) {
  Expected<Module> module = parseRelay(text, "t.relay");
  if (!module)
    FAIL(module.error().str());
  return module.takeValue();
}

void run(Module &module, VendorSet &vendors, Expected<bool> (*pass)(Module &, PassContext &)) {
  TargetInfo target;
  PassContext context;
  context.target = &target;
  context.vendors = &vendors;
  Expected<bool> done = pass(module, context);
  if (!done)
    FAIL(done.error().str());
  Expected<> good = verify(module);
  if (!good)
    FAIL(good.error().str());
}

const std::vector<NodeId> &mainNodes(const Module &module) {
  return module.block(module.function(module.main()).body).nodes;
}

std::vector<NodeId> compositeCalls(const Module &module) {
  std::vector<NodeId> calls;
  for (NodeId node : mainNodes(module))
    if (compositeOf(module, node))
      calls.push_back(node);
  return calls;
}

const bycc_role *role(const bycc_node &node, const char *name) {
  for (uint32_t i = 0; i < node.num_roles; ++i)
    if (!std::strcmp(bycc_role_at(&node, i)->name, name))
      return bycc_role_at(&node, i);
  return nullptr;
}

} // namespace

TEST_CASE("a vendor is told what the names of a pattern stand for") {
  Module module = parse(R"(#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32], %y: Tensor[(2, 2), float32]) {
  %0 = split(%x, indices_or_sections=2, axis=1);
  %1 = nn.leaky_relu(%0.1, alpha=0.25);
  %2 = concatenate((%1, Tensor[(2, 2), float32][1, 2, 3, 4], %y), axis=1);
  multiply(%2, 0.5f)
})");
  VendorSet vendors = vendorsOf(R"j("patterns": [{"name": "v.p", "params": ["other", "data"],
    "root": "multiply(concatenate(($act:nn.leaky_relu($half:(split($data)[1])), $table:#, $other)), $scale:#(0.5))"}])j");
  run(module, vendors, mergeComposite);
  REQUIRE(compositeCalls(module).size() == 1);
  RegionView view = RegionView::ofNode(module, compositeCalls(module)[0]);
  const bycc_node &node = *bycc_node_at(&view.region(), 0);
  REQUIRE(node.num_inputs == 2);
  REQUIRE(node.body);
  const bycc_region &body = *node.body;

  REQUIRE(role(node, "other"));
  CHECK(role(node, "other")->kind == BYCC_ROLE_INPUT);
  CHECK(role(node, "other")->index == 0);
  CHECK(role(node, "data")->index == 1);
  const bycc_role *act = role(node, "act");
  REQUIRE(act);
  CHECK(act->kind == BYCC_ROLE_NODE);
  CHECK(std::string(bycc_node_at(&body, act->index)->op) == "nn.leaky_relu");
  CHECK(bycc_attr_at(bycc_node_at(&body, act->index)->attrs, 0)->f == 0.25);
  const bycc_role *scale = role(node, "scale"), *table = role(node, "table"),
                  *half = role(node, "half");
  REQUIRE(scale);
  CHECK(scale->kind == BYCC_ROLE_VALUE);
  REQUIRE(bycc_value_at(&body, scale->index)->data);
  CHECK(*static_cast<const float *>(bycc_value_at(&body, scale->index)->data) == 0.5f);
  REQUIRE(table); // inside a tuple
  CHECK(table->kind == BYCC_ROLE_VALUE);
  CHECK(bycc_value_at(&body, table->index)->bytes == 16);
  REQUIRE(half);
  CHECK(half->kind == BYCC_ROLE_VALUE);
  CHECK(half->index == bycc_node_at(&body, 0)->outputs[1]);
}

TEST_CASE("names reach supports() before anything is claimed") {
  static int32_t scales = 0;
  bycc_vendor_compiler compiler{};
  compiler.abi_version = BYCC_VENDOR_ABI_VERSION;
  compiler.size = sizeof compiler;
  compiler.name = "v";
  compiler.patterns =
      R"j({"vendor": "v", "patterns": [{"name": "v.p", "root": "nn.relu(multiply($x, $scale:#))"}]})j";
  compiler.supports = [](void *, const bycc_target *, const bycc_region *region,
                         bycc_answer *answer) -> int32_t {
    const bycc_node &node = *bycc_node_at(region, 0);
    if (!node.body)
      return 0;
    const bycc_role *scale = role(node, "scale");
    const float *value =
        scale ? static_cast<const float *>(bycc_value_at(node.body, scale->index)->data) : nullptr;
    scales += value != nullptr;
    if (value && *value == 2)
      return 1;
    answer->reason(answer, "it scales by 2 only");
    return 0;
  };
  VendorSet vendors;
  vendors.add(Vendor::fromCompiler(&compiler).takeValue());
  Module module = parse(R"(#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) { (nn.relu(multiply(%x, 2f)), nn.relu(multiply(%x, 3f))) })");
  run(module, vendors, mergeComposite);
  CHECK(scales == 2);
  CHECK(compositeCalls(module).size() == 1);
}

TEST_CASE("composites in composites, three deep") {
  Module module = parse(R"(#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
  %0 = add(%x, %y); %1 = nn.relu(%0); %2 = tanh(%1); %3 = multiply(%2, %y); abs(%3)
})");
  VendorSet vendors = vendorsOf(R"j("patterns": [
    {"name": "v.a", "root": "nn.relu(add($p, $q))"}, {"name": "v.b", "root": "tanh(v.a($p, $q))"},
    {"name": "v.c", "root": "multiply($inner:v.b($p, $q), $r)"}, {"name": "v.d", "root": "abs(v.c(...))"}])j");
  run(module, vendors, mergeComposite);
  std::vector<NodeId> calls = compositeCalls(module);
  REQUIRE(calls.size() == 1);
  CHECK(module.functionAttr(*compositeOf(module, calls[0]), "Composite")->asString() == "v.d");
  CHECK(mainNodes(module).size() == 2); // the function and its call
  RegionView view = RegionView::ofNode(module, calls[0]);
  const bycc_region *body = bycc_node_at(&view.region(), 0)->body;
  for (const char *name : {"v.c", "v.b", "v.a"}) {
    REQUIRE(body);
    CHECK(std::string(bycc_node_at(body, 0)->op) == name);
    body = bycc_node_at(body, 0)->body;
  }
  REQUIRE(body);
  CHECK(std::string(bycc_node_at(body, 0)->op) == "add");
}

TEST_CASE("a vendor's code names what its file leaves open") {
  bycc_vendor_compiler compiler{};
  compiler.size = sizeof compiler;
  compiler.name = "v";
  compiler.patterns = R"j({"schema": 1, "vendor": "v", "patterns": [
    {"name": "v.*", "root": "path+{nn.relu|exp|sin|add}(tanh($x))"},
    {"name": "v.outer", "root": "abs(v.tanh_relu(*))"}],
    "edges": {"deny": [["v.tanh_relu", "v.tanh_add"]]}})j";
  compiler.supports = [](void *, const bycc_target *, const bycc_region *region,
                         bycc_answer *answer) {
    const bycc_node *node = bycc_node_at(region, 0);
    std::string last = bycc_node_at(node->body, node->body->num_nodes - 1)->op;
    if (!std::strcmp(node->op, "v.*") && last != "sin") // forgets that
      answer->name(
          answer,
          ((last == "exp" ? "w.tanh_" : "v.tanh_") + (last == "nn.relu" ? "relu" : last)).c_str());
    return 1;
  };
  VendorSet vendors;
  vendors.add(Vendor::fromCompiler(&compiler).takeValue());
  Module module = parse(R"(#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
  %0 = nn.relu(tanh(%x)); %1 = add(tanh(%x), %y); %2 = exp(tanh(%x)); %3 = sin(tanh(%x));
  (abs(%0), %1, %2, %3)
})");
  run(module, vendors, mergeComposite);
  std::vector<std::string> names;
  for (NodeId call : compositeCalls(module))
    names.push_back(module.functionAttr(*compositeOf(module, call), "Composite")->asString());
  CHECK(names == std::vector<std::string>{"v.tanh_add", "v.outer"});
}

TEST_CASE("a chain of 100,000 operators") {
  std::string text =
      "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n  %0 = abs(%x);\n";
  constexpr int length = 100000;
  for (int i = 1; i < length; ++i)
    text += "  %" + std::to_string(i) + " = " + (i % 2 ? "nn.relu" : "abs") + "(%" +
            std::to_string(i - 1) + ");\n";
  Module module = parse(text + "  %" + std::to_string(length - 1) + "\n}\n");
  VendorSet vendors = vendorsOf(R"j("patterns": [
    {"name": "v.path", "root": "nn.relu(path{*}(sigmoid(*)))"},
    {"name": "v.p", "root": "nn.relu(abs(*))"}, {"name": "v.q", "root": "v.p(v.p(*))"}])j");
  run(module, vendors, mergeComposite);
  CHECK(compositeCalls(module).size() == length / 4);
}

TEST_CASE("five spellings of an encoder layer are one composite with the same results") {
  const std::string folder = std::string(BYCC_SOURCE_DIR) + "/test/e2e/encoder_layer/";
  std::string rulesText = readFile(folder + "rules.json").takeValue();
  std::string signature;
  for (const char *spelling : {"apart", "together", "transposed", "rewritten", "heads_first"}) {
    INFO(spelling);
    RuleSet rules = readRules(rulesText, "rules.json").takeValue();
    VendorSet vendors;
    vendors.add(std::move(rules.vendors[0].emulated));
    Module module = parse(readFile(folder + spelling + ".relay").takeValue());
    std::mt19937 random(11);
    std::vector<Tensor> inputs;
    for (NodeId param : module.function(module.main()).params) {
      std::vector<int64_t> shape;
      int64_t count = 1;
      for (Dim dim : module.types.shape(module.type(param))) {
        shape.push_back(dim.value());
        count *= dim.value();
      }
      std::vector<double> data;
      for (int64_t i = 0; i < count; ++i)
        data.push_back(static_cast<double>(random() % 2000) / 1000 - 1);
      inputs.push_back(*Tensor::fromDoubles(DType::Float32, shape, data));
    }
    std::vector<Tensor> wanted = evaluate(module, module.main(), inputs).takeValue();
    for (auto pass :
         {recognizeLayerNorm, recognizeAttention, recognizeGelu, canonicalizeMatmul, simplifyExpr,
          canonicalizeMatmul, eliminateCommonSubexpr, combineParallelDense, simplifyExpr,
          eliminateCommonSubexpr, foldConstants, mergeComposite})
      run(module, vendors, pass);
    std::vector<Tensor> found = evaluate(module, module.main(), inputs).takeValue();
    REQUIRE(found.size() == 1);
    REQUIRE(found[0].shape == wanted[0].shape);
    for (int64_t i = 0; i < wanted[0].numElements(); ++i)
      CHECK(std::abs(found[0].real(i) - wanted[0].real(i)) < 1e-4);

    std::vector<NodeId> calls = compositeCalls(module);
    REQUIRE(calls.size() == 1);
    FunctionId composite = *compositeOf(module, calls[0]);
    std::string mine;
    for (NodeId param : module.function(composite).params)
      mine += std::string(module.string(module.node(param).name)) + ": " +
              module.types.str(module.type(param)) + "\n";
    CHECK(mine.starts_with("x: Tensor[(4, 8), float32]\nwqkv: Tensor[(24, 8), float32]\nbqkv: "));
    if (signature.empty())
      signature = mine;
    CHECK(mine == signature);
  }
}
