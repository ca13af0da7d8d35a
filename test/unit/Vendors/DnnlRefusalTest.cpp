// What the dnnl vendor does not take, and that it says why.
#include "DnnlCheck.h"

using namespace bycc::test;

namespace {

std::string reasonFor(const std::string &op, const std::vector<Dims> &inputs, Dims result,
                      std::vector<Attr> attrs = {}, int32_t dtype = BYCC_FLOAT32) {
  RegionBuilder region;
  std::vector<uint32_t> operands;
  for (const Dims &dims : inputs)
    operands.push_back(region.input(dims, dtype));
  region.output(region.op(op, operands, std::move(result), std::move(attrs)));
  Answer answer = supports(region);
  CHECK_FALSE(answer.yes);
  return answer.reason;
}

} // namespace

TEST_CASE("dnnl refuses with a reason") {
  using Catch::Contains;
  CHECK_THAT(reasonFor("add", {{2}, {2}}, {2}, {}, BYCC_INT64),
             Contains("dtype int64 is not supported"));
  CHECK_THAT(reasonFor("nn.relu", {{-1, 3}}, {-1, 3}), Contains("unknown until run time"));
  CHECK_THAT(reasonFor("nn.relu", {Dims(13, 1)}, Dims(13, 1)), Contains("rank 13"));
  CHECK_THAT(reasonFor("erf", {{3}}, {3}), Contains("erf"));
  CHECK_THAT(reasonFor("round", {{3}}, {3}), Contains("halves to even"));
  CHECK_THAT(reasonFor("nn.layer_norm", {{2, 3, 4}, {3}, {3}}, {2, 3, 4}, {{"axis", 1}}),
             Contains("axis 1"));
  CHECK_THAT(reasonFor("nn.max_pool2d", {{1, 1, 8, 8}}, {1, 1, 6, 6},
                       {{"pool_size", Dims{2, 2}}, {"dilation", Dims{2, 2}}}),
             Contains("dilation 2"));
  CHECK_THAT(reasonFor("subtract", {{3}, {2, 3}}, {2, 3}), Contains("right operand only"));
  CHECK_THAT(reasonFor("nn.conv2d", {{1, 3, 8, 8}, {4, 2, 3, 3}}, {1, 4, 6, 6}),
             Contains("wanted"));
  CHECK_THAT(reasonFor("nn.conv2d", {{1, 3, 8, 8}, {4, 3, 9, 9}}, {1, 4, 1, 1}),
             Contains("kernel"));
  CHECK_THAT(reasonFor("nn.conv2d", {{1, 4, 8, 8}, {4, 1, 3, 3}}, {1, 4, 6, 6}, {{"groups", 3}}),
             Contains("groups"));
  CHECK_THAT(reasonFor("nn.conv2d", {{1, 3, 8, 8}, {4, 3, 3, 3}}, {1, 4, 6, 6},
                       {{"data_layout", "NCHW8c"}}),
             Contains("layout NCHW8c"));
}

TEST_CASE("dnnl refuses nonsense extents before the library sees them: D1 D2 D3") {
  for (const Dims &dims : std::vector<Dims>{{int64_t{1} << 62, 4},
                                            {int64_t{1} << 32, int64_t{1} << 32},
                                            {int64_t{1} << 31, int64_t{1} << 31},
                                            {0, 4},
                                            {-5, 4},
                                            {INT64_MIN, 4}}) {
    CAPTURE(dims[0]);
    for (const char *op : {"nn.relu", "nn.softmax", "nn.batch_flatten"})
      CHECK_FALSE(reasonFor(op, {dims}, dims).empty());
  }
}

TEST_CASE("dnnl refuses strides, pads and groups out of range: E1 E2 E3") {
  auto conv = [](std::vector<Attr> attrs) {
    return reasonFor("nn.conv2d", {{1, 4, 8, 8}, {4, 4, 3, 3}}, {1, 4, 6, 6}, std::move(attrs));
  };
  CHECK_FALSE(conv({{"strides", Dims{0, 1}}}).empty());
  CHECK_FALSE(conv({{"dilation", Dims{-1, 1}}}).empty());
  CHECK_FALSE(conv({{"groups", 0}}).empty());
  CHECK_FALSE(conv({{"padding", Dims{-1, 0}}}).empty());
  CHECK_FALSE(conv({{"padding", Dims{INT64_MAX, INT64_MAX}}}).empty());
  CHECK_FALSE(conv({{"padding", Dims{1, 2, 3}}}).empty());
  CHECK_FALSE(conv({{"strides", Dims{INT64_MAX, 1}}}).empty());
  CHECK_FALSE(reasonFor("nn.softmax", {{2, 3}}, {2, 3}, {{"axis", 7}}).empty());
  CHECK_FALSE(reasonFor("transpose", {{2, 3}}, {2, 2}, {{"axes", Dims{0, 0}}}).empty());
}

TEST_CASE("dnnl blames the node that it cannot compile") {
  RegionBuilder region;
  uint32_t x = region.input({4});
  region.output(region.op("erf", {region.op("nn.relu", {x}, {4})}, {4}));
  Answer answer = compile(region);
  CHECK_FALSE(answer.yes);
  CHECK(answer.blamed == 1);
}
