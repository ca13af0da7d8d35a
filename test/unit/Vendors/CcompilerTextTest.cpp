// The C text of small regions, line by line, and what is refused with which words.
#include "RegionBuilder.h"

#include "ccompiler/Program.h"
#include "ccompiler/SystemCompiler.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::test;

namespace {

std::string cText(RegionBuilder &region) {
  std::optional<uint32_t> blamed;
  auto program = ccompiler::translate(region.region(), blamed);
  INFO((program ? "" : program.error().str()));
  REQUIRE(program);
  ccompiler::schedule(*program);
  return ccompiler::emitC(*program);
}

// Lines of the function of one step, without the indentation of the first level.
std::string step(const std::string &text, int number) {
  size_t begin = text.find("static void step" + std::to_string(number) + "(");
  REQUIRE(begin != std::string::npos);
  begin = text.find('\n', begin) + 1;
  std::string body = text.substr(begin, text.find("\n}\n", begin) + 1 - begin), out;
  for (size_t at = 0; at < body.size(); at = body.find('\n', at) + 1)
    out += body.substr(at + 2, body.find('\n', at) - at - 1);
  return out;
}

std::string refusal(RegionBuilder &region) {
  std::optional<uint32_t> blamed;
  auto program = ccompiler::translate(region.region(), blamed);
  REQUIRE_FALSE(program);
  return program.error().message();
}

} // namespace

TEST_CASE("ccompiler writes a chain over one shape as one loop") {
  RegionBuilder region;
  uint32_t x = region.input({2, 3, 4}), y = region.input({4});
  uint32_t sum = region.op("add", {x, y}, {2, 3, 4});
  uint32_t scaled = region.op("multiply", {sum, region.scalar(0.5f)}, {2, 3, 4});
  region.output(region.op("nn.relu", {scaled}, {2, 3, 4}));
  CHECK(step(cText(region), 0) == R"(const float *restrict input0 = in[0];
const float *restrict input1 = in[1];
float *restrict output0 = out[0];
for (int64_t i0 = 0; i0 < 6; ++i0) {
  for (int64_t i1 = 0; i1 < 4; ++i1) {
    const float v2 = input0[i0 * 4 + i1] + input1[i1];
    const float v4 = v2 * 5.00000000e-01f;
    const float v5 = v4 < 0 ? 0 : v4;
    output0[i0 * 4 + i1] = v5;
  }
}
)");
}

TEST_CASE("ccompiler computes what follows a product in the product's loop") {
  RegionBuilder region;
  uint32_t x = region.input({2, 3});
  uint32_t w = region.constant({4, 3}, noise({4, 3}, 1)), b = region.constant({4}, noise({4}, 2));
  uint32_t d = region.op("nn.dense", {x, w}, {2, 4});
  region.output(
      region.op("tanh", {region.op("nn.bias_add", {d, b}, {2, 4}, {{"axis", 1}})}, {2, 4}));
  region.weights();
  std::string text = cText(region);
  CHECK_THAT(step(text, 0), Catch::Contains("sum += input0[i0 * 3 + k] * constant") &&
                                Catch::Contains("= tanhf(v") && Catch::Contains("(weights + "));
  CHECK_THAT(text, Catch::Contains("bycc_region_steps[] = {step0};"));
}

TEST_CASE("ccompiler writes no weights and no names of the model into the text") {
  auto make = [](uint32_t seed) {
    RegionBuilder region;
    uint32_t x = region.input({1, 4, 5, 5});
    uint32_t w = region.constant({4, 4, 3, 3}, noise({4, 4, 3, 3}, seed));
    region.output(region.op("nn.conv2d", {x, w}, {1, 4, 3, 3}));
    return cText(region);
  };
  CHECK(make(1) == make(2));

  RegionBuilder region;
  region.output(region.op("abs", {region.input({3})}, {3}));
  bycc_region hostile = region.region();
  hostile.symbol = "x\n*/ #error // \\";
  std::optional<uint32_t> blamed;
  auto program = ccompiler::translate(hostile, blamed);
  REQUIRE(program);
  ccompiler::schedule(*program);
  CHECK_THAT(ccompiler::emitC(*program), !Catch::Contains("#error"));
}

TEST_CASE("ccompiler keeps views free and copies what an output needs") {
  RegionBuilder region;
  uint32_t x = region.input({2, 6});
  uint32_t flat = region.op("reshape", {x}, {12});
  uint32_t y = region.op("negative", {flat}, {12});
  region.output(flat);
  region.output(region.op("reshape", {y}, {3, 4}));
  region.output(y);
  std::string text = cText(region);
  CHECK_THAT(step(text, 0), Catch::Contains("output1[i0] = v"));
  CHECK_THAT(step(text, 1), Catch::Contains("memcpy(out[0], in[0], 48)") &&
                                Catch::Contains("memcpy(out[2], out[1], 48)"));
}

TEST_CASE("ccompiler gives two values alive at once their own memory") {
  RegionBuilder region;
  uint32_t x = region.input({4, 4});
  uint32_t a = region.op("nn.softmax", {x}, {4, 4}, {{"axis", -1}});
  uint32_t b = region.op("nn.softmax", {a}, {4, 4}, {{"axis", 0}});
  uint32_t c = region.op("nn.softmax", {b}, {4, 4}, {{"axis", -1}});
  region.output(region.op("add", {c, a}, {4, 4}));
  std::optional<uint32_t> blamed;
  auto program = ccompiler::translate(region.region(), blamed);
  REQUIRE(program);
  ccompiler::schedule(*program);
  CHECK(program->arenaBytes == 3 * 64); // a stays; c cannot have b's, which it reads
}

TEST_CASE("ccompiler says what it cannot take") {
  RegionBuilder unknown;
  unknown.output(unknown.op("abs", {unknown.input({-1, 2})}, {-1, 2}));
  CHECK(refusal(unknown) == "an extent of (?, 2) is unknown until run time");

  RegionBuilder half;
  half.output(half.op("abs", {half.input({2}, BYCC_FLOAT16)}, {2}));
  CHECK(refusal(half) == "C has no portable type for float16");

  RegionBuilder other;
  other.output(other.op("cumsum", {other.input({2})}, {2}));
  CHECK(refusal(other) == "cumsum: no C is written for this operator");

  RegionBuilder blocked;
  uint32_t x = blocked.input({1, 1, 5, 5, 4}),
           w = blocked.constant({4, 4, 3, 3}, noise({4, 4, 3, 3}, 1));
  blocked.output(blocked.op("nn.conv2d", {x, w}, {1, 1, 3, 3, 4}, {{"data_layout", "NCHW4c"}}));
  CHECK(refusal(blocked) == "nn.conv2d: layout NCHW4c is not supported for (1, 1, 5, 5, 4)");

  RegionBuilder large;
  large.output(large.op("abs", {large.input({int64_t{1} << 62})}, {int64_t{1} << 62}));
  CHECK_THAT(refusal(large), Catch::Contains("too many elements"));
}

TEST_CASE("ccompiler names the target's features to the C compiler, and no others") {
  CHECK(ccompiler::machineFlags("avx2,fma,no-such-thing") ==
        std::vector<std::string>{"-march=x86-64", "-mavx2", "-mfma"});
}
