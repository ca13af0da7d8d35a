// Two threads compile a model each, from memory, at the same time and several times; then
// both are run. Nothing is written to the terminal, and what one thread does is not seen
// in the other: every build of a model has the same bytes.

#include "bycc/Compiler.h"
#include "bycc/Support/Npy.h"
#include "bycc/runtime.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace bycc;

namespace {

constexpr int rounds = 3;

class Folder {
public:
  Folder() {
    char name[] = "/tmp/bycc-library-XXXXXX";
    REQUIRE(::mkdtemp(name));
    path = name;
  }
  Folder(const Folder &) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

// Standard output and error go to a file while it lives.
class Capture {
public:
  explicit Capture(std::string file) : file_(std::move(file)) {
    std::fflush(nullptr);
    FILE *to = std::fopen(file_.c_str(), "w");
    REQUIRE(to);
    for (int i = 0; i < 2; ++i) {
      saved_[i] = ::dup(STDOUT_FILENO + i);
      ::dup2(::fileno(to), STDOUT_FILENO + i);
    }
    std::fclose(to);
  }
  Capture(const Capture &) = delete;
  ~Capture() {
    std::fflush(nullptr);
    for (int i = 0; i < 2; ++i) {
      ::dup2(saved_[i], STDOUT_FILENO + i);
      ::close(saved_[i]);
    }
  }

private:
  std::string file_;
  int saved_[2] = {-1, -1};
};

std::string textOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const char mlpText[] = R"(#[version = "0.0.5"]
def @main(%x: Tensor[(4, 64), float32], %w: Tensor[(32, 64), float32]) -> Tensor[(4, 32), float32] {
  %0 = nn.dense(%x, %w, units=32);
  nn.relu(%0)
})";

float weightAt(int64_t row, int64_t column) {
  return static_cast<float>((row * 7 + column * 3) % 11 - 5) / 8;
}
float inputAt(int64_t row, int64_t column) {
  return static_cast<float>((row * 5 + column * 2) % 13 - 6) / 4;
}

std::vector<float> matrix(int64_t rows, int64_t columns, float (*at)(int64_t, int64_t)) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k)
      values.push_back(at(i, k));
  return values;
}

std::shared_ptr<const Storage> npyOf(const std::vector<float> &values, std::vector<int64_t> shape) {
  std::string bytes = npyHeader(DType::Float32, shape);
  bytes.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
  return Storage::own(std::move(bytes));
}

CompileRequest mlp() {
  CompileRequest request;
  request.input.model = "mlp.relay";
  request.files["mlp.relay"] = Storage::own(std::string(mlpText));
  request.input.params = {"weights"};
  request.files["weights/w.npy"] = npyOf(matrix(32, 64, weightAt), {32, 64});
  request.vendors.annotate = "dnnl";
  request.vendors.costModel = "none"; // else so small a product stays on the host
  request.target.cpu = "x86-64-v3";
  return request;
}

CompileRequest onnx() {
  CompileRequest request;
  request.input.model = "example.onnx";
  request.files["example.onnx"] =
      Storage::own(textOf(BYCC_SOURCE_DIR "/share/models/example.onnx"));
  request.target.cpu = "x86-64-v3";
  return request;
}

// Of `rounds` builds by one thread; Catch's checks are for the main thread.
struct Builds {
  std::vector<CompiledModel> models;
  std::string failure;
  std::set<Phase> phases;

  void make(const Compiler &compiler, CompileRequest request) {
    request.callbacks.progress = [this](const Progress &progress) {
      phases.insert(progress.phase);
      return true;
    };
    for (int i = 0; i < rounds; ++i) {
      Expected<CompiledModel> model = compiler.compile(request);
      if (!model) {
        failure = model.error().str();
        return;
      }
      models.push_back(model.takeValue());
    }
  }
};

void check(const Builds &builds) {
  INFO(builds.failure);
  REQUIRE(builds.models.size() == rounds);
  for (const CompiledModel &model : builds.models) {
    CHECK(model.object == builds.models[0].object);
    CHECK(model.graphJson == builds.models[0].graphJson);
    CHECK(model.params.bytes() == builds.models[0].params.bytes());
    CHECK(model.filesRead.empty());
    CHECK((model.messages.empty() ? "" : model.messages[0].str()) == "");
  }
  for (Phase phase : {Phase::Load, Phase::Passes, Phase::HostCode, Phase::Finish})
    CHECK(builds.phases.contains(phase));
}

void write(const std::string &path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<float> run(const CompiledModel &model, const std::vector<float> &input,
                       const std::string &stem) {
  write(stem + ".o", model.object);
  write(stem + ".json", model.graphJson);
  if (!model.params.empty())
    write(stem + ".params", model.params.bytes());
  bycc_model *loaded = nullptr;
  bycc_context *context = nullptr;
  std::vector<float> result;
  INFO(stem);
  int32_t failed = bycc_model_load((stem + ".json").c_str(), nullptr, &loaded);
  INFO(bycc_last_error());
  REQUIRE(failed == 0);
  REQUIRE(bycc_context_create(loaded, &context) == 0);
  REQUIRE(bycc_bind_input(context, 0, input.data(), input.size() * sizeof(float), nullptr) == 0);
  REQUIRE(bycc_run(context) == 0);
  const void *data = nullptr;
  const int64_t *shape = nullptr;
  size_t bytes = 0;
  REQUIRE(bycc_get_output(context, 0, &data, &shape, &bytes) == 0);
  const float *values = static_cast<const float *>(data);
  result.assign(values, values + bytes / sizeof(float));
  bycc_context_destroy(context);
  bycc_model_destroy(loaded);
  return result;
}

std::vector<float> expectedOfMlp() {
  std::vector<float> expected;
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 32; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 64; ++k)
        sum += inputAt(i, k) * weightAt(j, k);
      expected.push_back(static_cast<float>(std::max(0.0, sum)));
    }
  return expected;
}

} // namespace

TEST_CASE("two models compiled at once from memory, in two threads") {
  Folder folder;
  std::string terminal = folder.path + "/terminal";
  Compiler compiler;
  Builds first, second;
  std::vector<float> mlpResult, onnxResult;
  NpyArray onnxInput, onnxExpected;
  {
    std::string example = BYCC_SOURCE_DIR "/share/models/";
    for (const auto &item : std::filesystem::directory_iterator(example + "example"))
      onnxInput = readNpy(item.path().string()).takeValue();
    for (const auto &item : std::filesystem::directory_iterator(example + "example-expected"))
      onnxExpected = readNpy(item.path().string()).takeValue();
  }
  {
    Capture capture(terminal);
    std::thread other([&] { second.make(compiler, onnx()); });
    first.make(compiler, mlp());
    other.join();
  }
  CHECK(textOf(terminal).empty());
  check(first);
  check(second);
  CHECK(first.phases.contains(Phase::Regions));
  CHECK(first.models[0].report.totals.regions == 1);

  mlpResult = run(first.models[0], matrix(4, 64, inputAt), folder.path + "/mlp");
  std::vector<float> wanted = expectedOfMlp();
  REQUIRE(mlpResult.size() == wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    CHECK(mlpResult[i] == Approx(wanted[i]).margin(1e-4));

  const auto *input = reinterpret_cast<const float *>(onnxInput.data());
  onnxResult = run(second.models[0], {input, input + onnxInput.bytes / sizeof(float)},
                   folder.path + "/example");
  REQUIRE(onnxResult.size() == onnxExpected.bytes / sizeof(float));
  const auto *values = reinterpret_cast<const float *>(onnxExpected.data());
  for (size_t i = 0; i < onnxResult.size(); ++i)
    CHECK(onnxResult[i] == Approx(values[i]).margin(1e-4));
}

namespace {

size_t numOpenFiles() {
  auto files = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

std::vector<void *> handlers() {
  std::vector<void *> all;
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction action = {};
    ::sigaction(signal, nullptr, &action);
    all.push_back(reinterpret_cast<void *>(action.sa_handler));
  }
  return all;
}

} // namespace

TEST_CASE("a compilation leaves its process as it was") {
  Compiler compiler;
  REQUIRE(compiler.compile(mlp())); // tables are made once
  std::vector<void *> before = handlers();
  size_t numFiles = numOpenFiles();
  ::setenv("BYCC_PLUGIN_PATH", "/nonexistent", 1); // is the command line's
  CompileRequest request = mlp();
  request.vendors.annotate = "nosuch";
  Expected<CompiledModel> unknown = compiler.compile(request);
  REQUIRE(!unknown);
  CHECK(unknown.error().str().find("/nonexistent") == std::string::npos);
  REQUIRE(compiler.compile(mlp()));
  request = mlp();
  request.callbacks.progress = [](const Progress &progress) {
    return progress.phase != Phase::Regions;
  };
  CHECK(!compiler.compile(request)); // stopped while vendors compile
  CHECK(handlers() == before);
  CHECK(numOpenFiles() == numFiles);
  CHECK(::waitpid(-1, nullptr, WNOHANG) < 0); // no process is left
  CHECK(errno == ECHILD);
}
