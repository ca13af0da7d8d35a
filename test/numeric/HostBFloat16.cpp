// Operators in bfloat16 on the host, against Eval: all operator cases that have floats,
// and products large enough for every form of their loops, on targets with and without
// instructions for bfloat16.

#include "HostRun.h"

#include "bycc/IR/Builder.h"
#include "bycc/IR/Infer.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>

using namespace bycc;
using namespace bycc::numeric;

namespace {

const char *const cpus[] = {"native", "skylake-avx512", "x86-64-v3", "x86-64"};

// "" when bfloat16 numbers are equal or neighbours: sums are kept in wider types, so
// that one rounding is left. Other floats may differ by what float32 lets differ.
std::string neighbours(const Tensor &actual, const Tensor &expected) {
  if (expected.dtype != DType::BFloat16)
    return difference(actual, expected);
  for (int64_t i = 0; i < expected.numElements(); ++i) {
    double a = actual.real(i), e = expected.real(i);
    double step = std::ldexp(1.0, std::max(std::ilogb(e), -126) - 7);
    bool isSame = a == e || (std::isnan(a) && std::isnan(e)) ||
                  (std::isfinite(e) && std::fabs(a - e) <= step + 2e-6);
    if (!isSame)
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", wanted " +
             std::to_string(e);
  }
  return "";
}

// Returns how many cases ran.
size_t checkCases(const char *cpu) {
  TargetInfo target = *resolveTarget("", cpu, "");
  size_t ran = 0;
  for (const Case &given : loadCases(BYCC_SOURCE_DIR "/test/numeric")) {
    if (!given.error.empty())
      continue;
    INFO(given.name << " in bfloat16 for " << cpu);
    auto each = inBFloat16(given);
    if (!each)
      continue;
    auto module = makeModule(*each, true, Extents::Known);
    auto built = build(*module, target);
    if (!built)
      WARN(built.error().str());
    REQUIRE(built);
    ++ran;
    run(*each, *built, true, neighbours);
  }
  return ran;
}

// Numbers in [-1, 1) that are bfloat16, the same every time.
Tensor numbers(std::vector<int64_t> shape, uint32_t seed) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    values.push_back(static_cast<double>(seed >> 24) / 128 - 1);
  }
  return *Tensor::fromDoubles(DType::BFloat16, std::move(shape), values);
}

// One product; NaN in its inputs must not reach more results than Eval says.
struct Product {
  OpId op;
  std::vector<int64_t> left, right;
  AttrDict attrs = {};
  bool isConstant = true; // the right operand
};

AttrValue ints(std::initializer_list<int64_t> values) {
  AttrValue::List list(values.size());
  std::copy(values.begin(), values.end(), list.begin());
  return AttrValue(std::move(list));
}

AttrDict conv(int64_t stride, int64_t padding, int64_t groups = 1, bool isChannelLast = false) {
  return {{"strides", ints({stride, stride})},
          {"padding", ints({padding, padding, padding, padding})},
          {"groups", AttrValue(groups)},
          {"data_layout", AttrValue(std::string(isChannelLast ? "NHWC" : "NCHW"))},
          {"kernel_layout", AttrValue(std::string(isChannelLast ? "HWIO" : "OIHW"))}};
}

const Product products[] = {
    {ops::nn_dense, {1, 64}, {48, 64}},
    {ops::nn_dense, {7, 33}, {37, 33}},
    {ops::nn_dense, {30, 96}, {130, 96}},
    {ops::nn_dense, {5, 2}, {17, 2}},
    {ops::nn_dense, {9, 40}, {32, 40}, {}, false},
    {ops::nn_dense, {9, 41}, {20, 41}, {}, false},
    {ops::nn_matmul, {31, 24}, {24, 48}, {}, false},
    {ops::nn_matmul, {12, 31}, {12, 50}, {{"transpose_a", AttrValue(true)}}, false},
    {ops::nn_batch_matmul, {3, 17, 32}, {3, 19, 32}, {{"transpose_b", AttrValue(true)}}, false},
    {ops::nn_batch_matmul, {3, 17, 33}, {3, 33, 64}, {{"transpose_b", AttrValue(false)}}, false},
    {ops::nn_batch_matmul, {2, 9, 16}, {1, 16, 20}, {{"transpose_b", AttrValue(false)}}},
    {ops::nn_conv2d, {1, 3, 17, 19}, {20, 3, 7, 7}, conv(2, 3)},
    {ops::nn_conv2d, {2, 16, 9, 9}, {24, 16, 1, 1}, conv(1, 0)},
    {ops::nn_conv2d, {1, 17, 9, 9}, {33, 17, 3, 3}, conv(1, 1)},
    {ops::nn_conv2d, {1, 32, 9, 10}, {32, 32, 3, 3}, conv(2, 1)},
    {ops::nn_conv2d, {1, 12, 8, 8}, {24, 4, 3, 3}, conv(1, 1, 3)},
    {ops::nn_conv2d, {1, 9, 8, 8}, {21, 3, 3, 3}, conv(1, 0, 3)},
    {ops::nn_conv2d, {1, 24, 11, 11}, {24, 1, 3, 3}, conv(2, 1, 24)},
    {ops::nn_conv2d, {1, 9, 8, 16}, {1, 1, 16, 40}, conv(1, 0, 1, true)},
    {ops::nn_conv2d, {1, 9, 8, 17}, {3, 3, 17, 18}, conv(2, 1, 1, true)},
    {ops::nn_conv2d, {1, 9, 8, 16}, {3, 3, 16, 18}, conv(1, 1, 1, true)},
    {ops::nn_conv2d_transpose,
     {1, 16, 5, 5},
     {16, 12, 3, 3},
     {{"strides", ints({2, 2})}, {"padding", ints({1, 1, 1, 1})}}},
};

// The product as a case whose only inputs are parameters.
std::vector<NodeId> addParams(Module &module, FunctionId function, const Case &each) {
  std::vector<NodeId> params;
  for (const Tensor &input : parameters(each, false)) {
    std::vector<Dim> dims(input.shape.begin(), input.shape.end());
    params.push_back(module.addParam("x" + std::to_string(params.size()),
                                     module.types.tensor(input.dtype, dims)));
    module.function(function).params.push_back(params.back());
  }
  return params;
}

std::pair<Module, Case> moduleOf(const Product &product, bool hasNan) {
  Case each;
  each.op = product.op;
  Tensor left = numbers(product.left, 1), right = numbers(product.right, 2);
  if (hasNan) { // the last element, behind which nothing is
    std::vector<double> values;
    for (int64_t i = 0; i < left.numElements(); ++i)
      values.push_back(i + 1 == left.numElements() ? NAN : left.real(i));
    left = *Tensor::fromDoubles(DType::BFloat16, left.shape, values);
  }
  each.inputs = {left};
  if (!product.isConstant)
    each.inputs.push_back(right);
  Module module;
  FunctionId main = module.addFunction("main");
  Builder builder(module, module.function(main).body);
  std::vector<NodeId> operands = addParams(module, main, each);
  if (product.isConstant) {
    std::vector<Dim> dims(right.shape.begin(), right.shape.end());
    operands.push_back(module.addConstant(right.dtype, dims, right.bytes.get(),
                                          static_cast<uint64_t>(right.sizeBytes())));
  }
  AttrDict attrs = product.attrs;
  if (product.op == ops::nn_dense || product.op == ops::nn_matmul)
    attrs.push_back({"units", AttrValue(product.right[product.op == ops::nn_dense ? 0 : 1])});
  auto call = builder.call(product.op, operands, attrs);
  INFO((call ? "" : call.error().str()));
  REQUIRE(call);
  module.block(module.function(main).body).result = *call;
  auto outputs = evaluate(module, main, parameters(each, false));
  REQUIRE(outputs);
  each.outputs = *outputs;
  return {std::move(module), std::move(each)};
}

// Denormals, among other numbers whose bits are to stay; `from`: zeros of two operands do
// not meet, as the greater of 0 and -0 may be either.
Tensor denormals(std::vector<int64_t> shape, int64_t from) {
  constexpr uint16_t other[] = {0x0000, 0x8000, 0x3f80, 0xc000, 0x0080, 0x7f80, 0xff80, 0x7fc0};
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  uint8_t *data = nullptr;
  Tensor tensor = *Tensor::make(DType::BFloat16, std::move(shape), data);
  for (int64_t at = 0; at < count; ++at) {
    int64_t i = at + from;
    auto bits =
        static_cast<uint16_t>(i % 4 == 3 ? other[i / 4 % 8] : (i % 2 << 15) | (i % 127 + 1));
    std::memcpy(data + at * int64_t{sizeof bits}, &bits, sizeof bits);
  }
  return tensor;
}

// "" when all bits are equal, but for those of a NaN.
std::string sameBits(const Tensor &actual, const Tensor &expected) {
  for (int64_t i = 0; i < expected.numElements(); ++i) {
    auto bitsOf = [&](const Tensor &tensor) {
      uint16_t bits = 0;
      std::memcpy(&bits, tensor.bytes.get() + i * int64_t{sizeof bits}, sizeof bits);
      return (bits & 0x7fff) > 0x7f80 ? 0x7fc0 : bits;
    };
    if (bitsOf(actual) != bitsOf(expected))
      return "element " + std::to_string(i) + " has bits " + std::to_string(bitsOf(actual)) +
             ", wanted " + std::to_string(bitsOf(expected));
  }
  return "";
}

// An operator that moves or chooses numbers, of `count` operands.
struct Move {
  OpId op;
  AttrDict attrs = {};
  size_t count = 1;
  bool takesTuple = false;
};

const Move moves[] = {
    {ops::reshape, {{"newshape", ints({37, 2, 32})}}},
    {ops::transpose, {{"axes", ints({2, 1, 0})}}},
    {ops::concatenate, {{"axis", AttrValue(int64_t{1})}}, 2, true},
    {ops::nn_relu},
    {ops::maximum, {}, 2},
    {ops::minimum, {}, 2},
    {ops::negative},
    {ops::abs},
    {ops::clip, {{"a_min", AttrValue(-1.0)}, {"a_max", AttrValue(6.0)}}},
    {ops::max, {{"axis", ints({0})}}},
    {ops::max, {{"axis", ints({2})}}},
    {ops::nn_max_pool1d,
     {{"pool_size", ints({3})}, {"strides", ints({1})}, {"padding", ints({1, 1})}}},
};

// `isFused`: between operators that are made in one loop with it.
std::pair<Module, Case> moduleOf(const Move &move, bool isFused) {
  Case each;
  each.op = move.op;
  for (size_t i = 0; i < move.count; ++i)
    each.inputs.push_back(denormals({2, 32, 37}, static_cast<int64_t>(i)));
  Module module;
  FunctionId main = module.addFunction("main");
  Builder builder(module, module.function(main).body);
  std::vector<NodeId> operands = addParams(module, main, each);
  if (isFused)
    operands.back() = *builder.call(ops::negative, {operands.back()}, {});
  if (move.takesTuple)
    operands = {builder.tuple(operands)};
  auto call = builder.call(move.op, operands, move.attrs);
  INFO((call ? "" : call.error().str()));
  REQUIRE(call);
  module.block(module.function(main).body).result =
      isFused ? *builder.call(ops::nn_relu, {*call}, {}) : *call;
  auto outputs = evaluate(module, main, parameters(each, false));
  REQUIRE(outputs);
  each.outputs = *outputs;
  return {std::move(module), std::move(each)};
}

} // namespace

TEST_CASE("F2 J8: denormals in bfloat16 stay where host code moves and chooses") {
  struct Cpu {
    const char *name, *features;
  };
  for (Cpu cpu :
       {Cpu{"native", ""}, Cpu{"native", "-avx512bf16"}, Cpu{"x86-64-v3", ""}, Cpu{"x86-64", ""}}) {
    TargetInfo target = *resolveTarget("", cpu.name, cpu.features);
    for (size_t i = 0; i < std::size(moves); ++i)
      for (bool isFused : {false, true}) {
        INFO("move " << i << " for " << cpu.name << cpu.features << (isFused ? ", fused" : ""));
        auto [module, each] = moduleOf(moves[i], isFused);
        auto built = build(module, target);
        REQUIRE(built);
        run(each, *built, false, sameBits);
      }
  }
}

TEST_CASE("host code of operators in bfloat16 agrees with Eval") {
  for (const char *cpu : cpus)
    CHECK(checkCases(cpu) > 500);
}

TEST_CASE("host code of products in bfloat16 agrees with Eval") {
  for (const char *cpu : cpus) {
    TargetInfo target = *resolveTarget("", cpu, "");
    for (size_t i = 0; i < std::size(products); ++i)
      for (bool hasNan : {false, true}) {
        INFO("product " << i << " for " << cpu << (hasNan ? " with NaN" : ""));
        auto [module, each] = moduleOf(products[i], hasNan);
        auto built = build(module, target);
        REQUIRE(built);
        run(each, *built, false, neighbours);
      }
  }
}
