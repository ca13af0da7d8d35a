// Quantised operators mean the same after legalize: random operands, scales, zero
// points and dtypes, constant or not, evaluated bit for bit.
#include "TestGraph.h"

#include "bycc/Eval/Eval.h"

#include <cmath>
#include <random>

using namespace bycc;

namespace {

AttrValue ints(std::initializer_list<int64_t> values) {
  return AttrValue::ints(std::vector<int64_t>(values));
}
Tensor tensorOf(DType dtype, std::vector<int64_t> shape, std::vector<double> values) {
  return *Tensor::fromDoubles(dtype, std::move(shape), values);
}

class Case {
public:
  explicit Case(uint32_t seed) : random_(seed) { make(); }
  TestGraph g;

  std::vector<Tensor> evaluateIt() {
    auto result = evaluate(g.module, g.main, inputs_);
    INFO((result ? "" : result.error().str()));
    REQUIRE(result);
    return *result;
  }

private:
  uint32_t next(uint32_t count) { return random_() % count; }
  template <typename T> T oneOf(std::initializer_list<T> list) {
    return list.begin()[next(static_cast<uint32_t>(list.size()))];
  }

  // A constant, or a parameter with that value.
  NodeId value(const Tensor &tensor, bool isConstant) {
    std::vector<Dim> shape(tensor.shape.begin(), tensor.shape.end());
    if (isConstant)
      return g.module.addConstant(tensor.dtype, shape, tensor.bytes.get(),
                                  static_cast<uint64_t>(tensor.sizeBytes()));
    NodeId node = g.module.addParam("", g.module.types.tensor(tensor.dtype, shape));
    g.module.function(g.main).params.push_back(node);
    inputs_.push_back(tensor);
    return node;
  }
  NodeId data(DType dtype, std::vector<int64_t> shape, bool isConstant = false) {
    uint8_t *bytes = nullptr;
    Tensor tensor = *Tensor::make(dtype, shape, bytes);
    bool isSmall = next(2);
    for (int64_t i = 0; i < tensor.sizeBytes(); ++i)
      bytes[i] = static_cast<uint8_t>(random_());
    if (!isSmall || sizeInBytes(dtype) == 1)
      return value(tensor, isConstant);
    std::vector<double> values;
    for (int64_t i = 0; i < tensor.numElements(); ++i)
      values.push_back(static_cast<double>(next(2000)) - (isSignedInt(dtype) ? 1000 : 0));
    return value(tensorOf(dtype, shape, values), isConstant);
  }
  NodeId reals(std::vector<int64_t> shape) {
    std::vector<double> values;
    for (int64_t i = 0, n = std::max<int64_t>(shape[0] * shape[1], 1); i < n; ++i)
      values.push_back((static_cast<double>(next(4000)) - 2000) / 64);
    values[0] = oneOf<double>({NAN, 3e9, -INFINITY, 0.5});
    return value(tensorOf(DType::Float32, shape, values), false);
  }
  // Powers of two make ties.
  double scale() {
    double mantissa = oneOf({1.0, 1.0, 1.0 + next(1000) / 999.0});
    return std::ldexp(mantissa, static_cast<int>(next(10)) - 7);
  }
  bool isKnown() { return next(4) != 0; }
  NodeId scales(int64_t count) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(next(12) ? scale() : std::ldexp(scale(), static_cast<int>(next(80)) - 40));
    bool isScalar = count == 1 && next(2);
    return value(tensorOf(DType::Float32,
                          isScalar ? std::vector<int64_t>{} : std::vector<int64_t>{count}, values),
                 isKnown());
  }
  NodeId zeros(int64_t count, DType of) {
    std::vector<double> values;
    int kind = static_cast<int>(next(4));
    for (int64_t i = 0; i < count; ++i)
      values.push_back(kind == 0         ? 0
                       : isSignedInt(of) ? static_cast<double>(next(256)) - 128
                                         : static_cast<double>(next(256)));
    bool isFar = kind == 3 && next(4) == 0; // outside of the dtype: not as a constant
    if (isFar)
      values[0] = oneOf({2147483647.0, -2147483648.0, 70000.0});
    bool isConstant = isKnown() && (!isFar || of == DType::Int32);
    bool isScalar = count == 1 && next(2);
    return value(tensorOf(DType::Int32,
                          isScalar ? std::vector<int64_t>{} : std::vector<int64_t>{count}, values),
                 isConstant);
  }
  int64_t along(int64_t extent) { return next(3) == 0 ? extent : 1; }

  void make() {
    switch (next(11)) {
    case 0:
    case 1:
    case 2:
      return requantize();
    case 3:
      return real();
    case 4:
      return conv();
    case 5:
      return dense();
    case 6:
    case 7:
      return binary();
    case 8:
      return unary();
    case 9:
      return pool();
    default:
      return concatenateOrSoftmax();
    }
  }
  void requantize() {
    DType from =
        oneOf({DType::Int8, DType::UInt8, DType::Int16, DType::Int32, DType::Int32, DType::Int64});
    DType to = oneOf({DType::Int8, DType::UInt8, DType::Int16, DType::Int32});
    int64_t count = along(5);
    auto compute = oneOf({"None", "int64", "None", "float32", "float64"});
    NodeId zero =
        from == DType::Int64 ? value(tensorOf(DType::Int32, {}, {0}), true) : zeros(count, from);
    g.finish(g.call(ops::qnn_requantize,
                    {data(from, {3, 5, 2}), scales(count), zero, scales(1), zeros(1, to)},
                    {{"axis", AttrValue(next(2) ? 1 : -2)},
                     {"rounding", AttrValue(oneOf({"None", "UPWARD", "TONEAREST"}))},
                     {"compute_dtype", AttrValue(compute)},
                     {"out_dtype", AttrValue(name(to))}}));
  }
  void real() {
    int64_t count = along(4);
    DType dtype = oneOf({DType::Int8, DType::UInt8, DType::Int16, DType::Int32});
    AttrDict axis{{"axis", AttrValue(1)}};
    if (next(2)) {
      NodeId code =
          value(tensorOf(DType::Int32, {}, {static_cast<double>(next(6)) - 1}), isKnown());
      OpId op = next(2) ? ops::qnn_simulated_quantize : ops::qnn_simulated_dequantize;
      g.finish(g.call(op, {reals({3, 4}), code, scales(count), zeros(count, dtype)}, axis));
    } else if (next(2)) {
      axis.push_back({"out_dtype", AttrValue(name(dtype))});
      g.finish(
          g.call(ops::qnn_quantize, {reals({3, 4}), scales(count), zeros(count, dtype)}, axis));
    } else {
      axis.push_back({"out_dtype", AttrValue(oneOf({"float32", "float16"}))});
      g.finish(g.call(ops::qnn_dequantize,
                      {data(dtype, {3, 4}), scales(count), zeros(count, dtype)}, axis));
    }
  }
  void conv() {
    DType x = oneOf({DType::Int8, DType::UInt8, DType::Int16}),
          w = x == DType::Int16 ? x : oneOf({DType::Int8, DType::UInt8});
    bool isNhwc = next(2), isDepthwise = next(3) == 0, isTransposed = next(3) == 0;
    int64_t pads = next(2), groups = isDepthwise ? 4 : 1, stride = 1 + next(2);
    AttrDict attrs{{"padding", ints({pads, pads})},
                   {"groups", AttrValue(groups)},
                   {"strides", ints({stride, stride})},
                   {"out_dtype", AttrValue(oneOf({"int32", "int64", "int16"}))}};
    if (isNhwc)
      attrs.push_back({"data_layout", AttrValue("NHWC")});
    std::vector<int64_t> xs =
        isNhwc ? std::vector<int64_t>{2, 5, 6, 4} : std::vector<int64_t>{2, 4, 5, 6};
    std::vector<int64_t> ws =
        isTransposed ? std::vector<int64_t>{4, isDepthwise ? 1 : 3, 3, 2}
                     : std::vector<int64_t>{isDepthwise ? 4 : 3, isDepthwise ? 1 : 4, 3, 2};
    int64_t channels = isDepthwise ? 4 : 3,
            zeroCount = isTransposed && isDepthwise ? 1 : along(channels);
    g.finish(g.call(isTransposed ? ops::qnn_conv2d_transpose : ops::qnn_conv2d,
                    {data(x, xs), data(w, ws, isKnown()), zeros(1, x), zeros(zeroCount, w),
                     scales(1), scales(along(channels))},
                    attrs));
  }
  void dense() {
    DType x = oneOf({DType::Int8, DType::UInt8, DType::Int16}),
          w = x == DType::Int16 ? x : oneOf({DType::Int8, DType::UInt8});
    auto out = AttrValue(oneOf({"int32", "int64"}));
    if (next(2)) {
      NodeId a = data(x, {3, 7}), b = data(w, {4, 7}, isKnown());
      g.finish(g.call(ops::qnn_dense,
                      {a, b, zeros(1, x), zeros(along(4), w), scales(1), scales(along(4))},
                      {{"units", AttrValue(4)}, {"out_dtype", out}}));
    } else {
      NodeId a = data(x, {2, 3, 7}), b = data(w, {2, 4, 7});
      g.finish(g.call(ops::qnn_batch_matmul, {a, b, zeros(1, x), zeros(1, w), scales(1), scales(1)},
                      {{"transpose_b", AttrValue(true)}, {"out_dtype", out}}));
    }
  }
  void binary() {
    OpId op = oneOf({ops::qnn_add, ops::qnn_subtract, ops::qnn_mul});
    DType dtype = op == ops::qnn_mul
                      ? oneOf({DType::Int8, DType::UInt8, DType::Int16})
                      : oneOf({DType::Int8, DType::UInt8, DType::Int16, DType::Int32});
    int64_t left = along(3), right = along(3);
    NodeId a = data(dtype, {2, 3, 4}), b = next(2) ? data(dtype, {2, 3, 4}) : data(dtype, {3, 1});
    NodeId sa = scales(left), za = zeros(left, dtype), sb = scales(right), zb = zeros(right, dtype);
    NodeId so = next(3) ? scales(1) : sa, zo = so == sa ? za : zeros(1, dtype);
    if (left != 1 && so == sa)
      so = scales(1), zo = zeros(1, dtype);
    g.finish(g.call(op, {a, b, sa, za, sb, zb, so, zo},
                    {{"lhs_axis", AttrValue(-2)}, {"rhs_axis", AttrValue(-2)}}));
  }
  void unary() {
    OpId op = oneOf({ops::qnn_abs, ops::qnn_erf, ops::qnn_exp, ops::qnn_hardswish, ops::qnn_log,
                     ops::qnn_rsqrt, ops::qnn_sigmoid, ops::qnn_sqrt, ops::qnn_tanh,
                     ops::qnn_leaky_relu});
    DType dtype = oneOf({DType::Int8, DType::UInt8, DType::Int16, DType::Int32});
    AttrDict attrs;
    if (op == ops::qnn_leaky_relu)
      attrs = {{"alpha", AttrValue(oneOf({0.1, 0.0, 1.0, 0.25, 1.75, -0.5}))}};
    g.finish(g.call(
        op, {data(dtype, {3, 40}), scales(1), zeros(1, dtype), scales(1), zeros(1, dtype)}, attrs));
  }
  void pool() {
    DType dtype = oneOf({DType::Int8, DType::UInt8, DType::Int16, DType::Int32});
    NodeId s = scales(1), z = zeros(1, dtype);
    bool isSame = next(2);
    g.finish(g.call(
        ops::qnn_avg_pool2d,
        {data(dtype, {1, 2, 5, 6}), s, z, isSame ? s : scales(1), isSame ? z : zeros(1, dtype)},
        {{"pool_size", ints({2, 3})},
         {"strides", ints({2, 1})},
         {"padding", ints({next(2), next(2)})},
         {"count_include_pad", AttrValue(next(2) == 0)}}));
  }
  void concatenateOrSoftmax() {
    if (next(2)) {
      double s = std::ldexp(1.0 + next(100) / 99.0, -static_cast<int>(next(8)) - 1);
      NodeId in = value(tensorOf(DType::Float32, {}, {s}), isKnown());
      g.finish(g.call(ops::qnn_softmax,
                      {data(DType::Int8, {3, 7, 2}), in, zeros(1, DType::Int8), scales(1),
                       zeros(1, DType::Int8)},
                      {{"axis", AttrValue(static_cast<int64_t>(next(3)) - 2)}}));
      return;
    }
    DType dtype = oneOf({DType::Int8, DType::UInt8, DType::Int32});
    NodeId so = scales(1), zo = zeros(1, dtype);
    std::vector<NodeId> xs, ss, zs;
    for (int64_t i = 1; i < 4; ++i) {
      xs.push_back(data(dtype, {2, i}));
      bool isSame = next(3) == 0;
      ss.push_back(isSame ? so : scales(1));
      zs.push_back(isSame ? zo : zeros(1, dtype));
    }
    g.finish(g.call(ops::qnn_concatenate,
                    {g.builder.tuple(xs), g.builder.tuple(ss), g.builder.tuple(zs), so, zo},
                    {{"axis", AttrValue(1)}}));
  }

  std::mt19937 random_;
  std::vector<Tensor> inputs_;
};

} // namespace

TEST_CASE("legalize keeps every bit of quantised operators") {
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    Case each(seed);
    INFO("seed " << seed << "\n" << printModule(each.g.module));
    std::vector<Tensor> before = each.evaluateIt();
    REQUIRE(each.g.run(legalize));
    for (NodeId node : each.g.nodes())
      if (each.g.module.node(node).kind == NodeKind::CallOp)
        REQUIRE_FALSE(opInfo(each.g.module.node(node).op).name.starts_with("qnn."));
    INFO(printModule(each.g.module));
    std::vector<Tensor> after = each.evaluateIt();
    REQUIRE(after.size() == before.size());
    REQUIRE(after[0].dtype == before[0].dtype);
    REQUIRE(after[0].shape == before[0].shape);
    for (int64_t i = 0; i < before[0].numElements(); ++i) {
      double a = after[0].real(i), b = before[0].real(i);
      if (!(a == b || (std::isnan(a) && std::isnan(b))))
        FAIL("element " << i << " is " << a << ", wanted " << b);
    }
  }
}
