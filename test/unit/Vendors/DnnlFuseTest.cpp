// Chains and whole small networks: what is fused, what is not, and that layouts,
// views, in-place work and shared memory keep the values right.
#include "DnnlCheck.h"

#include <algorithm>
#include <memory>
#include <tuple>

using namespace bycc::test;

namespace {

uint32_t conv(RegionBuilder &region, uint32_t data, int64_t channels, uint32_t seed,
              int64_t size = 3) {
  Dims in = region.dims(data), out = in;
  out[1] = channels;
  return region.op("nn.conv2d", {data, weights(region, {channels, in[1], size, size}, seed)}, out,
                   {{"padding", Dims{size / 2, size / 2}}});
}

uint32_t gelu(RegionBuilder &region, uint32_t x, float divisor = 1.41421356f) {
  Dims dims = region.dims(x);
  uint32_t inner = region.op("divide", {x, region.scalar(divisor)}, dims);
  uint32_t sum = region.op("add", {region.op("erf", {inner}, dims), region.scalar(1)}, dims);
  return region.op("multiply", {region.op("multiply", {x, sum}, dims), region.scalar(0.5f)}, dims);
}

uint32_t tanhGelu(RegionBuilder &region, uint32_t x, float bend = 0.044715f) {
  Dims dims = region.dims(x);
  auto times = [&](uint32_t a, uint32_t b) { return region.op("multiply", {a, b}, dims); };
  uint32_t cube = times(region.op("power", {x, region.scalar(3)}, dims), region.scalar(bend));
  uint32_t inner = times(region.scalar(0.79788456f), region.op("add", {x, cube}, dims));
  uint32_t sum = region.op("add", {region.scalar(1), region.op("tanh", {inner}, dims)}, dims);
  return times(times(region.scalar(0.5f), x), sum);
}

} // namespace

TEST_CASE("dnnl fuses bias, summand and activation into a convolution") {
  for (const char *activation : {"nn.relu", "clip", "tanh", "sigmoid", "nn.leaky_relu"}) {
    CAPTURE(activation);
    RegionBuilder region;
    uint32_t x = region.input({1, 16, 8, 8}), y = region.input({1, 16, 8, 8});
    uint32_t c = conv(region, x, 16, 1);
    uint32_t bias = region.op("add", {c, weights(region, {16, 1, 1})}, {1, 16, 8, 8});
    uint32_t sum = region.op("add", {y, bias}, {1, 16, 8, 8});
    std::vector<Attr> attrs;
    if (std::string(activation) == "clip")
      attrs = {{"a_min", 0.0}, {"a_max", 6.0}};
    region.output(region.op(activation, {sum}, {1, 16, 8, 8}, attrs));
    Names steps = check(region);
    CHECK(countOf(steps, "convolution") == 1);
    CHECK(countOf(steps, "eltwise") == 0);
    CHECK(countOf(steps, "binary") == 0);
  }
}

TEST_CASE("dnnl multiplies for a third power and calls no function for each element") {
  RegionBuilder region;
  Dims dims{4, 64};
  uint32_t c = region.op("nn.dense", {region.input({4, 32}), weights(region, {64, 32})}, dims);
  region.output(region.op("power", {c, region.scalar(3)}, dims));
  Names steps = check(region);
  CHECK(countOf(steps, "eltwise") == 0);
  RegionBuilder other;
  other.output(other.op("power", {other.input(dims), other.scalar(1.5f)}, dims));
  Answer answer = supports(other);
  CHECK_FALSE(answer.yes);
  CHECK_THAT(answer.reason, Catch::Contains("power by 1.5"));
}

TEST_CASE("dnnl adds what follows a deconvolution on its own") {
  // As parts of it a bias and a function take the library up to 100 ns for each element.
  RegionBuilder region;
  uint32_t x = region.input({1, 32, 8, 8}), w = weights(region, {32, 16, 4, 4}, 1);
  Dims dims{1, 16, 16, 16};
  uint32_t c = region.op("nn.conv2d_transpose", {x, w}, dims,
                         {{"strides", Dims{2, 2}}, {"padding", Dims{1, 1}}});
  uint32_t bias = region.op("nn.bias_add", {c, weights(region, {16})}, dims);
  region.output(region.op("nn.relu", {bias}, dims));
  Names steps = check(region);
  CHECK(countOf(steps, "deconvolution") == 1);
  CHECK(countOf(steps, "binary") == 1); // with the function in it
  CHECK(countOf(steps, "eltwise") == 0);
}

TEST_CASE("dnnl takes one function with two sets of constants as two steps") {
  RegionBuilder region;
  Dims dims{1, 16, 8, 8};
  uint32_t c = conv(region, region.input(dims), 16, 1);
  uint32_t first = region.op("clip", {c}, dims, {{"a_min", -0.5}, {"a_max", 0.5}});
  uint32_t half = region.op("multiply", {first, region.scalar(0.5f)}, dims);
  uint32_t shifted = region.op("add", {half, region.scalar(0.25f)}, dims);
  region.output(region.op("clip", {shifted}, dims, {{"a_min", 0.125}, {"a_max", 0.375}}));
  Names steps = check(region);
  CHECK(countOf(steps, "convolution") == 1);
  CHECK(countOf(steps, "eltwise") == 2); // the second linear function and clip
}

TEST_CASE("dnnl carries a bias back through a reshape and a permute") {
  RegionBuilder region;
  uint32_t x = region.input({2, 3, 16});
  uint32_t d = region.op("nn.dense", {x, weights(region, {24, 16})}, {2, 3, 24});
  uint32_t b = region.op("add", {d, weights(region, {24})}, {2, 3, 24});
  region.output(gelu(region, b));
  Names steps = check(region);
  CHECK(steps == Names{"matmul"});

  RegionBuilder nhwc;
  uint32_t y = nhwc.input({1, 6, 6, 8});
  uint32_t c = nhwc.op("nn.conv2d", {y, weights(nhwc, {3, 3, 8, 32})}, {1, 4, 4, 32},
                       {{"data_layout", "NHWC"}, {"kernel_layout", "HWIO"}});
  uint32_t biased = nhwc.op("add", {c, weights(nhwc, {32})}, {1, 4, 4, 32});
  nhwc.output(nhwc.op("nn.relu", {biased}, {1, 4, 4, 32}));
  CHECK(countOf(check(nhwc), "binary") == 0);
}

TEST_CASE("dnnl takes a composite that is one primitive and names what is not") {
  auto body = std::make_shared<RegionBuilder>();
  uint32_t x = body->input({1, 8, 5, 5});
  uint32_t c = conv(*body, x, 8, 1);
  uint32_t b = body->op("nn.bias_add", {c, weights(*body, {8})}, {1, 8, 5, 5});
  uint32_t s = body->op("sigmoid", {b}, {1, 8, 5, 5});
  SECTION("one primitive") {
    body->output(body->op("nn.relu", {s}, {1, 8, 5, 5}));
    RegionBuilder region;
    region.output(region.composite("dnnl.chain", {region.input({1, 8, 5, 5})}, body));
    Answer answer = supports(region);
    INFO(answer.reason);
    CHECK(answer.yes);
    CHECK(countOf(check(region), "convolution") == 1);
  }
  SECTION("swish") {
    body->output(body->op("multiply", {b, s}, {1, 8, 5, 5}));
    RegionBuilder region;
    region.output(region.composite("dnnl.swish", {region.input({1, 8, 5, 5})}, body));
    CHECK(supports(region).yes);
    Names steps = check(region);
    CHECK(countOf(steps, "eltwise") + countOf(steps, "binary") == 0);
  }
  SECTION("two primitives") {
    body->output(body->op("nn.softmax", {s}, {1, 8, 5, 5}));
    RegionBuilder region;
    region.output(region.composite("dnnl.odd", {region.input({1, 8, 5, 5})}, body));
    Answer answer = supports(region);
    CHECK_FALSE(answer.yes);
    CHECK_THAT(answer.reason, Catch::Contains("softmax"));
  }
}

TEST_CASE("dnnl names a composite by the primitive that it becomes") {
  auto nameOf = [](auto &&add, const char *composite = "dnnl.*") {
    auto body = std::make_shared<RegionBuilder>();
    Dims dims = {1, 8, 5, 5};
    uint32_t x = body->input(dims);
    body->output(add(*body, conv(*body, x, 8, 1), dims));
    RegionBuilder region;
    region.output(region.composite(composite, {region.input(dims)}, body));
    Answer answer = supports(region);
    return answer.yes ? answer.name : "no: " + answer.reason;
  };
  auto plus = [](Dims other) {
    return [other](RegionBuilder &body, uint32_t c, const Dims &dims) {
      return body.op("nn.relu", {body.op("add", {c, weights(body, other)}, dims)}, dims);
    };
  };
  CHECK(nameOf(plus({8, 1, 1})) == "dnnl.conv2d_bias_relu");
  CHECK(nameOf(plus({1, 8, 5, 5})) == "dnnl.conv2d_sum_relu");
  CHECK(nameOf(plus({8, 1, 1}), "dnnl.mine") == ""); // nobody asks
  CHECK(nameOf([](RegionBuilder &body, uint32_t c, const Dims &dims) {
          uint32_t b = body.op("nn.bias_add", {c, weights(body, {8})}, dims);
          uint32_t t =
              body.op("tanh", {body.op("nn.leaky_relu", {b}, dims, {{"alpha", 0.1}})}, dims);
          return body.op("multiply", {t, body.scalar(3)}, dims);
        }) == "dnnl.conv2d_bias_leaky_relu_tanh_scale");
  CHECK(nameOf([](RegionBuilder &body, uint32_t c, const Dims &) { return gelu(body, c); }) ==
        "dnnl.conv2d_gelu");
  CHECK(nameOf([](RegionBuilder &body, uint32_t c, const Dims &) { return tanhGelu(body, c); }) ==
        "dnnl.conv2d_gelu_tanh");
  CHECK_THAT(nameOf([](RegionBuilder &body, uint32_t c, const Dims &) {
               return body.op("reshape", {c}, {8, 25}, {{"newshape", Dims{8, 25}}});
             }),
             Catch::Contains("nothing in this group"));
}

TEST_CASE("dnnl adds up the time of each step") {
  RegionBuilder region;
  uint32_t x = region.input({1, 16, 8, 8});
  region.output(region.op("nn.softmax", {conv(region, x, 16, 1)}, {1, 16, 8, 8}));
  Answer compiled = compile(region);
  REQUIRE(compiled.yes);
  Loaded loaded(region, compiled);
  std::vector<uint64_t> ns = loaded.profile(inputsFor(region));
  REQUIRE(ns.size() >= 2);
  CHECK(std::count(ns.begin(), ns.end(), 0) == 0);
}

TEST_CASE("dnnl takes the gelu of tanh for one function, whoever computes it") {
  for (Dims dims : {Dims{2, 3, 24}, Dims{64, 512}}) { // in our loops, and in the library
    RegionBuilder region;
    region.output(tanhGelu(region, region.input(dims)));
    CHECK(check(region) == Names{"eltwise"});
  }
  RegionBuilder other;
  other.output(tanhGelu(other, other.input({64, 512}), 0.05f));
  CHECK(check(other).size() > 1);
  RegionBuilder leaks;
  uint32_t x = leaks.input({4, 16});
  uint32_t square = leaks.op("multiply", {x, x}, {4, 16});
  uint32_t factor = leaks.op("add",
                             {leaks.op("multiply", {square, leaks.scalar(0.0356774f)}, {4, 16}),
                              leaks.scalar(0.79788456f)},
                             {4, 16});
  uint32_t gate = leaks.op("tanh", {leaks.op("multiply", {x, factor}, {4, 16})}, {4, 16});
  uint32_t sum = leaks.op("add", {gate, leaks.scalar(1)}, {4, 16});
  leaks.output(
      leaks.op("multiply", {leaks.op("multiply", {x, leaks.scalar(0.5f)}, {4, 16}), sum}, {4, 16}));
  leaks.output(square);
  CHECK(check(leaks).size() > 1);
}

TEST_CASE("dnnl checks the constants of gelu") {
  auto make = [](float divisor) {
    auto body = std::make_shared<RegionBuilder>();
    uint32_t x = body->input({4, 16});
    uint32_t d = body->op("nn.dense", {x, weights(*body, {8, 16})}, {4, 8});
    body->output(gelu(*body, d, divisor));
    auto region = std::make_unique<RegionBuilder>();
    region->output(region->composite("dnnl.dense_gelu", {region->input({4, 16})}, body));
    return region;
  };
  CHECK(supports(*make(1.41421356f)).yes);
  Answer wrong = supports(*make(1.5f));
  CHECK_FALSE(wrong.yes);
  CHECK_THAT(wrong.reason, Catch::Contains("erf"));
}

TEST_CASE("dnnl runs a residual network with pooling, concat and head") {
  RegionBuilder region;
  Dims wide = {1, 32, 8, 8};
  uint32_t x = region.input({1, 3, 8, 8});
  uint32_t a = region.op("nn.relu", {conv(region, x, 32, 1)}, wide);
  uint32_t b = region.op("nn.relu", {conv(region, a, 32, 2)}, wide);
  uint32_t sum = region.op("add", {conv(region, b, 32, 3), a}, wide);
  uint32_t r = region.op("nn.relu", {sum}, wide);
  uint32_t skip = conv(region, r, 32, 4, 1);
  uint32_t merged =
      region.op("nn.relu", {region.op("add", {conv(region, r, 32, 6), skip}, wide)}, wide);
  uint32_t both = region.op("concatenate", {merged, r}, {1, 64, 8, 8}, {{"axis", 1}});
  uint32_t pooled = region.op("nn.max_pool2d", {both}, {1, 64, 4, 4},
                              {{"pool_size", Dims{2, 2}}, {"strides", Dims{2, 2}}});
  uint32_t mean = region.op("nn.global_avg_pool2d", {pooled}, {1, 64, 1, 1});
  uint32_t flat = region.op("nn.batch_flatten", {mean}, {1, 64});
  uint32_t head = region.op("nn.dense", {flat, weights(region, {10, 64})}, {1, 10});
  region.output(region.op("nn.softmax", {head}, {1, 10}));
  region.output(pooled);
  Names steps = check(region);
  CHECK(countOf(steps, "convolution") == 5);
  CHECK(countOf(steps, "eltwise") + countOf(steps, "binary") == 0);
}

TEST_CASE("dnnl writes whole blocks of channels straight into a concatenation") {
  auto make = [](int64_t side, int64_t left, int64_t right, size_t copies) {
    CAPTURE(side, left, right);
    RegionBuilder region;
    Dims dims{1, 16, side, side};
    uint32_t x =
        region.op("nn.relu", {conv(region, region.input({1, 3, side, side}), 16, 1)}, dims);
    uint32_t a = region.op("nn.relu", {conv(region, x, left, 2, 1)}, {1, left, side, side});
    uint32_t b = region.op("nn.relu", {conv(region, x, right, 3)}, {1, right, side, side});
    uint32_t both = region.op("concatenate", {a, b}, {1, left + right, side, side}, {{"axis", 1}});
    region.output(conv(region, both, 8, 4, 1));
    region.output(both);
    CHECK(countOf(check(region), "copy") == copies);
  };
  make(32, 16, 32, 0);
  make(32, 16, 24, 2); // half a block
  make(8, 16, 32, 2);  // kernels for blocks lose more on short rows than the copy takes
}

TEST_CASE("dnnl runs attention without copies for transposes") {
  int64_t s = 8, h = 2, d = 16;
  Dims model = {1, s, h * d}, split = {1, s, h, d}, heads = {1, h, s, d};
  RegionBuilder region;
  uint32_t x = region.input(model), mask = region.input({1, 1, 1, s});
  auto project = [&](uint32_t from, uint32_t seed) {
    uint32_t p = region.op("nn.dense", {from, weights(region, {h * d, h * d}, seed)}, model);
    return region.op("add", {p, weights(region, {h * d}, seed)}, model);
  };
  auto toHeads = [&](uint32_t from, Dims axes, Dims dims, Dims flat) {
    uint32_t t =
        region.op("transpose", {region.op("reshape", {from}, split)}, dims, {{"axes", axes}});
    return region.op("reshape", {t}, flat);
  };
  uint32_t q = toHeads(project(x, 1), {0, 2, 1, 3}, heads, {h, s, d});
  uint32_t k = toHeads(project(x, 2), {0, 2, 3, 1}, {1, h, d, s}, {h, d, s});
  uint32_t v = toHeads(project(x, 3), {0, 2, 1, 3}, heads, {h, s, d});
  uint32_t scores =
      region.op("reshape", {region.op("nn.batch_matmul", {q, k}, {h, s, s})}, {1, h, s, s});
  scores = region.op("divide", {scores, region.scalar(4)}, {1, h, s, s});
  scores = region.op("add", {scores, mask}, {1, h, s, s});
  uint32_t p = region.op("reshape", {region.op("nn.softmax", {scores}, {1, h, s, s})}, {h, s, s});
  uint32_t y = region.op("reshape", {region.op("nn.batch_matmul", {p, v}, {h, s, d})}, heads);
  y = region.op("reshape", {region.op("transpose", {y}, split, {{"axes", Dims{0, 2, 1, 3}}})},
                model);
  y = region.op("add", {x, project(y, 4)}, model);
  region.output(region.op("nn.layer_norm",
                          {y, weights(region, {h * d}), weights(region, {h * d}, 9)}, model));
  Names steps = check(region);
  CHECK(countOf(steps, "matmul") == 6);
  CHECK(countOf(steps, "eltwise") + countOf(steps, "binary") == 0);
  CHECK(countOf(steps, "reorder") == 0);
}

TEST_CASE("dnnl region edges: pass-through, repeated outputs, constants") {
  RegionBuilder region;
  uint32_t x = region.input({2, 3});
  uint32_t r = region.op("nn.relu", {x}, {2, 3});
  uint32_t flat = region.op("reshape", {r}, {6});
  uint32_t c = region.constant({2}, {1, 2});
  for (uint32_t id : {x, r, r, flat, c})
    region.output(id);
  check(region);
}

TEST_CASE("dnnl keeps values that are needed after an in-place candidate") {
  RegionBuilder region;
  Dims dims = {1, 16, 4, 4};
  uint32_t x = region.input(dims);
  uint32_t a = conv(region, x, 16, 1);
  uint32_t t = region.op("tanh", {a}, dims);
  uint32_t e = region.op("exp", {a}, dims);
  uint32_t s = region.op("add", {conv(region, t, 16, 2), e}, dims);
  region.output(region.op("multiply", {region.op("add", {s, e}, dims), t}, dims));
  check(region);
}

namespace {

// x * clip(x * slope + shift, 0, high) * factor, as exporters write hard swish.
uint32_t hardSwish(RegionBuilder &region, uint32_t x, float slope, float shift, double high,
                   float divisor) {
  Dims dims = region.dims(x);
  uint32_t line = slope == 1 ? x : region.op("multiply", {x, region.scalar(slope)}, dims);
  line = region.op("add", {line, region.scalar(shift)}, dims);
  uint32_t gate = region.op("clip", {line}, dims, {{"a_min", 0.0}, {"a_max", high}});
  uint32_t product = region.op("multiply", {x, gate}, dims);
  return divisor == 1 ? product : region.op("divide", {product, region.scalar(divisor)}, dims);
}

} // namespace

TEST_CASE("dnnl fuses hard swish in every spelling") {
  Dims dims{1, 16, 8, 8};
  for (bool isDecomposed : {false, true}) {
    CAPTURE(isDecomposed);
    RegionBuilder region;
    uint32_t c = conv(region, region.input(dims), 16, 1);
    uint32_t b = region.op("add", {c, weights(region, {16, 1, 1})}, dims);
    region.output(isDecomposed ? hardSwish(region, b, 1, 3, 6, 6)
                               : hardSwish(region, b, 1.0f / 6, 0.5f, 1, 1));
    Names steps = check(region);
    CHECK(countOf(steps, "convolution") == 1);
    CHECK(countOf(steps, "eltwise") + countOf(steps, "binary") == 0);
  }
}

TEST_CASE("dnnl checks the constants of hard swish") {
  Dims dims{1, 16, 8, 8};
  for (auto [shift, high, divisor] :
       {std::tuple(2.0f, 6.0, 6.0f), std::tuple(3.0f, 5.0, 6.0f), std::tuple(3.0f, 6.0, 5.0f)}) {
    CAPTURE(shift, high, divisor);
    RegionBuilder region;
    region.output(
        hardSwish(region, conv(region, region.input(dims), 16, 1), 1, shift, high, divisor));
    Names steps = check(region);
    CHECK(countOf(steps, "eltwise") + countOf(steps, "binary") >= 2);
  }
}

TEST_CASE("dnnl takes a squeeze-and-excitation block with one step an operator") {
  RegionBuilder region;
  Dims dims{1, 32, 8, 8}, small{1, 32, 1, 1};
  uint32_t x = region.op("nn.relu", {conv(region, region.input(dims), 32, 1)}, dims);
  uint32_t squeezed = region.op("nn.global_avg_pool2d", {x}, small);
  uint32_t reduced = conv(region, squeezed, 8, 2, 1);
  uint32_t grown = conv(region, region.op("nn.relu", {reduced}, {1, 8, 1, 1}), 32, 3, 1);
  uint32_t gate = region.op("sigmoid", {grown}, small);
  region.output(region.op("multiply", {x, gate}, dims));
  Names steps = check(region);
  CHECK(countOf(steps, "convolution") == 3);
  CHECK(countOf(steps, "pooling") == 1);
  CHECK(countOf(steps, "binary") == 1);
  CHECK(countOf(steps, "eltwise") == 0);
}

TEST_CASE("dnnl fuses what follows a binary step into it") {
  RegionBuilder region;
  Dims dims{1, 32, 8, 8};
  uint32_t x = conv(region, region.input(dims), 32, 1);
  region.output(x); // a second use, so that the convolution keeps out of it
  uint32_t scaled = region.op("multiply", {x, weights(region, {32, 1, 1}, 3)}, dims);
  uint32_t shifted = region.op("add", {scaled, weights(region, {32, 1, 1}, 4)}, dims);
  uint32_t positive = region.op("nn.relu", {shifted}, dims);
  region.output(region.op("add", {positive, x}, dims));
  Names steps = check(region);
  CHECK(countOf(steps, "convolution") == 1);
  CHECK(countOf(steps, "binary") == 2); // a whole operand waits for a convolution
  CHECK(countOf(steps, "eltwise") == 0);
}
