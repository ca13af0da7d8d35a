#include "bycc/Transforms/PassManager.h"

#include "TestGraph.h"

using namespace bycc;

namespace {

struct Fixture {
  TestGraph graph;
  PassRegistry registry;
  PassContext context;
  std::string text;
  PassManagerOptions options;

  Fixture() {
    registerTransforms(registry);
    NodeId x = graph.param("x", {Dim(4)});
    graph.finish(graph.call(ops::multiply, {x, graph.module.addScalar(DType::Float32, 1)}));
    context.target = &graph.target;
    options.write = [this](std::string_view piece) { text += piece; };
  }
  Expected<bool> run(PassManager &manager, std::vector<std::string> names) {
    Pipeline pipeline;
    for (std::string &name : names)
      pipeline.push_back({name, {}});
    return manager.run(graph.module, context, pipeline);
  }
};

struct Recorder : PassInstrument {
  std::vector<std::string> seen;
  bool shouldRun(const Module &, const PassInfo &pass) override {
    return pass.name != "infer-type";
  }
  void beforePass(const Module &, const PassInfo &pass) override {
    seen.push_back("+" + pass.name);
  }
  void afterPass(const Module &, const PassInfo &pass, bool changed) override {
    seen.push_back((changed ? "!" : "-") + pass.name);
  }
};

} // namespace

TEST_CASE("instruments see every pass and may skip one") {
  Fixture f;
  PassManager manager(f.registry, f.options);
  Recorder recorder;
  manager.addInstrument(&recorder);
  auto changed = f.run(manager, {"infer-type", "simplify-expr", "eliminate-dead-code"});
  REQUIRE(changed);
  CHECK(*changed);
  CHECK(recorder.seen == std::vector<std::string>{"+simplify-expr", "!simplify-expr",
                                                  "+eliminate-dead-code", "-eliminate-dead-code"});
  CHECK(manager.times().size() == 2);
  CHECK(manager.timeReport().find("total") != std::string::npos);
  CHECK(f.text.empty());
}

TEST_CASE("printing before, after and on change") {
  Fixture f;
  f.options.printBefore = {"simplify-expr"};
  f.options.printChanged = PrintChanged::Diff;
  PassManager manager(f.registry, f.options);
  REQUIRE(f.run(manager, {"simplify-expr", "eliminate-dead-code"}));
  CHECK(f.text.find("// IR before simplify-expr\n#[version") != std::string::npos);
  CHECK(f.text.find("// IR changed by simplify-expr\n") != std::string::npos);
  CHECK_THAT(f.text, Catch::Contains("multiply(%x, 1f)") && Catch::Contains("\n-"));
  CHECK(f.text.find("// IR after eliminate-dead-code: no change") != std::string::npos);
}

TEST_CASE("bisection stops after so many passes") {
  Fixture f;
  f.options.optBisectLimit = 1;
  PassManager manager(f.registry, f.options);
  auto changed = f.run(manager, {"infer-type", "simplify-expr"});
  REQUIRE(changed);
  CHECK(!*changed);
  CHECK(f.text ==
        "BISECT: running pass (1) infer-type\nBISECT: NOT running pass (2) simplify-expr\n");
}

TEST_CASE("a pass that breaks the program is found by verification") {
  Fixture f;
  f.registry.add("break-types", 0, "", "", "", "",
                 [](Module &module, PassContext &) -> Expected<bool> {
                   NodeId result = module.block(module.function(module.main()).body).result;
                   module.node(result).type = module.types.tensor(DType::Int8, {Dim(9)});
                   return true;
                 });
  f.options.verifyEach = true;
  PassManager manager(f.registry, f.options);
  auto result = f.run(manager, {"infer-type", "break-types"});
  REQUIRE(!result);
  CHECK(result.error().status() == Status::Internal);
  CHECK(result.error().message().find("after pass 'break-types'") != std::string::npos);
}

TEST_CASE("options reach the pass that was given them") {
  Fixture f;
  PassManager manager(f.registry, f.options);
  auto result = manager.run(f.graph.module, f.context, {{"fuse-ops", {{"max-nodes", "none"}}}});
  REQUIRE(!result);
  CHECK(result.error().message() ==
        "pass 'fuse-ops': max-nodes is 'none', not a number from 1 to 4096");
}
