// Passes that see the program as text: what stays the same program, what is refused.

#include "Requests.h"
#include "bycc/Compiler/TextPass.h"
#include "bycc/IR/Printer.h"
#include "bycc/Parser/ProgramJson.h"
#include "bycc/Parser/Relay.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>

using namespace bycc;

namespace {

const char *const text = R"(#[version = "0.0.5"]
def @helper(%a: Tensor[(4, 64), float32]) -> Tensor[(4, 64), float32] {
  abs(%a)
}
def @main(%x: Tensor[(4, 64), float32], %c: bool) -> Tensor[(4, 64), float32] {
  %0 = nn.relu(%x);
  %1 = split(%0, indices_or_sections=2, axis=1);
  %2 = concatenate((%1.1, %1.0), axis=1);
  let %f = fn (%y: Tensor[(4, 64), float32]) -> Tensor[(4, 64), float32] { tanh(%y) };
  %3 = if (%c) { %f(%2) } else { @helper(%2) };
  add(%3, Tensor[(64,), float32][W])
}
)";

std::string program() {
  std::string weights = "0.5";
  for (int i = 1; i < 64; ++i)
    weights += ", " + std::to_string(i);
  std::string result = text;
  result.replace(result.find('W'), 1, weights);
  return result;
}

std::string replaced(std::string in, const std::string &what, const std::string &with) {
  for (size_t at = 0; (at = in.find(what, at)) != std::string::npos; at += with.size())
    in.replace(at, what.size(), with);
  return in;
}

using Edit = std::function<std::string(const std::string &)>;

Expected<bool> edit(Module &module, const Edit &change, TextForm form = {}) {
  PassContext context;
  return runTextPass(module, context, form, "p",
                     [&](const std::string &sent, PassContext &) -> Expected<std::string> {
                       return change(sent);
                     });
}

Module parsed() { return parseRelay(program(), "net.relay").takeValue(); }

std::vector<NodeId> nodesOfMain(const Module &module) {
  return module.block(module.function(module.main()).body).nodes;
}

std::string refusal(const Edit &change, TextForm form = {}) {
  Module module = parsed();
  Expected<bool> result = edit(module, change, form);
  return result ? "" : result.error().str();
}

} // namespace

TEST_CASE("a program that comes back the same is the same one") {
  for (bool isJson : {false, true})
    for (bool hasData : {false, true}) {
      Module module = parsed();
      std::string before = printModule(module);
      std::vector<NodeId> nodes = nodesOfMain(module);
      size_t constants = module.constants.size();
      std::vector<FunctionId> globals = module.globals();
      auto space = [](const std::string &sent) { return "\n" + sent; };
      Expected<bool> changed = edit(module, space, {isJson, hasData});
      REQUIRE((changed && *changed));
      CHECK(printModule(module) == before);
      CHECK(nodesOfMain(module) == nodes); // the same ids
      for (NodeId node : nodes)
        CHECK(module.source(node).file == "net.relay");
      CHECK((module.constants.size() == constants) == !hasData);
      REQUIRE(module.globals().size() == globals.size());
      for (size_t i = 0; i < globals.size(); ++i)
        CHECK(module.function(module.globals()[i]).name == module.function(globals[i]).name);
    }
  Module module = parsed();
  Expected<bool> changed = edit(module, [](const std::string &sent) { return sent; });
  CHECK((changed && !*changed));
}

TEST_CASE("what is sent can be read by people: types and places") {
  Module module = parsed();
  std::string seen;
  REQUIRE(edit(module, [&](const std::string &sent) { return seen = sent; }));
  CHECK_THAT(seen, Catch::Contains("nn.relu(%x, annotation.origin="));
  CHECK_THAT(seen, Catch::Contains("/* ty=Tensor[(4, 64), float32] */"));
  CHECK_THAT(seen, Catch::Contains("\"given\": "));
  CHECK_THAT(seen, !Catch::Contains("\"data\""));
}

TEST_CASE("what is changed has new nodes, the rest keeps its own") {
  Module module = parsed();
  std::vector<NodeId> before = nodesOfMain(module);
  Expected<bool> changed =
      edit(module, [](const std::string &sent) { return replaced(sent, "nn.relu(", "sigmoid("); });
  REQUIRE((changed && *changed));
  std::vector<NodeId> after = nodesOfMain(module);
  REQUIRE(after.size() == before.size());
  CHECK(after[0] != before[0]);
  CHECK(module.isOp(after[0], ops::sigmoid));
  CHECK(module.source(after[0]).line == module.source(before[0]).line); // in place of it
  for (size_t i = 1; i < after.size(); ++i)
    CHECK(after[i] == before[i]);
}

TEST_CASE("a node that stands there twice is itself once") {
  Module module = parsed();
  NodeId relu = nodesOfMain(module)[0];
  auto twice = [](const std::string &sent) {
    size_t begin = sent.find("  %0 = nn.relu"), end = sent.find('\n', begin);
    std::string line = sent.substr(begin, end - begin + 1);
    return replaced(sent, line, line + replaced(line, "%0 = ", "%77 = "));
  };
  REQUIRE(edit(module, [&](const std::string &sent) {
    return replaced(twice(sent), "split(%0", "split(%77");
  }));
  std::vector<NodeId> nodes = nodesOfMain(module);
  CHECK(nodes[0] == relu);
  CHECK(module.isOp(nodes[1], ops::nn_relu));
  CHECK(nodes[1] != relu);
}

TEST_CASE("names of new nodes are not those of old ones") {
  Module module = parsed();
  REQUIRE(edit(module, [](const std::string &sent) {
    return replaced(replaced(sent, "%0 = nn.relu(%x", "%0 = abs(%x); %90 = nn.relu(%0"), "split(%0",
                    "split(%90");
  }));
  std::vector<NodeId> nodes = nodesOfMain(module);
  CHECK(module.string(module.node(nodes[0]).name) == "%0_1");
  CHECK(module.string(module.node(nodes[1]).name) == "%0");
}

TEST_CASE("what comes back is checked") {
  CHECK_THAT(refusal([](const std::string &) { return ""; }), Catch::Contains("the file is empty"));
  CHECK_THAT(refusal([](const std::string &sent) { return replaced(sent, "abs(%a", "abs(%q"); }),
             Catch::Contains("<what p sends back>:3:"));
  CHECK_THAT(
      refusal([](const std::string &sent) {
        return replaced(sent, "Tensor[(4, 64), float32], %c: bool",
                        "Tensor[(4, 64), float32], %d: bool, %c: bool");
      }),
      Catch::Contains("@main comes back as (%x: Tensor[(4, 64), float32], %d: bool, %c: bool)"));
  CHECK_THAT(refusal([](const std::string &sent) {
               return replaced(sent, "\"given\": ", "\"given\": 9");
             }),
             Catch::Contains("given by a number that nobody gave"));
  CHECK_THAT(refusal([](const std::string &sent) {
               return replaced(sent, "\"shape\": [64]", "\"shape\": [8, 8]");
             }),
             Catch::Contains("has type Tensor[(64), float32], not Tensor[(8, 8), float32]"));
  CHECK_THAT(refusal([](const std::string &sent) {
               return replaced(sent, "abs(%a,", "abs(%a, annotation.vendors=[\"v\"],");
             }),
             Catch::Contains("comes back with annotations"));
  CHECK_THAT(refusal([](const std::string &) { return "{}"; }, {.isJson = true}),
             Catch::Contains("bycc_program"));
}

TEST_CASE("numbers that a program makes up are no nodes") {
  Module module = parsed();
  REQUIRE(edit(module, [](const std::string &sent) {
    return replaced(sent, "annotation.origin=", "annotation.origin=9");
  }));
  REQUIRE(edit(module,
               [](const std::string &sent) {
                 return replaced(sent, "annotation.origin=", "annotation.origin=1 /*");
               })
              .error()
              .status() == Status::Input);
}

TEST_CASE("a given constant needs somebody who gave it") {
  auto read = parseRelay(
      "#[version = \"0.0.5\"]\ndef @main() -> Tensor[(1), float32] { meta[relay.Constant][0] }\n"
      "#[metadata]\n{\"relay.Constant\": [{\"dtype\": \"float32\", \"shape\": [1], \"given\": "
      "0}]}\n",
      "f");
  REQUIRE(!read);
  CHECK_THAT(read.error().str(), Catch::Contains("nobody gave"));
}

TEST_CASE("a text pass is one of the compiler's passes") {
  Compiler compiler;
  std::string seen;
  REQUIRE(compiler.addPass(
      textPass("spy", 1, "writes down what it sees", {},
               [&](const std::string &sent, PassContext &) -> Expected<std::string> {
                 seen = sent;
                 return replaced(sent, "nn.relu(", "tanh(");
               }),
      {PassPlace::Side::Before, "merge-composite"}));
  CompileRequest request = requestOf(program());
  request.vendors.annotate = "npu";
  REQUIRE(compiler.addVendor(emulatedText, "npu.json"));
  Expected<CompiledModel> model = compiler.compile(request);
  REQUIRE(model);
  CHECK_THAT(seen, Catch::Contains("nn.relu("));
  CHECK_THAT(model->graphJson, !Catch::Contains("nn.relu"));
}

TEST_CASE("pipe{} runs from the library as well") {
  char name[] = "/tmp/bycc-pass-XXXXXX";
  int file = ::mkstemp(name);
  REQUIRE(file >= 0);
  std::string script = "#!/bin/sh\nexec sed s/nn.relu/tanh/\n";
  REQUIRE(::write(file, script.data(), script.size()) == static_cast<ssize_t>(script.size()));
  ::fchmod(file, 0700);
  ::close(file);
  CompileRequest request = requestOf(program());
  request.forms = {OutputForm::Relay};
  request.passes.runBefore = {{"fold-constants", "pipe{" + std::string(name) + "}"}};
  Expected<CompiledModel> model = Compiler().compile(request);
  ::unlink(name);
  if (!model)
    FAIL(model.error().str());
  CHECK_THAT(model->relay, Catch::Contains("tanh("));
  CHECK_THAT(model->relay, !Catch::Contains("nn.relu"));
  CHECK(std::ranges::find(model->filesRead, name) != model->filesRead.end());
}

TEST_CASE("a program that hangs is ended when the caller says stop") {
  char name[] = "/tmp/bycc-pass-XXXXXX";
  int file = ::mkstemp(name);
  REQUIRE(file >= 0);
  std::string script = "#!/bin/sh\nexec sleep 50\n";
  REQUIRE(::write(file, script.data(), script.size()) == static_cast<ssize_t>(script.size()));
  ::fchmod(file, 0700);
  ::close(file);
  CompileRequest request = requestOf(program());
  request.passes.passes = "pipe{" + std::string(name) + "}";
  int asked = 0;
  request.callbacks.progress = [&](const Progress &progress) {
    return progress.item != "pipe" || ++asked < 3;
  };
  Expected<CompiledModel> model = Compiler().compile(request);
  ::unlink(name);
  REQUIRE(!model);
  CHECK(model.error().status() == Status::Cancelled);
}
