// Every operator family of the dnnl vendor, alone, against plain loops.
#include "DnnlCheck.h"

using namespace bycc::test;

TEST_CASE("dnnl convolution in all ranks, layouts and groupings") {
  checkOp("nn.conv2d", {{1, 3, 9, 8}}, {{16, 3, 3, 3}}, {1, 16, 9, 8}, {{"padding", Dims{1, 1}}});
  checkOp("nn.conv2d", {{2, 32, 7, 7}}, {{20, 32, 1, 1}}, {2, 20, 4, 4}, {{"strides", Dims{2, 2}}});
  checkOp("nn.conv2d", {{1, 8, 9, 9}}, {{8, 1, 3, 3}}, {1, 8, 9, 9},
          {{"groups", 8}, {"padding", Dims{1, 1, 1, 1}}});
  // images of one column, which become images of one row
  checkOp("nn.conv2d", {{2, 24, 31, 1}}, {{20, 24, 5, 1}}, {2, 20, 15, 1},
          {{"padding", Dims{1, 0, 2, 0}}, {"strides", Dims{2, 3}}, {"dilation", Dims{1, 1}}});
  checkOp("nn.conv2d", {{2, 16, 31, 1}}, {{24, 16, 3, 1}}, {2, 24, 27, 1},
          {{"dilation", Dims{2, 1}}});
  checkOp("nn.conv2d", {{1, 64, 9, 9}}, {{96, 16, 3, 3}}, {1, 96, 5, 5},
          {{"groups", 4}, {"dilation", Dims{2, 2}}});
  checkOp("nn.conv2d", {{1, 9, 8, 3}}, {{3, 3, 3, 16}}, {1, 7, 6, 16},
          {{"data_layout", "NHWC"}, {"kernel_layout", "HWIO"}});
  checkOp("nn.conv2d", {{1, 6, 6, 4}}, {{3, 3, 4, 1}}, {1, 4, 4, 4},
          {{"data_layout", "NHWC"}, {"kernel_layout", "HWOI"}, {"groups", 4}});
  checkOp("nn.conv2d", {{1, 3, 8, 8}}, {{4, 3, 3, 3}}, {1, 4, 9, 8},
          {{"padding", Dims{1, 0, 2, 2}}});
  checkOp("nn.conv2d", {{1, 16, 4, 4}}, {{16, 16, 1, 1}}, {1, 16, 10, 10},
          {{"padding", Dims{3, 3}}});
  checkOp("nn.conv2d", {{1, 16, 4, 4}}, {{16, 16, 3, 3}}, {1, 16, 12, 12},
          {{"padding", Dims{5, 5}}});
  checkOp("nn.conv2d", {{1, 16, 4, 4}}, {{16, 1, 3, 3}}, {1, 16, 5, 5},
          {{"padding", Dims{4, 4}}, {"groups", 16}, {"strides", Dims{2, 2}}});
  checkOp("nn.conv2d", {{1, 3, 5, 5}, {4, 3, 3, 3}}, {}, {1, 4, 3, 3});
  checkOp("nn.conv1d", {{2, 3, 11}}, {{5, 3, 4}}, {2, 5, 4}, {{"strides", Dims{2}}});
  checkOp("nn.conv3d", {{1, 2, 4, 5, 6}}, {{3, 2, 2, 2, 2}}, {1, 3, 3, 4, 5});
}

TEST_CASE("dnnl transposed convolution") {
  checkOp("nn.conv2d_transpose", {{1, 6, 4, 4}}, {{6, 5, 3, 3}}, {1, 5, 9, 9},
          {{"strides", Dims{2, 2}}});
  checkOp("nn.conv2d_transpose", {{1, 6, 4, 4}}, {{6, 5, 3, 3}}, {1, 5, 8, 8},
          {{"strides", Dims{2, 2}}, {"padding", Dims{1, 1}}, {"output_padding", Dims{1, 1}}});
  checkOp("nn.conv2d_transpose", {{1, 6, 4, 4}}, {{6, 2, 2, 2}}, {1, 4, 5, 5}, {{"groups", 2}});
  checkOp("nn.conv1d_transpose", {{1, 4, 5}}, {{4, 3, 3}}, {1, 3, 7});
}

// One channel in blocks of 16: no view of it drops that axis.
TEST_CASE("dnnl copies what is filled up to a block before it is seen as rows") {
  RegionBuilder region;
  uint32_t x = region.input({3, 16, 1, 31});
  uint32_t w = region.constant({16, 1, 3, 1}, noise({16, 1, 3, 1}, 5));
  uint32_t y = region.op("nn.conv2d_transpose", {x, w}, {3, 1, 2, 31},
                         {{"strides", Dims{2, 1}}, {"padding", Dims{1, 0, 0, 0}}});
  uint32_t v = region.constant({33, 31}, noise({33, 31}, 6));
  region.output(region.op("nn.dense", {y, v}, {3, 1, 2, 33}));
  check(region);
}

TEST_CASE("dnnl transposed convolution that the library has for free layouts only") {
  checkOp("nn.conv2d_transpose", {{3, 1, 1, 1}}, {{1, 3, 4, 3}}, {3, 3, 3, 3},
          {{"strides", Dims{1, 2}}, {"padding", Dims{1, 2, 0, 0}}, {"dilation", Dims{1, 2}}});
}

// In place, the library would overwrite the operand before it is read.
TEST_CASE("dnnl binary steps with post-ops on channels that are filled up to a block") {
  RegionBuilder region;
  Dims dims{3, 1, 29, 20, 1};
  uint32_t x = region.input({3, 16, 29, 20, 1});
  uint32_t w = region.constant({1, 16, 1, 1, 1}, noise({1, 16, 1, 1, 1}, 5));
  uint32_t y = region.op("nn.conv3d", {x, w}, dims);
  uint32_t z = region.op("abs", {y}, dims);
  uint32_t product = region.op("multiply", {region.op("negative", {z}, dims), z}, dims);
  region.output(region.op("tanh", {region.op("multiply", {product, y}, dims)}, dims));
  check(region);
}

TEST_CASE("dnnl convolution with bias and sum, windows in the padding") {
  RegionBuilder region;
  Dims dims{2, 15, 1, 3, 3};
  uint32_t x = region.input({2, 1, 1, 5, 5}), other = region.input(dims);
  uint32_t w = region.constant({15, 1, 1, 3, 3}, noise({15, 1, 1, 3, 3}, 5));
  uint32_t b = region.constant({15}, noise({15}, 6));
  uint32_t y = region.op("nn.conv3d", {x, w}, dims,
                         {{"strides", Dims{3, 1, 1}}, {"padding", Dims{1, 0, 0, 1, 0, 0}}});
  region.output(region.op("add", {region.op("nn.bias_add", {y, b}, dims), other}, dims));
  check(region);
}

TEST_CASE("dnnl product of a row that is seen as a column") {
  RegionBuilder region;
  uint32_t x = region.input({16, 1});
  uint32_t w = region.constant({16, 19}, noise({16, 19}, 5));
  uint32_t v = region.constant({1, 19}, noise({1, 19}, 6));
  uint32_t row = region.op("nn.matmul", {x, w}, {1, 19}, {{"transpose_a", 1}});
  region.output(region.op("nn.matmul", {row, v}, {19, 19}, {{"transpose_a", 1}}));
  check(region);
}

TEST_CASE("dnnl matrix products") {
  checkOp("nn.dense", {{1, 40}}, {{10, 40}}, {1, 10});
  checkOp("nn.dense", {{2, 3, 16}}, {{7, 16}}, {2, 3, 7});
  checkOp("nn.dense", {{5}}, {{3, 5}}, {3});
  checkOp("nn.dense", {{4, 6}, {3, 6}}, {}, {4, 3});
  checkOp("nn.matmul", {{4, 6}, {6, 3}}, {}, {4, 3});
  checkOp("nn.matmul", {{6, 4}, {3, 6}}, {}, {4, 3}, {{"transpose_a", 1}, {"transpose_b", 1}});
  checkOp("nn.batch_matmul", {{3, 4, 8}, {3, 5, 8}}, {}, {3, 4, 5}, {{"transpose_b", 1}});
  checkOp("nn.batch_matmul", {{3, 4, 8}, {3, 8, 5}}, {}, {3, 4, 5});
  checkOp("nn.batch_matmul", {{3, 8, 4}, {3, 8, 5}}, {}, {3, 4, 5}, {{"transpose_a", 1}});
  checkOp("nn.batch_matmul", {{1, 4, 8}, {3, 8, 5}}, {}, {3, 4, 5});
  checkOp("nn.batch_matmul", {{3, 4, 8}}, {{1, 8, 5}}, {3, 4, 5});
}

TEST_CASE("dnnl pooling") {
  checkOp("nn.max_pool2d", {{1, 16, 9, 9}}, {}, {1, 16, 5, 5},
          {{"pool_size", Dims{3, 3}}, {"strides", Dims{2, 2}}, {"padding", Dims{1, 1}}});
  checkOp("nn.max_pool2d", {{1, 5, 8, 8}}, {}, {1, 5, 4, 4},
          {{"pool_size", Dims{3, 3}}, {"strides", Dims{2, 2}}, {"ceil_mode", 1}});
  checkOp("nn.avg_pool2d", {{1, 5, 8, 8}}, {}, {1, 5, 4, 4},
          {{"pool_size", Dims{3, 3}}, {"strides", Dims{2, 2}}, {"ceil_mode", 1}});
  checkOp("nn.avg_pool2d", {{1, 4, 6, 6}}, {}, {1, 4, 6, 6},
          {{"pool_size", Dims{3, 3}}, {"padding", Dims{1, 1}}});
  checkOp("nn.avg_pool2d", {{1, 4, 6, 6}}, {}, {1, 4, 6, 6},
          {{"pool_size", Dims{3, 3}}, {"padding", Dims{1, 1}}, {"count_include_pad", 1}});
  checkOp("nn.avg_pool2d", {{1, 6, 6, 4}}, {}, {1, 3, 3, 4},
          {{"pool_size", Dims{2, 2}}, {"strides", Dims{2, 2}}, {"layout", "NHWC"}});
  checkOp("nn.max_pool1d", {{1, 4, 6}}, {}, {1, 4, 5}, {{"pool_size", Dims{2}}});
  checkOp("nn.max_pool3d", {{1, 4, 4, 4, 4}}, {}, {1, 4, 3, 3, 3}, {{"pool_size", Dims{2, 2, 2}}});
  checkOp("nn.global_avg_pool2d", {{2, 20, 7, 7}}, {}, {2, 20, 1, 1});
  checkOp("nn.global_max_pool2d", {{1, 7, 7, 20}}, {}, {1, 1, 1, 20}, {{"layout", "NHWC"}});
  checkOp("nn.adaptive_avg_pool2d", {{1, 4, 6, 6}}, {}, {1, 4, 3, 3},
          {{"output_size", Dims{3, 3}}});
}

TEST_CASE("dnnl softmax and normalisation") {
  checkOp("nn.softmax", {{2, 10}}, {}, {2, 10});
  checkOp("nn.softmax", {{2, 3, 4, 5}}, {}, {2, 3, 4, 5}, {{"axis", 3}});
  checkOp("nn.log_softmax", {{2, 10}}, {}, {2, 10}, {{"axis", 1}});
  checkOp("nn.layer_norm", {{2, 5, 24}}, {{24}, {24}}, {2, 5, 24}, {{"epsilon", 1e-12}});
  checkOp("nn.layer_norm", {{24}}, {{24}, {24}}, {24});
}

TEST_CASE("dnnl elementwise functions") {
  for (const char *op : {"abs", "exp", "negative", "nn.relu", "sigmoid", "tanh"})
    checkOp(op, {{2, 3, 17}}, {}, {2, 3, 17});
  checkOp("clip", {{40}}, {}, {40}, {{"a_min", -0.25}, {"a_max", 0.5}});
  checkOp("nn.leaky_relu", {{40}}, {}, {40}, {{"alpha", 0.1}});
  checkOp("nn.relu", {{}}, {}, {});
}

TEST_CASE("dnnl arithmetic with broadcasting") {
  for (const char *op : {"add", "subtract", "multiply", "maximum", "minimum"}) {
    checkOp(op, {{2, 3, 4, 5}, {2, 3, 4, 5}}, {}, {2, 3, 4, 5});
    checkOp(op, {{2, 3, 4, 5}, {3, 1, 1}}, {}, {2, 3, 4, 5});
    checkOp(op, {{2, 3, 4, 5}}, {{5}}, {2, 3, 4, 5});
    checkOp(op, {{2, 3, 4, 5}}, {{}}, {2, 3, 4, 5});
    checkOp(op, {{2, 3, 4, 5}, {2, 1, 1, 5}}, {}, {2, 3, 4, 5});
  }
  checkOp("add", {{5}, {2, 3, 5}}, {}, {2, 3, 5});
  checkOp("divide", {{6, 7}}, {{}}, {6, 7});
  checkOp("nn.bias_add", {{2, 5, 4}, {5}}, {}, {2, 5, 4});
  checkOp("nn.bias_add", {{2, 5, 4}, {4}}, {}, {2, 5, 4}, {{"axis", -1}});
}

TEST_CASE("dnnl reductions") {
  for (const char *op : {"sum", "mean"}) {
    checkOp(op, {{2, 3, 20}}, {}, {2, 3}, {{"axis", Dims{-1}}});
    checkOp(op, {{2, 3, 20}}, {}, {2, 1, 1}, {{"axis", Dims{1, 2}}, {"keepdims", 1}});
    checkOp(op, {{2, 17, 5, 5}}, {}, {2, 17}, {{"axis", Dims{2, 3}}});
  }
}

TEST_CASE("dnnl refuses what the library has reference loops for") {
  const OperatorCase cases[] = {
      {"mean", {{1, 16, 9, 9}}, {1, 1, 9, 9}, {{"axis", Dims{1}}, {"keepdims", 1}}},
      {"sum", {{16, 12, 20}}, {12, 20}, {{"axis", Dims{0}}}},
      {"nn.softmax", {{2, 16, 9, 9}}, {2, 16, 9, 9}, {{"axis", 1}}},
      {"add", {{2, 16, 12, 20}, {1, 16, 1, 20}}, {2, 16, 12, 20}, {}},
  };
  for (const OperatorCase &c : cases) {
    CAPTURE(c.op);
    RegionBuilder region;
    std::vector<uint32_t> operands;
    for (const Dims &dims : c.inputs)
      operands.push_back(region.input(dims));
    region.output(region.op(c.op, operands, c.result, c.attrs));
    Answer answer = supports(region, nullptr);
    CHECK(!answer.yes);
    CHECK(answer.reason.find("oneDNN has only a reference loop for this (ref:") !=
          std::string::npos);
  }
}

TEST_CASE("dnnl refuses groups of few channels, of which the library copies windows") {
  RegionBuilder region;
  uint32_t x = region.input({1, 8, 9, 9}), w = weights(region, {12, 2, 3, 3});
  region.output(region.op("nn.conv2d", {x, w}, {1, 12, 7, 7}, {{"groups", 4}}));
  Answer answer = supports(region, nullptr);
  CHECK_FALSE(answer.yes);
  CHECK_THAT(answer.reason, Catch::Contains("oneDNN only copies windows and multiplies them"));
}

TEST_CASE("dnnl refuses long windows of few channels, which the library multiplies tap by tap") {
  struct Window {
    int64_t channels, taps, pad;
    bool isTaken;
  };
  for (const Window &w : {Window{1, 40, 0, false}, Window{4, 15, 7, false}, Window{1, 15, 1, true},
                          Window{8, 40, 20, true}, Window{1, 7, 3, true}}) {
    CAPTURE(w.channels, w.taps, w.pad);
    RegionBuilder region;
    uint32_t x = region.input({1, w.channels, 100}),
             kernel = weights(region, {16, w.channels, w.taps});
    region.output(region.op("nn.conv1d", {x, kernel}, {1, 16, 101 + 2 * w.pad - w.taps},
                            {{"padding", Dims{w.pad}}}));
    Answer answer = supports(region, nullptr);
    CHECK(answer.yes == w.isTaken);
    if (!w.isTaken)
      CHECK_THAT(answer.reason, Catch::Contains("is multiplied tap by tap"));
  }
}

TEST_CASE("dnnl pools integers, for which the library has a kernel in one layout alone") {
  for (int32_t dtype : {BYCC_UINT8, BYCC_INT8}) {
    RegionBuilder region(dtype);
    region.output(region.op("nn.max_pool2d", {region.input({1, 64, 12, 12})}, {1, 64, 6, 6},
                            {{"pool_size", Dims{2, 2}}, {"strides", Dims{2, 2}}}));
    CHECK(supports(region, nullptr).reason == "");
  }
}

TEST_CASE("dnnl moves data") {
  checkOp("transpose", {{2, 3, 4}}, {}, {4, 2, 3}, {{"axes", Dims{2, 0, 1}}});
  checkOp("reshape", {{2, 3, 4}}, {}, {6, 4});
  checkOp("nn.batch_flatten", {{2, 3, 4}}, {}, {2, 12});
  checkOp("squeeze", {{2, 1, 4}}, {}, {2, 4});
  checkOp("expand_dims", {{2, 4}}, {}, {2, 1, 4});
  checkOp("concatenate", {{2, 3, 4}, {2, 5, 4}}, {}, {2, 8, 4}, {{"axis", 1}});
  checkOp("concatenate", {{2, 3}, {1, 3}, {4, 3}}, {}, {7, 3}, {{"axis", 0}});
  checkOp("strided_slice", {{2, 6, 4}}, {}, {2, 3, 4},
          {{"begin", Dims{0, 2, 0}}, {"strides", Dims{1, 1, 1}}});
  checkOp("strided_slice", {{5, 6, 4}}, {}, {2, 6, 2},
          {{"begin", Dims{1, 0, 1}}, {"strides", Dims{2, 1, 2}}});
}

TEST_CASE("dnnl takes the classic kernel for depthwise convolutions of few channels") {
  for (int64_t channels : {32, 1024}) {
    CAPTURE(channels);
    RegionBuilder region;
    Dims dims{1, channels, 14, 14}, kernel{channels, 1, 3, 3};
    uint32_t w = region.constant(kernel, noise(kernel, 3));
    region.output(region.op("nn.conv2d", {region.input(dims), w}, dims,
                            {{"groups", channels}, {"padding", Dims{1, 1}}}));
    check(region);
    Answer compiled = compile(region);
    Loaded loaded(region, compiled);
    std::string all;
    for (const std::string &detail : loaded.details())
      all += detail + " ";
    CAPTURE(all);
    // Without AVX-512 there is no newer kernel.
    if (channels == 32)
      CHECK(all.find("brdgmm_dw") == std::string::npos);
    CHECK((all.find("jit_dw") != std::string::npos || all.find("brdgmm_dw") != std::string::npos));
  }
}
