// Random regions against plain loops: values are reused at will, so that sharing
// of memory, work in place, sums in place, views and reorders meet in all ways.
#include "DnnlCheck.h"

#include <random>

using namespace bycc::test;

namespace {

class RandomRegion {
public:
  explicit RandomRegion(uint32_t seed) : random_(seed) {
    values_.push_back(region.input({1, pick({3, 8, 16, 20}), 6, 6}));
    values_.push_back(region.input(region.dims(values_[0])));
    for (int i = 0; i < 14; ++i)
      grow();
    for (int i = 0; i < 2; ++i)
      region.output(any());
    region.output(values_.back());
  }
  RegionBuilder region;

private:
  int64_t pick(std::vector<int64_t> from) { return from[random_() % from.size()]; }
  uint32_t any() { return values_[random_() % values_.size()]; }
  uint32_t constant(Dims dims) {
    Tensor data = noise(dims, random_());
    return region.constant(std::move(dims), data);
  }

  void grow() {
    uint32_t x = any();
    switch (random_() % 12) {
    case 0:
    case 1:
      return conv(x);
    case 2:
      return binary(x);
    case 3:
      return bias(x);
    case 4:
      return add(region.op(std::vector<const char *>{"nn.relu", "tanh", "sigmoid"}[random_() % 3],
                           {x}, region.dims(x)));
    case 5:
      return concat(x);
    case 6:
      return turn(x);
    case 7:
      return add(region.op("nn.softmax", {x}, region.dims(x), {{"axis", 3}}));
    case 8:
      return matmul(x);
    case 9:
      return add(region.op("clip", {x}, region.dims(x), {{"a_min", -0.5}, {"a_max", 0.75}}));
    case 10:
      return pool(x);
    case 11:
      return slice(x);
    }
  }

  void add(uint32_t value) { values_.push_back(value); }

  void conv(uint32_t x) {
    Dims in = region.dims(x), out = in;
    out[1] = pick({8, 16, in[1]});
    int64_t size = pick({1, 3});
    // Small weights keep long chains in range.
    Tensor data = noise({out[1], in[1], size, size}, random_());
    for (float &w : data)
      w *= 0.2f;
    uint32_t w = region.constant({out[1], in[1], size, size}, data);
    add(region.op("nn.conv2d", {x, w}, out, {{"padding", Dims{size / 2, size / 2}}}));
  }

  void binary(uint32_t x) {
    uint32_t y = any();
    const char *ops[] = {"add", "add", "multiply", "subtract", "maximum", "minimum"};
    if (region.dims(y) == region.dims(x))
      add(region.op(ops[random_() % 6], {x, y}, region.dims(x)));
  }

  void pool(uint32_t x) {
    add(region.op(random_() % 2 ? "nn.max_pool2d" : "nn.avg_pool2d", {x}, region.dims(x),
                  {{"pool_size", Dims{3, 3}}, {"padding", Dims{1, 1}}}));
  }

  void bias(uint32_t x) {
    Dims dims = region.dims(x);
    add(region.op("add", {x, constant({dims[1], 1, 1})}, dims));
  }

  void concat(uint32_t x) {
    uint32_t y = any();
    Dims dims = region.dims(x), other = region.dims(y);
    if (dims[2] != other[2] || dims[3] != other[3] || dims[1] + other[1] > 64)
      return;
    dims[1] += other[1];
    add(region.op("concatenate", {x, y}, dims, {{"axis", 1}}));
  }

  // A part of the channels, maybe with rows left out.
  void slice(uint32_t x) {
    Dims dims = region.dims(x), begin(4, 0), strides(4, 1);
    if (dims[1] < 2)
      return;
    begin[1] = pick({0, dims[1] / 2});
    dims[1] -= dims[1] / 2;
    if (random_() % 4 == 0 && dims[2] > 3) {
      strides[2] = 2;
      begin[2] = 1;
      dims[2] /= 2;
    }
    add(region.op("strided_slice", {x}, dims, {{"begin", begin}, {"strides", strides}}));
  }

  // Through another shape and order, and back to rank 4.
  void turn(uint32_t x) {
    Dims dims = region.dims(x), turned = {dims[0], dims[1], dims[3], dims[2]};
    if (random_() % 2) {
      add(region.op("transpose", {x}, turned, {{"axes", Dims{0, 1, 3, 2}}}));
      return;
    }
    Dims flat = {dims[1], dims[2] * dims[3]};
    uint32_t r = region.op("reshape", {x}, flat);
    uint32_t t = region.op("transpose", {r}, {flat[1], flat[0]}, {{"axes", Dims{1, 0}}});
    add(region.op("reshape", {t}, {1, dims[1], dims[2], dims[3]}));
  }

  void matmul(uint32_t x) {
    Dims dims = region.dims(x);
    uint32_t r = region.op("reshape", {x}, {dims[1], dims[2], dims[3]});
    uint32_t w = constant({dims[1], dims[3], 6});
    uint32_t m = region.op("nn.batch_matmul", {r, w}, {dims[1], dims[2], 6});
    uint32_t scaled = region.op("multiply", {m, region.scalar(0.25f)}, {dims[1], dims[2], 6});
    add(region.op("reshape", {scaled}, {1, dims[1], dims[2], 6}));
  }

  std::mt19937 random_;
  std::vector<uint32_t> values_;
};

} // namespace

TEST_CASE("dnnl random regions agree with plain loops") {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    RandomRegion random(seed);
    check(random.region);
  }
}

// Whatever is fused and shared: what is not finite goes where the operators say.
TEST_CASE("dnnl random regions keep NaN and infinities") {
  for (uint32_t seed = 100; seed < 160; ++seed) {
    CAPTURE(seed);
    RandomRegion random(seed);
    std::vector<Tensor> inputs = inputsFor(random.region);
    const float odd[] = {NAN, INFINITY, -INFINITY};
    for (uint32_t i = 0; i < 3; ++i)
      if (seed >> i & 1)
        inputs[(seed + i) % inputs.size()][seed * 7 % 90 + i] = odd[i];
    inputs[seed % inputs.size()][seed % 100] = odd[seed % 3];
    checkWith(random.region, inputs);
  }
}
