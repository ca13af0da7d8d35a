// Concatenations of channels: convolutions that read them are split, whatever else
// reads them copies.
#include "DnnlCheck.h"

using namespace bycc::test;

namespace {

uint32_t conv(RegionBuilder &region, uint32_t data, int64_t channels, int64_t size = 1) {
  Dims in = region.dims(data), out = in, kernel{channels, in[1], size, size};
  out[1] = channels;
  return region.op("nn.conv2d", {data, region.constant(kernel, noise(kernel, data + 7))}, out,
                   {{"padding", Dims{size / 2, size / 2}}});
}

uint32_t biasRelu(RegionBuilder &region, uint32_t data) {
  Dims dims = region.dims(data), bias{dims[1], 1, 1};
  uint32_t sum = region.op("add", {data, region.constant(bias, noise(bias, 3))}, dims);
  return region.op("nn.relu", {sum}, dims);
}

uint32_t concat(RegionBuilder &region, const std::vector<uint32_t> &parts) {
  Dims dims = region.dims(parts[0]);
  dims[1] = 0;
  for (uint32_t part : parts)
    dims[1] += region.dims(part)[1];
  return region.op("concatenate", parts, dims, {{"axis", 1}});
}

uint32_t maxPool(RegionBuilder &region, uint32_t data) {
  Dims dims = region.dims(data);
  dims[2] /= 2;
  dims[3] /= 2;
  return region.op("nn.max_pool2d", {data}, dims,
                   {{"pool_size", Dims{2, 2}}, {"strides", Dims{2, 2}}});
}

} // namespace

TEST_CASE("dnnl splits a convolution over a concatenation") {
  for (bool hasPool : {false, true})
    for (int64_t size : {1, 3}) {
      CAPTURE(hasPool, size);
      RegionBuilder region;
      uint32_t x = region.input({1, 16, 8, 8});
      uint32_t all = concat(region, {biasRelu(region, conv(region, x, 32)), conv(region, x, 24, 3),
                                     region.input({1, 17, 8, 8})});
      if (hasPool)
        all = maxPool(region, all);
      region.output(biasRelu(region, conv(region, all, 20, size)));
      Names steps = check(region);
      CHECK(countOf(steps, "convolution") == 5);
      CHECK(countOf(steps, "concat") == 0);
      CHECK(countOf(steps, "pooling") == (hasPool ? 3 : 0));
      CHECK(countOf(steps, "copy") == 0); // partial sums wait in the destination
    }
}

TEST_CASE("dnnl splits convolutions of channels-last models and batches alike") {
  RegionBuilder nhwc;
  uint32_t all = nhwc.op("concatenate", {nhwc.input({2, 6, 6, 16}), nhwc.input({2, 6, 6, 32})},
                         {2, 6, 6, 48}, {{"axis", 3}});
  uint32_t pooled =
      nhwc.op("nn.max_pool2d", {all}, {2, 3, 3, 48},
              {{"pool_size", Dims{2, 2}}, {"strides", Dims{2, 2}}, {"layout", "NHWC"}});
  uint32_t kernel = nhwc.constant({3, 3, 48, 16}, noise({3, 3, 48, 16}, 5));
  nhwc.output(nhwc.op("nn.conv2d", {pooled, kernel}, {2, 1, 1, 16},
                      {{"data_layout", "NHWC"}, {"kernel_layout", "HWIO"}}));
  Names steps = check(nhwc);
  CHECK(countOf(steps, "convolution") == 2);
  CHECK(countOf(steps, "concat") == 0);
}

TEST_CASE("dnnl keeps a concatenation that has other users or few channels") {
  RegionBuilder shared;
  uint32_t x = shared.input({1, 16, 8, 8});
  uint32_t all = concat(shared, {x, shared.input({1, 16, 8, 8})});
  shared.output(conv(shared, all, 8));
  shared.output(conv(shared, all, 8, 3));
  CHECK(countOf(check(shared), "convolution") == 2);

  RegionBuilder few;
  uint32_t small = concat(few, {few.input({1, 16, 8, 8}), few.input({1, 3, 8, 8})});
  few.output(conv(few, small, 8));
  CHECK(countOf(check(few), "convolution") == 1);

  RegionBuilder wide; // partial sums would be more than what is concatenated
  uint32_t two = concat(wide, {wide.input({1, 16, 8, 8}), wide.input({1, 16, 8, 8})});
  wide.output(conv(wide, two, 128));
  CHECK(countOf(check(wide), "convolution") == 1);
}

TEST_CASE("dnnl keeps a concatenation where the convolution adds a tensor already") {
  RegionBuilder region;
  uint32_t all = concat(region, {region.input({1, 16, 8, 8}), region.input({1, 16, 8, 8})});
  uint32_t y = region.input({1, 16, 8, 8});
  region.output(region.op("add", {conv(region, all, 16), y}, {1, 16, 8, 8}));
  Names steps = check(region);
  CHECK(countOf(steps, "convolution") == 1);
  CHECK(countOf(steps, "binary") == 0);
}

TEST_CASE("dnnl concatenates operands of several layouts channels last") {
  RegionBuilder region;
  uint32_t x = region.input({1, 16, 8, 8});
  uint32_t all = concat(region, {conv(region, x, 24, 3), x, region.input({1, 5, 8, 8})});
  region.output(biasRelu(region, conv(region, all, 16)));
  region.output(region.op("nn.relu", {all}, region.dims(all)));
  Names steps = check(region);
  CHECK(countOf(steps, "copy") == 3);
}
