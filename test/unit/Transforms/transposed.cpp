// Transposed convolutions mean the same as convolutions by phase.
#include "TestGraph.h"

#include "bycc/Eval/Eval.h"

#include <cmath>
#include <random>

using namespace bycc;

namespace {

struct Shape {
  OpId op;
  std::vector<int64_t> x, w, strides, pads, extra;
  int64_t groups = 1;
};

Tensor numbers(const std::vector<int64_t> &shape, uint32_t seed) {
  std::mt19937 random(seed);
  size_t count = 1;
  for (int64_t extent : shape)
    count *= static_cast<size_t>(extent);
  std::vector<double> values(count);
  for (double &value : values)
    value = static_cast<double>(random() % 200) / 100 - 1;
  return *Tensor::fromDoubles(DType::Float32, shape, values);
}

} // namespace

TEST_CASE("strided transposed convolutions are convolutions by phase") {
  const Shape shapes[] = {
      {ops::nn_conv1d_transpose, {2, 6, 5}, {6, 4, 16}, {8}, {4, 4}, {0}},
      {ops::nn_conv1d_transpose, {1, 4, 7}, {4, 3, 3}, {2}, {1, 1}, {1}},
      {ops::nn_conv1d_transpose, {1, 4, 7}, {4, 3, 5}, {3}, {0, 2}, {0}},
      {ops::nn_conv1d_transpose, {1, 4, 7}, {4, 2, 4}, {2}, {1, 1}, {0}, 2}, // groups
      {ops::nn_conv2d_transpose, {1, 3, 4, 5}, {3, 5, 2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}},
      {ops::nn_conv2d_transpose, {2, 4, 3, 4}, {4, 1, 3, 4}, {2, 3}, {1, 0, 1, 1}, {0, 0}, 4},
      {ops::nn_conv2d_transpose, {1, 2, 4, 4}, {2, 3, 3, 3}, {1, 2}, {1, 1, 1, 1}, {0, 1}},
      {ops::nn_conv3d_transpose,
       {1, 2, 2, 3, 2},
       {2, 2, 2, 3, 2},
       {2, 1, 2},
       {0, 1, 0, 0, 1, 0},
       {0, 0, 0}},
      // what is added lies beyond the last phase: left as it is
      {ops::nn_conv1d_transpose, {1, 2, 3}, {2, 2, 2}, {2}, {0, 0}, {1}},
  };
  for (const Shape &shape : shapes) {
    TestGraph g;
    Tensor weight = numbers(shape.w, 1), inputs[] = {numbers(shape.x, 2)};
    NodeId x = g.module.addParam(
        "x",
        g.module.types.tensor(DType::Float32, std::vector<Dim>(shape.x.begin(), shape.x.end())));
    g.module.function(g.main).params.push_back(x);
    NodeId w =
        g.module.addConstant(DType::Float32, std::vector<Dim>(shape.w.begin(), shape.w.end()),
                             weight.bytes.get(), static_cast<uint64_t>(weight.sizeBytes()));
    int64_t channels = shape.w[1] * shape.groups;
    std::vector<int64_t> kernel(shape.w.begin() + 2, shape.w.end());
    g.finish(g.call(shape.op, {x, w},
                    {{"channels", channels},
                     {"kernel_size", AttrValue::ints(kernel)},
                     {"strides", AttrValue::ints(shape.strides)},
                     {"padding", AttrValue::ints(shape.pads)},
                     {"output_padding", AttrValue::ints(shape.extra)},
                     {"groups", shape.groups}}));
    std::vector<Tensor> before = *evaluate(g.module, g.main, inputs);
    bool isLast = &shape == std::end(shapes) - 1;
    g.run(legalize);
    CHECK((g.count(shape.op) == 1) == isLast);
    std::vector<Tensor> after = *evaluate(g.module, g.main, inputs);
    REQUIRE(before[0].shape == after[0].shape);
    for (int64_t i = 0; i < before[0].numElements(); ++i)
      CHECK(std::abs(before[0].real(i) - after[0].real(i)) < 1e-5);
  }
}
