// Passes, vendors, patterns and frontends of the library's user in the default pipeline.

#include "Requests.h"
#include "bycc/IR/Builder.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>

using namespace bycc;

namespace {

PassInfo pass(const std::string &name, PassFn run, int level = 1) {
  PassInfo info;
  info.name = name;
  info.description = "a pass of this test";
  info.level = level;
  info.run = std::move(run);
  return info;
}

PassFn counting(int &count) {
  return [&count](Module &, PassContext &) -> Expected<bool> {
    ++count;
    return false;
  };
}

std::string errorText(Expected<> result) { return result ? "" : result.error().str(); }

Expected<CompiledModel> compileWith(const Compiler &compiler, CompileRequest request) {
  return compiler.compile(request);
}

size_t placeOf(const CompiledModel &model, const std::string &pass) {
  auto found = std::ranges::find(model.passTimes, pass, &PassTime::pass);
  return static_cast<size_t>(found - model.passTimes.begin());
}

// Takes abs and, as a composite, abs with relu behind it; its code is their names.
int32_t supports(void *self, const bycc_target *, const bycc_region *region, bycc_answer *answer) {
  ++*static_cast<int *>(self);
  const bycc_node &node = *bycc_node_at(region, 0);
  if (node.op == std::string_view("abs") || node.op == std::string_view("tiny.abs_relu")) {
    answer->offer(answer, "unit", 0.01);
    return 1;
  }
  answer->reason(answer, "abs only");
  return 0;
}

int32_t compileRegion(void *, const bycc_target *, const bycc_region *region, bycc_answer *answer) {
  const bycc_node &node = *bycc_node_at(region, 0);
  if (std::strstr(node.source ? node.source : "", "bad")) {
    answer->reason(answer, "not this one");
    return 1;
  }
  answer->blob(answer, node.op, std::strlen(node.op));
  return 0;
}

int questions = 0;
const bycc_vendor_compiler tiny = {.abi_version = BYCC_VENDOR_ABI_VERSION,
                                   .size = sizeof tiny,
                                   .name = "tiny",
                                   .version = "1.0",
                                   .self = &questions,
                                   .supports = supports,
                                   .compile = compileRegion};
const char *const tinyPattern =
    R"json({"schema": 1, "vendor": "tiny", "patterns": [{"name": "tiny.abs_relu", "root": "nn.relu(abs($x))"}]})json";

} // namespace

TEST_CASE("a pass runs at its place, from its level up") {
  Compiler compiler;
  int before = 0, after = 0, always = 0;
  REQUIRE(
      compiler.addPass(pass("my-before", counting(before)), {PassPlace::Side::Before, "fuse-ops"}));
  REQUIRE(compiler.addPass(pass("my-after", counting(after), 3),
                           {PassPlace::Side::After, "my-before"}));
  REQUIRE(compiler.addPass(pass("my-always", counting(always), 0),
                           {PassPlace::Side::After, "fold-constants"}));
  auto model = compileWith(compiler, requestOf(program("nn.relu(%x)")));
  REQUIRE(model);
  CHECK(before == 1);
  CHECK(after == 0);
  CHECK(always == 1); // though fold-constants stands in the list twice
  CHECK(placeOf(*model, "my-before") + 1 == placeOf(*model, "fuse-ops"));
  CHECK(placeOf(*model, "my-always") == placeOf(*model, "fold-constants") + 1);
  CHECK(model->graphJson.find("--run-before=fuse-ops:my-before") != std::string::npos);

  CompileRequest request = requestOf(program("nn.relu(%x)"));
  request.passes.level = 0; // fold-constants is not in this list
  REQUIRE(compiler.compile(request));
  CHECK(before == 1);
  CHECK(always == 2);
  request.passes.level = 3;
  model = compiler.compile(request);
  REQUIRE(model);
  CHECK(after == 1);
  CHECK(placeOf(*model, "my-before") + 1 == placeOf(*model, "my-after"));

  auto text = compiler.pipelineText(request);
  REQUIRE(text);
  CHECK(text->find("my-before,my-after,fuse-ops") != std::string::npos);
}

TEST_CASE("a pass list may name it, options may leave it out") {
  Compiler compiler;
  int count = 0;
  REQUIRE(compiler.addPass(pass("mine", counting(count)),
                           {PassPlace::Side::Before, "annotate-target"}));
  CompileRequest request = requestOf(program("nn.relu(%x)"));
  auto model = compiler.compile(request); // no vendor: the place is not in the list
  REQUIRE(model);
  CHECK(count == 0);
  REQUIRE(model->messages.size() == 1);
  CHECK(model->messages[0].text ==
        "pass 'mine' does not run: its place, before 'annotate-target', is not in this list");
  request.passes.disabled = {"mine"};
  model = compiler.compile(request);
  REQUIRE(model);
  CHECK(model->messages.empty());
  request.passes.disabled.clear();
  request.passes.passes = "mine,legalize,fuse-ops";
  REQUIRE(compiler.compile(request));
  CHECK(count == 1);
}

TEST_CASE("what a pass breaks or fails with is told") {
  Compiler compiler;
  REQUIRE(compiler.addPass(pass("failing",
                                [](Module &, PassContext &) -> Expected<bool> {
                                  return error(Status::Unsup) << "not today";
                                }),
                           {PassPlace::Side::Before, "fuse-ops"}));
  auto failed = compileWith(compiler, requestOf(program("nn.relu(%x)")));
  REQUIRE(!failed);
  CHECK(failed.error().str() == "error[UNSUP]: not today\n");

  Compiler faulty;
  REQUIRE(faulty.addPass(pass("faulty",
                              [](Module &, PassContext &) -> Expected<bool> {
                                BYCC_ASSERT(false, "what should hold");
                                return false;
                              }),
                         {PassPlace::Side::Before, "fuse-ops"}));
  auto fault = compileWith(faulty, requestOf(program("nn.relu(%x)")));
  REQUIRE(!fault);
  CHECK(fault.error().status() == Status::Internal);
  CHECK(fault.error().message().starts_with("what should hold ("));

  Compiler throwing;
  REQUIRE(throwing.addPass(
      pass("throwing", [](Module &, PassContext &) -> Expected<bool> { throw std::bad_alloc(); }),
      {PassPlace::Side::Before, "fuse-ops"}));
  auto thrown = compileWith(throwing, requestOf(program("nn.relu(%x)")));
  REQUIRE(!thrown);
  CHECK(thrown.error().status() == Status::Limit);
}

TEST_CASE("a vendor of the program and a pattern for it") {
  Compiler compiler;
  REQUIRE(compiler.addVendor(tiny));
  REQUIRE(compiler.addPatterns(tinyPattern, "tiny.json"));
  CompileRequest request = requestOf(program("%0 = abs(%x);\n  %1 = nn.relu(%0);\n  tanh(%1)"));
  REQUIRE(compiler.compile(request)); // not asked for: neither is heard
  questions = 0;
  request.vendors.annotate = "tiny";
  auto model = compiler.compile(request);
  if (!model)
    FAIL(model.error().str());
  CHECK(questions > 0);
  REQUIRE(model->report.functions.size() == 1);
  CHECK(model->report.functions[0].compiler == "tiny");
  CHECK(model->report.functions[0].composites == std::vector<std::string>{"tiny.abs_relu"});
  CHECK(model->object.find("tiny.abs_relu") != std::string::npos); // its code
}

TEST_CASE("a region that a vendor of the program refuses goes to the host") {
  Compiler compiler;
  REQUIRE(compiler.addVendor(tiny));
  CompileRequest request = requestOf(program("let %bad = abs(%x);\n  tanh(%bad)"));
  request.vendors.annotate = "tiny";
  auto model = compiler.compile(request);
  if (!model)
    FAIL(model.error().str());
  CHECK(model->report.totals.regions == 0);
  REQUIRE(!model->messages.empty());
  CHECK(model->messages[0].text ==
        "region net_tiny_0: tiny cannot compile it: not this one; %bad is kept from tiny");
}

// Whatever the place, it compiles to what the whole compilation gives.
TEST_CASE("checkpoints are programs that compile in place of the model") {
  std::string text = program("%0 = nn.relu(tanh(%x)); add(%0, multiply(%x, 2f))");
  for (bool hasVendor : {false, true}) {
    Compiler compiler;
    REQUIRE(compiler.addVendor(emulatedText, "npu.json"));
    CompileRequest request = requestOf(text);
    if (hasVendor)
      request.vendors.annotate = "npu";
    std::vector<Checkpoint> checkpoints;
    request.callbacks.checkpoint = [&](const Checkpoint &each) { checkpoints.push_back(each); };
    auto whole = compiler.compile(request);
    REQUIRE(whole);
    REQUIRE(checkpoints.size() > 3);
    CHECK(checkpoints.front().passes == *compiler.pipelineText(request));
    CHECK(checkpoints.back().next.empty());
    CHECK(checkpoints.back().passes.empty());
    for (const Checkpoint &checkpoint : checkpoints) {
      INFO(checkpoint.passes);
      CHECK(checkpoint.next != "annotate-target");
      CHECK(checkpoint.passes.starts_with(checkpoint.next));
      CompileRequest rest = requestOf(checkpoint.program);
      rest.vendors.annotate = request.vendors.annotate;
      rest.passes.passes = checkpoint.passes;
      auto again = compiler.compile(rest);
      if (!again)
        FAIL(again.error().str());
      CHECK(again->report.totals.regions == whole->report.totals.regions);
      CHECK(again->arenaBytes == whole->arenaBytes);
    }
  }
}

TEST_CASE("a vendor that a text describes") {
  Compiler compiler;
  REQUIRE(compiler.addVendor(emulatedText, "npu.json"));
  CompileRequest request = requestOf(program("nn.relu(%x)"));
  request.vendors.annotate = "npu";
  auto model = compiler.compile(request);
  if (!model)
    FAIL(model.error().str());
  CHECK(model->report.totals.regions == 1);
  CHECK(model->report.isEmulated("npu"));
}

TEST_CASE("a format of models") {
  Compiler compiler;
  Frontend frontend;
  frontend.name = "relus";
  frontend.suffixes = {".relus"};
  frontend.recognises = [](std::string_view bytes) { return bytes.starts_with("RELUS"); };
  frontend.read = [](const FrontendInput &input) -> Expected<Module> {
    if (input.bytes->size() < 6)
      return error(Status::Input, {input.name}) << "no number of relus";
    Module module;
    FunctionId main = module.addFunction("main");
    TypeId type = module.types.tensor(DType::Float32, std::vector<Dim>{2, 3});
    NodeId value = module.addParam("x", type);
    module.function(main).params.push_back(value);
    Builder builder(module, module.function(main).body);
    for (int i = input.bytes->data()[5] - '0'; i > 0; --i)
      value = BYCC_TRY(builder.call(ops::nn_relu, {value}));
    module.block(module.function(main).body).result = value;
    return module;
  };
  REQUIRE(compiler.addFrontend(frontend));
  CompileRequest request;
  request.target.cpu = "x86-64-v3";
  request.passes.level = 0;
  for (const char *name : {"net.relus", "net.bin"}) { // by name, by bytes
    request.input.model = name;
    request.files[name] = memory("RELUS3");
    auto model = compiler.compile(request);
    if (!model)
      FAIL(model.error().str());
    CHECK(model->report.totals.ops == 3);
    CHECK(model->inputs[0].shape == std::vector<int64_t>{2, 3});
  }
  request.files["net.bin"] = memory("RELUS");
  auto failed = compiler.compile(request);
  REQUIRE(!failed);
  CHECK(failed.error().str() == "net.bin: error[INPUT]: no number of relus\n");
  request.input.format = "relay"; // as asked for, whatever it looks like
  failed = compiler.compile(request);
  REQUIRE(!failed);
  CHECK(failed.error().message() != "no number of relus");
}

TEST_CASE("what is refused when it is added") {
  Compiler compiler;
  int count = 0;
  CHECK(errorText(compiler.addPass(pass("fuse-ops", counting(count)),
                                   {PassPlace::Side::After, "legalize"}))
            .find("there is a pass 'fuse-ops' already") != std::string::npos);
  CHECK(errorText(
            compiler.addPass(pass("mine", counting(count)), {PassPlace::Side::After, "legalise"}))
            .find("no default list has the pass 'legalise', did you mean 'legalize'") !=
        std::string::npos);
  CHECK(errorText(compiler.addPass(pass("mine", nullptr), {PassPlace::Side::After, "legalize"}))
            .find("has no function") != std::string::npos);

  bycc_vendor_compiler old = tiny;
  old.abi_version = 99;
  CHECK(errorText(compiler.addVendor(old)).find("99") != std::string::npos);
  bycc_vendor_compiler taken = tiny;
  taken.name = "dnnl";
  CHECK(errorText(compiler.addVendor(taken)).find("there is a vendor 'dnnl' already") !=
        std::string::npos);
  REQUIRE(compiler.addVendor(tiny));
  CHECK(errorText(compiler.addVendor(tiny)).find("there is a vendor 'tiny' already") !=
        std::string::npos);
  CHECK(errorText(compiler.addVendor("{", "npu.json")).find("npu.json:1:") != std::string::npos);

  CHECK(
      errorText(compiler.addPatterns(
                    R"json({"schema": 1, "vendor": "tiny", "patterns": [{"name": "tiny.a"}]})json",
                    "t.json"))
          .find("t.json") != std::string::npos);
  Frontend frontend;
  frontend.name = "onnx";
  CHECK(errorText(compiler.addFrontend(frontend)).find("there is a frontend 'onnx' already") !=
        std::string::npos);
  frontend.name = "mine";
  CHECK(!errorText(compiler.addFrontend(frontend)).empty());
}
