// Runs through the C API.
#include "OpenMp.h"
#include "TestModel.h"

#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <immintrin.h>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

static std::string lastError() { return bycc_last_error(); }

static bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("runs: unknown extents, weights, libm, several threads") {
  TestModel test;
  for (int32_t threads : {1, 2, 3, 16}) {
    Loaded loaded(test, threads);
    for (int64_t n : {1, 0, 5, 1000, 2}) {
      Inputs inputs(n);
      REQUIRE(inputs.bind(loaded.context) == BYCC_OK);
      int32_t status = bycc_run(loaded.context);
      INFO(lastError());
      REQUIRE(status == BYCC_OK);
      CHECK(outputOf(loaded.context, 0) == wantedScaled(inputs));
      CHECK(outputOf(loaded.context, 2) == wantedPositive(inputs));
      const int64_t *shape = nullptr;
      bycc_get_output(loaded.context, 0, nullptr, &shape, nullptr);
      CHECK((shape[0] == n && shape[1] == 4));
      float sum = 0;
      for (int64_t i = 0; i < n; ++i)
        sum += inputs.a[4 * i];
      CHECK(outputOf(loaded.context, 1)[0] == Approx(std::exp(sum)));
    }
  }
}

namespace {

// The files of a model in memory, with the params where they must lie.
struct InMemory {
  explicit InMemory(const TestModel &test)
      : graph(readText(test.json())), object(readText(test.object())),
        params(readText(test.params())) {
    storage.resize(params.size() + 64);
    aligned = storage.data() + 64 - reinterpret_cast<uintptr_t>(storage.data()) % 64;
    std::memcpy(aligned, params.data(), params.size());
    bytes = {sizeof bytes, "here",        graph.data(),
             graph.size(), object.data(), object.size(),
             aligned,      params.size(), [](void *user) { ++*static_cast<int *>(user); },
             &released};
  }
  std::string loadError(const bycc_load_options *options = nullptr) const {
    bycc_model *model = nullptr;
    if (bycc_model_load_bytes(&bytes, options, &model) != BYCC_OK)
      return lastError();
    bycc_model_destroy(model);
    return "";
  }
  std::string graph, object, params;
  std::vector<char> storage;
  char *aligned = nullptr;
  int released = 0;
  bycc_model_bytes bytes = {};
};

} // namespace

TEST_CASE("a model in memory runs without files, and says when it no longer needs its params") {
  auto test = std::make_unique<TestModel>();
  InMemory memory(*test);
  test.reset(); // the files are gone
  bycc_model *model = nullptr;
  bycc_context *context = nullptr;
  int32_t status = bycc_model_load_bytes(&memory.bytes, nullptr, &model);
  INFO(lastError());
  REQUIRE(status == BYCC_OK);
  memory.graph.assign(memory.graph.size(), 'x');
  memory.object.assign(memory.object.size(), 'x');
  REQUIRE(bycc_context_create(model, &context) == BYCC_OK);
  bycc_model_destroy(model);
  CHECK(memory.released == 0); // the context runs on
  Inputs inputs(7);
  REQUIRE(inputs.bind(context) == BYCC_OK);
  REQUIRE(bycc_run(context) == BYCC_OK);
  CHECK(outputOf(context, 0) == wantedScaled(inputs));
  bycc_context_destroy(context);
  CHECK(memory.released == 1);
}

TEST_CASE("I7 a model in memory that is damaged is LOAD, and its params are released") {
  TestModel test;
  InMemory memory(test);
  REQUIRE(memory.loadError() == "");
  memory.aligned[130] ^= 7;
  bycc_load_options options = {sizeof options, 0, 1, nullptr};
  CHECK(has(memory.loadError(&options), "here.params: error[LOAD]: parameter 'w' is damaged"));
  memory.object[200] ^= 1;
  CHECK(has(memory.loadError(), "here.o: error[LOAD]: object is damaged"));
  memory.object[200] ^= 1;
  CHECK(memory.released == 3);
  memory.bytes.params = memory.aligned + 1;
  CHECK(has(memory.loadError(),
            "here.params: error[LOAD]: the weights do not lie at a multiple of 64"));
  memory.bytes.params = nullptr;
  CHECK(has(memory.loadError(), "here.params: error[LOAD]: the model has weights, none are given"));
  memory.graph[0] = '?';
  CHECK(has(memory.loadError(), "here.json:1:1: error[LOAD]"));
  CHECK(memory.released == 6);
  memory.bytes.object = nullptr;
  CHECK(has(memory.loadError(), "error[ARG]: object is a null pointer"));
  memory.bytes.size = 8;
  CHECK(has(memory.loadError(), "error[ARG]: bycc_model_bytes::size is 8"));
}

TEST_CASE("the module can be asked for") {
  TestModel test;
  Loaded loaded(test);
  const bycc_module *module = bycc_model_module(loaded.model);
  REQUIRE(module);
  CHECK(std::string(module->name) == "probe");
  CHECK(bycc_model_input_index(loaded.model, "b") == 1);
  CHECK(bycc_model_input_index(loaded.model, "c") == -1);
  CHECK(bycc_model_output_index(loaded.model, "positive") == 2);
}

TEST_CASE("J1 wrong count, rank, shape: ARG with name, wanted and given") {
  TestModel test;
  Loaded loaded(test);
  Inputs inputs(3);
  int64_t wrong[2] = {3, 5}, negative[2] = {-3, 4};
  auto bind = [&](uint32_t index, size_t bytes, const int64_t *shape) {
    return bycc_bind_input(loaded.context, index, inputs.a.data(), bytes, shape);
  };
  CHECK(bind(0, 1000, wrong) == BYCC_ARG);
  CHECK(lastError() == "error[ARG]: input 'in/a': wanted shape (N, 4), given (3, 5) [BY0703]");
  CHECK(bind(0, 1000, negative) == BYCC_ARG);
  CHECK(bind(0, 1000, nullptr) == BYCC_ARG);
  CHECK(bind(7, 48, inputs.shapeA) == BYCC_ARG);
  CHECK(bind(0, 47, inputs.shapeA) == BYCC_ARG);
  CHECK(lastError() == "error[ARG]: input 'in/a': wanted 48 bytes, given 47");
  int64_t huge[2] = {int64_t{1} << 62, 4};
  CHECK(bind(0, SIZE_MAX, huge) == BYCC_LIMIT);
  // One symbol, two extents.
  Inputs other(2);
  REQUIRE(inputs.bind(loaded.context) == BYCC_OK);
  REQUIRE(bycc_bind_input(loaded.context, 1, other.b.data(), 8, other.shapeB) == BYCC_OK);
  CHECK(bycc_run(loaded.context) == BYCC_ARG);
  CHECK(lastError() == "error[ARG]: input 'b': extent N is 2, in input 'in/a' it is 3\n"
                       "note: an ONNX model that means two extents by this name: compile it with "
                       "--shape b=2");
}

TEST_CASE("J2 null, misaligned, too small and overlapping buffers") {
  TestModel test;
  Loaded loaded(test);
  Inputs inputs(3);
  CHECK(bycc_bind_input(loaded.context, 0, nullptr, 48, inputs.shapeA) == BYCC_ARG);
  CHECK(bycc_bind_output(loaded.context, 1, nullptr, 16) == BYCC_ARG);
  float sums[5];
  CHECK(bycc_bind_output(loaded.context, 1, sums, 15) == BYCC_ARG);
  REQUIRE(inputs.bind(loaded.context) == BYCC_OK);
  REQUIRE(bycc_run(loaded.context) == BYCC_OK);
  auto wanted = outputOf(loaded.context, 1);

  std::vector<char> shifted(49), output(49), small(40);
  std::memcpy(shifted.data() + 1, inputs.a.data(), 48);
  REQUIRE(bycc_bind_input(loaded.context, 0, shifted.data() + 1, 48, inputs.shapeA) == BYCC_OK);
  REQUIRE(bycc_bind_output(loaded.context, 1, reinterpret_cast<char *>(sums) + 1, 16) == BYCC_OK);
  REQUIRE(bycc_bind_output(loaded.context, 0, output.data() + 1, 48) == BYCC_OK);
  REQUIRE(bycc_run(loaded.context) == BYCC_OK);
  CHECK(std::memcmp(reinterpret_cast<char *>(sums) + 1, wanted.data(), 16) == 0);
  CHECK(std::memcmp(output.data() + 1, wantedScaled(inputs).data(), 48) == 0);

  REQUIRE(bycc_bind_output(loaded.context, 0, small.data(), 40) == BYCC_OK);
  CHECK(bycc_run(loaded.context) == BYCC_ARG);
  CHECK(has(lastError(), "'scaled'"));
  REQUIRE(bycc_bind_output(loaded.context, 0, output.data(), 48) == BYCC_OK);
  REQUIRE(bycc_bind_output(loaded.context, 1, output.data() + 44, 16) == BYCC_OK);
  CHECK(bycc_run(loaded.context) == BYCC_ARG);
  CHECK(has(lastError(), "overlap"));
  REQUIRE(bycc_bind_output(loaded.context, 1, inputs.a.data(), 16) == BYCC_OK);
  REQUIRE(bycc_bind_input(loaded.context, 0, inputs.a.data(), 48, inputs.shapeA) == BYCC_OK);
  CHECK(bycc_run(loaded.context) == BYCC_ARG);
  REQUIRE(bycc_bind_output(loaded.context, 1, sums, 16) == BYCC_OK);
  CHECK(bycc_run(loaded.context) == BYCC_OK);
}

TEST_CASE("J3 runs before inputs are set, and after destruction, are ARG") {
  TestModel test;
  bycc_model *model = nullptr;
  bycc_context *context = nullptr;
  REQUIRE(bycc_model_load(test.json().c_str(), nullptr, &model) == BYCC_OK);
  REQUIRE(bycc_context_create(model, &context) == BYCC_OK);
  CHECK(bycc_run(context) == BYCC_ARG);
  CHECK(lastError() == "error[ARG]: no data for inputs 'in/a', 'b' [BY0702]");
  CHECK(bycc_get_output(context, 0, nullptr, nullptr, nullptr) == BYCC_ARG);
  bycc_model_destroy(model);
  bycc_model_destroy(model);
  CHECK(bycc_context_create(model, &context) == BYCC_ARG);
  CHECK(bycc_model_module(model) == nullptr);
  CHECK(bycc_context_create(nullptr, &context) == BYCC_ARG);
  CHECK(bycc_model_load(nullptr, nullptr, &model) == BYCC_ARG);
  CHECK(bycc_model_load(test.json().c_str(), nullptr, nullptr) == BYCC_ARG);
  CHECK(bycc_run(nullptr) == BYCC_ARG);
}

TEST_CASE("J3 a context outlives its model and can be destroyed twice, or during a run") {
  TestModel test;
  bycc_model *model = nullptr;
  REQUIRE(bycc_model_load(test.json().c_str(), nullptr, &model) == BYCC_OK);
  for (int i = 0; i < 50; ++i) {
    bycc_context *context = nullptr;
    REQUIRE(bycc_context_create(model, &context) == BYCC_OK);
    Inputs inputs(20000);
    REQUIRE(inputs.bind(context) == BYCC_OK);
    std::thread runner([&] { bycc_run(context); });
    bycc_context_destroy(context);
    runner.join();
    CHECK(bycc_run(context) == BYCC_ARG);
    bycc_context_destroy(context);
  }
  bycc_context *context = nullptr;
  REQUIRE(bycc_context_create(model, &context) == BYCC_OK);
  bycc_model_destroy(model);
  Inputs inputs(2);
  REQUIRE(inputs.bind(context) == BYCC_OK);
  CHECK(bycc_run(context) == BYCC_OK);
  bycc_context_destroy(context);
}

TEST_CASE("J4 many threads on one model give what one gives") {
  TestModel test(BYCC_TEST_OBJECT_REGION);
  ::setenv("BYCC_PLUGIN_PATH", BYCC_TEST_PLUGINS, 1);
  Loaded loaded(test, 2);
  Inputs inputs(500);
  REQUIRE(inputs.bind(loaded.context) == BYCC_OK);
  REQUIRE(bycc_run(loaded.context) == BYCC_OK);
  auto scaled = outputOf(loaded.context, 0), sums = outputOf(loaded.context, 1);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      bycc_context *context = nullptr;
      wrong += bycc_context_create(loaded.model, &context) != BYCC_OK;
      wrong += inputs.bind(context) != BYCC_OK;
      for (int i = 0; i < 200; ++i) {
        wrong += bycc_run(context) != BYCC_OK;
        const void *data = nullptr;
        bycc_get_output(context, 0, &data, nullptr, nullptr);
        wrong += std::memcmp(data, scaled.data(), 4 * scaled.size()) != 0;
        bycc_get_output(context, 1, &data, nullptr, nullptr);
        wrong += std::memcmp(data, sums.data(), 16) != 0;
      }
      bycc_context_destroy(context);
    });
  for (auto &thread : threads)
    thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("J4 one context on two threads at once is ARG, not a race") {
  TestModel test;
  Loaded loaded(test, 1);
  Inputs inputs(50000);
  REQUIRE(inputs.bind(loaded.context) == BYCC_OK);
  std::vector<std::thread> threads;
  std::atomic<int> other{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        int32_t status = bycc_run(loaded.context);
        other += status != BYCC_OK && status != BYCC_ARG;
      }
    });
  for (auto &thread : threads)
    thread.join();
  CHECK(other == 0);
}

TEST_CASE("J5 after fork a run works and does not hang") {
  ::setenv("BYCC_PLUGIN_PATH", BYCC_TEST_PLUGINS, 1);
  for (const char *object : {BYCC_TEST_OBJECT_HOST, BYCC_TEST_OBJECT_REGION}) {
    TestModel test(object);
    Loaded loaded(test, 2);
    Inputs inputs(1000);
    REQUIRE(inputs.bind(loaded.context) == BYCC_OK);
    REQUIRE(bycc_run(loaded.context) == BYCC_OK);
    pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      bool good = bycc_run(loaded.context) == BYCC_OK;
      const void *data = nullptr;
      size_t bytes = 0;
      good = good && bycc_get_output(loaded.context, 0, &data, nullptr, &bytes) == BYCC_OK &&
             std::memcmp(data, wantedScaled(inputs).data(), bytes) == 0;
      bycc_model *second = nullptr;
      good = good && bycc_model_load(test.json().c_str(), nullptr, &second) == BYCC_OK;
      ::_exit(good ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(bycc_run(loaded.context) == BYCC_OK);
  }
}

TEST_CASE("J5 OpenMP's settings and odd thread counts do not matter") {
  TestModel test;
  Loaded loaded(test, 4);
  Inputs inputs(999);
  REQUIRE(inputs.bind(loaded.context) == BYCC_OK);
  if (const auto *openMp = bycc::runtime::openMpOfProgram()) { // as unit-Runtime-OpenMP has it
    openMp->setThreads(3);
    int32_t status = -1;
    struct Call {
      bycc_context *context;
      int32_t &status;
    } call{loaded.context, status};
    auto runAsFirst = [](void *closure) {
      auto &call = *static_cast<Call *>(closure);
      if (bycc::runtime::openMpOfProgram()->threadNumber() == 0)
        call.status = bycc_run(call.context);
    };
    openMp->parallel(runAsFirst, &call, 2, 0); // inside of the caller's own team
    CHECK(status == BYCC_OK);
    CHECK(outputOf(loaded.context, 0) == wantedScaled(inputs));
    CHECK(openMp->maxThreads() == 3);
  }
  CHECK(bycc_set_threads(loaded.context, 0) == BYCC_ARG);
  CHECK(bycc_set_threads(loaded.context, 1000000) == BYCC_ARG);
  CHECK(bycc_set_threads(loaded.context, 7) == BYCC_OK);
  CHECK(bycc_run(loaded.context) == BYCC_OK);
  CHECK(outputOf(loaded.context, 0) == wantedScaled(inputs));
}

static long residentKb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:"))
      return std::atol(line.c_str() + 6);
  return 0;
}

static size_t numEntries(const char *folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

TEST_CASE("J6 memory, descriptors and threads stay flat over runs and loads") {
  TestModel test;
  auto cycle = [&](int loads, int runs) {
    for (int i = 0; i < loads; ++i) {
      Loaded loaded(test, 2);
      Inputs inputs(3);
      REQUIRE(inputs.bind(loaded.context) == BYCC_OK);
      for (int k = 0; k < runs; ++k)
        if (bycc_run(loaded.context) != BYCC_OK)
          FAIL(lastError());
    }
  };
  cycle(50, 10);
  cycle(1, 10000);
  [[maybe_unused]] long memory = residentKb();
  size_t descriptors = numEntries("/proc/self/fd"), threads = numEntries("/proc/self/task");
  cycle(1000, 1);
  cycle(1, 100000);
#ifndef BYCC_ADDRESS_SANITIZER // which keeps freed memory
  CHECK(residentKb() < memory + 2000);
#endif
  CHECK(numEntries("/proc/self/fd") == descriptors);
  CHECK(numEntries("/proc/self/task") == threads);
}

TEST_CASE("J7 the caller's rounding and denormal modes neither matter nor change") {
  TestModel test;
  for (int32_t threads : {1, 2}) {
    Loaded loaded(test, threads);
    Inputs inputs(100);
    for (float &value : inputs.a)
      value *= 1e-39f; // denormal
    for (float &value : inputs.b)
      value = 1e-40f;
    REQUIRE(inputs.bind(loaded.context) == BYCC_OK);
    REQUIRE(bycc_run(loaded.context) == BYCC_OK);
    auto wanted = outputOf(loaded.context, 0);
    uint32_t before = _mm_getcsr(), odd = (before | 0x8040 | 0x2000) & ~0x3fu;
    std::fesetround(FE_UPWARD);
    _mm_setcsr(odd);
    int32_t status = bycc_run(loaded.context);
    uint32_t after = _mm_getcsr() & ~0x3fu;
    bool isUpward = std::fegetround() == FE_UPWARD;
    _mm_setcsr(before);
    std::fesetround(FE_TONEAREST);
    CHECK(status == BYCC_OK);
    CHECK(after == odd);
    CHECK(isUpward); // the x87 mode
    CHECK(outputOf(loaded.context, 0) == wanted);
    CHECK(wanted[5] != 0);
  }
}

TEST_CASE("J8 J9 a failed run gives its status, and the next run is right") {
  TestModel test;
  Loaded loaded(test);
  Inputs bad(3, -1000), empty(3, -2000), good(3);
  REQUIRE(bad.bind(loaded.context) == BYCC_OK);
  CHECK(bycc_run(loaded.context) == BYCC_ARG);
  CHECK(lastError() == "error[ARG]: gather: index 7 is out of range of extent 4");
  CHECK(bycc_get_output(loaded.context, 0, nullptr, nullptr, nullptr) == BYCC_ARG);
  REQUIRE(empty.bind(loaded.context) == BYCC_OK);
  CHECK(bycc_run(loaded.context) == BYCC_LIMIT);
  REQUIRE(good.bind(loaded.context) == BYCC_OK);
  REQUIRE(bycc_run(loaded.context) == BYCC_OK);
  CHECK(outputOf(loaded.context, 0) == wantedScaled(good));
}

TEST_CASE("vendor regions run, report steps and errors") {
  TestModel test(BYCC_TEST_OBJECT_REGION), host;
  ::setenv("BYCC_PLUGIN_PATH", BYCC_TEST_PLUGINS, 1);
  Loaded region(test), plain(host);
  Inputs inputs(3);
  REQUIRE(inputs.bind(region.context) == BYCC_OK);
  REQUIRE(inputs.bind(plain.context) == BYCC_OK);
  REQUIRE(bycc_profile_enable(region.context, 1) == BYCC_OK);
  for (int i = 0; i < 3; ++i)
    REQUIRE(bycc_run(region.context) == BYCC_OK);
  REQUIRE(bycc_run(plain.context) == BYCC_OK);
  CHECK(outputOf(region.context, 1)[0] == 2 * outputOf(plain.context, 1)[0]);
  const bycc_profile_entry *entries = nullptr;
  size_t count = 0;
  REQUIRE(bycc_profile_entries(region.context, &entries, &count) == BYCC_OK);
  REQUIRE(count == 3);
  CHECK((entries[0].calls == 3 && entries[0].region == -1 && entries[0].flops == 8));
  CHECK(std::string(entries[2].name) == "multiply");
  CHECK((entries[2].region == 0 && entries[2].total_ns == 21));
  Inputs huge(1, 80);
  REQUIRE(huge.bind(region.context) == BYCC_OK);
  CHECK(bycc_run(region.context) == BYCC_INTERNAL);
  CHECK(lastError() == "error[INTERNAL]: region probe_fake_0: primitive failed");
}

TEST_CASE("a region gets the weights that its vendor made, or none") {
  ::setenv("BYCC_PLUGIN_PATH", BYCC_TEST_PLUGINS, 1);
  for (const char *object : {BYCC_TEST_OBJECT_OWN_WEIGHTS, BYCC_TEST_OBJECT_NO_WEIGHTS})
    CHECK(TestModel(object).loadError() == "");
}
