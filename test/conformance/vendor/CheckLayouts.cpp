// Operators in the layouts that the vendor's file asks for: cases and random networks of images,
// channels first, are converted as users' programs are, and its regions compared.
#include "Checks.h"
#include "KeptCase.h"
#include "PartitionedProgram.h"

#include "Cases.h"

#include "bycc/IR/Builder.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>
#include <random>

namespace bycc::conformance {

namespace {

constexpr uint32_t numNetworks = 24;
constexpr int64_t channels = 8;

AttrValue ints(std::initializer_list<int64_t> values) {
  return AttrValue::ints(std::span(values.begin(), values.size()));
}

// A call of as many values as it has no constants for.
struct Step {
  OpId op;
  AttrDict attrs;
  std::vector<std::vector<int64_t>> constants = {};
  size_t arity = 1;
};

const std::vector<Step> &steps() {
  AttrValue none = ints({0, 0}), one = ints({1, 1});
  AttrValue edges(AttrValue::List{none, none, one, ints({0, 2})});
  static const std::vector<Step> table = {
      {ops::nn_conv2d, {{"padding", one}}, {{channels, channels, 3, 3}}},
      {ops::nn_conv2d, {}, {{channels, channels, 1, 1}}},
      {ops::nn_conv2d,
       {{"groups", AttrValue(channels)}, {"padding", ints({1, 0, 2, 1})}},
       {{channels, 1, 3, 3}}},
      {ops::nn_conv2d,
       {{"groups", AttrValue(2)}, {"strides", ints({2, 1})}},
       {{channels, 4, 2, 3}}},
      {ops::nn_bias_add, {{"axis", AttrValue(1)}}, {{channels}}},
      {ops::nn_prelu, {{"axis", AttrValue(1)}}, {{channels}}},
      {ops::nn_softmax, {{"axis", AttrValue(1)}}},
      {ops::nn_max_pool2d,
       {{"pool_size", ints({3, 2})}, {"strides", ints({2, 1})}, {"padding", ints({1, 0})}}},
      {ops::nn_avg_pool2d,
       {{"pool_size", ints({2, 2})}, {"padding", one}, {"count_include_pad", AttrValue(true)}}},
      {ops::nn_global_avg_pool2d, {}},
      {ops::image_resize2d,
       {{"size", ints({5, 8})}, {"coordinate_transformation_mode", AttrValue("half_pixel")}}},
      {ops::nn_pad, {{"pad_width", edges}}, {{}}},
      {ops::mean, {{"axis", ints({2, 3})}, {"keepdims", AttrValue(true)}}},
      {ops::nn_relu, {}},
      {ops::clip, {{"a_min", AttrValue(0.125)}, {"a_max", AttrValue(2.0)}}},
      {ops::add, {}, {}, 2},
      {ops::multiply, {}, {}, 2},
      {ops::add, {}, {{channels, 1, 1}}},
  };
  return table;
}

// A network of images, channels first; what types do not fit is left out.
class Network {
public:
  explicit Network(uint32_t seed) : random_(seed) {
    Module &module = subject.module;
    for (int i = 0; i < 2; ++i)
      values_.push_back(subject.param(
          module.types.tensor(DType::Float32, {Dim(2), Dim(channels), Dim(9), Dim(7)})));
    size_t size = 2 + 3 + seed % 8;
    for (size_t tries = 0; tries < 8 * size && values_.size() < size; ++tries)
      add(steps()[random_() % steps().size()]);
    subject.setResults({values_.back(), values_[values_.size() / 2]});
  }
  Subject subject;

private:
  // Of the last ones: networks are deep.
  NodeId pick() {
    return values_[values_.size() - 1 - random_() % std::min<size_t>(values_.size(), 3)];
  }

  NodeId constant(const std::vector<int64_t> &shape) {
    Tensor tensor = noise(DType::Float32, shape, static_cast<uint32_t>(random_()));
    return subject.module.addConstant(DType::Float32, std::vector<Dim>(shape.begin(), shape.end()),
                                      tensor.bytes.get(),
                                      static_cast<uint64_t>(tensor.sizeBytes()));
  }

  void add(const Step &step) {
    Module &module = subject.module;
    std::vector<NodeId> operands;
    for (size_t i = 0; i < step.arity; ++i)
      operands.push_back(pick());
    for (const std::vector<int64_t> &shape : step.constants)
      operands.push_back(constant(shape));
    std::vector<NodeId> &nodes = module.block(module.function(subject.function).body).nodes;
    size_t before = nodes.size();
    Expected<NodeId> call =
        Builder(module, module.function(subject.function).body).call(step.op, operands, step.attrs);
    if (call)
      values_.push_back(*call);
    else
      module.block(module.function(subject.function).body).nodes.resize(before);
  }

  std::mt19937 random_; // the same numbers everywhere, unlike the distributions
  std::vector<NodeId> values_;
};

// What was tried, and how much of it the vendor took.
class LayoutCheck {
public:
  LayoutCheck(const Setup &setup, Findings &findings) : setup_(setup), findings_(findings) {}

  void check(const std::string &item, Subject &subject, const std::vector<Tensor> &inputs) {
    findings_.begin(item);
    if (findings_.isGap(item))
      return;
    std::string why = whyNot(item, subject, inputs);
    findings_.expect(why.empty(), item, why);
  }
  size_t numRegions() const { return numRegions_; }

private:
  std::string whyNot(const std::string &item, Subject &subject, const std::vector<Tensor> &inputs) {
    Module &module = subject.module;
    Expected<std::vector<Tensor>> wanted = evaluate(module, subject.function, inputs);
    if (!wanted)
      return ""; // nothing to compare with
    PassContext context = contextOf(setup_);
    Expected<bool> isConverted = convertLayout(module, context);
    if (!isConverted)
      return isConverted.error().message();
    if (!*isConverted)
      return "";
    noteCase(setup_, subject, inputs);
    Expected<std::vector<Tensor>> converted = evaluate(module, subject.function, inputs);
    if (!converted)
      return converted.error().message();
    if (std::string why = differenceOf(*converted, *wanted); !why.empty())
      return "convert-layout makes another program: " + why;
    if (Expected<> done = partition(setup_, module); !done)
      return done.error().message();
    numRegions_ += regionsOf(setup_, module).size();
    return runRegions(setup_, module, setup_.gaps.unitsOf("numeric.layouts/" + item));
  }

  const Setup &setup_;
  Findings &findings_;
  size_t numRegions_ = 0;
};

} // namespace

void checkLayouts(const Setup &setup, Findings &findings) {
  const auto &wishes = setup.vendor->layouts;
  if (wishes.empty())
    return findings.skip("the vendor's file has no layouts");
  LayoutCheck check(setup, findings);
  for (const numeric::Case &each : numeric::loadCases(setup.casesFolder)) {
    Subject subject;
    if (!wishes.contains(each.op.index) || !each.error.empty())
      continue;
    Expected<NodeId> call =
        numeric::addCall(subject.module, subject.function, each, true, numeric::Extents::Known);
    if (!call)
      continue;
    subject.setResults({*call});
    check.check(each.name, subject, numeric::parameters(each, true));
  }
  for (uint32_t seed = setup.seed; seed < setup.seed + numNetworks; ++seed) {
    Network network(seed);
    check.check("seed " + std::to_string(seed), network.subject, network.subject.inputs(seed));
  }
  if (check.numRegions() == 0)
    findings.skip("the vendor takes nothing in the layouts of its file");
}

} // namespace bycc::conformance
