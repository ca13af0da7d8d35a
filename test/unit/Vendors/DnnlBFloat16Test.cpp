// bfloat16 in the dnnl vendor: every kind of primitive against plain loops in float32,
// casts that become part of a primitive, and targets that it is refused for.
#include "DnnlCheck.h"

using namespace bycc::test;

namespace {

const char *const avx512 = "avx512bw,avx512dq,avx512f,avx512vl";

bool canRun() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

// Noise that bfloat16 holds exactly.
Tensor roundNoise(const Dims &dims, uint32_t seed) {
  Tensor tensor = noise(dims, seed);
  return loaded(stored(tensor, BYCC_BFLOAT16).data(), tensor.size(), BYCC_BFLOAT16);
}

// As check(), with the tolerance of 8 bits. No steps where the machine has no AVX-512.
std::vector<std::string> checkNarrow(RegionBuilder &region, double tolerance = 0x1p-7) {
  if (!canRun())
    return {};
  std::vector<Tensor> inputs;
  for (uint32_t id : region.inputs())
    inputs.push_back(roundNoise(region.dims(id), id + 1));
  return checkWith(region, inputs, avx512, tolerance);
}

void checkNarrowOp(const std::string &op, const std::vector<Dims> &inputs,
                   const std::vector<Dims> &constants, Dims result, std::vector<Attr> attrs = {}) {
  CAPTURE(op);
  if (!canRun())
    return;
  RegionBuilder region(BYCC_BFLOAT16);
  requireOp(region, op, inputs, constants, std::move(result), std::move(attrs), avx512);
  checkNarrow(region);
}

} // namespace

TEST_CASE("dnnl products of bfloat16") {
  checkNarrowOp("nn.conv2d", {{1, 3, 9, 8}}, {{16, 3, 3, 3}}, {1, 16, 9, 8},
                {{"padding", Dims{1, 1}}});
  checkNarrowOp("nn.conv2d", {{2, 32, 7, 7}}, {{20, 32, 1, 1}}, {2, 20, 4, 4},
                {{"strides", Dims{2, 2}}});
  checkNarrowOp("nn.conv2d", {{1, 16, 9, 9}}, {{16, 1, 3, 3}}, {1, 16, 9, 9},
                {{"groups", 16}, {"padding", Dims{1, 1, 1, 1}}});
  checkNarrowOp("nn.conv2d", {{1, 9, 8, 3}}, {{3, 3, 3, 16}}, {1, 7, 6, 16},
                {{"data_layout", "NHWC"}, {"kernel_layout", "HWIO"}});
  checkNarrowOp("nn.conv1d", {{2, 3, 11}}, {{5, 3, 4}}, {2, 5, 4}, {{"strides", Dims{2}}});
  checkNarrowOp("nn.conv3d", {{1, 2, 4, 5, 6}}, {{3, 2, 2, 2, 2}}, {1, 3, 3, 4, 5});
  checkNarrowOp("nn.conv2d_transpose", {{1, 6, 4, 4}}, {{6, 5, 3, 3}}, {1, 5, 9, 9},
                {{"strides", Dims{2, 2}}});
  checkNarrowOp("nn.dense", {{4, 40}}, {{10, 40}}, {4, 10});
  checkNarrowOp("nn.matmul", {{6, 4}, {3, 6}}, {}, {4, 3},
                {{"transpose_a", 1}, {"transpose_b", 1}});
  checkNarrowOp("nn.batch_matmul", {{3, 4, 8}, {3, 5, 8}}, {}, {3, 4, 5}, {{"transpose_b", 1}});
}

TEST_CASE("dnnl pooling, normalisation and reductions of bfloat16") {
  checkNarrowOp("nn.max_pool2d", {{1, 16, 9, 9}}, {}, {1, 16, 5, 5},
                {{"pool_size", Dims{3, 3}}, {"strides", Dims{2, 2}}, {"padding", Dims{1, 1}}});
  checkNarrowOp("nn.avg_pool2d", {{1, 5, 8, 8}}, {}, {1, 5, 4, 4},
                {{"pool_size", Dims{3, 3}}, {"strides", Dims{2, 2}}, {"ceil_mode", 1}});
  checkNarrowOp("nn.global_avg_pool2d", {{2, 20, 7, 7}}, {}, {2, 20, 1, 1});
  checkNarrowOp("nn.softmax", {{2, 10}}, {}, {2, 10});
  checkNarrowOp("nn.log_softmax", {{2, 10}}, {}, {2, 10}, {{"axis", 1}});
  checkNarrowOp("nn.layer_norm", {{2, 5, 24}}, {{24}, {24}}, {2, 5, 24});
  checkNarrowOp("sum", {{2, 3, 20}}, {}, {2, 3}, {{"axis", Dims{-1}}});
  checkNarrowOp("mean", {{2, 17, 5, 5}}, {}, {2, 17}, {{"axis", Dims{2, 3}}});
}

TEST_CASE("dnnl elementwise and moving steps of bfloat16") {
  for (const char *op : {"abs", "exp", "negative", "nn.relu", "sigmoid", "tanh"})
    checkNarrowOp(op, {{2, 3, 17}}, {}, {2, 3, 17});
  checkNarrowOp("clip", {{40}}, {}, {40}, {{"a_min", -0.25}, {"a_max", 0.5}});
  for (const char *op : {"add", "subtract", "multiply", "maximum", "minimum"}) {
    checkNarrowOp(op, {{2, 3, 4, 5}, {2, 3, 4, 5}}, {}, {2, 3, 4, 5});
    checkNarrowOp(op, {{2, 3, 4, 5}, {3, 1, 1}}, {}, {2, 3, 4, 5});
    checkNarrowOp(op, {{2, 3, 4, 5}}, {{}}, {2, 3, 4, 5});
  }
  checkNarrowOp("transpose", {{2, 3, 4}}, {}, {4, 2, 3}, {{"axes", Dims{2, 0, 1}}});
  checkNarrowOp("reshape", {{2, 3, 4}}, {}, {6, 4});
  checkNarrowOp("concatenate", {{2, 3, 4}, {2, 5, 4}}, {}, {2, 8, 4}, {{"axis", 1}});
}

TEST_CASE("dnnl casts after a product are its own, and a float32 bias") {
  RegionBuilder region(BYCC_BFLOAT16);
  uint32_t w = region.constant({16, 32}, noise({16, 32}, 3));
  uint32_t bias = region.constant({16}, noise({16}, 4), BYCC_FLOAT32);
  uint32_t product = region.op("nn.dense", {region.input({8, 32}), w}, {8, 16});
  uint32_t wide = region.cast(product, BYCC_FLOAT32);
  region.output(region.op("add", {wide, bias}, {8, 16}));
  std::vector<std::string> steps = checkNarrow(region, 1e-4); // never rounded to bfloat16
  CHECK(countOf(steps, "matmul") == steps.size());
}

TEST_CASE("dnnl bias, summand and gelu of bfloat16 in one product") {
  RegionBuilder region(BYCC_BFLOAT16);
  uint32_t x = region.input({8, 32}), other = region.input({8, 16});
  uint32_t w = region.constant({16, 32}, noise({16, 32}, 3));
  uint32_t bias = region.constant({16}, noise({16}, 4));
  uint32_t sum = region.op("add", {region.op("nn.dense", {x, w}, {8, 16}), bias}, {8, 16});
  sum = region.op("add", {sum, other}, {8, 16});
  uint32_t half = region.op("multiply", {sum, region.scalar(0.5f)}, {8, 16});
  uint32_t scaled = region.op("multiply", {sum, region.scalar(0.70710678f)}, {8, 16});
  uint32_t erf = region.op("erf", {scaled}, {8, 16});
  uint32_t gate = region.op("add", {erf, region.scalar(1)}, {8, 16});
  region.output(region.op("multiply", {half, gate}, {8, 16}));
  std::vector<std::string> steps = checkNarrow(region, 0x1p-6);
  CHECK(countOf(steps, "matmul") + countOf(steps, "reorder") + countOf(steps, "copy") ==
        steps.size());
}

TEST_CASE("dnnl normalises bfloat16 between casts in one step") {
  RegionBuilder region(BYCC_BFLOAT16);
  uint32_t scale = region.constant({24}, noise({24}, 3), BYCC_FLOAT32);
  uint32_t wide = region.cast(region.input({2, 5, 24}), BYCC_FLOAT32);
  uint32_t norm = region.op("nn.layer_norm", {wide, scale, scale}, {2, 5, 24});
  region.output(region.cast(norm, BYCC_BFLOAT16));
  CHECK(checkNarrow(region).size() <= 1);
}

TEST_CASE("dnnl pools bfloat16 between casts in one step") {
  RegionBuilder region(BYCC_BFLOAT16);
  uint32_t wide = region.cast(region.input({2, 20, 7, 7}), BYCC_FLOAT32);
  uint32_t mean = region.op("mean", {wide}, {2, 20}, {{"axis", Dims{2, 3}}});
  region.output(region.cast(mean, BYCC_BFLOAT16));
  CHECK(checkNarrow(region).size() <= 1);
}

TEST_CASE("dnnl narrows the result of a wide softmax in it") {
  RegionBuilder region;
  uint32_t soft = region.op("nn.softmax", {region.input({4, 16})}, {4, 16});
  region.output(region.cast(soft, BYCC_BFLOAT16));
  CHECK(checkNarrow(region).size() <= 1);
}

TEST_CASE("dnnl adds a wide value with channels last to a narrow result in no slow loop") {
  if (!canRun())
    return;
  RegionBuilder region(BYCC_BFLOAT16);
  Dims dims = {1, 96, 14, 14};
  auto conv = [&](uint32_t data, uint32_t seed) {
    Tensor weights = noise({96, 96, 1, 1}, seed);
    for (auto &weight : weights)
      weight /= 16; // sums as large as what they are of
    return region.op("nn.conv2d", {data, region.constant({96, 96, 1, 1}, weights)}, dims);
  };
  uint32_t x = region.input(dims);
  uint32_t wide =
      region.op("add", {region.cast(conv(x, 3), BYCC_FLOAT32), region.cast(x, BYCC_FLOAT32)}, dims);
  uint32_t next = region.cast(conv(region.cast(wide, BYCC_BFLOAT16), 4), BYCC_FLOAT32);
  uint32_t sum = region.op("add", {wide, next}, dims);
  region.output(conv(region.cast(sum, BYCC_BFLOAT16), 5));
  checkNarrow(region, 0x1p-5);
  Loaded loaded(region, compile(region, avx512));
  for (const std::string &kernel : loaded.details())
    CHECK(kernel.find("ref") == std::string::npos);
}

TEST_CASE("dnnl keeps a wide value that others read") {
  RegionBuilder region(BYCC_BFLOAT16);
  uint32_t soft =
      region.op("nn.softmax", {region.cast(region.input({4, 16}), BYCC_FLOAT32)}, {4, 16});
  region.output(region.cast(soft, BYCC_BFLOAT16));
  region.output(soft);
  checkNarrow(region);
}

TEST_CASE("dnnl refuses bfloat16 below AVX-512") {
  RegionBuilder region(BYCC_BFLOAT16);
  region.output(region.op("nn.relu", {region.input({4})}, {4}));
  Answer answer = supports(region, "avx,avx2,avx512f");
  CHECK_FALSE(answer.yes);
  CHECK_THAT(answer.reason, Catch::Contains("AVX-512, the target has no avx512bw"));
  CHECK_FALSE(compile(region, "avx2").yes);
}

TEST_CASE("dnnl casts between float32 and bfloat16 only") {
  RegionBuilder region;
  region.output(region.cast(region.input({4}), BYCC_INT32));
  Answer answer = supports(region, avx512);
  CHECK_FALSE(answer.yes);
  CHECK_THAT(answer.reason, Catch::Contains("cast from float32 to int32"));
}

TEST_CASE("dnnl keeps NaN in bfloat16") {
  if (!canRun())
    return;
  RegionBuilder region(BYCC_BFLOAT16);
  Dims dims{1, 20, 6, 6};
  uint32_t c =
      region.op("nn.conv2d", {region.input({1, 16, 6, 6}), weights(region, {20, 16, 1, 1})}, dims);
  uint32_t r =
      region.op("nn.relu", {region.op("add", {c, weights(region, {20, 1, 1})}, dims)}, dims);
  region.output(
      region.op("nn.max_pool2d", {r}, dims, {{"pool_size", Dims{3, 3}}, {"padding", Dims{1, 1}}}));
  Tensor input = roundNoise({1, 16, 6, 6}, 4);
  input[100] = NAN;
  checkWith(region, {input}, avx512, 0x1p-7);
}
