// Weights of few bits beside activations that are real: products keep them so, and give what the
// same weights as floats do.
#include "ModelMaker.h"
#include "bycc/Eval/Eval.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::test;

namespace {

using ::onnx::TensorProto;
constexpr int uint4 = 21, int4 = 22; // younger than the system's ONNX

// A tensor with these bytes.
TensorProto bytes(const std::string &name, int type, const Ints &dims,
                  const std::vector<uint8_t> &data) {
  TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  tensor.set_raw_data(data.data(), data.size());
  return tensor;
}

std::vector<uint8_t> counted(size_t count, uint8_t step) {
  std::vector<uint8_t> data;
  for (size_t i = 0; i < count; ++i)
    data.push_back(static_cast<uint8_t>(i * step + 3));
  return data;
}

uint8_t half(const std::vector<uint8_t> &data, int64_t i) {
  return data[static_cast<size_t>(i / 2)] >> (i % 2 ? 4 : 0) & 15;
}

// Of x = 0.25, 0.5, ..., one row, what the model makes; and its operators.
std::vector<double> run(const ModelMaker &maker, int64_t depth) {
  Expected<Module> module = maker.import();
  INFO((module ? std::string() : module.error().str()));
  REQUIRE(module);
  std::vector<double> x;
  for (int64_t k = 0; k < depth; ++k)
    x.push_back(0.25 * static_cast<double>(k + 1));
  auto outputs = evaluate(*module, module->main(),
                          std::vector<Tensor>{*Tensor::fromDoubles(DType::Float32, {1, depth}, x)});
  REQUIRE(outputs);
  const Tensor &y = outputs->front();
  std::vector<double> values;
  for (int64_t i = 0; i < y.numElements(); ++i)
    values.push_back(y.real(i));
  return values;
}

// x times (units, depth) weights.
std::vector<double> product(int64_t units, int64_t depth,
                            const std::function<double(int64_t, int64_t)> &weight) {
  std::vector<double> y;
  for (int64_t n = 0; n < units; ++n) {
    y.push_back(0);
    for (int64_t k = 0; k < depth; ++k)
      y.back() += 0.25 * static_cast<double>(k + 1) * weight(n, k);
  }
  return y;
}

ModelMaker contrib(const std::string &op, const Names &inputs, const Ints &x, int type,
                   const std::vector<TensorProto> &constants) {
  ModelMaker maker;
  maker.opset(21);
  maker.opset(1, "com.microsoft");
  maker.input("x", x, type);
  for (const TensorProto &tensor : constants)
    maker.constant(tensor);
  maker.node(op, inputs, {"y"}).domain("com.microsoft");
  maker.output("y");
  return maker;
}

NodeMaker last(ModelMaker &maker) {
  return NodeMaker(*maker.graph.mutable_node(maker.graph.node_size() - 1));
}

} // namespace

TEST_CASE("MatMulNBits of 4 bits, with zero points of each form") {
  constexpr int64_t units = 3, depth = 48, blocks = 3;
  std::vector<uint8_t> weights = counted(units * depth / 2, 37), zeros = counted(units * 2, 51);
  std::vector<float> scales{0.5f, 1, 2, 0.25f, 1.5f, 1, 3, 0.125f, 1}, own = scales;
  std::vector<TensorProto> all{bytes("w", TensorProto::UINT8, {units, blocks, 8}, weights),
                               floats("s", {units * blocks}, scales),
                               bytes("z", TensorProto::UINT8, {units, 2}, zeros),
                               floats("r", {units, blocks}, own), floats("b", {units}, {1, 2, 3})};
  auto real = [&](int64_t n, int64_t k, double zero) {
    return (half(weights, n * depth + k) - zero) * scales[static_cast<size_t>(n * blocks + k / 16)];
  };
  auto made = [&](const Names &inputs) {
    ModelMaker maker = contrib("MatMulNBits", inputs, {1, depth}, f32, all);
    last(maker)
        .integer("K", depth)
        .integer("N", units)
        .integer("block_size", 16)
        .integer("bits", 4);
    CHECK(has(summary(maker), "nn.dense_weight_only"));
    return run(maker, depth);
  };
  CHECK(made({"x", "w", "s"}) ==
        product(units, depth, [&](int64_t n, int64_t k) { return real(n, k, 8); }));
  CHECK(made({"x", "w", "s", "z"}) == product(units, depth, [&](int64_t n, int64_t k) {
          return real(n, k, half(zeros, n * 4 + k / 16)); // rows of whole bytes
        }));
  std::vector<double> biased = product(units, depth, [&](int64_t n, int64_t k) {
    return real(n, k, own[static_cast<size_t>(n * blocks + k / 16)]);
  });
  for (size_t n = 0; n < biased.size(); ++n)
    biased[n] += static_cast<double>(n + 1);
  CHECK(made({"x", "w", "s", "r", "", "b"}) == biased);
}

TEST_CASE("MatMulNBits of 8 bits, with a last block that is cut off") {
  constexpr int64_t units = 2, depth = 20;
  std::vector<uint8_t> weights = counted(units * 32, 41);
  ModelMaker maker = contrib("MatMulNBits", {"x", "w", "s"}, {1, depth}, f32,
                             {bytes("w", TensorProto::UINT8, {units, 2, 16}, weights),
                              floats("s", {units, 2}, {1, 2, 0.5f, 4})});
  last(maker).integer("K", depth).integer("N", units).integer("block_size", 16).integer("bits", 8);
  float scales[] = {1, 2, 0.5f, 4};
  CHECK(run(maker, depth) == product(units, depth, [&](int64_t n, int64_t k) {
          return (weights[static_cast<size_t>(n * 32 + k)] - 128.) * scales[n * 2 + k / 16];
        }));
}

TEST_CASE("MatMulNBits: what is wrong, and what is not read") {
  std::vector<TensorProto> all{bytes("w", TensorProto::UINT8, {2, 1, 8}, counted(16, 1)),
                               floats("s", {2, 1}), longs("g", {16}, Ints(16, 0))};
  auto problem = [&](const Names &inputs, int64_t depth, int64_t bits) {
    ModelMaker maker = contrib("MatMulNBits", inputs, {1, 16}, f32, all);
    last(maker).integer("K", depth).integer("N", 2).integer("block_size", 16).integer("bits", bits);
    return problemOf(maker.import());
  };
  CHECK(has(problem({"x", "w", "s"}, 16, 2), "weights of 2 bits"));
  CHECK(has(problem({"x", "w", "s"}, 32, 4), "wanted 2 x 16 elements"));
  CHECK(has(problem({"x", "s", "s"}, 16, 4), "B is float32, wanted uint8"));
  CHECK(has(problem({"x", "w", "s", "", "g"}, 16, 4), "g_idx"));
  CHECK(has(problem({"x", "w", "s"}, INT64_MAX, 4), "weights in blocks of 16"));
}

TEST_CASE("a product with a dequantised constant of 4 bits keeps it so") {
  constexpr int64_t units = 3, depth = 8;
  std::vector<uint8_t> weights = counted(units * depth / 2, 29);
  auto value = [&](int64_t i, bool isSigned) {
    int stored = half(weights, i);
    return isSigned && stored > 7 ? stored - 16 : stored;
  };
  for (bool isSigned : {true, false})
    for (const char *form : {"MatMul", "Gemm", "Transpose"}) {
      bool isMatMul = form == std::string("MatMul"), isGemm = form == std::string("Gemm");
      ModelMaker maker;
      maker.opset(21);
      maker.input("x", {1, depth});
      Ints shape = isMatMul ? Ints{depth, units} : Ints{units, depth};
      maker.constant(bytes("w", isSigned ? int4 : uint4, shape, weights));
      maker.constant(
          floats("s", isMatMul ? Ints{2, units} : Ints{units, 2}, {1, 2, 3, 0.5f, 4, 5}));
      maker.node("DequantizeLinear", {"w", "s"}, {"real"})
          .integer("axis", isMatMul ? 0 : 1)
          .integer("block_size", 4);
      if (isGemm) {
        maker.node("Gemm", {"x", "real"}, {"y"}).integer("transB", 1);
      } else if (!isMatMul) {
        maker.node("Transpose", {"real"}, {"turned"});
        maker.node("MatMul", {"x", "turned"}, {"y"});
      } else {
        maker.node("MatMul", {"x", "real"}, {"y"});
      }
      maker.output("y");
      CHECK(has(summary(maker), "nn.dense_weight_only : Tensor[(1, 3), float32]"));
      double scales[] = {1, 2, 3, 0.5, 4, 5};
      CHECK(run(maker, depth) == product(units, depth, [&](int64_t n, int64_t k) {
              return value(isMatMul ? k * units + n : n * depth + k, isSigned) *
                     scales[isMatMul ? k / 4 * units + n : n * 2 + k / 4];
            }));
    }
}

TEST_CASE("values of 4 bits are read as what they are, and not made") {
  ModelMaker maker;
  maker.opset(21);
  maker.input("x", {3});
  maker.constant(bytes("w", int4, {3}, {0x9f, 0x07}));
  maker.constant(floats("s", {}, {1}));
  maker.constant(bytes("z", int4, {}, {0}));
  maker.node("DequantizeLinear", {"w", "s"}, {"real"});
  maker.node("Add", {"x", "real"}, {"y"});
  maker.output("y");
  Expected<Module> module = maker.import();
  REQUIRE(module);
  CHECK(has(printModule(*module), "-1, -7, 7"));
  maker.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  maker.output("q");
  CHECK(has(problemOf(maker.import()), "a result of 4 bits"));
}

TEST_CASE("rows of a table of 4 bits") {
  std::vector<uint8_t> table = counted(3 * 16, 19);
  ModelMaker maker = contrib(
      "GatherBlockQuantized", {"t", "x", "s"}, {2}, i64,
      {bytes("t", TensorProto::UINT8, {3, 16}, table), floats("s", {3, 2}, {1, 2, 4, 8, 0.5f, 3})});
  last(maker).integer("block_size", 16);
  Expected<Module> module = maker.import();
  REQUIRE(module);
  auto rows = Tensor::fromDoubles(DType::Int64, {2}, std::vector<double>{2, 0});
  auto outputs = evaluate(*module, module->main(), std::vector<Tensor>{*rows});
  REQUIRE(outputs);
  const Tensor &y = outputs->front();
  CHECK(y.shape == Ints{2, 32});
  float scales[] = {0.5f, 3, 1, 2};
  for (int64_t i = 0; i < 64; ++i)
    CHECK(y.real(i) == (half(table, (i < 32 ? 64 : 0) + i % 32) - 8.) * scales[i / 16]);
  last(maker).integer("bits", 2);
  CHECK(has(problemOf(maker.import()), "values of 2 bits"));
}
