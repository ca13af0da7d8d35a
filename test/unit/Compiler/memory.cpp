// Models, params, patterns and plans from memory; what comes back as values.

#include "Requests.h"
#include "bycc/Support/FaultHandler.h"
#include "bycc/Support/Npy.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>

using namespace bycc;

namespace {

Error errorOf(const CompileRequest &request, const Compiler &compiler = {}) {
  Expected<CompiledModel> model = compiler.compile(request);
  REQUIRE(!model);
  return model.takeError();
}

std::shared_ptr<const Storage> ones(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  std::vector<float> values(static_cast<size_t>(count), 1.0f);
  std::string bytes = npyHeader(DType::Float32, shape);
  bytes.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
  return memory(bytes);
}

CompileRequest dense() {
  CompileRequest request = requestOf(program(
      "nn.dense(%x, %w, units=32)", "%x: Tensor[(4, 64), float32], %w: Tensor[(32, 64), float32]",
      "Tensor[(4, 32), float32]"));
  request.input.params = {"weights"};
  request.files["weights/w.npy"] = ones({32, 64});
  return request;
}

} // namespace

// LLVM's time for the loops around a tile grew with what its addresses are made of.
TEST_CASE("a tile's operands are pointers of their own") {
  CompileRequest request = requestOf(program("nn.conv2d(%x, %w, channels=64, kernel_size=[1, 1])",
                                             "%x: Tensor[(2, 96, 14, 14), float32], "
                                             "%w: Tensor[(64, 96, 1, 1), float32]",
                                             "Tensor[(2, 64, 14, 14), float32]"));
  request.forms = {OutputForm::LlvmText};
  auto model = Compiler().compile(request);
  REQUIRE(model);
  CHECK(model->llvmText.find("freeze ptr") != std::string::npos);
}

TEST_CASE("a model in memory, its parts as values") {
  CompileRequest request = requestOf(program("nn.relu(%x)"));
  request.forms = {OutputForm::Object, OutputForm::Assembly, OutputForm::LlvmText,
                   OutputForm::Relay,  OutputForm::Json,     OutputForm::Dot,
                   OutputForm::Header};
  request.vendors.savesPlan = true;
  auto model = Compiler().compile(request);
  REQUIRE(model);
  CHECK(model->moduleName == "net");
  CHECK(model->setId.size() == 32);
  CHECK(model->object.starts_with("\x7f"
                                  "ELF"));
  CHECK(model->graphJson.find("\"net.o\"") != std::string::npos);
  CHECK(model->graphJson.find(model->setId) != std::string::npos);
  CHECK(model->header.find(model->setId) != std::string::npos);
  CHECK(model->assembly.find("net_") != std::string::npos);
  CHECK(model->llvmText.find("define") != std::string::npos);
  CHECK(model->relay.find("nn.relu") != std::string::npos);
  CHECK(model->json.find("nn.relu") != std::string::npos);
  CHECK(model->dot.starts_with("digraph"));
  CHECK(model->partitionPlan.find("nn.relu") != std::string::npos);
  CHECK(model->params.empty());
  CHECK(model->params.bytes().empty());
  CHECK(model->filesRead.empty());
  CHECK(!model->passTimes.empty());
  CHECK(model->arenaBytes);
  CHECK(model->report.totals.ops == 1);
  REQUIRE(model->inputs.size() == 1);
  CHECK(model->inputs[0].name == "x");
  CHECK(model->inputs[0].shape == std::vector<int64_t>{4, 64});
  CHECK(model->outputs[0].name == "output_0");
}

TEST_CASE("open extents are -1 and have a name") {
  auto model = Compiler().compile(requestOf(
      program("nn.relu(%x)", "%x: Tensor[(n, 64), float32]", "Tensor[(n, 64), float32]")));
  if (!model)
    FAIL(model.error().str());
  CHECK(model->inputs[0].shape == std::vector<int64_t>{-1, 64});
  CHECK(model->inputs[0].dims == std::vector<std::string>{"n", "64"});
}

TEST_CASE("only the forms that were asked for are made") {
  CompileRequest request = requestOf(program("nn.relu(%x)"));
  request.forms = {OutputForm::Relay};
  auto model = Compiler().compile(request);
  REQUIRE(model);
  CHECK(!model->relay.empty());
  CHECK(model->object.empty());
  CHECK(model->graphJson.empty());
  CHECK(model->setId.empty());
  CHECK(!model->arenaBytes);
}

TEST_CASE("names of files in the graph JSON") {
  CompileRequest request = dense();
  request.code.stem = "other";
  request.code.objectFile = "code.bin";
  auto model = Compiler().compile(request);
  REQUIRE(model);
  CHECK(model->moduleName == "other");
  CHECK(model->graphJson.find("\"code.bin\"") != std::string::npos);
  CHECK(model->graphJson.find("\"other.params\"") != std::string::npos);
}

TEST_CASE("weights are views of what was given") {
  auto model = Compiler().compile(dense());
  REQUIRE(model);
  CHECK(model->inputs.size() == 1);
  uint64_t bytes = 0;
  for (std::string_view piece : model->params.pieces())
    bytes += piece.size();
  CHECK(bytes == model->params.sizeBytes());
  CHECK(model->params.bytes().size() == bytes);

  // An operand that no kernel wants in another form stays where it was.
  CompileRequest request = requestOf(
      program("add(%x, %w)", "%x: Tensor[(32, 64), float32], %w: Tensor[(32, 64), float32]",
              "Tensor[(32, 64), float32]"));
  request.input.params = {"weights"};
  request.files["weights/w.npy"] = ones({32, 64});
  auto plain = Compiler().compile(request);
  REQUIRE(plain);
  const Storage &given = *request.files["weights/w.npy"];
  auto isView = [&](std::string_view piece) {
    auto *data = reinterpret_cast<const uint8_t *>(piece.data());
    return data >= given.data() && data < given.data() + given.size();
  };
  CHECK(std::ranges::any_of(plain->params.pieces(), isView));
}

TEST_CASE("params outlive the request that they are views of") {
  Expected<CompiledModel> model = Compiler().compile(dense()); // its request is gone
  REQUIRE(model);
  std::string bytes = model->params.bytes();
  const float one = 1.0f;
  CHECK(bytes.find(std::string_view(reinterpret_cast<const char *>(&one), sizeof one)) !=
        std::string::npos);
}

TEST_CASE("rules, patterns and plans in memory") {
  CompileRequest request = requestOf(program("%0 = abs(%x);\n  nn.relu(%0)"));
  request.files["my.rules"] = memory(
      R"json({"pipeline": {"vendors": [{"name": "npu", "ops": {"nn.relu": {}}, "cost": {"ops": {"nn.relu": {"us": 0.01}}}}]}})json");
  request.vendors.rules = {"my.rules"};
  request.vendors.savesPlan = true;
  auto model = Compiler().compile(request);
  if (!model)
    FAIL(model.error().str());
  CHECK(model->report.totals.regions == 1);
  CHECK(model->filesRead.empty());

  request.vendors.savesPlan = false;
  request.vendors.plan = "plan.json";
  request.files["plan.json"] = memory(model->partitionPlan);
  auto again = Compiler().compile(request);
  if (!again)
    FAIL(again.error().str());
  CHECK(again->report.totals.regions == 1);

  request.files["plan.json"] = memory("{");
  CHECK(errorOf(request).str().find("plan.json:1:") != std::string::npos);
}

TEST_CASE("files that are read are told, those in memory are not") {
  CompileRequest request = requestOf(program("nn.relu(%x)"));
  request.input.model = std::string(BYCC_SOURCE_DIR) + "/share/models/example.onnx";
  std::vector<std::string> told;
  request.callbacks.loaded = [&](const std::vector<std::string> &filesRead) -> Expected<> {
    told = filesRead;
    return {};
  };
  request.forms = {OutputForm::Relay};
  auto model = Compiler().compile(request);
  REQUIRE(model);
  CHECK(told == std::vector<std::string>{request.input.model});
  CHECK(model->filesRead == told);
}

TEST_CASE("the same bytes from a file and from memory") {
  std::string path = std::string(BYCC_SOURCE_DIR) + "/share/models/example.onnx";
  CompileRequest request;
  request.input.model = path;
  request.target.cpu = "x86-64-v3";
  auto fromFile = Compiler().compile(request);
  request.files[path] = memory(readFile(path).takeValue());
  auto fromMemory = Compiler().compile(request);
  REQUIRE(fromFile);
  REQUIRE(fromMemory);
  CHECK(fromFile->object == fromMemory->object);
  CHECK(fromFile->graphJson == fromMemory->graphJson);
  CHECK(fromFile->params.bytes() == fromMemory->params.bytes());
  CHECK(fromMemory->filesRead.empty());
}

TEST_CASE("errors are values") {
  CHECK(errorOf(requestOf("def @main(")).status() == Status::Input);
  CHECK(errorOf(requestOf("def @main(")).str().starts_with("net.relay:1:"));
  CHECK(errorOf(requestOf("")).status() == Status::Input);

  CompileRequest missing;
  missing.input.model = "/nonexistent/net.onnx";
  CHECK(errorOf(missing).status() == Status::Io);

  CompileRequest standard;
  standard.input.model = "-";
  CHECK(errorOf(standard).str().find("there is no standard input to read") != std::string::npos);

  CompileRequest format = requestOf(program("nn.relu(%x)"));
  format.input.format = "onxn";
  CHECK(errorOf(format).str().find("unknown format 'onxn', did you mean 'onnx'") !=
        std::string::npos);

  CompileRequest vendor = requestOf(program("nn.relu(%x)"));
  vendor.vendors.annotate = "dnnk";
  CHECK(errorOf(vendor).status() == Status::Usage);

  CompileRequest params = dense();
  params.files["weights/w.npy"] = ones({32, 63});
  CHECK(errorOf(params).status() == Status::Arg);
}

TEST_CASE("policy ends a compilation") {
  CompileRequest request = requestOf(program("nn.relu(%x)"));
  int64_t regions = -1;
  request.callbacks.placed = [&](const OffloadReport &report) -> Expected<> {
    regions = report.totals.regions;
    return error(Status::Policy) << "too few regions";
  };
  CHECK(errorOf(request).str() == "error[POLICY]: too few regions\n");
  CHECK(regions == 0);

  request = requestOf(program("nn.relu(%x)"));
  request.callbacks.loaded = [](const std::vector<std::string> &) -> Expected<> {
    return error(Status::Usage) << "not this one";
  };
  CHECK(errorOf(request).status() == Status::Usage);
}

TEST_CASE("messages come as values, printing to its callback") {
  CompileRequest request =
      requestOf(program("%0 = on_device(%x, constrain_result=False);\n  nn.relu(%0)"));
  std::string said, printed;
  request.callbacks.message = [&](const Message &message) { said += message.str(); };
  request.callbacks.print = [&](std::string_view text) { printed += text; };
  request.passes.printing.after = {"fold-constants"};
  request.passes.timePasses = true;
  auto model = Compiler().compile(request);
  if (!model)
    FAIL(model.error().str());
  CHECK(said.find("warning: on_device has no effect") != std::string::npos);
  REQUIRE(!model->messages.empty());
  CHECK(said.starts_with(model->messages[0].str()));
  CHECK(printed.find("// IR after fold-constants\n") != std::string::npos);
  CHECK(printed.find("runs  pass\n") != std::string::npos);
}

TEST_CASE("standard input is what the callback gives") {
  CompileRequest request;
  request.input.model = "-";
  request.target.cpu = "x86-64-v3";
  request.callbacks.standardInput = [] { return Expected<std::string>(program("nn.relu(%x)")); };
  auto model = Compiler().compile(request);
  REQUIRE(model);
  CHECK(model->moduleName == "a");
}
