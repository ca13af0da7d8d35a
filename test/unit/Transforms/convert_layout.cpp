// Random networks of images mean the same in another layout, and the way back gives them back.
#include "TestGraph.h"

#include "bycc/Eval/Eval.h"

#include <cmath>
#include <random>

using namespace bycc;

namespace {

class Network {
public:
  explicit Network(uint32_t seed) : random_(seed) {
    values_ = {g.param("x", {Dim(2), Dim(4), Dim(6), Dim(6)}),
               g.param("y", {Dim(2), Dim(4), Dim(6), Dim(6)})};
    weight_ = g.param("w", {Dim(4), Dim(4), Dim(3), Dim(3)});
    for (int i = 0; i < 20; ++i)
      values_.push_back(step(pick()));
    NodeId mean = g.call(ops::mean, {values_.back()}, {{"axis", ints({2, 3})}});
    NodeId flat = g.call(ops::reshape, {pick()}, {{"newshape", ints({2, 144})}});
    g.finish(g.builder.tuple(std::vector{values_.back(), pick(), mean, flat}));
  }
  TestGraph g;

  std::vector<Tensor> run(uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Tensor> inputs;
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{2, 4, 6, 6}, {2, 4, 6, 6}, {4, 4, 3, 3}}) {
      int64_t count = shape[0] * shape[1] * shape[2] * shape[3];
      std::vector<double> data;
      for (int64_t i = 0; i < count; ++i)
        data.push_back(static_cast<double>(random() % 1000) / 500 - 1);
      inputs.push_back(*Tensor::fromDoubles(DType::Float32, shape, data));
    }
    auto result = evaluate(g.module, g.main, inputs);
    INFO((result ? "" : result.error().str()));
    REQUIRE(result);
    return *result;
  }

private:
  static AttrValue ints(std::vector<int64_t> values) { return AttrValue::ints(values); }
  NodeId pick() {
    return values_[values_.size() - 1 - random_() % std::min<size_t>(values_.size(), 5)];
  }
  NodeId constant(std::initializer_list<Dim> shape) {
    size_t count = 1;
    for (Dim dim : shape)
      count *= static_cast<size_t>(dim.value());
    std::vector<float> data;
    for (size_t i = 0; i < count; ++i)
      data.push_back(static_cast<float>(random_() % 9) / 16 - 0.25f);
    return g.floats(shape, data);
  }
  NodeId conv(NodeId x) {
    AttrDict attrs{
        {"padding", ints({1, 1})}, {"channels", AttrValue(4)}, {"kernel_size", ints({3, 3})}};
    if (random_() % 3 == 0) {
      attrs.push_back({"groups", AttrValue(4)});
      return g.call(ops::nn_conv2d, {x, constant({Dim(4), Dim(1), Dim(3), Dim(3)})}, attrs);
    }
    return g.call(ops::nn_conv2d,
                  {x, random_() % 4 ? constant({Dim(4), Dim(4), Dim(3), Dim(3)}) : weight_}, attrs);
  }

  NodeId step(NodeId a) {
    switch (random_() % 18) {
    case 0:
      return g.call(ops::nn_relu, {a});
    case 1:
      return g.call(ops::clip, {a}, {{"a_min", AttrValue(-0.5)}, {"a_max", AttrValue(0.75)}});
    case 2:
      return g.call(ops::add, {a, pick()});
    case 3:
      return g.call(ops::multiply, {a, constant({Dim(4), Dim(1), Dim(1)})});
    case 4:
      return g.call(ops::nn_bias_add, {a, constant({Dim(4)})});
    case 5:
      return g.call(ops::add, {a, constant({Dim(6)})});
    case 6:
      return g.call(ops::nn_max_pool2d, {a},
                    {{"pool_size", ints({3, 3})}, {"padding", ints({1, 1})}});
    case 7:
      return g.call(ops::multiply,
                    {a, g.call(ops::sigmoid, {g.call(ops::nn_global_avg_pool2d, {a})})});
    case 8: {
      AttrDict axis{{"axis", AttrValue(1)}};
      NodeId both = g.call(ops::concatenate, {g.builder.tuple(std::vector{a, pick()})}, axis);
      NodeId parts = g.call(ops::split, {both},
                            {{"indices_or_sections", AttrValue(2)}, {"axis", AttrValue(1)}});
      return *g.builder.project(parts, random_() % 2);
    }
    case 9: {
      AttrValue::List none{AttrValue(0), AttrValue(0)}, one{AttrValue(1), AttrValue(0)};
      NodeId padded =
          g.call(ops::nn_pad, {a, g.module.addScalar(DType::Float32, 0.5)},
                 {{"pad_width", AttrValue(AttrValue::List{AttrValue(none), AttrValue(none),
                                                          AttrValue(one), AttrValue(none)})}});
      return g.call(ops::strided_slice, {padded},
                    {{"begin", ints({0, 0, 1})},
                     {"end", ints({2, 4, 7})},
                     {"strides", ints({1, 1, 1})},
                     {"axes", AttrValue()}});
    }
    case 10:
      return g.call(ops::nn_softmax, {a}, {{"axis", AttrValue(1)}});
    case 11:
      return g.call(ops::add, {a, g.call(ops::mean, {a},
                                         {{"axis", ints({1})}, {"keepdims", AttrValue(true)}})});
    case 12:
      return g.call(ops::nn_instance_norm, {a, constant({Dim(4)}), constant({Dim(4)})});
    default:
      return conv(a);
    }
  }

  std::mt19937 random_;
  std::vector<NodeId> values_;
  NodeId weight_;
};

void expectClose(const std::vector<Tensor> &found, const std::vector<Tensor> &wanted) {
  REQUIRE(found.size() == wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    REQUIRE(found[i].shape == wanted[i].shape);
    for (int64_t k = 0; k < found[i].numElements(); ++k)
      REQUIRE(std::abs(found[i].real(k) - wanted[i].real(k)) <=
              1e-4 * (1 + std::abs(wanted[i].real(k))));
  }
}

} // namespace

TEST_CASE("convert-layout keeps the meaning of random networks") {
  size_t converted = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    Network network(seed);
    std::vector<Tensor> wanted = network.run(seed);
    network.g.run(eliminateDeadCode);
    size_t convolutions = network.g.count(ops::nn_conv2d);
    converted += network.g.run(convertLayout, {{"layout", seed % 2 ? "NHWC" : "NHWC:OHWI"}});
    expectClose(network.run(seed), wanted);
    CHECK(network.g.count(ops::nn_conv2d) == convolutions);
    network.g.run(convertLayout, {{"layout", "NCHW:OIHW"}});
    expectClose(network.run(seed), wanted);
    for (NodeId node : network.g.nodes())
      if (network.g.module.isOp(node, ops::nn_conv2d))
        CHECK(attrs::text(network.g.module, node, "data_layout") == "NCHW");
    CHECK(network.g.count(ops::layout_transform) == 0);
  }
  CHECK(converted > 150);
}

TEST_CASE("convert-layout: a chain keeps a change at each end, and comes back as it was") {
  TestGraph g;
  NodeId x = g.param("x", {Dim(1), Dim(3), Dim(8), Dim(8)});
  AttrDict attrs{{"padding", AttrValue::ints(std::vector<int64_t>{1, 1})}};
  NodeId value = x;
  for (int64_t channels : {3, 4, 4}) {
    std::vector<float> weight(static_cast<size_t>(4 * channels * 9), 0.5f), bias(4, 0.25f);
    weight[5] = 2;
    NodeId conv = g.call(ops::nn_conv2d,
                         {value, g.floats({Dim(4), Dim(channels), Dim(3), Dim(3)}, weight)}, attrs);
    NodeId relu =
        g.call(ops::nn_relu, {g.call(ops::nn_bias_add, {conv, g.floats({Dim(4)}, bias)})});
    value = channels == 4 ? g.call(ops::add, {relu, value}) : relu;
  }
  g.finish(value);
  std::string before = printModule(g.module);
  CHECK(g.run(convertLayout, {{"nn.conv2d", "NHWC:OHWI"}}));
  CHECK(g.count(ops::layout_transform) == 2);
  CHECK(g.module.isOp(g.result(), ops::layout_transform));
  CHECK(g.run(convertLayout, {{"nn.conv2d", "NCHW:OIHW"}}));
  CHECK(printModule(g.module) == before);
}

TEST_CASE("convert-layout: what is wrong is said") {
  TestGraph g;
  NodeId x = g.param("x", {Dim(1), Dim(3), Dim(8), Dim(8)});
  g.finish(g.call(ops::nn_relu, {x}));
  PassContext context;
  context.target = &g.target;
  auto message = [&](PassOptions options) {
    context.options = std::move(options);
    auto result = convertLayout(g.module, context);
    return result ? std::string() : result.error().message();
  };
  CHECK(message({{"nn.conv2d", "NHWC"}}).empty());
  CHECK(message({{"nn.conv2", "NHWC"}}) ==
        "pass 'convert-layout': no operator is called 'nn.conv2', did you mean 'nn.conv2d'?");
  CHECK(message({{"layout", "NHxC"}}) == "pass 'convert-layout': layout=NHxC: 'NHxC' is not a "
                                         "layout such as NHWC, and NHWC:OHWI with that of weights");
  CHECK(message({{"nn.relu", "NHWC"}}) ==
        "pass 'convert-layout': nn.relu has no layout that could be another");
  CHECK(message({{"layout", "NHWC:"}}) == "pass 'convert-layout': layout=NHWC:: '' is not a layout "
                                          "such as NHWC, and NHWC:OHWI with that of weights");
}
