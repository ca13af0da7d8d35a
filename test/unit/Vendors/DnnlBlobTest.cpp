// Region blobs: damaged ones are refused, good ones run alike in any context.
#include "DnnlCheck.h"

#include <cstring>
#include <thread>

using namespace bycc::test;

namespace {

void buildNet(RegionBuilder &region) {
  Dims dims = {1, 16, 8, 8};
  uint32_t x = region.input(dims);
  uint32_t w = region.constant({16, 16, 3, 3}, noise({16, 16, 3, 3}, 3));
  uint32_t c = region.op("nn.conv2d", {x, w}, dims, {{"padding", Dims{1, 1}}});
  uint32_t b = region.op("add", {c, region.constant({16, 1, 1}, noise({16}, 4))}, dims);
  uint32_t r = region.op("nn.relu", {region.op("add", {b, x}, dims)}, dims);
  region.output(region.op("nn.softmax", {region.op("reshape", {r}, {16, 64})}, {16, 64}));
}

int32_t load(const std::vector<uint8_t> &blob, uint64_t weightsBytes, uint32_t inputs = 1) {
  static std::vector<uint8_t> weights(1 << 16);
  // The exact size on the heap, so that sanitizers see reads past the end.
  std::vector<uint8_t> exact(blob);
  bycc_region_info info = {"r", "dnnl", exact.data(), exact.size(), inputs, 1};
  void *region = nullptr;
  char text[64];
  int32_t status = runtimeHalf().load(&info, weights.data(), weightsBytes, 1, &region, text,
                                      sizeof text);
  if (status == BYCC_OK)
    runtimeHalf().unload(region);
  return status;
}

} // namespace

TEST_CASE("dnnl refuses a blob cut after any byte") {
  RegionBuilder region;
  buildNet(region);
  Answer compiled = compile(region);
  REQUIRE(compiled.yes);
  REQUIRE(load(compiled.blob, region.weights().size()) == BYCC_OK);
  for (size_t size = 0; size < compiled.blob.size(); ++size) {
    std::vector<uint8_t> cut(compiled.blob.begin(),
                             compiled.blob.begin() + static_cast<std::ptrdiff_t>(size));
    REQUIRE(load(cut, region.weights().size()) == BYCC_LOAD);
  }
  compiled.blob.push_back(0);
  CHECK(load(compiled.blob, region.weights().size()) == BYCC_LOAD);
}

TEST_CASE("dnnl survives any flipped bit of a blob") {
  RegionBuilder region;
  buildNet(region);
  Answer compiled = compile(region);
  for (size_t bit = 0; bit < compiled.blob.size() * 8; bit += 1) {
    std::vector<uint8_t> bad = compiled.blob;
    bad[bit / 8] = static_cast<uint8_t>(bad[bit / 8] ^ (1u << bit % 8));
    int32_t status = load(bad, region.weights().size());
    CAPTURE(bit, status);
    REQUIRE(status != BYCC_INTERNAL);
  }
}

TEST_CASE("dnnl refuses constants outside the weights and other operand counts") {
  RegionBuilder region;
  buildNet(region);
  Answer compiled = compile(region);
  CHECK(load(compiled.blob, region.weights().size() - 1) == BYCC_LOAD);
  CHECK(load(compiled.blob, region.weights().size(), 2) == BYCC_LOAD);
}

TEST_CASE("dnnl compiles the same region to the same bytes") {
  RegionBuilder first, second;
  buildNet(first);
  buildNet(second);
  CHECK(compile(first).blob == compile(second).blob);
}

TEST_CASE("dnnl contexts on one region run at once with equal bits") {
  RegionBuilder region;
  buildNet(region);
  Answer compiled = compile(region);
  Loaded loaded(region, compiled.blob, 1);
  std::vector<Tensor> inputs = inputsFor(region);
  std::vector<Tensor> want = loaded.run(inputs, 1);
  uint64_t bytes = (runtimeHalf().state_bytes(loaded.handle()) + 63) / 64 * 64;
  std::vector<int> equal(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < equal.size(); ++t)
    threads.emplace_back([&, t] {
      auto *state = static_cast<uint8_t *>(std::aligned_alloc(64, bytes));
      std::memset(state, 0, bytes);
      runtimeHalf().init_state(loaded.handle(), state, 1);
      bool same = true;
      for (int i = 0; i < 50; ++i)
        same &= runIn(region, loaded.handle(), state, inputs, 1) == want;
      runtimeHalf().drop_state(loaded.handle(), state);
      std::free(state);
      equal[t] = same;
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(equal == std::vector<int>(4, 1));
}
