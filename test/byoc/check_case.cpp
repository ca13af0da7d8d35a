// Runs one partitioning case through the command line, as its README describes,
// and checks everything that its expect.json says.
//
//   check_case BYCC BYCC_RUN CASES_FOLDER NAME WORK_FOLDER
//
// Exit code 0: all holds; 1: something does not (each failure on a line).

#include "CaseCheck.h"

#include "bycc/IR/Visitor.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Support/Element.h"
#include "bycc/Support/File.h"
#include "bycc/Support/Npy.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>

using namespace bycc;
namespace fs = std::filesystem;

namespace {

std::string shellQuoted(const std::string &text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

class CaseRun {
public:
  CaseRun(std::string bycc, std::string run, cases::CaseFiles files, fs::path work)
      : bycc_(std::move(bycc)), run_(std::move(run)), files_(std::move(files)),
        work_(std::move(work)) {}

  int all() {
    fs::remove_all(work_);
    fs::create_directories(work_);
    if (compile() && !files_.isError()) {
      checkStructure();
      checkRuns();
    }
    for (const std::string &failure : failures_)
      std::fprintf(stderr, "%s: %s\n", files_.name.c_str(), failure.c_str());
    return failures_.empty() ? 0 : 1;
  }

private:
  void fail(std::string text) { failures_.push_back(std::move(text)); }
  fs::path path(const char *name) const { return work_ / name; }

  // Exit status; stdout and stderr go to `log`.
  int execute(const std::string &command, const fs::path &log) {
    int status = std::system((command + " >" + shellQuoted(log.string()) + " 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }

  std::string contents(const fs::path &file) {
    Expected<std::string> text = readFile(file.string());
    return text ? *text : std::string();
  }

  void writeTensor(const fs::path &file, const JsonValue &json) {
    Expected<cases::CaseTensor> tensor = cases::readTensor(json, files_.expectFile);
    if (!tensor)
      return fail(tensor.error().str());
    std::vector<uint8_t> bytes = tensor->bytes();
    DType dtype = tensor->dtype == DType::BFloat16 ? DType::UInt16 : tensor->dtype;
    std::string header = npyHeader(dtype, tensor->shape);
    std::ofstream out(file, std::ios::binary);
    out << header;
    out.write(reinterpret_cast<const char *>(bytes.data()), static_cast<long>(bytes.size()));
  }

  // bycc NAME.relay -O0 --rules=NAME.expect.json ...; true when it went as it should.
  bool compile() {
    // A case that runs nothing need not be compiled to an object.
    bool runs = files_.isError() || files_.expectations().find("runs");
    std::string command = shellQuoted(bycc_) + " " + shellQuoted(files_.program) +
                          " -O0 --rules=" + shellQuoted(files_.expectFile) +
                          " --dump-offloads=" + shellQuoted(path("dump.json").string()) +
                          (runs ? " --emit=obj,relay -o " : " --emit=relay -o ") +
                          shellQuoted(path(runs ? "m.o" : "m.opt.relay").string());
    if (const JsonValue *model = files_.expect.find("cost_model"))
      command += " --cost-model=" + shellQuoted(model->string);
    if (const JsonValue *params = files_.expect.find("params");
        params && !params->members.empty()) {
      fs::create_directories(path("params"));
      for (const auto &[name, tensor] : params->members)
        writeTensor(path("params") / (name + ".npy"), tensor);
      command += " --params=" + shellQuoted(path("params").string());
    }
    int status = execute(command, path("bycc.log"));
    std::string log = contents(path("bycc.log"));
    if (files_.isError())
      return checkError(status, log);
    if (status != 0)
      fail("bycc exits with " + std::to_string(status) + ":\n" + log);
    return status == 0;
  }

  bool checkError(int status, const std::string &log) {
    const JsonValue &wanted = *files_.expectations().find("error");
    if (status == 0 || status >= 64)
      fail("exit status is " + std::to_string(status));
    std::string place = ".relay:" + std::to_string(wanted.find("line")->integer) + ":";
    if (log.find(place) == std::string::npos)
      fail("no diagnostic at line " + std::to_string(wanted.find("line")->integer) + ":\n" + log);
    for (const JsonValue &mention : wanted.find("mentions")->items)
      if (log.find(mention.string) == std::string::npos)
        fail("no mention of " + mention.string + ":\n" + log);
    for (const auto &entry : fs::directory_iterator(work_))
      if (entry.path().filename() != "bycc.log" && entry.path().filename() != "params")
        fail("left behind: " + entry.path().filename().string());
    return true;
  }

  void checkStructure() {
    std::string dumpText = contents(path("dump.json"));
    Expected<JsonValue> dump = parseJson(dumpText, "dump.json");
    if (!dump)
      return fail(dump.error().str());
    Expected<Module> before = parseRelay(contents(files_.program), files_.program);
    if (!before)
      return fail(before.error().str());
    for (FunctionId function : before->globals())
      removeDeadNodes(*before, function, true);
    ParseOptions options;
    options.dataFolder = work_.string();
    Expected<Module> after = parseRelay(contents(path("m.opt.relay")), "m.opt.relay", options);
    if (!after)
      return fail("the partitioned program: " + after.error().str());
    for (std::string &failure : cases::checkCase(files_, *dump, *before, *after))
      fail(std::move(failure));
  }

  void checkRuns() {
    const JsonValue *runs = files_.expectations().find("runs");
    if (!runs)
      return;
    for (size_t i = 0; i < runs->items.size(); ++i)
      checkRun(runs->items[i], work_ / ("run" + std::to_string(i)));
  }

  void checkRun(const JsonValue &run, const fs::path &folder) {
    fs::create_directories(folder / "in");
    fs::create_directories(folder / "out");
    for (const auto &[name, tensor] : run.find("inputs")->members)
      writeTensor(folder / "in" / (name + ".npy"), tensor);
    std::string command = shellQuoted(run_) + " " + shellQuoted(path("m.json").string()) +
                          " --inputs " + shellQuoted((folder / "in").string()) + " --outputs " +
                          shellQuoted((folder / "out").string());
    int status = execute(command, folder / "log");
    if (status != 0)
      return fail("bycc-run exits with " + std::to_string(status) + ":\n" +
                  contents(folder / "log"));
    const std::vector<JsonValue> &outputs = run.find("outputs")->items;
    for (size_t i = 0; i < outputs.size(); ++i)
      compare("output_" + std::to_string(i), folder / "out", outputs[i]);
  }

  double tolerance(const char *key, double fallback) const {
    const JsonValue *value = files_.expectations().find(key);
    return value ? value->number : fallback;
  }

  void compare(const std::string &name, const fs::path &folder, const JsonValue &json) {
    cases::CaseTensor want = cases::readTensor(json, files_.expectFile).takeValue();
    Expected<NpyArray> got = readNpy((folder / (name + ".npy")).string());
    if (!got)
      return fail(got.error().str());
    if (!got->holds(want.dtype) || got->shape != want.shape)
      return fail(name + " has another dtype or shape");
    if (got->bytes != want.data.size() * static_cast<size_t>(sizeInBytes(want.dtype)))
      return fail(name + " has another number of elements than expected");
    double rtol = tolerance("rtol", 1e-4), atol = tolerance("atol", 1e-5);
    for (size_t i = 0; i < want.data.size(); ++i) {
      double value = elementAsDouble(want.dtype, got->data(), static_cast<int64_t>(i));
      double difference = std::abs(value - want.data[i]);
      bool isSame = value == want.data[i] || (std::isnan(value) && std::isnan(want.data[i]));
      if (!isSame && !(difference <= atol + rtol * std::abs(want.data[i])))
        return fail(name + "[" + std::to_string(i) + "] is " + std::to_string(value) +
                    ", expected " + std::to_string(want.data[i]));
    }
  }

  std::string bycc_, run_;
  cases::CaseFiles files_;
  fs::path work_;
  std::vector<std::string> failures_;
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: check_case BYCC BYCC_RUN CASES_FOLDER NAME WORK_FOLDER\n");
    return 2;
  }
  Expected<cases::CaseFiles> files = cases::readCase(argv[3], argv[4]);
  if (!files) {
    std::fprintf(stderr, "%s", files.error().str().c_str());
    return 2;
  }
  return CaseRun(argv[1], argv[2], files.takeValue(), argv[5]).all();
}
