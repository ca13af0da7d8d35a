// Random programs with to-mixed-precision: they keep their types, mean nearly the
// same, and a second run changes nothing. Conversions cost next to nothing here, so
// that much converts.
#include "TestGraph.h"

#include "bycc/Eval/Eval.h"
#include "bycc/Transforms/PrecisionRules.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

using namespace bycc;

namespace {

constexpr const char *eager = R"({"schema": 1,
  "always": ["nn.dense"], "moves": ["nn.relu", "transpose", "concatenate", "split", "cast", "maximum", "reshape"],
  "follow": ["add", "multiply", "tanh"], "never": ["nn.softmax"],
  "cost": {"launch_us": 0, "gb_per_s": 1, "table_bytes": 0,
           "gflops": {"float32": 0.01, "avx512bf16": 1}}})";

// Values are matrices of 8 x 8.
class Program {
public:
  explicit Program(uint32_t seed) : random_(seed) {
    for (const char *name : {"x", "y"})
      values_.push_back(g.param(name, {Dim(8), Dim(8)}));
    for (int i = 0; i < 20; ++i)
      values_.push_back(step());
    g.finish(g.builder.tuple(std::vector{values_.back(), pick(), pick()}));
  }
  TestGraph g;

  std::vector<Tensor> evaluateIt() {
    std::mt19937 random(1);
    std::vector<Tensor> inputs;
    for (int i = 0; i < 2; ++i) {
      std::vector<double> data;
      for (int k = 0; k < 64; ++k)
        data.push_back(static_cast<double>(random() % 1000) / 500 - 1);
      inputs.push_back(*Tensor::fromDoubles(DType::Float32, {8, 8}, data));
    }
    auto result = evaluate(g.module, g.main, inputs);
    INFO((result ? "" : result.error().str()));
    REQUIRE(result);
    return *result;
  }

private:
  NodeId pick() {
    return values_[values_.size() - 1 - random_() % std::min<size_t>(values_.size(), 4)];
  }
  NodeId weight() {
    std::vector<float> data;
    for (int i = 0; i < 64; ++i)
      data.push_back(static_cast<float>(random_() % 101) / 200 - 0.25f);
    return g.floats({Dim(8), Dim(8)}, data);
  }
  // Columns of two halves, the other way round.
  NodeId swapped(NodeId a) {
    NodeId parts =
        g.call(ops::split, {a}, {{"indices_or_sections", AttrValue(2)}, {"axis", AttrValue(1)}});
    auto first = g.builder.project(parts, 0), second = g.builder.project(parts, 1);
    REQUIRE((first && second));
    NodeId fields = g.builder.tuple(std::vector{*second, *first});
    return g.call(ops::concatenate, {fields}, {{"axis", AttrValue(1)}});
  }
  NodeId step() {
    switch (random_() % 10) {
    case 0:
    case 1:
    case 2:
      return g.call(ops::nn_dense, {pick(), weight()}, {{"units", AttrValue(8)}});
    case 3:
      return g.call(ops::add, {pick(), pick()});
    case 4:
      return g.call(ops::multiply, {pick(), weight()});
    case 5:
      return g.call(ops::nn_relu, {pick()});
    case 6:
      return g.call(ops::tanh, {pick()});
    case 7:
      return g.call(ops::nn_softmax, {pick()});
    case 8:
      return g.call(ops::transpose, {pick()},
                    {{"axes", AttrValue::ints(std::vector<int64_t>{1, 0})}});
    default:
      return swapped(pick());
    }
  }

  std::mt19937 random_;
  std::vector<NodeId> values_;
};

bool run(TestGraph &g, const PrecisionRules &rules) {
  PassContext context;
  context.target = &g.target;
  context.precision = &rules;
  auto changed = toMixedPrecision(g.module, context);
  INFO((changed ? "" : changed.error().str()));
  REQUIRE(changed);
  auto verified = verify(g.module);
  INFO((verified ? "" : verified.error().str()));
  REQUIRE(verified);
  return *changed;
}

double largest(const Tensor &tensor) {
  double most = 0;
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    most = std::max(most, std::abs(tensor.real(i)));
  return most;
}

} // namespace

TEST_CASE("random programs in mixed precision") {
  auto rules = readPrecisionRules(eager, "eager.json");
  INFO((rules ? "" : rules.error().str()));
  REQUIRE(rules);
  int numChanged = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    Program program(seed);
    std::vector<Tensor> before = program.evaluateIt();
    TypeId type = program.g.module.type(program.g.result());
    numChanged += run(program.g, *rules);
    CHECK(program.g.module.type(program.g.result()) == type);
    std::string once = printModule(program.g.module);
    run(program.g, *rules);
    CHECK(printModule(program.g.module) == once);
    std::vector<Tensor> after = program.evaluateIt();
    REQUIRE(after.size() == before.size());
    for (size_t k = 0; k < after.size(); ++k)
      for (int64_t i = 0; i < after[k].numElements(); ++i)
        CHECK(std::abs(after[k].real(i) - before[k].real(i)) <= 0.05 * (largest(before[k]) + 0.1));
  }
  CHECK(numChanged > 40);
}

TEST_CASE("the built-in rules name no operator twice and convert products") {
  const PrecisionRules &rules = builtinPrecisionRules();
  CHECK(rules.classOf(ops::nn_conv2d) == PrecisionClass::Always);
  CHECK(rules.classOf(ops::nn_softmax) == PrecisionClass::Never);
  CHECK(rules.classOf(ops::argmax) == PrecisionClass::Never);
}

TEST_CASE("rows of weights keep their sums in bfloat16") {
  constexpr int64_t rows = 6, columns = 200;
  TestGraph g;
  std::mt19937 random(3);
  std::vector<float> weights;
  for (int64_t i = 0; i < rows * columns; ++i)
    weights.push_back(static_cast<float>(random() % 20001) / 10000 - 0.7f);
  NodeId x = g.param("x", {Dim(512), Dim(columns)});
  NodeId w = g.floats({Dim(rows), Dim(columns)}, weights);
  g.finish(g.call(ops::nn_dense, {x, w}, {{"units", AttrValue(rows)}}));
  auto rules = readPrecisionRules(eager, "eager.json");
  REQUIRE(rules);
  REQUIRE(run(g, *rules));
  auto isDense = [&](NodeId node) { return g.module.isOp(node, ops::nn_dense); };
  NodeId dense = *std::ranges::find_if(g.nodes(), isDense);
  const Constant &half = g.module.constant(g.module.operands(dense)[1]);
  REQUIRE(g.module.types.dtype(half.type) == DType::BFloat16);
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i) {
      uint16_t bits;
      std::memcpy(&bits, half.data() + 2 * i, sizeof bits);
      double error = static_cast<double>(bfloat16ToFloat(bits)) - weights[i];
      CHECK(std::abs(error) <= std::abs(weights[i]) / 128); // one of its two neighbours
      sum += error;
    }
    CHECK(std::abs(sum) < 0.004); // half a step; some 0.016 when each goes to the nearest
  }
}

TEST_CASE("a gain that is small for the function is not taken") {
  auto convertedWith = [](const char *leastGain) {
    TestGraph g;
    NodeId x = g.param("x", {Dim(64), Dim(64)});
    NodeId w = g.floats({Dim(64), Dim(64)}, std::vector<float>(64 * 64, 0.5f));
    g.finish(g.call(ops::nn_dense, {x, w}, {{"units", AttrValue(64)}}));
    std::string text = eager, member = "\"table_bytes\"";
    text.insert(text.find(member), std::string("\"least_gain\": ") + leastGain + ", ");
    auto rules = readPrecisionRules(text, "eager.json");
    INFO((rules ? "" : rules.error().str()));
    REQUIRE(rules);
    return run(g, *rules);
  };
  CHECK(convertedWith("0.05"));
  CHECK_FALSE(convertedWith("0.999")); // arithmetic is a hundredth, but there are conversions
}
