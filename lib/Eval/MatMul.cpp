// Products of matrices, einsum included.

#include "Kernel.h"

#include "bycc/IR/Einsum.h"

#include <algorithm>

namespace bycc::eval {
namespace {

// One product: out[m, n] = sum over k of a[m, k] * b[n, k], by strides.
struct Product {
  int64_t m, n, k;
  int64_t aRow, aStep, bRow, bStep;
};

template <typename T> void multiply(const Product &p, const T *a, const T *b, T *out) {
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      T sum = 0;
      for (int64_t l = 0; l < p.k; ++l)
        sum += a[i * p.aRow + l * p.aStep] * b[j * p.bRow + l * p.bStep];
      out[i * p.n + j] = sum;
    }
}

// Calls fn with the type to compute in.
template <typename Fn> Expected<Value> withProductType(DType dtype, Fn fn) {
  return isFloat(dtype) ? fn(double{}) : fn(uint64_t{});
}

// x (.., K) times weight (U, K), or (K, U) when it is not transposed.
Expected<Value> denseOf(const KernelContext &context, const Tensor &weight, bool isTransposed,
                        bool transposeA) {
  const Tensor &x = context.input(0);
  const Ints &shape = context.result().shape;
  int64_t units = shape.back(), rows = units ? count(shape) / units : 0;
  int64_t inner = weight.shape[isTransposed ? 1 : 0];
  Product p{rows, units, inner, inner, 1, isTransposed ? inner : 1, isTransposed ? 1 : units};
  if (transposeA) { // the last two axes are swapped; leading ones stay
    int64_t last = x.shape.back();
    p.m = last;
    p.aRow = 1;
    p.aStep = last;
  }
  int64_t batch = p.m ? rows / p.m : 0;
  return withProductType(x.dtype, [&](auto zero) -> Expected<Value> {
    using T = decltype(zero);
    std::vector<T> a = load<T>(x), b = load<T>(weight);
    std::vector<T> out(static_cast<size_t>(rows * units));
    for (int64_t i = 0; i < batch; ++i)
      multiply(p, a.data() + i * p.m * inner, b.data(), out.data() + i * p.m * units);
    return store(context.result(), out);
  });
}

Expected<Value> dense(const KernelContext &context) {
  return denseOf(context, context.input(1), true, false);
}

// The weights as real values, and their product.
Expected<Value> denseWeightOnly(const KernelContext &context) {
  size_t perByte = context.integer("bits") == 4 ? 2 : 1;
  std::vector<double> stored = load<double>(context.input(1)),
                      scale = load<double>(context.input(2)), zero = load<double>(context.input(3)),
                      x = load<double>(context.input(0));
  std::vector<double> weight(stored.size() * perByte);
  for (size_t i = 0; i < weight.size(); ++i) {
    double value = stored[i / perByte];
    if (perByte == 2)
      value = static_cast<double>(static_cast<int>(value) >> (i % 2 ? 4 : 0) & 15);
    size_t block = i / (weight.size() / scale.size());
    weight[i] = (value - zero[zero.size() == 1 ? 0 : block]) * scale[block];
  }
  const Ints &shape = context.result().shape;
  int64_t units = shape.back(), depth = static_cast<int64_t>(weight.size()) / units;
  std::vector<double> out(static_cast<size_t>(count(shape)));
  multiply({count(shape) / units, units, depth, depth, 1, depth, 1}, x.data(), weight.data(),
           out.data());
  return store(context.result(), out);
}

Expected<Value> matmul(const KernelContext &context) {
  return denseOf(context, context.input(1), context.boolean("transpose_b"),
                 context.boolean("transpose_a"));
}

Expected<Value> densePack(const KernelContext &context) {
  auto layout = Layout::parse(context.text("weight_layout"));
  Tensor weight = BYCC_TRY(toPlain(context.input(1), *layout, "NC"));
  return denseOf(context, weight, true, false);
}

Expected<Value> batchMatmul(const KernelContext &context) {
  const Tensor &a = context.input(0), &b = context.input(1);
  const Ints &shape = context.result().shape;
  bool transposeA = context.boolean("transpose_a"), transposeB = context.boolean("transpose_b");
  int64_t k = a.shape[transposeA ? 1 : 2];
  Product p{shape[1], shape[2], k, k, 1, 1, shape[2]};
  if (transposeA) {
    p.aRow = 1;
    p.aStep = shape[1];
  }
  if (transposeB) {
    p.bRow = k;
    p.bStep = 1;
  }
  return withProductType(a.dtype, [&](auto zero) -> Expected<Value> {
    using T = decltype(zero);
    std::vector<T> left = load<T>(a), right = load<T>(b);
    std::vector<T> out(static_cast<size_t>(count(shape)));
    for (int64_t i = 0; i < shape[0]; ++i)
      multiply(p, left.data() + (a.shape[0] == 1 ? 0 : i) * p.m * k,
               right.data() + (b.shape[0] == 1 ? 0 : i) * p.n * k, out.data() + i * p.m * p.n);
    return store(context.result(), out);
  });
}

// --- einsum

// The index space: the labels, and the strides of each input and of the result.
struct EinsumSpace {
  Ints shape;
  std::vector<Ints> strides;
};

EinsumSpace einsumSpace(const Einsum &einsum, const std::vector<Tensor> &inputs,
                        const Ints &resultShape) {
  EinsumSpace space;
  space.shape.assign(einsum.numLabels, 1);
  auto stridesOf = [&](const std::vector<uint32_t> &labels, const Ints &shape) {
    Ints strides(einsum.numLabels, 0), own = rowStrides(shape);
    for (size_t d = 0; d < labels.size(); ++d) {
      bool repeats = einsum.isEllipsis[labels[d]] && shape[d] == 1;
      strides[labels[d]] += repeats ? 0 : own[d]; // named twice: the diagonal
      if (!repeats)
        space.shape[labels[d]] = shape[d];
    }
    return strides;
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    space.strides.push_back(stridesOf(einsum.inputs[i], inputs[i].shape));
  space.strides.push_back(stridesOf(einsum.output, resultShape));
  return space;
}

Expected<Value> einsum(const KernelContext &context) {
  std::vector<Tensor> inputs = context.tuple(0);
  std::vector<size_t> ranks;
  for (const Tensor &input : inputs)
    ranks.push_back(input.shape.size());
  Einsum equation = BYCC_TRY(parseEinsum(context.text("equation"), ranks));
  EinsumSpace space = einsumSpace(equation, inputs, context.result().shape);
  return withProductType(context.result().dtype, [&](auto zero) -> Expected<Value> {
    using T = decltype(zero);
    std::vector<std::vector<T>> values;
    for (const Tensor &input : inputs)
      values.push_back(load<T>(input));
    std::vector<T> out(static_cast<size_t>(count(context.result().shape)), T(0));
    IndexWalk walk(space.shape, space.strides);
    for (int64_t i = 0, n = count(space.shape); i < n; ++i, walk.next()) {
      T product = 1;
      for (size_t k = 0; k < values.size(); ++k)
        product *= values[k][static_cast<size_t>(walk.offset(k))];
      out[static_cast<size_t>(walk.offset(values.size()))] += product;
    }
    return store(context.result(), out);
  });
}

const KernelEntry matMulRows[] = {
    {ops::einsum, einsum},
    {ops::nn_batch_matmul, batchMatmul},
    {ops::nn_contrib_dense_pack, densePack},
    {ops::nn_dense, dense},
    {ops::nn_dense_weight_only, denseWeightOnly},
    {ops::nn_matmul, matmul},
};

} // namespace

std::span<const KernelEntry> matMulKernels() { return matMulRows; }

} // namespace bycc::eval
