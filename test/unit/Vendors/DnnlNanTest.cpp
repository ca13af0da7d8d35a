// NaN and infinities that come into a region: kept as the operators define, by another
// form of the same program on the same weights, which only runs then.
#include "DnnlCheck.h"

#include "dnnl/Blob.h"
#include "dnnl/NanSafe.h"

#include <cstring>

using namespace bycc::test;
namespace onednn = bycc::onednn;

namespace {

const Dims image{1, 16, 8, 8};

// Poisons one element of each input.
std::vector<Tensor> oddInputs(RegionBuilder &region, float odd = NAN) {
  std::vector<Tensor> inputs = inputsFor(region);
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i][(13 * i + 5) % inputs[i].size()] = odd;
  return inputs;
}

bool hasNan(const Tensor &tensor) {
  return std::any_of(tensor.begin(), tensor.end(), [](float x) { return std::isnan(x); });
}

// conv, bias, summand, relu: one primitive.
void addBlock(RegionBuilder &region) {
  uint32_t x = region.input(image), y = region.input(image);
  uint32_t c = region.op("nn.conv2d", {x, weights(region, {16, 16, 3, 3})}, image,
                         {{"padding", Dims{1, 1}}});
  uint32_t bias = region.op("add", {c, weights(region, {16, 1, 1})}, image);
  region.output(region.op("nn.relu", {region.op("add", {bias, y}, image)}, image));
}

Answer compiledWith(RegionBuilder &region, int32_t nan) {
  Answer compiled = compile(region, nullptr, nan);
  INFO(compiled.reason);
  REQUIRE(compiled.yes);
  return compiled;
}

} // namespace

TEST_CASE("dnnl operators keep NaN and infinities") {
  const OperatorCase cases[] = {
      {"nn.relu", {image}, image, {}},
      {"nn.leaky_relu", {image}, image, {{"alpha", 0.25}}},
      {"clip", {image}, image, {{"a_min", -0.5}, {"a_max", 0.5}}},
      {"exp", {image}, image, {}},
      {"tanh", {image}, image, {}},
      {"sigmoid", {image}, image, {}},
      {"sqrt", {image}, image, {}},
      {"rsqrt", {image}, image, {}},
      {"abs", {image}, image, {}},
      {"negative", {image}, image, {}},
      {"add", {image, image}, image, {}},
      {"maximum", {image, image}, image, {}},
      {"minimum", {image, {1, 16, 1, 1}}, image, {}},
      {"multiply", {image, image}, image, {}},
      {"nn.softmax", {image}, image, {{"axis", 3}}},
      {"nn.softmax", {{3, 40}}, {3, 40}, {{"axis", -1}}},
      {"nn.log_softmax", {{3, 40}}, {3, 40}, {{"axis", -1}}},
      {"nn.max_pool2d", {image}, image, {{"pool_size", Dims{3, 3}}, {"padding", Dims{1, 1}}}},
      {"nn.max_pool2d",
       {{2, 8, 8, 5}},
       {2, 4, 4, 5},
       {{"pool_size", Dims{2, 2}}, {"strides", Dims{2, 2}}, {"layout", "NHWC"}}},
      {"nn.max_pool1d", {{2, 3, 9}}, {2, 3, 4}, {{"pool_size", Dims{3}}, {"strides", Dims{2}}}},
      {"nn.max_pool3d",
       {{1, 2, 4, 4, 4}},
       {1, 2, 2, 2, 2},
       {{"pool_size", Dims{2, 2, 2}}, {"strides", Dims{2, 2, 2}}}},
      {"nn.avg_pool2d", {image}, image, {{"pool_size", Dims{3, 3}}, {"padding", Dims{1, 1}}}},
      {"nn.global_avg_pool2d", {image}, {1, 16, 1, 1}, {}},
      {"mean", {image}, {1, 16, 1, 1}, {{"axis", Dims{2, 3}}, {"keepdims", 1}}},
  };
  for (const OperatorCase &c : cases)
    for (float odd : {NAN, INFINITY, -INFINITY}) {
      CAPTURE(c.op, odd);
      RegionBuilder region;
      requireOp(region, c.op, c.inputs, {}, c.result, c.attrs);
      checkWith(region, oddInputs(region, odd));
    }
}

TEST_CASE("dnnl keeps NaN through what is fused, and is as fast as ever without") {
  RegionBuilder region;
  addBlock(region);
  Answer compiled = compiledWith(region, BYCC_NAN_KEEP);
  Loaded loaded(region, compiled);
  std::vector<Tensor> good = inputsFor(region), want = evaluate(region.region(), good);
  Names steps = loaded.steps();
  for (size_t poisoned : {0, 1}) {
    std::vector<Tensor> bad = good;
    bad[poisoned][77] = NAN;
    std::vector<Tensor> got = loaded.run(bad);
    requireClose(got, evaluate(region.region(), bad));
    CHECK(hasNan(got[0]));
    CHECK(loaded.run(good) == loaded.run(good));
    requireClose(loaded.run(good), want);
  }
  CHECK(loaded.steps() == steps);
  CHECK(countOf(steps, "eltwise") == 0);
}

TEST_CASE("dnnl may lose NaN where the target says so") {
  RegionBuilder region;
  addBlock(region);
  Answer compiled = compiledWith(region, BYCC_NAN_FAST);
  Loaded loaded(region, compiled);
  CHECK(!hasNan(loaded.run(oddInputs(region))[0]));
}

TEST_CASE("dnnl keeps NaN of constants") {
  RegionBuilder region;
  uint32_t x = region.input(image);
  Tensor data = noise({16, 16, 1, 1}, 3);
  data[40] = NAN;
  uint32_t c = region.op("nn.conv2d", {x, region.constant({16, 16, 1, 1}, data)}, image);
  region.output(region.op("nn.relu", {c}, image));
  Tensor got = Loaded(region, compiledWith(region, BYCC_NAN_KEEP)).run(inputsFor(region))[0];
  CHECK(hasNan(got));
  requireClose({got}, evaluate(region.region(), inputsFor(region)));
}

TEST_CASE("dnnl's form for NaN has no weights of its own") {
  RegionBuilder region;
  addBlock(region);
  bycc::Expected<onednn::Blob> blob = onednn::readBlob(compiledWith(region, BYCC_NAN_KEEP).blob);
  REQUIRE(blob);
  REQUIRE(blob->program);
  onednn::SafeForm safe = onednn::safeFormOf(blob->plan, *blob->program);
  CHECK(safe.program.constants.size() == blob->program->constants.size());
  CHECK(safe.program.actions.size() > blob->program->actions.size());
  auto inputOf = [&](const onednn::Program &program) -> const onednn::Slot & {
    for (const onednn::Action &action : program.actions)
      if (action.kind == onednn::Action::Kind::Step)
        return program.slots[action.inputs[1]];
    throw std::runtime_error("no product");
  };
  CHECK(inputOf(safe.program).layout == inputOf(*blob->program).layout);
}

TEST_CASE("dnnl does not look at inputs from which NaN cannot get lost") {
  RegionBuilder sums;
  uint32_t x = sums.input(image);
  sums.output(sums.op("nn.conv2d", {x, weights(sums, {16, 16, 1, 1})}, image));
  bycc::Expected<onednn::Blob> blob = onednn::readBlob(compiledWith(sums, BYCC_NAN_KEEP).blob);
  REQUIRE(blob);
  CHECK(onednn::inputsToCheck(blob->plan).empty());

  RegionBuilder block;
  addBlock(block);
  blob = onednn::readBlob(compiledWith(block, BYCC_NAN_KEEP).blob);
  REQUIRE(blob);
  std::vector<onednn::InputToCheck> checked = onednn::inputsToCheck(blob->plan);
  REQUIRE(checked.size() == 2);
  CHECK(checked[0].count == 1024);
}

TEST_CASE("elements that are not finite are seen wherever they are") {
  for (int64_t count : {1, 15, 16, 17, 1000, 40000})
    for (int64_t at : {int64_t{0}, count / 2, count - 1})
      for (uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xff800001u}) {
        std::vector<uint8_t> bytes(static_cast<size_t>(count) * 4 + 1);
        uint8_t *begin = bytes.data() + 1; // of no alignment
        const uint32_t largest = 0xff7fffffu;
        for (int64_t i = 0; i < count; ++i)
          std::memcpy(begin + 4 * i, &largest, 4);
        CHECK(!onednn::hasNonFinite(begin, count, bycc::DType::Float32));
        std::memcpy(begin + 4 * at, &bits, 4);
        CHECK(onednn::hasNonFinite(begin, count, bycc::DType::Float32));
        const uint16_t narrowest = 0x7f7f, narrow = static_cast<uint16_t>(bits >> 16 | (bits & 1));
        for (int64_t i = 0; i < count; ++i)
          std::memcpy(begin + 2 * i, &narrowest, 2);
        CHECK(!onednn::hasNonFinite(begin, count, bycc::DType::BFloat16));
        std::memcpy(begin + 2 * at, &narrow, 2);
        CHECK(onednn::hasNonFinite(begin, count, bycc::DType::BFloat16));
      }
}
