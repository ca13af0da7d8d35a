// Region blobs: damaged ones are refused, good ones run alike in any context.
#include "DnnlCheck.h"

#include "dnnl/Plan.h"

#include "bycc/vendor.hpp"

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

int32_t load(const Answer &compiled, uint32_t inputs = 1) {
  // The exact sizes on the heap, so that sanitizers see reads past the end.
  std::vector<uint8_t> blob(compiled.blob);
  std::vector<uint8_t> weights(compiled.weightsBytes + 64);
  uint8_t *aligned = weights.data() + weights.size() - compiled.weightsBytes;
  aligned -= reinterpret_cast<uintptr_t>(aligned) % 64;
  if (compiled.weights)
    std::memcpy(aligned, compiled.weights.get(), compiled.weightsBytes);
  return tryLoad(blob, aligned, compiled.weightsBytes, inputs);
}

// The checksum made right again.
void seal(std::vector<uint8_t> &blob) {
  constexpr size_t head = bycc::vendor::detail::headBytes;
  uint64_t sum = bycc::vendor::detail::checksum(std::span<const uint8_t>(blob).subspan(head),
                                                bycc::onednn::planVersion);
  std::memcpy(blob.data() + 8, &sum, sizeof sum);
}

} // namespace

TEST_CASE("dnnl refuses a blob cut after any byte") {
  RegionBuilder region;
  buildNet(region);
  Answer compiled = compile(region);
  REQUIRE(compiled.yes);
  REQUIRE(load(compiled) == BYCC_OK);
  std::vector<uint8_t> whole = compiled.blob;
  for (size_t size = 0; size < whole.size(); ++size) {
    compiled.blob.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    REQUIRE(load(compiled) == BYCC_LOAD);
  }
  compiled.blob = whole;
  compiled.blob.push_back(0);
  CHECK(load(compiled) == BYCC_LOAD);
}

TEST_CASE("dnnl refuses any flipped bit of a blob, and survives those with a right checksum") {
  RegionBuilder region;
  buildNet(region);
  Answer compiled = compile(region);
  for (size_t bit = 0; bit < compiled.blob.size() * 8; bit += 1) {
    std::vector<uint8_t> whole = compiled.blob;
    compiled.blob[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    CAPTURE(bit);
    REQUIRE(load(compiled) == BYCC_LOAD);
    seal(compiled.blob);
    REQUIRE(load(compiled) != BYCC_INTERNAL);
    compiled.blob = std::move(whole);
  }
}

TEST_CASE("dnnl refuses constants outside the weights and other operand counts") {
  RegionBuilder region;
  buildNet(region);
  Answer compiled = compile(region);
  CHECK(load(compiled, 2) == BYCC_LOAD);
  compiled.weightsBytes -= 64;
  CHECK(load(compiled) == BYCC_LOAD);
}

TEST_CASE("dnnl compiles the same region to the same bytes") {
  RegionBuilder first, second;
  buildNet(first);
  buildNet(second);
  Answer one = compile(first), two = compile(second);
  CHECK(one.blob == two.blob);
  REQUIRE(one.weightsBytes == two.weightsBytes);
  CHECK(std::memcmp(one.weights.get(), two.weights.get(), one.weightsBytes) == 0);
}

TEST_CASE("dnnl contexts on one region run at once with equal bits") {
  RegionBuilder region;
  buildNet(region);
  Answer compiled = compile(region);
  Loaded loaded(region, compiled, 1);
  std::vector<Tensor> inputs = inputsFor(region);
  std::vector<Tensor> want = loaded.run(inputs, 1);
  uint64_t bytes = (runtimeHalf().state_bytes(runtimeContext(), loaded.handle()) + 63) / 64 * 64;
  std::vector<int> equal(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < equal.size(); ++t)
    threads.emplace_back([&, t] {
      auto *state = static_cast<uint8_t *>(std::aligned_alloc(64, bytes));
      std::memset(state, 0, bytes);
      runtimeHalf().init_state(runtimeContext(), loaded.handle(), state, 1);
      bool same = true;
      for (int i = 0; i < 50; ++i)
        same &= runIn(region, loaded.handle(), state, inputs, 1) == want;
      runtimeHalf().drop_state(runtimeContext(), loaded.handle(), state);
      std::free(state);
      equal[t] = same;
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(equal == std::vector<int>(4, 1));
}
