// bycc-run as users call it: exit codes, messages, files.
#include "TestModel.h"

#include "bycc/Support/Json.h"
#include "bycc/Support/Npy.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <sys/wait.h>

using namespace bycc;

namespace {

struct Result {
  int code;
  std::string out, err;
};

Result call(const TestModel &test, const std::string &arguments) {
  std::string folder = test.folder;
  int status = std::system(
      ("cd " + folder + " && " BYCC_TEST_RUN " " + arguments + " >out.txt 2>err.txt </dev/null")
          .c_str());
  return {WEXITSTATUS(status), readText(folder + "/out.txt"), readText(folder + "/err.txt")};
}

void writeNpy(const std::string &path, const std::vector<int64_t> &shape,
              const std::vector<float> &values, DType dtype = DType::Float32) {
  std::string text = npyHeader(dtype, shape);
  text.append(reinterpret_cast<const char *>(values.data()), values.size() * 4);
  writeText(path, text);
}

void writeInputs(const TestModel &test, const Inputs &inputs) {
  std::filesystem::create_directory(test.folder / "in");
  writeNpy(test.folder / "in/in_a.npy", {inputs.n, 4}, inputs.a);
  writeNpy(test.folder / "in/b.npy", {inputs.n}, inputs.b);
  writeText(test.folder / "in/unknown.npy", "ignored");
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("bycc-run: inputs, outputs, print, expected") {
  TestModel test;
  Inputs inputs(3);
  writeInputs(test, inputs);
  Result run = call(test, "net.json --inputs in -outputs=out --print=2");
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(run.out.starts_with("scaled float32 (3, 4): 2.0 "));
  CHECK(std::count(run.out.begin(), run.out.end(), '\n') == 3);
  auto scaled = readNpy(test.folder / "out/scaled.npy");
  REQUIRE(scaled);
  auto wanted = wantedScaled(inputs);
  CHECK(std::memcmp(scaled->data(), wanted.data(), scaled->bytes) == 0);

  run = call(test, "net.json --inputs in --expected out");
  CHECK(run.code == 0);
  CHECK(has(run.err, "output 'scaled': max |d| 0, relative 0, cosine 1\n"));
  CHECK(!has(run.err, "warning"));
  CHECK(has(call(test, "net.json --inputs in --expected out --atol 1e9").err,
            "warning: output 'scaled': zeros would agree as well"));
  wanted[6] += 1;
  writeNpy(test.folder / "out/scaled.npy", {3, 4}, wanted);
  run = call(test, "net.json --inputs in --expected out");
  CHECK(run.code == 4);
  CHECK(has(run.err, "'scaled' differs at [1, 2]"));
  CHECK(has(run.err, "output 'scaled': max |d| 1, relative"));
  CHECK(call(test, "net.json --inputs in --expected out --rtol 10").code == 0);
  writeNpy(test.folder / "out/scaled.npy", {4, 3}, wanted);
  CHECK(call(test, "net.json --inputs in --expected out").code == 1);
  CHECK(call(test, "net.json --inputs in --expected nowhere").code == 1);
}

TEST_CASE("bycc-run: --input by name, the last wins; random") {
  TestModel test;
  Inputs inputs(2);
  writeInputs(test, inputs);
  CHECK(call(test, "net.json --input in/a=nowhere.npy --input in/a=in/in_a.npy -input b=in/b.npy")
            .code == 0);
  Result run = call(test, "net.json --input in/A=in/in_a.npy --random");
  CHECK(run.code == 1);
  CHECK(has(run.err, "error[ARG]: the model has no input 'in/A', did you mean 'in/a'?"));
  Result one = call(test, "net.json --random=7 --print"),
         two = call(test, "net.json --random=7 --print"),
         other = call(test, "--random --print net.json");
  CHECK(one.code == 0);
  CHECK(one.out == two.out);
  CHECK(one.out != other.out);
}

TEST_CASE("J1 bycc-run: missing, wrong dtype, shape, rank") {
  TestModel test;
  Inputs inputs(2);
  writeInputs(test, inputs);
  Result run = call(test, "net.json --input b=in/b.npy");
  CHECK(run.code == 1);
  CHECK(has(run.err, "error[ARG]: no data for input 'in/a'"));
  writeNpy(test.folder / "ints.npy", {2, 4}, inputs.a, DType::Int32);
  run = call(test, "net.json --inputs in --input in/a=ints.npy");
  CHECK(run.code == 1);
  CHECK(run.err == "ints.npy: error[ARG]: input 'in/a': wanted float32, given int32 [BY0703]\n");
  writeNpy(test.folder / "flat.npy", {8}, inputs.a);
  CHECK(has(call(test, "net.json --inputs in --input in/a=flat.npy").err, "wanted rank 2"));
  writeNpy(test.folder / "turned.npy", {4, 2}, inputs.a);
  CHECK(has(call(test, "net.json --inputs in --input in/a=turned.npy").err,
            "wanted shape (N, 4), given (4, 2)"));
  CHECK(call(test, "net.json --inputs nowhere").code == 1);
}

TEST_CASE("bycc-run: bench and profile") {
  TestModel test(BYCC_TEST_OBJECT_REGION);
  ::setenv("BYCC_PLUGIN_PATH", BYCC_TEST_PLUGINS, 1);
  Result run = call(test, "net.json --random --bench --runs 3 --threads 2 --json -");
  REQUIRE(run.code == 0);
  auto json = parseJson(run.out, "out");
  REQUIRE(json);
  for (const char *key : {"model", "load_ms", "min_ms", "median_ms", "mean_ms", "p90_ms", "p99_ms",
                          "runs", "threads", "peak_rss_mb"})
    CHECK(json->find(key));
  CHECK(json->find("runs")->integer == 3);
  // Both bounds hold: the longer one ends it.
  Result both = call(test, "net.json --random --bench --runs 3 --seconds 0.05 --json -");
  CHECK(parseJson(both.out, "out")->find("runs")->integer > 3);
  both = call(test, "net.json --random --bench --runs 30 --seconds 0.000001 --json -");
  CHECK(parseJson(both.out, "out")->find("runs")->integer == 30);
  CHECK(json->find("threads")->integer == 2);
  CHECK(json->find("model")->string == "net");
  CHECK(has(call(test, "net.json --random --bench --seconds 0.01").out, "median_ms"));
  run = call(test, "net.json --random --profile=trace.json");
  CHECK(run.code == 0);
  CHECK(has(run.out, "multiply [loop]"));
  CHECK(has(run.out, "(reorders 0.0 %), host "));
  auto trace = parseJson(readText(test.folder / "trace.json"), "trace.json");
  REQUIRE(trace);
  CHECK(trace->find("traceEvents")->items.size() == 2 + 3); // rows have names
}

TEST_CASE("bycc-run: bad command lines exit with 2, names in the model with 1") {
  TestModel test;
  for (const char *arguments :
       {"", "net.json --randm", "net.json --threads 0", "net.json --threads x",
        "net.json --runs=", "net.json --json x", "net.json other.json", "net.json --bench=1",
        "net.json --inputs", "net.json --rtol -1", "net.json --random=x"}) {
    Result run = call(test, arguments);
    INFO(arguments);
    CHECK(run.code == 2);
    CHECK(has(run.err, "error[USAGE]"));
  }
  CHECK(has(call(test, "net.json --randm").err, "did you mean '--random'"));
  CHECK(call(test, "missing.json --random").code == 1);
  CHECK(call(test, "-help").code == 0);
  CHECK(has(call(test, "--version").out, "bycc-run"));
  CHECK(call(test, "net.json --random --verify").code == 0);
}

TEST_CASE("H9 bycc-run: stdout closed or full is IO") {
  TestModel test;
  std::string folder = test.folder;
  for (const char *target : {">/dev/full", ">&-"}) {
    std::string command =
        "cd " + folder + " && " BYCC_TEST_RUN " net.json --random --print " + target + " 2>err.txt";
    CHECK(WEXITSTATUS(std::system(command.c_str())) == 1);
    CHECK(has(readText(folder + "/err.txt"), "error[IO]"));
  }
}

TEST_CASE("I7 bycc-run: a truncated object is LOAD, exit 1") {
  TestModel test;
  std::string object = readText(test.object());
  for (size_t size = 0; size < object.size(); size += 256) {
    writeText(test.object(), object.substr(0, size));
    Result run = call(test, "net.json --random");
    REQUIRE(run.code == 1);
    REQUIRE(has(run.err, "net.o: error[LOAD]: "));
  }
}
