// Regions whose extents are known at run time only: one blob for all of them.
#include "DnnlCheck.h"

#include <atomic>
#include <stdexcept>
#include <thread>

using namespace bycc::test;

namespace {

constexpr int64_t unknown = 97; // stands for the run-time extent while a region is made

// conv, bias, relu, sum, pool, dense, with a batch of n.
void addNetwork(RegionBuilder &region, int64_t n) {
  uint32_t x = region.input({n, 4, 8, 8}), other = region.input({n, 16, 8, 8});
  uint32_t c = region.op("nn.conv2d", {x, weights(region, {16, 4, 3, 3}, 3)}, {n, 16, 8, 8},
                         {{"padding", Dims{1, 1}}});
  uint32_t b = region.op("add", {c, weights(region, {16, 1, 1}, 4)}, {n, 16, 8, 8});
  uint32_t r = region.op("nn.relu", {region.op("add", {b, other}, {n, 16, 8, 8})}, {n, 16, 8, 8});
  uint32_t p = region.op("nn.global_avg_pool2d", {r}, {n, 16, 1, 1});
  uint32_t f = region.op("reshape", {p}, {n, 16});
  region.output(region.op("nn.dense", {f, weights(region, {5, 16}, 6)}, {n, 5}));
}

// Two products with a length of n, softmax between them.
void addAttention(RegionBuilder &region, int64_t n) {
  uint32_t q = region.input({2, n, 8}), k = region.input({2, n, 8}), v = region.input({2, n, 8});
  Dims square{2, n, n};
  uint32_t scores = region.op("nn.batch_matmul", {q, k}, square, {{"transpose_b", 1}});
  uint32_t soft = region.op("nn.softmax", {scores}, square);
  region.output(region.op("nn.batch_matmul", {soft, v}, {2, n, 8}, {{"transpose_b", 0}}));
}

Answer compiled(void (*add)(RegionBuilder &, int64_t)) {
  RegionBuilder region;
  add(region, unknown);
  region.makeRunTime(unknown);
  Answer answer = compile(region);
  INFO(answer.reason);
  REQUIRE(answer.yes);
  return answer;
}

} // namespace

TEST_CASE("dnnl runs one blob with extents that come at run time") {
  for (auto add : {addNetwork, addAttention}) {
    Answer region = compiled(add);
    RegionBuilder model;
    add(model, unknown);
    Loaded loaded(model, region);
    RegionBuilder sizes[6];
    const int64_t extents[6] = {1, 3, 1, 17, 2, 5};
    for (size_t i = 0; i < 6; ++i) {
      CAPTURE(extents[i]);
      add(sizes[i], extents[i]);
      std::vector<Tensor> inputs = inputsFor(sizes[i]);
      std::vector<Tensor> want = evaluate(sizes[i].region(), inputs);
      for (int32_t threads : {2, 1, 2})
        requireClose(loaded.runWith(sizes[i], inputs, threads), want);
    }
  }
}

TEST_CASE("dnnl refuses run-time extents that do not fit") {
  Answer region = compiled(addNetwork);
  RegionBuilder model, odd;
  addNetwork(model, unknown);
  Loaded loaded(model, region);
  odd.output(odd.input({2, 4, 8, 8}));
  odd.input({3, 16, 8, 8}); // another batch
  CHECK_THROWS_WITH(loaded.runWith(odd, inputsFor(odd), 1),
                    Catch::Contains("input 1 of the region has shape (3, 16, 8, 8)"));
}

TEST_CASE("dnnl plans for new extents in several contexts at a time") {
  Answer region = compiled(addNetwork);
  RegionBuilder model;
  addNetwork(model, unknown);
  Loaded loaded(model, region);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      uint64_t bytes = runtimeHalf().state_bytes(runtimeContext(), loaded.handle());
      std::vector<uint8_t> memory(bytes + 64);
      uint8_t *state = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
      runtimeHalf().init_state(runtimeContext(), loaded.handle(), state, 1);
      for (int64_t n = 1 + t; n < 40; n += 3) {
        RegionBuilder sized;
        addNetwork(sized, n);
        std::vector<Tensor> inputs = inputsFor(sized);
        std::vector<Tensor> want = evaluate(sized.region(), inputs);
        std::vector<Tensor> got = runIn(sized, loaded.handle(), state, inputs, 1);
        for (size_t i = 0; i < want[0].size(); ++i)
          wrong += std::fabs(got[0][i] - want[0][i]) > 1e-4f * (1 + std::fabs(want[0][i]));
      }
      runtimeHalf().drop_state(runtimeContext(), loaded.handle(), state);
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("dnnl refuses damaged bytes of a region with run-time extents") {
  std::vector<uint8_t> blob = compiled(addAttention).blob;
  RegionBuilder model;
  addAttention(model, unknown);
  auto load = [&](const std::vector<uint8_t> &bytes) { return tryLoad(bytes, nullptr, 0, 3); };
  CHECK(load(blob) == BYCC_OK);
  for (size_t length = 0; length < blob.size(); length += 7)
    CHECK(load({blob.begin(), blob.begin() + static_cast<std::ptrdiff_t>(length)}) == BYCC_LOAD);
  for (size_t at = 0; at < blob.size(); ++at) {
    std::vector<uint8_t> changed = blob;
    changed[at] ^= 0x55;
    int32_t status = load(changed);
    CHECK((status == BYCC_OK || status == BYCC_LOAD));
  }
}

TEST_CASE("dnnl keeps NaN in regions of run-time extents") {
  Answer region = compiled(addNetwork);
  RegionBuilder model;
  addNetwork(model, unknown);
  Loaded loaded(model, region);
  for (int64_t extent : {2, 5, 2}) {
    RegionBuilder sized;
    addNetwork(sized, extent);
    std::vector<Tensor> inputs = inputsFor(sized);
    for (size_t i = 0; i < 2; ++i) {
      inputs[1][70] = i ? 0 : NAN;
      requireClose(loaded.runWith(sized, inputs, 1), evaluate(sized.region(), inputs));
    }
  }
}
