// Damaged and mismatched sets of files: LOAD, with what is wrong.
#include "TestModel.h"

#include "bycc/Runtime/CheckSet.h"
#include "bycc/Support/ParamsFile.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

static bool has(const std::string &text, const std::string &part) {
  return text.find("error[LOAD]") != std::string::npos && text.find(part) != std::string::npos;
}

// What the compiler would say of the same files before it writes them; "" if nothing.
static std::string setError(const TestModel &test) {
  std::string graph = readText(test.json()), object = readText(test.object()),
              params = readText(test.params());
  bycc::ParamsHeader header;
  REQUIRE(params.size() > sizeof header);
  std::memcpy(&header, params.data(), sizeof header);
  std::string_view pieces[] = {std::string_view(params).substr(0, header.tableOffset),
                               std::string_view(params).substr(header.tableOffset)};
  auto checked = bycc::runtime::checkSet({graph, object, pieces}, test.folder / "net");
  std::string text = checked ? "" : checked.error().str();
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

// The error after `from` -> `to` in the graph JSON, sealed again. The compiler has it, too.
static std::string edited(const std::string &from, const std::string &to) {
  TestModel test;
  test.writeGraph(from, to);
  std::string error = test.loadError();
  CHECK(setError(test) == error);
  return error;
}

TEST_CASE("I1 a graph JSON cut or flipped anywhere is LOAD") {
  TestModel test;
  std::string text = readText(test.json());
  REQUIRE(test.loadError() == "");
  for (size_t size = 0; size + 1 < text.size(); ++size) { // the last byte is a line end
    writeText(test.json(), text.substr(0, size));
    REQUIRE(has(test.loadError(), ""));
  }
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    text[bit / 8] ^= 1 << bit % 8;
    writeText(test.json(), text);
    REQUIRE(has(test.loadError(), ""));
    text[bit / 8] ^= 1 << bit % 8;
  }
}

TEST_CASE("a set that loads is one that the compiler takes") {
  TestModel test;
  CHECK(setError(test) == "");
  std::string object = readText(test.object());
  writeText(test.object(), object.substr(0, object.size() / 2));
  test.writeGraph(); // the hash is that of the half
  CHECK(has(test.loadError(), "object"));
  CHECK(setError(test) == test.loadError());
}

TEST_CASE("I1 node ids and rows") {
  CHECK(has(edited("[[2, 0, 0], [3", "[[4, 0, 0], [3"), "node 4"));
  CHECK(has(edited("[[2, 0, 0], [3", "[[4294967295, 0, 0], [3"), "node 4294967295"));
  CHECK(has(edited("[[2, 0, 0], [3", "[[2, 3, 0], [3"), "no output 3"));
  CHECK(has(edited("[0, 1, 2, 5, 6]", "[0, 1, 1, 5, 6]"), "does not rise"));
  CHECK(has(edited("[0, 1, 2, 5, 6]", "[0, 1, 2, 5]"), "node_row_ptr"));
  CHECK(has(edited("[0, 1, 2, 5, 6]", "[0, 1, 2, 5, 99999999999]"), "node_row_ptr"));
  CHECK(has(edited("\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0, 4]"), "arg_nodes"));
  CHECK(has(edited("\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0]"), "lacks node 1"));
}

TEST_CASE("I2 storage ids") {
  CHECK(has(edited("[0, 1, 2, 3, 4, 3]", "[0, 1, 2, -1, 4, 3]"), "storage id"));
  CHECK(has(edited("[0, 1, 2, 3, 4, 3]", "[0, 1, 2, 2147483648, 4, 3]"), "storage id"));
  CHECK(has(edited("[0, 1, 2, 3, 4, 3]", "[0, 1, 2, 3, 3, 3]"), "share storage id 3"));
  CHECK(has(edited("[0, 1, 2, 3, 4, 3]", "[0, 1, 0, 3, 4, 3]"), "share storage id 0"));
}

TEST_CASE("I3 references, arities and tables") {
  CHECK(has(edited("[[0, 0, 0], [1, 0, 0]]", "[[0, 0, 0], [2, 0, 0]]"), "refers to node 2"));
  CHECK(has(edited("[[0, 0, 0], [1, 0, 0]]", "[[0, 0, 0], [3, 0, 0]]"), "refers to node 3"));
  CHECK(has(edited("\"num_inputs\": \"2\"", "\"num_inputs\": \"3\""), "num_inputs 3"));
  CHECK(has(edited("\"num_outputs\": \"3\"", "\"num_outputs\": \"2\""), "num_outputs 2"));
  CHECK(has(edited("\"inputs\": [[2, 1, 0]],\n             \"attrs\": {\"func_name\": \"__nop\", "
                   "\"num_inputs\": \"1\"",
                   "\"inputs\": [],\n             \"attrs\": {\"func_name\": \"__nop\", "
                   "\"num_inputs\": \"0\""),
            "no-op"));
  CHECK(has(edited("[4], [\"?\"], [4]]", "[4], [\"?\"]]"), "'shape' has 5 items"));
}

TEST_CASE("I4 I5 parameters: missing, extra, twice, other type or shape") {
  std::string entry = "{\n            \"name\": \"w\",\n            \"dtype\": \"float32\",\n      "
                      "      \"shape\": [4]\n          }";
  CHECK(has(edited(entry, entry + ", {\"name\": \"v\", \"dtype\": \"int8\", \"shape\": []}"),
            "parameter 'v' is missing"));
  CHECK(has(edited(entry, entry + ", " + entry), "graph JSON: parameter 'w' is there twice"));
  CHECK(has(edited(entry, ""), "parameter 'w' is not one of the model"));
  CHECK(has(edited("\"shape\": [4]\n", "\"shape\": [2, 2]\n"),
            "is float32[4], the model needs float32[2, 2]"));
  CHECK(has(edited("\"dtype\": \"float32\",\n            \"shape\"",
                   "\"dtype\": \"int32\",\n            \"shape\""),
            "the model needs int32[4]"));
}

TEST_CASE("I6 files of different builds") {
  CHECK(has(edited("0102030405060708090a0b0c0d0e0f10", "0102030405060708090a0b0c0d0e0f11"),
            "object and graph JSON are of different builds"));
  TestModel test;
  std::string params = readText(test.params());
  bycc::ParamsWriter writer;
  float weights[4] = {};
  writer.add("w", bycc::DType::Float32, {4}, bycc::Storage::copyOf(weights, 16), 0, 16);
  std::string other;
  for (auto piece : writer.finish({9}))
    other += piece;
  writeText(test.params(), other);
  CHECK(has(test.loadError(), "params and object are of different builds"));
  CHECK(setError(test) == test.loadError());
}

TEST_CASE("I6 a changed weight shows, once for a file of a time stamp, always with verify") {
  TestModel test;
  REQUIRE(test.loadError() == "");
  auto time = std::filesystem::last_write_time(test.params());
  std::fstream(test.params(), std::ios::in | std::ios::out).seekp(130).put(7);
  CHECK(has(test.loadError(), "parameter 'w' is damaged"));
  std::filesystem::last_write_time(test.params(), time);
  CHECK(test.loadError() == ""); // known as it was
  bycc_load_options options = {sizeof options, 0, 1, nullptr};
  CHECK(has(test.loadError(&options), "parameter 'w' is damaged"));
}

TEST_CASE("I7 damaged or missing parts") {
  TestModel test;
  std::string object = readText(test.object()), params = readText(test.params());
  for (size_t size = 0; size < object.size(); size += 64) {
    writeText(test.object(), object.substr(0, size));
    REQUIRE(has(test.loadError(), "net.o"));
  }
  for (size_t byte = 0; byte < object.size(); ++byte) {
    object[byte] ^= 0x10;
    writeText(test.object(), object);
    REQUIRE(has(test.loadError(), "net.o"));
    object[byte] ^= 0x10;
  }
  writeText(test.object(), object);
  for (size_t size = 0; size < params.size(); ++size) {
    writeText(test.params(), params.substr(0, size));
    REQUIRE(has(test.loadError(), "net.params"));
  }
  std::filesystem::remove(test.params());
  CHECK(has(test.loadError(), "net.params"));
  std::filesystem::remove(test.object());
  CHECK(has(test.loadError(), "net.o"));
}

TEST_CASE("I7 params cut after the load: LOAD at the next run, no SIGBUS") {
  TestModel test;
  Loaded loaded(test);
  Inputs inputs(3);
  REQUIRE(inputs.bind(loaded.context) == BYCC_OK);
  REQUIRE(bycc_run(loaded.context) == BYCC_OK);
  std::filesystem::resize_file(test.params(), 0);
  CHECK(bycc_run(loaded.context) == BYCC_LOAD);
}

// What a child gets from a run in which the params are cut and then read, and from the
// run after it; 64 + signal when it is killed.
static std::pair<int, int> runOnCutParams(float first, bool vendorReads) {
  TestModel test(BYCC_TEST_OBJECT_REGION);
  ::setenv("BYCC_PLUGIN_PATH", BYCC_TEST_PLUGINS, 1);
  pid_t child = ::fork();
  if (child == 0) {
    bycc_guard_files();
    Loaded loaded(test);
    Inputs inputs(3, first);
    ::setenv("FAKE_CUTS", test.params().c_str(), 1);
    if (vendorReads)
      ::setenv("FAKE_READS", "1", 1);
    bool isRight = inputs.bind(loaded.context) == BYCC_OK;
    int one = bycc_run(loaded.context), two = bycc_run(loaded.context);
    ::_exit(isRight ? one * 8 + two : 63);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    return {64 + WTERMSIG(status), 0};
  return {WEXITSTATUS(status) / 8, WEXITSTATUS(status) % 8};
}

TEST_CASE("I7 params cut while host code or a vendor reads them: LOAD, no SIGBUS") {
  using Codes = std::pair<int, int>;
  CHECK(runOnCutParams(-3000, false) == Codes(BYCC_LOAD, BYCC_LOAD));
  CHECK(runOnCutParams(1, true) == Codes(BYCC_LOAD, BYCC_LOAD));
  CHECK(runOnCutParams(1, false) ==
        Codes(BYCC_LOAD, BYCC_LOAD)); // what was read may have been zeros
}

TEST_CASE("I7 SIGBUS elsewhere goes to the handler that was there") {
  pid_t child = ::fork();
  if (child == 0) {
    struct sigaction own = {};
    own.sa_handler = [](int) { ::_exit(7); };
    ::sigaction(SIGBUS, &own, nullptr);
    bycc_guard_files();
    ::raise(SIGBUS);
    ::_exit(8);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("I7 the object is believed after its hash") {
  TestModel test;
  std::string object = readText(test.object());
  object[40] ^= 1; // e_shoff: the loader would say so
  writeText(test.object(), object);
  CHECK(has(test.loadError(), "object is damaged: its hash is not the recorded one"));
}

TEST_CASE("I8 ABI versions newer and absent") {
  CHECK(has(edited("\"abi\": 4", "\"abi\": 5"), "ABI version 5, this bycc has version 4"));
  CHECK(has(edited("\"abi\": 4,", ""), "this bycc has version 4"));
}

TEST_CASE("I9 the vendor's library is missing") {
  TestModel test(BYCC_TEST_OBJECT_REGION);
  std::string text = readText(test.object());
  size_t at = text.find(std::string("\0fake\0", 6));
  REQUIRE(at != std::string::npos);
  text.replace(at + 1, 4, "none");
  writeText(test.object(), text);
  test.writeGraph();
  ::setenv("BYCC_PLUGIN_PATH", "/nowhere", 1);
  std::string message = test.loadError();
  CHECK(has(message, "libbycc_vendor_none.so is in none of: /nowhere"));
}

TEST_CASE("I9 a region's own weights lie outside the params") {
  ::setenv("BYCC_PLUGIN_PATH", BYCC_TEST_PLUGINS, 1);
  for (const char *object : {BYCC_TEST_OBJECT_WEIGHTS_OUTSIDE, BYCC_TEST_OBJECT_WEIGHTS_FAR,
                             BYCC_TEST_OBJECT_WEIGHTS_ODD})
    CHECK(has(TestModel(object).loadError(),
              "region probe_fake_0: its weights lie outside the params"));
}

TEST_CASE("a file that is no graph JSON") {
  TestModel test;
  writeText(test.json(), "{\"nodes\": []}");
  CHECK(has(test.loadError(), "not a graph JSON of bycc"));
  bycc_model *model = nullptr;
  CHECK(bycc_model_load((test.folder / "missing.json").c_str(), nullptr, &model) == BYCC_IO);
}
