// See RandomSubject.h. A table of calls is tried on random values; one whose types
// do not fit, or that the vendor refuses, is left out.
#include "RandomSubject.h"

#include "bycc/IR/Builder.h"

#include <algorithm>
#include <random>

namespace bycc::conformance {

namespace {

using Shape = std::vector<int64_t>;

AttrValue ints(std::initializer_list<int64_t> values) {
  return AttrValue::ints(std::span(values.begin(), values.size()));
}

// A call and the shapes of operands beyond the first that must be made for it; an
// empty list: any two values.
struct Template {
  OpId op;
  size_t arity;
  AttrDict attrs;
  std::vector<Shape> weights; // constants
  bool onlyIntegers = false;
};

// Nothing that rounding can turn over (comparing floats, floor) and nothing that makes
// NaN of usual values (sqrt): these have cases of their own.

const std::vector<Template> &templates() {
  static const std::vector<Template> table = {
      {ops::abs, 1, {}, {}},
      {ops::add, 2, {}, {}},
      {ops::bitwise_xor, 2, {}, {}},
      {ops::cast, 1, {{"dtype", AttrValue("float32")}}, {}},
      {ops::clip, 1, {{"a_min", AttrValue(0.125)}, {"a_max", AttrValue(2.0)}}, {}},
      {ops::greater, 2, {}, {}, true},
      {ops::logical_not, 1, {}, {}},
      {ops::maximum, 2, {}, {}},
      {ops::mean, 1, {{"axis", ints({-1})}, {"keepdims", AttrValue(true)}}, {}},
      {ops::minimum, 2, {}, {}},
      {ops::multiply, 2, {}, {}},
      {ops::negative, 1, {}, {}},
      {ops::nn_batch_flatten, 1, {}, {}},
      {ops::nn_bias_add, 1, {{"axis", AttrValue(1)}}, {{4}}},
      {ops::nn_conv2d, 1, {{"padding", ints({1, 1})}}, {{4, 4, 3, 3}}},
      {ops::nn_dense, 1, {{"units", AttrValue()}}, {{4, 6}}},
      {ops::nn_dense, 1, {{"units", AttrValue()}}, {{6, 4}}},
      {ops::nn_max_pool2d, 1, {{"pool_size", ints({3, 3})}, {"padding", ints({1, 1})}}, {}},
      {ops::nn_relu, 1, {}, {}},
      {ops::nn_softmax, 1, {}, {}},
      {ops::reshape, 1, {{"newshape", ints({0, -1})}}, {}},
      {ops::sigmoid, 1, {}, {}},
      {ops::subtract, 2, {}, {}},
      {ops::sum, 1, {{"axis", ints({1})}}, {}},
      {ops::tanh, 1, {}, {}},
      {ops::transpose, 1, {{"axes", AttrValue()}}, {}},
      {ops::where, 3, {}, {}},
  };
  return table;
}

class RandomBuilder {
public:
  RandomBuilder(const Setup &setup, uint32_t seed, bool isOpen = false)
      : setup_(setup), isOpen_(isOpen), random_(seed) {}

  std::optional<Subject> build(size_t size) {
    addLeaves();
    for (size_t tries = 0; tries < 40 * size && calls_.size() < size; ++tries)
      tryCall(templates()[pick(templates().size())]);
    if (calls_.empty())
      return std::nullopt;
    subject_.setResults(results());
    dropUnread();
    return std::move(subject_);
  }
  size_t numCalls() const { return calls_.size(); }

private:
  size_t pick(size_t count) { return random_() % count; }

  TypeId type(DType dtype, const Shape &shape) {
    std::vector<Dim> dims(shape.begin(), shape.end());
    if (isOpen_ && shape.size() > 1 && shape[0] == batch)
      dims[0] = subject_.module.types.symbol("n");
    return subject_.module.types.tensor(dtype, dims);
  }
  NodeId constant(DType dtype, const Shape &shape) {
    Tensor tensor = noise(dtype, shape, static_cast<uint32_t>(random_()));
    std::vector<Dim> dims(shape.begin(), shape.end());
    return subject_.module.addConstant(dtype, dims, tensor.bytes.get(),
                                       static_cast<uint64_t>(tensor.sizeBytes()));
  }

  void addLeaves() {
    for (const Shape &shape :
         {Shape{batch, 6}, Shape{batch, 6}, Shape{batch, 4, 5, 5}, Shape{4, 1, 1}})
      values_.push_back(subject_.param(type(DType::Float32, shape)));
    values_.push_back(subject_.param(type(DType::Int32, {batch, 6})));
    values_.push_back(constant(DType::Float32, {}));
    values_.push_back(constant(DType::Float32, {2, 1}));
  }

  void tryCall(const Template &each) {
    std::vector<NodeId> operands;
    for (size_t i = 0; i < each.arity; ++i)
      operands.push_back(values_[pick(values_.size())]);
    for (const Shape &shape : each.weights)
      operands.push_back(constant(DType::Float32, shape));
    Module &module = subject_.module;
    if (each.onlyIntegers && isFloat(module.types.dtype(module.type(operands[0]))))
      return;
    std::vector<NodeId> &nodes = module.block(module.function(subject_.function).body).nodes;
    size_t before = nodes.size();
    Expected<NodeId> call = Builder(module, module.function(subject_.function).body)
                                .call(each.op, operands, each.attrs);
    if (call && askSupports(setup_, module, *call).yes) {
      calls_.push_back(*call);
      values_.push_back(*call);
      return;
    }
    module.block(module.function(subject_.function).body).nodes.resize(before);
  }

  // What nothing reads, and some of the rest.
  std::vector<NodeId> results() {
    std::vector<NodeId> list;
    for (NodeId call : calls_) {
      bool isRead = std::ranges::any_of(calls_, [&](NodeId other) {
        return std::ranges::count(subject_.module.operands(other), call) > 0;
      });
      if (!isRead || pick(4) == 0)
        list.push_back(call);
    }
    return list;
  }

  // Regions have no inputs that nobody reads.
  void dropUnread() {
    std::erase_if(subject_.module.function(subject_.function).params, [&](NodeId param) {
      return std::ranges::none_of(calls_, [&](NodeId call) {
        return std::ranges::count(subject_.module.operands(call), param) > 0;
      });
    });
  }

  static constexpr int64_t batch = 2;
  const Setup &setup_;
  const bool isOpen_;
  std::mt19937 random_; // the same numbers everywhere, unlike the distributions
  Subject subject_;
  std::vector<NodeId> values_, calls_;
};

} // namespace

std::optional<Subject> randomSubject(const Setup &setup, uint32_t seed, size_t size) {
  return RandomBuilder(setup, seed).build(size);
}

std::optional<Subject> randomOpenSubject(const Setup &setup, uint32_t seed, size_t size) {
  std::optional<Subject> subject = RandomBuilder(setup, seed, true).build(size);
  if (!subject)
    return std::nullopt;
  const Module &module = subject->module;
  bool isOpen = std::ranges::any_of(module.function(subject->function).params, [&](NodeId param) {
    return !module.types.isStatic(module.type(param));
  });
  return isOpen ? std::move(subject) : std::nullopt;
}

uint64_t constantBytes(const Subject &subject) {
  uint64_t bytes = 0;
  const Module &module = subject.module;
  for (NodeId node : module.block(module.function(subject.function).body).nodes)
    for (NodeId operand : module.operands(node))
      if (module.isConstant(operand))
        bytes += module.constant(operand).bytes;
  return bytes;
}

std::optional<Subject> sampleSubject(const Setup &setup) {
  std::optional<Subject> best;
  size_t most = 0;
  for (uint32_t seed = setup.seed; seed < setup.seed + 20 && most < 3; ++seed) {
    RandomBuilder builder(setup, seed);
    std::optional<Subject> subject = builder.build(8);
    if (subject && builder.numCalls() > most) {
      most = builder.numCalls();
      best = std::move(subject);
    }
  }
  return best;
}

} // namespace bycc::conformance
