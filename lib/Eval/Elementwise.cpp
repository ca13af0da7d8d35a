// Unary, binary and constant-making operators.

#include "Kernel.h"
#include "bycc/Support/Integers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace bycc::eval {
namespace {

constexpr int64_t chunk = 1024;

using RealFn = double (*)(double);
using IntFn = Wide (*)(Wide);

// --- unary

template <RealFn real, IntFn integer> Expected<Value> unary(const KernelContext &context) {
  const Tensor &x = context.input(0);
  uint8_t *data = nullptr;
  Tensor result = BYCC_TRY(Tensor::make(x.dtype, x.shape, data));
  int64_t total = x.numElements();
  double reals[chunk];
  Wide ints[chunk];
  for (int64_t begin = 0; begin < total; begin += chunk) {
    int64_t n = std::min(chunk, total - begin);
    if (isFloat(x.dtype)) {
      loadReals(x, begin, n, reals);
      std::transform(reals, reals + n, reals, [](double v) { return real(v); });
      storeReals(x.dtype, data, begin, n, reals);
    } else {
      loadInts(x, begin, n, ints);
      std::transform(ints, ints + n, ints, [](Wide v) { return integer(v); });
      storeInts(x.dtype, data, begin, n, ints);
    }
  }
  return Value(std::move(result));
}

Wide sameInt(Wide v) { return v; }
Wide absInt(Wide v) { return v < 0 ? -v : v; }
Wide negateInt(Wide v) { return -v; }
Wide signInt(Wide v) { return (v > 0) - (v < 0); }
Wide reluInt(Wide v) { return v < 0 ? 0 : v; }
Wide bitNot(Wide v) { return ~v; }
Wide logicalNotInt(Wide v) { return v == 0; }

double negate(double v) { return -v; }
double sign(double v) { return std::isnan(v) ? v : (v > 0) - (v < 0); }
double relu(double v) { return v < 0 ? 0 : v; } // NaN passes
double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }
double rsqrt(double v) { return 1 / std::sqrt(v); }

template <double (*fn)(double)> double call(double v) { return fn(v); }

Expected<Value> bitwiseNot(const KernelContext &context) {
  if (context.input(0).dtype == DType::Bool)
    return unary<negate, logicalNotInt>(context);
  return unary<negate, bitNot>(context);
}

// --- from all elements at once

template <typename Fn> Expected<Value> testReals(const KernelContext &context, Fn fn) {
  std::vector<double> x = load<double>(context.input(0));
  std::ranges::transform(x, x.begin(), [&](double v) { return fn(v) ? 1.0 : 0.0; });
  return store(context.result(), x);
}

Expected<Value> isNan(const KernelContext &context) {
  return testReals(context, [](double v) { return std::isnan(v); });
}
Expected<Value> isInf(const KernelContext &context) {
  return testReals(context, [](double v) { return std::isinf(v); });
}
Expected<Value> isFinite(const KernelContext &context) {
  return testReals(context, [](double v) { return std::isfinite(v); });
}

// A double as an integer bound of a clip.
Wide asBound(double value) {
  constexpr double limit = 1.7e19; // beyond every integer dtype
  return std::isnan(value) ? 0 : static_cast<Wide>(std::clamp(value, -limit, limit));
}

Expected<Value> clip(const KernelContext &context) {
  const Tensor &x = context.input(0);
  double low = context.number("a_min"), high = context.number("a_max");
  if (isFloat(x.dtype)) {
    std::vector<double> values = load<double>(x);
    for (double &v : values) {
      v = v < low ? low : v;
      v = v > high ? high : v;
    }
    return store(context.result(), values);
  }
  std::vector<Wide> values = load<Wide>(x);
  for (Wide &v : values)
    v = std::min(std::max(v, asBound(low)), asBound(high));
  return store(context.result(), values);
}

Expected<Value> leakyRelu(const KernelContext &context) {
  double alpha = context.number("alpha");
  std::vector<double> values = load<double>(context.input(0));
  for (double &v : values)
    v = v < 0 ? v * alpha : v;
  return store(context.result(), values);
}

Expected<Value> castTensor(const Tensor &x, DType dtype) {
  if (x.dtype == dtype)
    return Value(x);
  ResultType type{dtype, x.shape, true};
  if (isFloat(x.dtype))
    return store(type, load<double>(x));
  return store(type, load<Wide>(x));
}

Expected<Value> cast(const KernelContext &context) {
  return castTensor(context.input(0), context.result().dtype);
}

Expected<Value> reinterpret(const KernelContext &context) {
  Tensor result = context.input(0);
  result.dtype = context.result().dtype;
  return Value(std::move(result));
}

Expected<Value> identity(const KernelContext &context) { return context.value(0); }

// (x * 2^max(s, 0) * m + 2^(30 + r)) >> (31 + r) with r = max(-s, 0).
Wide fixedPointProduct(Wide x, Wide multiplier, int64_t shift) {
  int64_t left = std::clamp<int64_t>(shift, 0, 31), right = std::clamp<int64_t>(-shift, 0, 31);
  Wide product = (x * (Wide(1) << left)) * multiplier + (Wide(1) << (30 + right));
  return product >> (31 + right);
}

Expected<Value> fixedPointMultiply(const KernelContext &context) {
  std::vector<Wide> values = load<Wide>(context.input(0));
  for (Wide &v : values)
    v = fixedPointProduct(v, context.integer("multiplier"), context.integer("shift"));
  return store(context.result(), values);
}

Expected<Value> fixedPointMultiplyPerAxis(const KernelContext &context) {
  const Tensor &x = context.input(0);
  std::vector<Wide> values = load<Wide>(x);
  Ints multiplier = loadIndices(context.input(1)), left = loadIndices(context.input(2)),
       right = loadIndices(context.input(3));
  Ints own = rowStrides(context.input(1).shape), strides(x.shape.size(), 0);
  Ints axes = context.integers("axes");
  for (size_t i = 0; i < axes.size(); ++i)
    strides[static_cast<size_t>(axes[i] < 0 ? axes[i] + static_cast<int64_t>(x.shape.size())
                                            : axes[i])] = own[i];
  IndexWalk walk(x.shape, {strides});
  for (Wide &v : values) {
    size_t at = static_cast<size_t>(walk.offset());
    int64_t up = context.boolean("is_lshift_required") ? std::clamp<int64_t>(left[at], 0, 31) : 0;
    int64_t down =
        context.boolean("is_rshift_required") ? std::clamp<int64_t>(right[at], 0, 31) : 0;
    Wide product = (v * (Wide(1) << up)) * multiplier[at] + (Wide(1) << (30 + down));
    v = product >> (31 + down);
    walk.next();
  }
  return store(context.result(), values);
}

// --- constants

Expected<Value> filledWith(const KernelContext &context, const Tensor &scalar) {
  const ResultType &type = context.result();
  Value converted = BYCC_TRY(castTensor(scalar, type.dtype));
  Tensor result = BYCC_TRY(
      moveElements(converted.tensor(), type.shape, [](const Ints &) { return int64_t{0}; }));
  return Value(std::move(result));
}

Expected<Value> full(const KernelContext &context) { return filledWith(context, context.input(0)); }
Expected<Value> fullLike(const KernelContext &context) {
  return filledWith(context, context.input(1));
}

Expected<Value> zeros(const KernelContext &context) {
  uint8_t *data = nullptr;
  Tensor result = BYCC_TRY(Tensor::make(context.result().dtype, context.result().shape, data));
  return Value(std::move(result));
}

Expected<Value> ones(const KernelContext &context) {
  double one = 1;
  Tensor scalar = BYCC_TRY(Tensor::fromDoubles(DType::Float64, {}, {&one, 1}));
  return filledWith(context, scalar);
}

Expected<Value> trilu(const KernelContext &context) {
  const Tensor &x = context.input(0);
  int64_t k = context.input(1).integer(0);
  bool isUpper = context.boolean("upper");
  Ints strides = rowStrides(x.shape);
  size_t rank = x.shape.size();
  Tensor result = BYCC_TRY(moveElements(x, x.shape, [&](const Ints &index) -> int64_t {
    int64_t diagonal = index[rank - 1] - index[rank - 2];
    if (isUpper ? diagonal < k : diagonal > k)
      return -1;
    int64_t offset = 0;
    for (size_t i = 0; i < rank; ++i)
      offset += index[i] * strides[i];
    return offset;
  }));
  return Value(std::move(result));
}

Expected<Value> broadcastTo(const KernelContext &context) {
  const Tensor &x = context.input(0);
  const Ints &shape = context.result().shape;
  Ints strides = broadcastStrides(x.shape, shape.size());
  Tensor result = BYCC_TRY(moveElements(x, shape, [&](const Ints &index) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i)
      offset += index[i] * strides[i];
    return offset;
  }));
  return Value(std::move(result));
}

template <typename T> Expected<Value> collapse(const KernelContext &context) {
  const Tensor &x = context.input(0);
  const ResultType &type = context.result();
  std::vector<T> values = load<T>(x), sums(static_cast<size_t>(count(type.shape)), T(0));
  IndexWalk walk(x.shape, {broadcastStrides(type.shape, x.shape.size())});
  for (T v : values) {
    sums[static_cast<size_t>(walk.offset())] += v;
    walk.next();
  }
  return store(type, sums);
}

Expected<Value> collapseSum(const KernelContext &context) {
  return isFloat(context.input(0).dtype) ? collapse<double>(context) : collapse<Wide>(context);
}

Expected<Value> where(const KernelContext &context) {
  const Tensor &condition = context.input(0), &x = context.input(1), &y = context.input(2);
  const ResultType &type = context.result();
  size_t rank = type.shape.size(), size = static_cast<size_t>(sizeInBytes(type.dtype));
  uint8_t *data = nullptr;
  Tensor result = BYCC_TRY(Tensor::make(type.dtype, type.shape, data));
  IndexWalk walk(type.shape, {broadcastStrides(condition.shape, rank),
                              broadcastStrides(x.shape, rank), broadcastStrides(y.shape, rank)});
  for (int64_t i = 0, n = result.numElements(); i < n; ++i, walk.next()) {
    bool first = condition.bytes.get()[walk.offset(0)] != 0;
    const uint8_t *from = first ? x.bytes.get() + static_cast<size_t>(walk.offset(1)) * size
                                : y.bytes.get() + static_cast<size_t>(walk.offset(2)) * size;
    std::copy(from, from + size, data + static_cast<size_t>(i) * size);
  }
  return Value(std::move(result));
}

// --- binary

// Elements of an operand along a broadcast walk, converted once for all.
template <typename T, typename Out, Out (*fn)(T, T)>
Expected<Value> combine(const KernelContext &context) {
  const ResultType &type = context.result();
  const Tensor &a = context.input(0), &b = context.input(1);
  std::vector<T> left = load<T>(a), right = load<T>(b);
  std::vector<T> out(static_cast<size_t>(count(type.shape)));
  if (left.size() == out.size() && right.size() == out.size()) {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<T>(fn(left[i], right[i]));
    return store(type, out);
  }
  IndexWalk walk(type.shape, {broadcastStrides(a.shape, type.shape.size()),
                              broadcastStrides(b.shape, type.shape.size())});
  for (T &v : out) {
    v = static_cast<T>(
        fn(left[static_cast<size_t>(walk.offset(0))], right[static_cast<size_t>(walk.offset(1))]));
    walk.next();
  }
  return store(type, out);
}

template <double (*real)(double, double), Wide (*integer)(Wide, Wide)>
Expected<Value> binary(const KernelContext &context) {
  if (isFloat(context.input(0).dtype))
    return combine<double, double, real>(context);
  return combine<Wide, Wide, integer>(context);
}

template <bool (*real)(double, double), bool (*integer)(Wide, Wide)>
Expected<Value> compare(const KernelContext &context) {
  if (isFloat(context.input(0).dtype))
    return combine<double, bool, real>(context);
  return combine<Wide, bool, integer>(context);
}

template <typename T> T plus(T a, T b) { return a + b; }
template <typename T> T minus(T a, T b) { return a - b; }
double times(double a, double b) { return a * b; }
// Modulo 2^64; two uint64 would overflow the signed product.
Wide timesInt(Wide a, Wide b) {
  return static_cast<Wide>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
double over(double a, double b) { return a / b; }
Wide truncOver(Wide a, Wide b) { return b == 0 ? 0 : a / b; }
double truncOverReal(double a, double b) { return std::trunc(a / b); }
Wide floorOver(Wide a, Wide b) { return b == 0 ? 0 : floorDiv(a, b); }
double floorOverReal(double a, double b) { return std::floor(a / b); }
Wide truncMod(Wide a, Wide b) { return b == 0 ? 0 : a % b; }
double truncModReal(double a, double b) { return std::fmod(a, b); }
Wide floorModInt(Wide a, Wide b) { return b == 0 ? 0 : floorMod(a, b); }
double floorModReal(double a, double b) {
  double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
double powerReal(double a, double b) { return std::pow(a, b); }
Wide powerInt(Wide base, Wide exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (uint64_t left = static_cast<uint64_t>(exponent); left; left >>= 1) {
    if (left & 1)
      result *= factor;
    factor *= factor;
  }
  return static_cast<Wide>(result);
}
double maxReal(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double minReal(double a, double b) { return std::isnan(a) || a < b ? a : b; }
Wide maxInt(Wide a, Wide b) { return std::max(a, b); }
Wide minInt(Wide a, Wide b) { return std::min(a, b); }
Wide bitAnd(Wide a, Wide b) { return a & b; }
Wide bitOr(Wide a, Wide b) { return a | b; }
Wide bitXor(Wide a, Wide b) { return a ^ b; }
// A count outside the width shifts everything out.
Wide shiftLeft(Wide a, Wide b) {
  return b < 0 || b > 63 ? 0 : static_cast<Wide>(static_cast<uint64_t>(a) << static_cast<int>(b));
}
Wide shiftRight(Wide a, Wide b) {
  return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> static_cast<int>(b);
}
double neverReal(double, double) { return 0; } // no float gets here by type

template <typename T> bool equal(T a, T b) { return a == b; }
template <typename T> bool notEqual(T a, T b) { return a != b; }
template <typename T> bool less(T a, T b) { return a < b; }
template <typename T> bool lessEqual(T a, T b) { return a <= b; }
template <typename T> bool greater(T a, T b) { return a > b; }
template <typename T> bool greaterEqual(T a, T b) { return a >= b; }

// --- along one axis

Expected<Value> biasAdd(const KernelContext &context) {
  const Tensor &x = context.input(0);
  size_t axis = context.axis("axis", x.shape.size());
  Ints strides(x.shape.size(), 0);
  strides[axis] = 1;
  IndexWalk walk(x.shape, {strides});
  auto run = [&](auto zero) -> Expected<Value> {
    using T = decltype(zero);
    std::vector<T> values = load<T>(x), bias = load<T>(context.input(1));
    for (T &v : values) {
      v += bias[static_cast<size_t>(walk.offset())];
      walk.next();
    }
    return store(context.result(), values);
  };
  return isFloat(x.dtype) ? run(double{}) : run(Wide{});
}

Expected<Value> prelu(const KernelContext &context) {
  const Tensor &x = context.input(0);
  Ints strides(x.shape.size(), 0);
  strides[context.axis("axis", x.shape.size())] = 1;
  std::vector<double> values = load<double>(x), alpha = load<double>(context.input(1));
  IndexWalk walk(x.shape, {strides});
  for (double &v : values) {
    v = v < 0 ? v * alpha[static_cast<size_t>(walk.offset())] : v;
    walk.next();
  }
  return store(context.result(), values);
}

const KernelEntry elementwiseRows[] = {
    {ops::abs, unary<call<std::fabs>, absInt>},
    {ops::acos, unary<call<std::acos>, sameInt>},
    {ops::acosh, unary<call<std::acosh>, sameInt>},
    {ops::add, binary<plus<double>, plus<Wide>>},
    {ops::annotation_cast_hint, identity},
    {ops::annotation_checkpoint, identity},
    {ops::annotation_compiler_begin, identity},
    {ops::annotation_compiler_end, identity},
    {ops::annotation_stop_fusion, identity},
    {ops::asin, unary<call<std::asin>, sameInt>},
    {ops::asinh, unary<call<std::asinh>, sameInt>},
    {ops::atan, unary<call<std::atan>, sameInt>},
    {ops::atanh, unary<call<std::atanh>, sameInt>},
    {ops::bitwise_and, binary<neverReal, bitAnd>},
    {ops::bitwise_not, bitwiseNot},
    {ops::bitwise_or, binary<neverReal, bitOr>},
    {ops::bitwise_xor, binary<neverReal, bitXor>},
    {ops::broadcast_to, broadcastTo},
    {ops::broadcast_to_like, broadcastTo},
    {ops::cast, cast},
    {ops::cast_like, cast},
    {ops::ceil, unary<call<std::ceil>, sameInt>},
    {ops::clip, clip},
    {ops::collapse_sum_like, collapseSum},
    {ops::collapse_sum_to, collapseSum},
    {ops::copy, identity},
    {ops::cos, unary<call<std::cos>, sameInt>},
    {ops::cosh, unary<call<std::cosh>, sameInt>},
    {ops::device_copy, identity},
    {ops::divide, binary<over, truncOver>},
    {ops::dyn_broadcast_to, broadcastTo},
    {ops::dyn_full, full},
    {ops::dyn_ones, ones},
    {ops::dyn_zeros, zeros},
    {ops::equal, compare<equal<double>, equal<Wide>>},
    {ops::erf, unary<call<std::erf>, sameInt>},
    {ops::exp, unary<call<std::exp>, sameInt>},
    {ops::expm1, unary<call<std::expm1>, sameInt>},
    {ops::fast_erf, unary<call<std::erf>, sameInt>},
    {ops::fast_exp, unary<call<std::exp>, sameInt>},
    {ops::fast_tanh, unary<call<std::tanh>, sameInt>},
    {ops::fixed_point_multiply, fixedPointMultiply},
    {ops::fixed_point_multiply_per_axis, fixedPointMultiplyPerAxis},
    {ops::floor, unary<call<std::floor>, sameInt>},
    {ops::floor_divide, binary<floorOverReal, floorOver>},
    {ops::floor_mod, binary<floorModReal, floorModInt>},
    {ops::full, full},
    {ops::full_like, fullLike},
    {ops::greater, compare<greater<double>, greater<Wide>>},
    {ops::greater_equal, compare<greaterEqual<double>, greaterEqual<Wide>>},
    {ops::isfinite, isFinite},
    {ops::isinf, isInf},
    {ops::isnan, isNan},
    {ops::left_shift, binary<neverReal, shiftLeft>},
    {ops::less, compare<less<double>, less<Wide>>},
    {ops::less_equal, compare<lessEqual<double>, lessEqual<Wide>>},
    {ops::log, unary<call<std::log>, sameInt>},
    {ops::log10, unary<call<std::log10>, sameInt>},
    {ops::log1p, unary<call<std::log1p>, sameInt>},
    {ops::log2, unary<call<std::log2>, sameInt>},
    {ops::logical_and, binary<neverReal, bitAnd>},
    {ops::logical_not, unary<negate, logicalNotInt>},
    {ops::logical_or, binary<neverReal, bitOr>},
    {ops::logical_xor, binary<neverReal, bitXor>},
    {ops::maximum, binary<maxReal, maxInt>},
    {ops::minimum, binary<minReal, minInt>},
    {ops::mod, binary<truncModReal, truncMod>},
    {ops::multiply, binary<times, timesInt>},
    {ops::negative, unary<negate, negateInt>},
    {ops::nn_bias_add, biasAdd},
    {ops::nn_leaky_relu, leakyRelu},
    {ops::nn_prelu, prelu},
    {ops::nn_relu, unary<relu, reluInt>},
    {ops::not_equal, compare<notEqual<double>, notEqual<Wide>>},
    {ops::on_device, identity},
    {ops::ones, ones},
    {ops::ones_like, ones},
    {ops::power, binary<powerReal, powerInt>},
    {ops::reinterpret, reinterpret},
    {ops::right_shift, binary<neverReal, shiftRight>},
    {ops::rint, unary<call<std::nearbyint>, sameInt>},
    {ops::round, unary<call<std::round>, sameInt>},
    {ops::rsqrt, unary<rsqrt, sameInt>},
    {ops::sigmoid, unary<sigmoid, sameInt>},
    {ops::sign, unary<sign, signInt>},
    {ops::sin, unary<call<std::sin>, sameInt>},
    {ops::sinh, unary<call<std::sinh>, sameInt>},
    {ops::sqrt, unary<call<std::sqrt>, sameInt>},
    {ops::subtract, binary<minus<double>, minus<Wide>>},
    {ops::tan, unary<call<std::tan>, sameInt>},
    {ops::tanh, unary<call<std::tanh>, sameInt>},
    {ops::trilu, trilu},
    {ops::trunc, unary<call<std::trunc>, sameInt>},
    {ops::trunc_divide, binary<truncOverReal, truncOver>},
    {ops::trunc_mod, binary<truncModReal, truncMod>},
    {ops::where, where},
    {ops::zeros, zeros},
    {ops::zeros_like, zeros},
};

} // namespace

std::span<const KernelEntry> elementwiseKernels() { return elementwiseRows; }

} // namespace bycc::eval
