#include "bycc/Transforms/Pipeline.h"
#include "bycc/IR/Builder.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

Expected<bool> nothing(Module &, PassContext &) { return false; }

PassRegistry makeRegistry() {
  PassRegistry registry;
  registerTransforms(registry);
  registry.add("annotate-target", 0, "", "annotations", "vendors", "", nothing);
  registry.add("merge-compiler-regions", 0, "annotations", "regions", "", "", nothing);
  registry.add("partition-graph", 0, "annotations", "external-functions !annotations !regions", "",
               "", nothing);
  return registry;
}

Pipeline defaults(int level) {
  Pipeline pipeline;
  if (level >= 1)
    pipeline.push_back({"fold-constants", {}});
  if (level >= 2)
    pipeline.push_back({"simplify-expr", {}});
  if (level >= 1)
    pipeline.push_back({"fuse-ops", {}});
  return pipeline;
}

Pipeline parsed(std::string_view text) {
  auto pipeline = parsePipeline(text, makeRegistry(), defaults);
  INFO((pipeline ? "" : pipeline.error().str()));
  REQUIRE(pipeline);
  return *pipeline;
}

std::string problem(std::string_view text) {
  auto pipeline = parsePipeline(text, makeRegistry(), defaults);
  REQUIRE(!pipeline);
  CHECK(pipeline.error().status() == Status::Usage);
  return pipeline.error().str();
}

} // namespace

TEST_CASE("a pass list reads and prints") {
  Pipeline pipeline =
      parsed(" fold-constants{max-bytes=16}, annotate-target{vendors=a,b},default<O2> ");
  REQUIRE(pipeline.size() == 5);
  CHECK(pipeline[1].options.at("vendors") == "a,b");
  CHECK(printPipeline(pipeline) == "fold-constants{max-bytes=16},annotate-target{vendors=a,b},fold-"
                                   "constants,simplify-expr,fuse-ops");
  CHECK(printPipeline(parsed(printPipeline(pipeline))) == printPipeline(pipeline));
  CHECK(parsed("").empty());
  CHECK(parsed("default<O0>").empty());
  CHECK(parsed("fuse-ops{}")[0].options.empty());
}

TEST_CASE("a bad pass list says what is wrong") {
  CHECK(problem("fold-constant").find("did you mean 'fold-constants'") != std::string::npos);
  CHECK(problem("fuse-ops{max-node=3}").find("did you mean 'max-nodes'") != std::string::npos);
  CHECK(problem("fuse-ops{max-nodes=3").find("not closed") != std::string::npos);
  CHECK(problem("fuse-ops}").find("without '{'") != std::string::npos);
  CHECK(problem("fuse-ops,,fuse-ops").find("missing between commas") != std::string::npos);
  CHECK(problem("default<O4>").find("default<O0> .. default<O3>") != std::string::npos);
  CHECK(problem("fuse-ops{max-nodes=1,max-nodes=2}").find("given twice") != std::string::npos);
  CHECK(problem("fuse-ops{a{b}}").find("inside braces") != std::string::npos);
}

TEST_CASE("edits by name") {
  PassRegistry registry = makeRegistry();
  Pipeline reference = defaults(2);
  auto edited = [&](Pipeline from, PipelineEdits edits) {
    auto pipeline = editPipeline(std::move(from), edits, reference, registry);
    INFO((pipeline ? "" : pipeline.error().str()));
    REQUIRE(pipeline);
    return printPipeline(*pipeline);
  };
  CHECK(edited(defaults(2), {.disable = {"fold-constants"}}) == "simplify-expr,fuse-ops");
  CHECK(edited(defaults(1), {.require = {"simplify-expr"}}) ==
        "fold-constants,simplify-expr,fuse-ops");
  // Not in the reference list: as late as its needs allow.
  CHECK(edited(defaults(1), {.require = {"canonicalize-ops"}}) ==
        "fold-constants,canonicalize-ops,fuse-ops");
  CHECK(edited(defaults(2), {.disable = {"simplify-expr"}, .require = {"simplify-expr"}}) ==
        "fold-constants,fuse-ops");
  CHECK(edited(defaults(1), {.runBefore = {{"fuse-ops", "infer-type"}}}) ==
        "fold-constants,infer-type,fuse-ops");
  CHECK(edited(defaults(1), {.runAfter = {{"fuse-ops", "fold-constants{max-bytes=1}"}}}) ==
        "fold-constants,fuse-ops,fold-constants{max-bytes=1}");
  CHECK(!editPipeline({}, {.disable = {"nonsense"}}, reference, registry));
  CHECK(!editPipeline({}, {.runAfter = {{"fuse-ops", "infer-type"}}}, reference, registry));
}

TEST_CASE("an order that breaks what a pass needs names the missing pass") {
  PassRegistry registry = makeRegistry();
  auto check = [&](std::string_view text, std::vector<std::string> facts = {}) {
    auto result = checkPipeline(parsed(text), registry, facts);
    return result ? std::string() : result.error().str();
  };
  CHECK(check("annotate-target,merge-compiler-regions,partition-graph").empty());
  CHECK(check("partition-graph").find("'annotate-target'") != std::string::npos);
  CHECK(check("partition-graph", {"annotations"}).empty());
  CHECK(check("fuse-ops,fold-constants").find("cannot run after 'fuse-ops'") != std::string::npos);
  CHECK(check("fuse-ops,fuse-ops").empty());
  // A fact that a pass ends holds no longer.
  CHECK(check("annotate-target,fold-constants").find("cannot run after 'annotate-target'") !=
        std::string::npos);
  CHECK(check("annotate-target,partition-graph,fold-constants").empty());
  CHECK(check("annotate-target,partition-graph,partition-graph").find("'annotate-target'") !=
        std::string::npos);
}

TEST_CASE("a program says which facts it has") {
  Module module;
  FunctionId main = module.addFunction("main");
  NodeId x = module.addParam("x", module.types.tensor(DType::Float32, {Dim(4)}));
  module.function(main).params = {x};
  Builder builder(module, module.function(main).body);
  NodeId y = *builder.call(ops::abs, {x});
  module.block(module.function(main).body).result = y;
  CHECK(factsOf(module).empty());
  module.setAnnotation(y, {{module.intern("v")}, 0});
  CHECK(factsOf(module) == std::vector<std::string>{"annotations", "regions"});
}
